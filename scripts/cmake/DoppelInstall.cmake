# Installs the libraries, headers and the package file, so that a project says
#   find_package(doppel REQUIRED)
#   target_link_libraries(app PRIVATE doppel::doppel)
# and writes its includes as this tree does: "core/device.h", "backends/open_device.h".

include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/doppel)
install(EXPORT doppelTargets NAMESPACE doppel:: DESTINATION ${package_dir})
foreach(room core backends emulator)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${room} DESTINATION include/doppel
          FILES_MATCHING PATTERN "*.h" PATTERN "*.inc")
endforeach()
configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/doppelConfig.cmake.in ${PROJECT_BINARY_DIR}/doppelConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/doppelConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/doppelConfig.cmake ${PROJECT_BINARY_DIR}/doppelConfigVersion.cmake
        DESTINATION ${package_dir})
