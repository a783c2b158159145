# Models in float .tflite files; paths are relative to import/.
target_sources(octet PRIVATE
  tflite/function_layers.cpp
  tflite/import_tflite.cpp
  tflite/normalization.cpp
  tflite/operator_layers.cpp
  tflite/real_model.cpp
  tflite/svdf.cpp)

octet_public_headers(tflite/import_tflite.h)
