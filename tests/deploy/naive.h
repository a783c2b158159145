#pragma once

#include <gtest/gtest.h>
#include <octet/deploy/interpreter.h>
#include <octet/tests/deploy/models.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace octet::test {

inline constexpr Rounding kContracts[] = {Rounding::fp32, Rounding::single_rounding,
                                          Rounding::double_rounding};

// The arithmetic of the three contracts, written from its description and not shared with Octet.

inline std::int64_t naive_rescale(std::int32_t acc, double factor, float factor_f32,
                                  Rounding rounding) {
  if (rounding == Rounding::fp32) {
    return static_cast<std::int64_t>(std::nearbyint(static_cast<float>(acc) * factor_f32));
  }
  int shift = 0;
  auto q = static_cast<std::int64_t>(std::round(std::frexp(factor, &shift) * 2147483648.0));
  if (q == std::int64_t{1} << 31U) {
    q /= 2;
    ++shift;
  }
  if (rounding == Rounding::single_rounding) {
    return (acc * q + (std::int64_t{1} << (30 - shift))) >> (31 - shift);
  }
  const std::int64_t product = acc * (std::int64_t{1} << std::max(shift, 0)) * q;
  const std::int64_t nudge = product >= 0 ? 1 << 30 : 1 - (1 << 30);
  const std::int64_t high = (product + nudge) / (std::int64_t{1} << 31U);
  const int right = std::max(-shift, 0);
  const std::int64_t mask = (std::int64_t{1} << right) - 1;
  const std::int64_t threshold = (mask >> 1) + (high < 0 ? 1 : 0);
  return (high >> right) + ((high & mask) > threshold ? 1 : 0);
}

inline std::int32_t naive_limit(float real, const QuantParams& q) {
  return q.zero_point() + static_cast<std::int32_t>(std::round(real / q.scale()));
}

/// FULLY_CONNECTED number `index` of the model, on rows of codes.
inline std::vector<std::int8_t> naive_dense(const IntegerModel& model, std::size_t index,
                                            const std::vector<std::int8_t>& x, Rounding rounding) {
  const Operator& op = model.operators[index];
  const auto tensor = [&](std::int32_t i) -> const ModelTensor& {
    return model.tensors[static_cast<std::size_t>(i)];
  };
  const ModelTensor& in = tensor(op.inputs[0]);
  const ModelTensor& w = tensor(op.inputs[1]);
  const QuantParams& out = tensor(op.outputs[0]).quantization;
  const auto units = static_cast<std::size_t>(w.shape[0]);
  const auto depth = static_cast<std::size_t>(w.shape[1]);
  std::int32_t lo = -128;
  std::int32_t hi = 127;
  if (op.activation == FusedActivation::relu || op.activation == FusedActivation::relu6) {
    lo = std::max(lo, naive_limit(0, out));
  }
  if (op.activation == FusedActivation::relu6) hi = std::min(hi, naive_limit(6, out));
  if (op.activation == FusedActivation::relu_n1_to_1) {
    lo = std::max(lo, naive_limit(-1, out));
    hi = std::min(hi, naive_limit(1, out));
  }
  std::vector<std::int8_t> y;
  for (std::size_t row = 0; row < x.size() / depth; ++row) {
    for (std::size_t u = 0; u < units; ++u) {
      const std::size_t c = w.quantization.per_channel() ? u : 0;
      std::int32_t acc = 0;
      if (op.inputs.size() > 2 && op.inputs[2] != -1) {
        std::memcpy(&acc, tensor(op.inputs[2]).data.data() + 4 * u, 4);
      }
      for (std::size_t i = 0; i < depth; ++i) {
        acc += (x[row * depth + i] - in.quantization.zero_point()) *
               (static_cast<std::int8_t>(w.data[u * depth + i]) - w.quantization.zero_point(c));
      }
      const float sx = in.quantization.scale();
      const float sw = w.quantization.scale(c);
      const float product = sx * sw;
      const double factor = w.quantization.per_channel()
                                ? double{sx} * double{sw} / double{out.scale()}
                                : double{product} / double{out.scale()};
      const auto code =
          naive_rescale(acc, factor, product / out.scale(), rounding) + out.zero_point();
      y.push_back(static_cast<std::int8_t>(std::clamp<std::int64_t>(code, lo, hi)));
    }
  }
  return y;
}

inline std::vector<std::int8_t> random_codes(std::size_t count, Draw& draw) {
  std::vector<std::int8_t> codes(count);
  for (auto& code : codes) code = static_cast<std::int8_t>(draw.between(-128, 127));
  return codes;
}

template <class T>
std::vector<T> copy(std::span<const T> values) {
  return {values.begin(), values.end()};
}

template <class T, class U>
std::vector<U> run(Interpreter& interpreter, const std::vector<T>& x) {
  EXPECT_EQ(interpreter.input<T>().size(), x.size());
  std::copy(x.begin(), x.end(), interpreter.input<T>().begin());
  interpreter.invoke();
  return copy(std::as_const(interpreter).output<U>());
}

}  // namespace octet::test
