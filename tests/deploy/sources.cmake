# Every *_test.cpp of this folder: a new one is found at the next build. Paths are relative to tests/.
file(GLOB OCTET_DEPLOY_TESTS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" CONFIGURE_DEPENDS
  deploy/*_test.cpp)
list(APPEND OCTET_DEPLOY_TESTS
  cli/octet_export_test.cpp
  cli/octet_run_test.cpp
  cli/octet_tool_test.cpp
  core/quant/vectors.cpp)
