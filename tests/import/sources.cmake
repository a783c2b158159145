# Every *_test.cpp of this folder: a new one is found at the next build. Paths are relative to tests/.
file(GLOB OCTET_IMPORT_TESTS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" CONFIGURE_DEPENDS
  import/*_test.cpp)
list(APPEND OCTET_IMPORT_TESTS cli/octet_import_test.cpp cli/octet_inspect_test.cpp)
