# Every *_test.cpp of this folder: a new one is found at the next build. Paths are relative to tests/.
# They need ZLIB::ZLIB.
file(GLOB OCTET_DATA_TESTS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" CONFIGURE_DEPENDS
  train/data/*_test.cpp)
