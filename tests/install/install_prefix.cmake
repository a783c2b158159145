# What the tests of installations begin with: installs BUILD_DIR into the empty folder WORK/prefix.

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "failed (${code}): ${ARGN}")
  endif()
endfunction()

file(REMOVE_RECURSE "${WORK}")
run("${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${WORK}/prefix")

# Fails unless files of these names were installed.
function(require_installed)
  foreach(name ${ARGN})
    file(GLOB_RECURSE found "${WORK}/prefix/*/${name}")
    if(NOT found)
      message(FATAL_ERROR "no ${name} was installed")
    endif()
  endforeach()
endfunction()
