#pragma once

#include <octet/tests/runtime/naive_graph.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

// Models of one MEAN over the pixels of images, and a second implementation from the formulas.

namespace octet::test {

struct Mean {
  std::vector<std::int32_t> image{1, 4, 4, 2};
  std::vector<std::int32_t> axes{1, 2};
  bool keep_dims = false;
  QuantParams in = quant(0.05F, 3);
  QuantParams out = quant(0.04F, -7);

  std::int32_t pixels() const { return image[1] * image[2]; }
  std::vector<std::int32_t> result() const {
    if (keep_dims) return {image[0], 1, 1, image[3]};
    return {image[0], image[3]};
  }
};

inline IntegerModel model_of(const Mean& m, DType dtype = DType::int8) {
  const QuantParams none{{}, {}, 0, 0, 0};
  RawModelBuilder b;
  b.model.inputs = {b.activation("x", m.image, dtype, dtype == DType::int8 ? m.in : none)};
  b.constant("axes", {static_cast<std::int32_t>(m.axes.size())}, DType::int32, m.axes, none);
  const std::int32_t y =
      b.add({"y", dtype, m.result(), {}, dtype == DType::int8 ? m.out : none, {}});
  b.model.outputs = {y};
  b.op(OpCode::mean, {0, 1}, y, MeanAttributes{.keep_dims = m.keep_dims});
  for (const std::size_t i : {0U, 2U}) {
    ModelTensor& tensor = b.model.tensors[i];
    if (m.image[0] != 1) continue;
    tensor.shape_signature = tensor.shape;
    tensor.shape_signature[0] = -1;
  }
  return b.model;
}

/// The code of a sum of `n` codes: XNNPACK's formula where the contract is fp32, that of TensorFlow
/// Lite's kernel of four axes where it is single and the axes stay, else the integers of its other
/// kernel and of TFLite Micro.
inline std::int8_t naive_mean(std::int64_t sum, std::int32_t n, const Mean& m, Rounding rounding) {
  const oracle::Quant in{m.in.scale(), m.in.zero_point()};
  const oracle::Quant out{m.out.scale(), m.out.zero_point()};
  double code = 0;
  if (rounding == Rounding::fp32) {
    const auto f32 = [](double x) { return double{static_cast<float>(x)}; };
    const double inverse = f32(1.0 / n);
    const double factor = f32(f32(double{in.scale} / double{out.scale}) * inverse);
    const double offset = f32(out.zero_point - f32(f32(double(n) * in.zero_point) * factor));
    code = std::nearbyint(f32(f32(f32(static_cast<double>(sum)) * factor) + offset));
  } else if (rounding == Rounding::single_rounding && m.keep_dims) {
    const float zero = static_cast<float>(in.zero_point) * in.scale / out.scale;
    const float scale = in.scale / (static_cast<float>(n) * out.scale);
    const std::int64_t steps =
        oracle::rescale(sum, oracle::multiplier_of(double{scale}, oracle::Contract::twice),
                        oracle::Contract::twice);
    code = static_cast<double>(steps) + out.zero_point - double{std::round(zero)};
  } else {
    oracle::Multiplier factor =
        oracle::multiplier_of(double{in.scale} / double{out.scale}, oracle::Contract::twice);
    const int shift = std::min(static_cast<int>(std::bit_width(static_cast<std::uint32_t>(n))) - 1,
                               31 + factor.shift);
    factor.m = factor.m * oracle::pow2(shift) / n;
    factor.shift -= shift;
    code = static_cast<double>(oracle::rescale(sum - std::int64_t{n} * in.zero_point, factor,
                                               oracle::Contract::twice)) +
           out.zero_point;
  }
  return static_cast<std::int8_t>(std::clamp(code, -128.0, 127.0));
}

/// The sums of each channel of each image.
template <class Sum, class T>
std::vector<Sum> naive_channel_sums(const Mean& m, const std::vector<T>& x) {
  const auto channels = static_cast<std::size_t>(m.image[3]);
  const std::size_t image = static_cast<std::size_t>(m.pixels()) * channels;
  std::vector<Sum> sums(x.size() / image * channels);
  for (std::size_t i = 0; i < x.size(); ++i) sums[i / image * channels + i % channels] += x[i];
  return sums;
}

inline std::vector<std::int8_t> naive_means(const Mean& m, const std::vector<std::int8_t>& x,
                                            Rounding rounding) {
  std::vector<std::int8_t> y;
  for (const std::int64_t sum : naive_channel_sums<std::int64_t>(m, x)) {
    y.push_back(naive_mean(sum, m.pixels(), m, rounding));
  }
  return y;
}

inline Mean draw_mean(Draw& draw) {
  Mean m;
  m.image = {draw.between(1, 2), draw.between(1, 11), draw.between(1, 11),
             draw.between(0, 7) == 0 ? draw.between(120, 300) : draw.between(1, 9)};
  constexpr std::int32_t kAxes[][2] = {{1, 2}, {2, 1}, {-3, -2}, {1, -2}};
  const auto& axes = kAxes[draw.between(0, 3)];
  m.axes.assign(axes, axes + 2);
  m.keep_dims = draw.between(0, 1) == 0;
  m.in = draw_grid(draw);
  // Also the very grid that is read, and ratios far from 1.
  const std::int32_t kind = draw.between(0, 5);
  const float range = kind == 5 ? 12.0F : 1.0F;
  m.out =
      quant(m.in.scale() * std::pow(2.0F, draw.uniform(-range, range)), draw.between(-128, 127));
  if (kind == 0) m.out = m.in;
  return m;
}

}  // namespace octet::test
