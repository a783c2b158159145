# Every *_test.cpp of this folder: a new one is found at the next build. Paths are relative to tests/.
file(GLOB OCTET_RUNTIME_TESTS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" CONFIGURE_DEPENDS
  runtime/*_test.cpp)
