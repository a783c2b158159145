target_sources(octet_runtime PRIVATE
  quant/activation_range.cpp
  quant/axis.cpp
  quant/bias.cpp
  quant/byte_codes.cpp
  quant/code_adder.cpp
  quant/code_requantize.cpp
  quant/fake_quant.cpp
  quant/fake_quant_grad.cpp
  quant/fixed_point.cpp
  quant/fixed_point_math.cpp
  quant/lut.cpp
  quant/quant_params.cpp
  quant/quantize.cpp
  quant/tensorflow/quantize_and_dequantize.cpp
  quant/requantize.cpp
  quant/rounding.cpp
  quant/softmax.cpp)
