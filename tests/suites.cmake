# Writes what registers the test suites of a GoogleTest binary, each as one test of ctest: a process for each
# of a thousand short tests would take longer than the tests. It has the binary's name before its own, since two
# binaries may have a suite of one name. Variables: NAME and BINARY; PROPERTIES of each test; OUTPUT.
execute_process(COMMAND "${BINARY}" --gtest_list_tests OUTPUT_VARIABLE listed COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "(^|\n)[^ \n][^ \n]*\\.[ \n]" suites "${listed}")
if(NOT suites)
  message(FATAL_ERROR "${BINARY} lists no tests")
endif()
set(tests "")
set(properties "")
foreach(property IN LISTS PROPERTIES)
  string(APPEND properties " [=[${property}]=]")
endforeach()
foreach(suite IN LISTS suites)
  string(REGEX REPLACE "[ \n]|\\.[ \n]$" "" suite "${suite}")
  string(APPEND tests "add_test([=[${NAME}.${suite}]=] [=[${BINARY}]=] [=[--gtest_filter=${suite}.*]=])\n"
    "set_tests_properties([=[${NAME}.${suite}]=] PROPERTIES ${properties})\n")
endforeach()
file(WRITE "${OUTPUT}" "${tests}")
