# Run by ctest with cmake -P; see CMakeLists.txt beside it.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGN} failed (${code}):\n${output}")
  endif()
  message(STATUS "${output}")
endfunction()

file(REMOVE_RECURSE ${work_dir})
run(${CMAKE_COMMAND} --install ${build_dir} --prefix ${work_dir}/prefix)
set(flags "")
if(sanitize)
  set(flags "-fsanitize=${sanitize}")
endif()
run(${CMAKE_COMMAND} -S ${consumer_dir} -B ${work_dir}/build -G Ninja
    -D CMAKE_PREFIX_PATH=${work_dir}/prefix -D CMAKE_CXX_COMPILER=${compiler} -D PROGRAM=${program}
    "-DCMAKE_CXX_FLAGS=${flags}")
run(${CMAKE_COMMAND} --build ${work_dir}/build)
run(${work_dir}/build/consumer mock:gfx1100 ${code_object})
