#pragma once

#include <octet/core/quant/tensorflow/quantize_and_dequantize.h>
#include <octet/core/tensor.h>

#include <functional>
#include <string_view>

namespace octet {

// TensorFlow's fake quantization on tensors, with its gradients. The arithmetic, its errors and
// its special ranges are those of core/quant/fake_quant.h. `name` says in errors what is quantized.

/// Fake quantization of x with num_bits bits over [min, max]; gradient g where nudged min <= x <=
/// nudged max.
Tensor fake_quant_with_min_max_args(const Tensor& x, float min = -6.0F, float max = 6.0F,
                                    int num_bits = 8, bool narrow_range = false,
                                    std::string_view name = "fake_quant_with_min_max_args");

/// Quantizes and dequantizes x over a range given by scalar tensors, which get the sum of the
/// gradients of the elements below min and above max.
Tensor fake_quant_with_min_max_vars(const Tensor& x, const Tensor& min, const Tensor& max,
                                    int num_bits = 8, bool narrow_range = false,
                                    std::string_view name = "fake_quant_with_min_max_vars");

/// Quantizes and dequantizes x with a range for each index of the last axis: min and max are
/// [x.dim(-1)].
Tensor fake_quant_with_min_max_vars_per_channel(
    const Tensor& x, const Tensor& min, const Tensor& max, int num_bits = 8,
    bool narrow_range = false, std::string_view name = "fake_quant_with_min_max_vars_per_channel");

/// TensorFlow's quantize_and_dequantize (V2): gradient straight through everywhere, none for the
/// range. input_min and input_max are scalars, or one value per slice of options.axis.
Tensor quantize_and_dequantize(const Tensor& x, const Tensor& input_min, const Tensor& input_max,
                               const QuantizeAndDequantizeOptions& options = {});

/// TensorFlow's quantize_and_dequantize_v2 (V4): gradient where input_min <= x <= input_max, zeros
/// for the range.
Tensor quantize_and_dequantize_v2(const Tensor& x, const Tensor& input_min, const Tensor& input_max,
                                  const QuantizeAndDequantizeOptions& options = {});

/// TensorFlow's raw operation QuantizeAndDequantizeV3: as quantize_and_dequantize(), but an axis
/// below -1 counts from the end. (There, num_bits is a tensor of one element.)
Tensor quantize_and_dequantize_v3(const Tensor& x, const Tensor& input_min, const Tensor& input_max,
                                  const QuantizeAndDequantizeOptions& options = {});

/// f(x) with the gradient of the identity: grad_pass_through of quantize_and_dequantize_v2 has the
/// gradient of V1. f must keep the shape (InvalidArgument).
Tensor grad_pass_through(const std::function<Tensor(const Tensor&)>& f, const Tensor& x);

}  // namespace octet
