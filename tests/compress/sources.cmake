# Tests of the compress room; paths are relative to tests/.
set(OCTET_COMPRESS_TESTS
  compress/adaround_test.cpp
  compress/bias_correction_test.cpp
  compress/bit_curve_test.cpp
  compress/bit_knapsack_test.cpp
  compress/bit_search_layers_test.cpp
  compress/bit_search_test.cpp
  compress/equalization_test.cpp
  compress/standardize_inputs_test.cpp)
