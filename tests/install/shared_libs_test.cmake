# BUILD_SHARED_LIBS is refused with a sentence, not ignored.
execute_process(
  COMMAND "${CMAKE_COMMAND}" -G "${GENERATOR}" -S "${SOURCE}" -B "${WORK}" -DBUILD_SHARED_LIBS=ON
    "-DCMAKE_CXX_COMPILER=${CXX}"
  RESULT_VARIABLE code OUTPUT_QUIET ERROR_VARIABLE message)
string(REGEX REPLACE "[ \n]+" " " message "${message}")
if(code EQUAL 0 OR NOT message MATCHES "octet is built as static libraries, and BUILD_SHARED_LIBS is ON")
  message(FATAL_ERROR "BUILD_SHARED_LIBS was not refused (${code}): ${message}")
endif()
