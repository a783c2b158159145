#pragma once

#include <octet/core/ops/fake_quant.h>

#include <algorithm>
#include <span>
#include <string_view>

// The operations of core/ops/fake_quant.h on plain values.

namespace octet::test {

inline Tensor tensor_of(std::span<const float> values) {
  return Tensor::from({static_cast<Index>(values.size())}, values);
}

inline void fake_quant_args(std::span<const float> in, float min, float max, int bits, bool narrow,
                            std::span<float> out, std::string_view name = "x") {
  const Tensor y = fake_quant_with_min_max_args(tensor_of(in), min, max, bits, narrow, name);
  std::copy_n(y.data(), out.size(), out.begin());
}

inline void fake_quant_vars(std::span<const float> in, float min, float max, int bits, bool narrow,
                            std::span<float> out, std::string_view name = "x") {
  const Tensor y = fake_quant_with_min_max_vars(tensor_of(in), Tensor::scalar(min),
                                                Tensor::scalar(max), bits, narrow, name);
  std::copy_n(y.data(), out.size(), out.begin());
}

inline void fake_quant_per_channel(std::span<const float> in, std::span<const float> min,
                                   std::span<const float> max, int bits, bool narrow,
                                   std::span<float> out, std::string_view name = "x") {
  const auto channels = static_cast<Index>(min.size());
  const Tensor x = Tensor::from({static_cast<Index>(in.size()) / channels, channels}, in);
  const Tensor y = fake_quant_with_min_max_vars_per_channel(x, tensor_of(min), tensor_of(max), bits,
                                                            narrow, name);
  std::copy_n(y.data(), out.size(), out.begin());
}

}  // namespace octet::test
