#pragma once

#include <octet/runtime/streaming_interpreter.h>
#include <octet/tests/runtime/naive.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

// Models of one SVDF that carry its state, and a second implementation from the formulas.

namespace octet::test {

struct Svdf {
  std::int32_t batch = 1;
  std::int32_t features = 4;
  std::int32_t memory = 3;
  std::int32_t units = 2;
  SvdfAttributes attributes{};
  /// The type of the state, and of everything where that is float32.
  DType state = DType::int16;
  QuantParams x = quant(0.02F, -3);
  QuantParams y = quant(0.03F, -7);
  float feature_scale = 0.01F;
  float time_scale = 0.0001F;
  float state_scale = 0.0002F;
  /// Codes, or eighths where they are floats.
  std::vector<std::int32_t> feature_weights{};
  std::vector<std::int32_t> time_weights{};
  std::vector<std::int32_t> bias{};

  std::int32_t filters() const { return units * attributes.rank; }
};

/// `s` with random weights.
inline Svdf with_weights(Svdf s, Draw& draw) {
  const bool floats = s.state == DType::float32;
  const auto fill = [&](std::vector<std::int32_t>& values, std::int32_t count, std::int32_t most) {
    for (std::int32_t i = 0; i < count; ++i) values.push_back(draw.between(-most - 1, most));
  };
  fill(s.feature_weights, s.filters() * s.features, floats ? 4 : 127);
  fill(s.time_weights, s.filters() * s.memory,
       floats ? 8 : std::int32_t{integer_limits(s.state).second});
  fill(s.bias, s.units, floats ? 16 : 1 << 24);
  return s;
}

/// Filters of any number, the last lanes of a vector among them, and sums that leave int32.
inline Svdf draw_svdf(Draw& draw, DType state) {
  Svdf s{.batch = draw.between(1, 3),
         .features = draw.between(1, 35),
         .memory = draw.between(1, 9),
         .units = draw.between(1, 9),
         .attributes = {.rank = draw.between(1, 4)},
         .state = state};
  const bool floats = state == DType::float32;
  s.attributes.activation = static_cast<FusedActivation>(draw.between(0, floats ? 3 : 1));
  if (floats) s.features = draw.between(1, 9);
  const bool narrow = state == DType::int8;
  s.x = quant(draw.uniform(0.005F, 0.05F), draw.between(-128, 127));
  s.state_scale = draw.uniform(0.5F, 2.0F) * (narrow ? 0.05F : 0.0002F);
  const float sums = narrow ? 128.0F : 16777216.0F;
  s.y = quant(s.state_scale * s.time_scale * sums * draw.uniform(0.3F, 3.0F),
              draw.between(-128, 127));
  if (draw.between(0, 3) == 0) s.state_scale *= std::pow(10.0F, draw.uniform(-9, 9));
  if (draw.between(0, 3) == 0) s.y.scales[0] *= std::pow(10.0F, draw.uniform(-9, 9));
  return with_weights(std::move(s), draw);
}

/// The features are tensor 0, the weights 1 and 2, the states before and behind 3 and 6, the bias 4
/// and the units 5.
inline IntegerModel svdf_model(const Svdf& s) {
  const bool floats = s.state == DType::float32;
  const DType bytes = floats ? s.state : DType::int8;
  RawModelBuilder b;
  const auto grid = [&](const QuantParams& of) {
    return floats ? QuantParams{{}, {}, 0, 0, 0} : of;
  };
  const auto constant = [&](const char* name, std::vector<std::int32_t> shape, DType dtype,
                            const std::vector<std::int32_t>& codes, float scale) {
    std::vector<std::uint8_t> data;
    if (floats) {
      std::vector<float> values;
      values.reserve(codes.size());
      for (const std::int32_t code : codes) values.push_back(static_cast<float>(code) / 8);
      data = to_bytes(values);
    } else if (dtype == DType::int8) {
      data = to_bytes(std::vector<std::int8_t>(codes.begin(), codes.end()));
    } else if (dtype == DType::int16) {
      data = to_bytes(std::vector<std::int16_t>(codes.begin(), codes.end()));
    } else {
      data = to_bytes(codes);
    }
    b.add({name, dtype, std::move(shape), {}, grid(quant(scale, 0, dtype)), std::move(data)});
  };
  const std::vector<std::int32_t> remembered{s.batch, s.filters() * s.memory};
  const QuantParams state = grid(quant(s.state_scale, 0, floats ? DType::int8 : s.state));
  b.add({"x", bytes, {s.batch, s.features}, {}, grid(s.x), {}});
  constant("features", {s.filters(), s.features}, bytes, s.feature_weights, s.feature_scale);
  constant("time", {s.filters(), s.memory}, s.state, s.time_weights, s.time_scale);
  b.add({"state", s.state, remembered, {}, state, {}});
  constant("bias", {s.units}, floats ? s.state : DType::int32, s.bias,
           s.state_scale * s.time_scale);
  b.add({"y", bytes, {s.batch, s.units}, {}, grid(s.y), {}});
  b.add({"state/0", s.state, remembered, {}, state, {}});
  b.model.inputs = {0, 3};
  b.model.outputs = {5, 6};
  b.op(OpCode::svdf, {0, 1, 2, 3, 4}, 5, s.attributes).outputs = b.model.outputs;
  keep_states(b.model, {{{1, 1}}, 1});
  return b.model;
}

/// A model of random weights.
inline IntegerModel svdf_model(DType state) {
  Draw draw(7);
  return svdf_model(with_weights({.state = state}, draw));
}

/// The units and the next state; `seen(sum)` and `result(sum, unit)` make values of sums.
template <class State, class Code, class Seen, class Result>
std::pair<std::vector<Code>, std::vector<State>> naive_svdf(const Svdf& s,
                                                            const std::vector<Code>& x,
                                                            const std::vector<State>& state,
                                                            Code zero_point, Seen seen,
                                                            Result result) {
  const auto at = [](std::int32_t i) { return static_cast<std::size_t>(i); };
  using Sum = std::conditional_t<std::is_same_v<Code, float>, double, std::int64_t>;
  std::vector<Code> y;
  std::vector<State> next(state.size());
  for (std::int32_t row = 0; row < s.batch; ++row) {
    const std::int32_t first = row * s.filters() * s.memory;
    for (std::int32_t f = 0; f < s.filters(); ++f) {
      Sum sum = 0;
      for (std::int32_t i = 0; i < s.features; ++i) {
        sum += (Sum{x[at(row * s.features + i)]} - Sum{zero_point}) *
               s.feature_weights[at(f * s.features + i)];
      }
      for (std::int32_t m = 0; m < s.memory; ++m) {
        const std::int32_t place = first + f * s.memory + m;
        next[at(place)] = m + 1 < s.memory ? state[at(place + 1)] : seen(sum);
      }
    }
    for (std::int32_t u = 0; u < s.units; ++u) {
      Sum sum = s.bias[at(u)];
      for (std::int32_t f = u * s.attributes.rank; f < (u + 1) * s.attributes.rank; ++f) {
        for (std::int32_t m = 0; m < s.memory; ++m) {
          sum += Sum{next[at(first + f * s.memory + m)]} * s.time_weights[at(f * s.memory + m)];
        }
      }
      y.push_back(result(sum));
    }
  }
  return {y, next};
}

/// One step of codes, whose sums are what is left of them in 32 bits.
template <class State>
std::pair<std::vector<std::int8_t>, std::vector<State>> naive_svdf(
    const Svdf& s, const std::vector<std::int8_t>& x, const std::vector<State>& state) {
  const auto rescaled = [](std::int64_t sum, float from, float weights, float to) {
    const std::int64_t wrapped =
        ((sum + oracle::pow2(31)) & (oracle::pow2(32) - 1)) - oracle::pow2(31);
    const float product = from * weights;
    const float factor = product / to;
    return oracle::rescale(wrapped, oracle::multiplier_of(double{factor}, oracle::Contract::twice),
                           oracle::Contract::twice);
  };
  using Limits = std::numeric_limits<State>;
  return naive_svdf<State, std::int8_t>(
      s, x, state, static_cast<std::int8_t>(s.x.zero_point()),
      [&](std::int64_t sum) {
        const std::int64_t code = rescaled(sum, s.x.scale(), s.feature_scale, s.state_scale);
        return static_cast<State>(std::clamp<std::int64_t>(code, Limits::min(), Limits::max()));
      },
      [&](std::int64_t sum) {
        const std::int64_t code =
            rescaled(sum, s.state_scale, s.time_scale, s.y.scale()) + s.y.zero_point();
        return static_cast<std::int8_t>(std::clamp<std::int64_t>(code, -128, 127));
      });
}

/// One step of floats that are whole parts of 1, of which no sum is rounded.
inline std::pair<std::vector<float>, std::vector<float>> naive_svdf(
    const Svdf& s, const std::vector<float>& x, const std::vector<float>& state) {
  const RealLimits limits = real_limits(s.attributes.activation);
  return naive_svdf<float, float>(
      s, x, state, 0.0F, [](double sum) { return static_cast<float>(sum / 8); },
      [&](double sum) { return std::clamp(static_cast<float>(sum / 8), limits.lo, limits.hi); });
}

}  // namespace octet::test
