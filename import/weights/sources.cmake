# Weights by name; paths are relative to import/.
target_sources(octet PRIVATE
  weights/float_values.cpp
  weights/load_weights.cpp
  weights/npz.cpp
  weights/safetensors.cpp
  weights/weight_file.cpp
  weights/weight_layout.cpp
  weights/weight_names.cpp)

# By name, so that what links octet needs no path of this machine's.
target_include_directories(octet SYSTEM PRIVATE "${OCTET_LIBZIP_INCLUDE}")
target_link_libraries(octet PRIVATE zip)

octet_public_headers(
  weights/weight_file.h
  weights/weights.h)
