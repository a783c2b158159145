#include <octet/core/quant/quantize.h>

#include <limits>
#include <type_traits>
#include <vector>

#include <fmt/core.h>

#include <octet/core/error.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/quant/axis.h>
#include <octet/core/quant/round.h>

namespace octet {
namespace {

// The range of codes minus the zero point: what the rounded quotient is clamped to.
template <typename Real>
struct Steps {
  Real lo;
  Real hi;
};

template <RoundMode mode>
inline float round_small(float x) noexcept {
  if constexpr (mode == RoundMode::half_to_even) {
    return small::round_half_even(x);
  } else {
    return small::round_half_away(x);
  }
}

// With integer limits, clamping before rounding gives the same result as after it. Codes of up to
// 16 bits minus a zero point are exact in float32; those of int32 need double.
template <RoundMode mode, typename T>
inline T to_code(float x, float scale, std::int32_t zero_point, std::int32_t qmin,
                 std::int32_t qmax) noexcept {
  const float quotient = x / scale;
  const float number = quotient == quotient ? quotient : 0.0F;
  if constexpr (std::is_same_v<T, std::int32_t>) {
    const double rounded = round_by(mode, static_cast<double>(number));
    return clamp_to<std::int32_t>(rounded + static_cast<double>(zero_point), qmin, qmax);
  } else {
    const auto lo = static_cast<float>(qmin - zero_point);
    const auto hi = static_cast<float>(qmax - zero_point);
    const float above = number < lo ? lo : number;
    const float clamped = above > hi ? hi : above;
    return static_cast<T>(static_cast<std::int32_t>(round_small<mode>(clamped)) + zero_point);
  }
}

template <RoundMode mode, typename T>
void quantize_run(const float* in, std::size_t size, float scale, std::int32_t zero_point,
                  const QuantParams& params, T* __restrict out) noexcept {
  const std::int32_t qmin = params.qmin;
  const std::int32_t qmax = params.qmax;
  for (std::size_t i = 0; i < size; ++i) {
    out[i] = to_code<mode, T>(in[i], scale, zero_point, qmin, qmax);
  }
}

template <RoundMode mode, typename T>
void quantize_channels(const float* in, const AxisSplit& split, const QuantParams& params,
                       T* __restrict out) noexcept {
  const float* scales = params.scales.data();
  const std::int32_t* zero_points = params.zero_points.data();
  const std::int32_t qmin = params.qmin;
  const std::int32_t qmax = params.qmax;
  for (std::size_t o = 0; o < split.outer; ++o) {
    const std::size_t start = o * split.channels * split.inner;
    if (split.inner == 1) {  // consecutive elements have different channels
      for (std::size_t c = 0; c < split.channels; ++c) {
        out[start + c] = to_code<mode, T>(in[start + c], scales[c], zero_points[c], qmin, qmax);
      }
      continue;
    }
    for (std::size_t c = 0; c < split.channels; ++c) {
      const std::size_t at = start + c * split.inner;
      quantize_run<mode>(in + at, split.inner, scales[c], zero_points[c], params, out + at);
    }
  }
}

template <typename T>
void check(std::size_t in, std::size_t out, const QuantParams& params, std::string_view name) {
  if (in != out) {
    throw InvalidArgument(fmt::format("{}: {} elements in, {} out", name, in, out));
  }
  params.validate(name);
  constexpr std::int32_t kLo = std::numeric_limits<T>::min();
  constexpr std::int32_t kHi = std::numeric_limits<T>::max();
  if (params.qmin < kLo || params.qmax > kHi) {
    throw InvalidArgument(fmt::format("{}: the values {}..{} do not fit a type of {}..{}", name,
                                      params.qmin, params.qmax, kLo, kHi));
  }
  for (const std::int32_t zero_point : params.zero_points) {
    if (!in_range(zero_point, kLo, kHi)) {
      throw InvalidArgument(fmt::format("{}: zero point {} does not fit a type of {}..{}", name,
                                        zero_point, kLo, kHi));
    }
  }
}

// With one scale, only the size of the shape matters.
AxisSplit channel_split(std::span<const std::int64_t> shape, const QuantParams& params,
                        std::size_t size, std::string_view name) {
  const AxisSplit split = split_axis(shape, params.quantized_dimension, size, name);
  if (split.channels != params.channels()) {
    throw InvalidArgument(fmt::format("{}: {} scales for dimension {} of extent {}", name,
                                      params.channels(), params.quantized_dimension,
                                      split.channels));
  }
  return split;
}

void check_one_scale(const QuantParams& params, std::string_view name) {
  if (params.channels() != 1) {
    throw InvalidArgument(fmt::format(
        "{}: {} scales need the shape of the data; did you mean the overload that takes it?", name,
        params.channels()));
  }
}

// Calls `function` with the mode as a template parameter, so that no loop branches on it.
template <typename Function>
void with_mode(RoundMode mode, Function function) {
  switch (mode) {
    case RoundMode::half_to_even:
      return function(std::integral_constant<RoundMode, RoundMode::half_to_even>{});
    case RoundMode::half_away:
      return function(std::integral_constant<RoundMode, RoundMode::half_away>{});
  }
  throw InvalidArgument(
      fmt::format("quantize: a RoundMode outside the enumeration: {}", static_cast<int>(mode)));
}

template <typename T>
void quantize_tensor(std::span<const float> in, const QuantParams& params, std::span<T> out,
                     RoundMode mode) {
  check<T>(in.size(), out.size(), params, "quantize");
  check_one_scale(params, "quantize");
  with_mode(mode, [&](auto m) {
    if constexpr (std::is_same_v<T, std::int8_t>) {
      const Passes& passes = kernels().passes;
      const CodeGrid grid{params.scale(), params.zero_point(), params.qmin, params.qmax};
      (m() == RoundMode::half_to_even ? passes.quantize_even : passes.quantize_away)(
          in.data(), in.size(), grid, out.data());
    } else {
      quantize_run<m()>(in.data(), in.size(), params.scale(), params.zero_point(), params,
                        out.data());
    }
  });
}

template <typename T>
void quantize_shaped(std::span<const float> in, std::span<const std::int64_t> shape,
                     const QuantParams& params, std::span<T> out, RoundMode mode) {
  if (params.channels() == 1) {
    quantize_tensor(in, params, out, mode);
    return;
  }
  check<T>(in.size(), out.size(), params, "quantize");
  const AxisSplit split = channel_split(shape, params, in.size(), "quantize");
  with_mode(mode, [&](auto m) { quantize_channels<m()>(in.data(), split, params, out.data()); });
}

// The difference of two int32 needs 33 bits.
template <typename T>
using Wide = std::conditional_t<std::is_same_v<T, std::int32_t>, std::int64_t, std::int32_t>;

template <typename T>
void dequantize_tensor(std::span<const T> in, const QuantParams& params, std::span<float> out) {
  check<T>(in.size(), out.size(), params, "dequantize");
  check_one_scale(params, "dequantize");
  if constexpr (std::is_same_v<T, std::int8_t>) {
    kernels().passes.dequantize(in.data(), in.size(), params.scale(), params.zero_point(),
                                out.data());
  } else {
    const auto scale = static_cast<double>(params.scale());
    const Wide<T> zero_point = params.zero_point();
    const T* q = in.data();
    float* __restrict f = out.data();
    for (std::size_t i = 0; i < in.size(); ++i) {
      f[i] = static_cast<float>(scale * static_cast<double>(q[i] - zero_point));
    }
  }
}

template <typename T>
void dequantize_shaped(std::span<const T> in, std::span<const std::int64_t> shape,
                       const QuantParams& params, std::span<float> out) {
  if (params.channels() == 1) {
    dequantize_tensor(in, params, out);
    return;
  }
  check<T>(in.size(), out.size(), params, "dequantize");
  const AxisSplit split = channel_split(shape, params, in.size(), "dequantize");
  const float* scales = params.scales.data();
  const std::int32_t* zero_points = params.zero_points.data();
  const T* q = in.data();
  float* __restrict f = out.data();
  for (std::size_t o = 0; o < split.outer; ++o) {
    for (std::size_t c = 0; c < split.channels; ++c) {
      const std::size_t start = (o * split.channels + c) * split.inner;
      const Wide<T> zero_point = zero_points[c];
      for (std::size_t i = start; i < start + split.inner; ++i) {
        f[i] = scales[c] * static_cast<float>(q[i] - zero_point);
      }
    }
  }
}

}  // namespace

void quantize(std::span<const float> in, const QuantParams& params, std::span<std::int8_t> out,
              RoundMode mode) {
  quantize_tensor(in, params, out, mode);
}
void quantize(std::span<const float> in, const QuantParams& params, std::span<std::uint8_t> out,
              RoundMode mode) {
  quantize_tensor(in, params, out, mode);
}
void quantize(std::span<const float> in, const QuantParams& params, std::span<std::int16_t> out,
              RoundMode mode) {
  quantize_tensor(in, params, out, mode);
}
void quantize(std::span<const float> in, const QuantParams& params, std::span<std::int32_t> out,
              RoundMode mode) {
  quantize_tensor(in, params, out, mode);
}
void quantize(std::span<const float> in, std::span<const std::int64_t> shape,
              const QuantParams& params, std::span<std::int8_t> out, RoundMode mode) {
  quantize_shaped(in, shape, params, out, mode);
}
void quantize(std::span<const float> in, std::span<const std::int64_t> shape,
              const QuantParams& params, std::span<std::uint8_t> out, RoundMode mode) {
  quantize_shaped(in, shape, params, out, mode);
}
void quantize(std::span<const float> in, std::span<const std::int64_t> shape,
              const QuantParams& params, std::span<std::int16_t> out, RoundMode mode) {
  quantize_shaped(in, shape, params, out, mode);
}
void quantize(std::span<const float> in, std::span<const std::int64_t> shape,
              const QuantParams& params, std::span<std::int32_t> out, RoundMode mode) {
  quantize_shaped(in, shape, params, out, mode);
}

void dequantize(std::span<const std::int8_t> in, const QuantParams& params, std::span<float> out) {
  dequantize_tensor(in, params, out);
}
void dequantize(std::span<const std::uint8_t> in, const QuantParams& params, std::span<float> out) {
  dequantize_tensor(in, params, out);
}
void dequantize(std::span<const std::int16_t> in, const QuantParams& params, std::span<float> out) {
  dequantize_tensor(in, params, out);
}
void dequantize(std::span<const std::int32_t> in, const QuantParams& params, std::span<float> out) {
  dequantize_tensor(in, params, out);
}
void dequantize(std::span<const std::int8_t> in, std::span<const std::int64_t> shape,
                const QuantParams& params, std::span<float> out) {
  dequantize_shaped(in, shape, params, out);
}
void dequantize(std::span<const std::uint8_t> in, std::span<const std::int64_t> shape,
                const QuantParams& params, std::span<float> out) {
  dequantize_shaped(in, shape, params, out);
}
void dequantize(std::span<const std::int16_t> in, std::span<const std::int64_t> shape,
                const QuantParams& params, std::span<float> out) {
  dequantize_shaped(in, shape, params, out);
}
void dequantize(std::span<const std::int32_t> in, std::span<const std::int64_t> shape,
                const QuantParams& params, std::span<float> out) {
  dequantize_shaped(in, shape, params, out);
}

}  // namespace octet
