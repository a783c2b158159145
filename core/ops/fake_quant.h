#pragma once

#include <octet/core/tensor.h>

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

}  // namespace octet
