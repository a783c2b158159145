target_sources(octet_runtime PRIVATE
  quant/activation_range.cpp
  quant/axis.cpp
  quant/bias.cpp
  quant/byte_codes.cpp
  quant/code_table.cpp
  quant/fake_quant.cpp
  quant/fake_quant_grad.cpp
  quant/fixed_point.cpp
  quant/fixed_point_math.cpp
  quant/lut.cpp
  quant/packed_codes.cpp
  quant/quant_params.cpp
  quant/quantize.cpp
  quant/requantize.cpp
  quant/rounding.cpp
  quant/softmax.cpp
  quant/target.cpp)
