# Tests of the report room; paths are relative to tests/.
set(OCTET_REPORT_TESTS
  report/advice_test.cpp
  report/baseline_test.cpp
  report/example_view_test.cpp
  report/html_test.cpp
  report/measure_test.cpp
  report/png_test.cpp
  report/run_facts_test.cpp
  report/statistics_test.cpp
  report/tried_advice_test.cpp
  report/verdict_test.cpp)
