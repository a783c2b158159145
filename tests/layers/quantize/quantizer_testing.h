#pragma once

#include <octet/layers/quantize/quantizers.h>
#include <octet/tests/layers/layer_testing.h>

#include <memory>
#include <utility>

namespace octet::test {

/// `quantizer` with state for tensors of `shape`, a zero point among it where there is one range.
template <class Q>
std::unique_ptr<Q> ready(Q quantizer, const Shape& shape = {4}) {
  auto result = std::make_unique<Q>(std::move(quantizer));
  result->build(
      "layer/tensor", "t_", shape,
      result->spec().axis < 0 ? Quantizer::ZeroPoint::kept : Quantizer::ZeroPoint::hidden);
  return result;
}

inline Tensor vector_of(std::initializer_list<float> values) {
  return Tensor::from({static_cast<Index>(values.size())}, values);
}

inline void expect_range(const Quantizer& quantizer, float min, float max) {
  EXPECT_EQ(quantizer.min().item(), min);
  EXPECT_EQ(quantizer.max().item(), max);
}

/// All values of the state and the counters.
inline std::vector<std::vector<float>> everything_in(const Quantizer& quantizer) {
  std::vector<std::vector<float>> values;
  for (const auto& list : {quantizer.state(), quantizer.counters()}) {
    for (const auto& [name, tensor] : list) values.push_back(values_of(tensor));
  }
  return values;
}

/// 8-bit specs as TFMOT's weights have them, and the same with the lowest code.
inline constexpr QuantSpec kSymmetricNarrow{.narrow_range = true, .symmetric = true};
inline constexpr QuantSpec kSymmetric{.symmetric = true};

}  // namespace octet::test
