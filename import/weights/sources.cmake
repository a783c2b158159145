# Weights by name; paths are relative to import/.
target_sources(octet PRIVATE
  weights/float_values.cpp
  weights/load_weights.cpp
  weights/safetensors.cpp
  weights/weight_file.cpp
  weights/weight_layout.cpp
  weights/weight_names.cpp)

octet_public_headers(
  weights/weight_file.h
  weights/weights.h)
