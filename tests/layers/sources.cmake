# Every *_test.cpp of these folders: a new one is found at the next build. Paths are relative to tests/.
file(GLOB OCTET_LAYERS_TESTS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" CONFIGURE_DEPENDS
  layers/*_test.cpp layers/quantize/*_test.cpp)
list(APPEND OCTET_LAYERS_TESTS core/quant/vectors.cpp)
