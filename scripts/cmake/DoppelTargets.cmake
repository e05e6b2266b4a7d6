# How every target of the project is declared: warnings, sanitizers, include root, device code, tests.

include(GNUInstallDirs)

find_program(DOPPEL_CCACHE ccache)
if(DOPPEL_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${DOPPEL_CCACHE})
endif()

find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)

add_library(doppel_options INTERFACE)
target_compile_features(doppel_options INTERFACE cxx_std_23)
target_compile_definitions(doppel_options INTERFACE MSGPACK_NO_BOOST)  # msgpack's headers alone
target_compile_options(doppel_options INTERFACE -Wall -Wextra -Werror
  # std::stable_sort of libstdc++ 12 uses what C++17 deprecated, which clang reports at its callers.
  $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)
if(DOPPEL_SANITIZE)
  target_compile_options(doppel_options INTERFACE
    -fsanitize=${DOPPEL_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(doppel_options INTERFACE -fsanitize=${DOPPEL_SANITIZE})
endif()

# doppel_library(NAME [COMPILE_FAST] SOURCES... DEPENDS targets...): one static layer of the tree. Includes are
# written from the repository root ("core/status.h").
function(doppel_library name)
  cmake_parse_arguments(ARG "COMPILE_FAST" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                            $<INSTALL_INTERFACE:include/doppel>)
  target_compile_features(${name} PUBLIC cxx_std_23)
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS}
                                PRIVATE ${ARG_PRIVATE_DEPENDS} $<BUILD_INTERFACE:doppel_options>)
  if(ARG_COMPILE_FAST)
    doppel_compile_fast(${name})
  endif()
  install(TARGETS ${name} EXPORT doppelTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

# doppel_compile_fast(NAME): the target's own code isn't what is tested or measured. Where a build
# serves one run of the tests (CMAKE_UNITY_BUILD; see scripts/lib.sh) or optimising takes minutes
# (sanitizers), it isn't optimised.
function(doppel_compile_fast name)
  if(DOPPEL_SANITIZE OR CMAKE_UNITY_BUILD)
    target_compile_options(${name} PRIVATE -O0)
  endif()
endfunction()

# doppel_share_headers(NAME GROUP headers...): in such a build the programs of a group, which have the
# same options, parse the headers that most of them include once, in the first of them. Any other build
# proves that each source includes what it uses.
function(doppel_share_headers name group)
  if(NOT CMAKE_UNITY_BUILD)
    return()
  endif()
  get_property(first GLOBAL PROPERTY DOPPEL_FIRST_OF_${group})
  if(first)
    target_precompile_headers(${name} REUSE_FROM ${first})
  else()
    target_precompile_headers(${name} PRIVATE ${ARGN})
    set_property(GLOBAL PROPERTY DOPPEL_FIRST_OF_${group} ${name})
  endif()
endfunction()
set(DOPPEL_TEST_HEADERS
  <algorithm> <array> <filesystem> <fstream> <functional> <map> <memory> <set> <span> <sstream> <string>
  <vector> <fmt/format.h> <gmock/gmock.h> <gtest/gtest.h> <nlohmann/json.hpp>
  ${PROJECT_SOURCE_DIR}/core/device.h ${PROJECT_SOURCE_DIR}/core/packets/packet.h)

# doppel_test(NAME LABEL unit|sim|conformance|... SOURCES... DEPENDS...): one GoogleTest binary;
# each of its tests becomes a ctest test with the label.
function(doppel_test name)
  cmake_parse_arguments(ARG "" "LABEL" "SOURCES;DEPENDS" ${ARGN})
  find_package(GTest REQUIRED)
  include(GoogleTest)
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} doppel_test_paths doppel_options fmt::fmt GTest::gmock
                                        GTest::gtest_main)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  doppel_compile_fast(${name})
  doppel_share_headers(${name} tests ${DOPPEL_TEST_HEADERS})
  gtest_discover_tests(${name} PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT 300 DISCOVERY_TIMEOUT 60)
endfunction()

# doppel_kernels(NAME SOURCES *.cl|*.hip|*.S TARGETS gfx1100... OPTIONS ...): compiles device code with
# clang (no ROCm) to ${CMAKE_BINARY_DIR}/kernels/<stem>.<target>.co; NAME is the custom target.
find_program(DOPPEL_DEVICE_CLANG NAMES clang-19 REQUIRED)
function(doppel_kernels name)
  cmake_parse_arguments(ARG "" "SUFFIX" "SOURCES;TARGETS;OPTIONS" ${ARGN})
  set(outputs)
  foreach(source IN LISTS ARG_SOURCES)
    get_filename_component(stem ${source} NAME_WE)
    get_filename_component(extension ${source} LAST_EXT)
    get_filename_component(path ${source} ABSOLUTE)
    foreach(gfx IN LISTS ARG_TARGETS)
      set(output ${PROJECT_BINARY_DIR}/kernels/${stem}${ARG_SUFFIX}.${gfx}.co)
      if(extension STREQUAL ".cl")
        set(language -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu=${gfx} -nogpulib)
      elseif(extension STREQUAL ".S")
        set(language -x assembler-with-cpp -target amdgcn-amd-amdhsa -mcpu=${gfx} -nogpulib)
      else()
        set(language -x hip --offload-arch=${gfx} --offload-device-only -nogpuinc -nogpulib
                     --no-gpu-bundle-output)
      endif()
      add_custom_command(
        OUTPUT ${output}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/kernels
        COMMAND ${DOPPEL_DEVICE_CLANG} ${language} -O2 -I${CMAKE_CURRENT_SOURCE_DIR} ${ARG_OPTIONS}
                -MD -MF ${output}.d -o ${output} ${path}
        DEPENDS ${path} DEPFILE ${output}.d
        COMMENT "Device code ${stem}${ARG_SUFFIX} for ${gfx}" VERBATIM)
      list(APPEND outputs ${output})
    endforeach()
  endforeach()
  add_custom_target(${name} ALL DEPENDS ${outputs})
endfunction()
