#pragma once

#include <fmt/core.h>
#include <octet/core/window.h>
#include <octet/tests/core/ops/op_testing.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

// Convolutions as one plain loop that shares nothing with the library: the oracle of its tests.

namespace octet::test {

struct ConvCase {
  Index n, h, w;
  Index kh, kw;
  Index groups = 1, channels = 1, filters = 1;  // Channels and filters per group.
  std::array<Index, 2> stride = {1, 1};
  std::array<Index, 2> dilation = {1, 1};
  Padding padding = Padding::valid;

  Shape input() const { return {n, h, w, groups * channels}; }
  Shape kernel() const { return {kh, kw, channels, groups * filters}; }
  std::string to_string() const {
    return fmt::format("{} * {}, {} groups, stride {} {}, dilation {} {}, {}", input().to_string(),
                       kernel().to_string(), groups, stride[0], stride[1], dilation[0], dilation[1],
                       padding == Padding::same ? "same" : "valid");
  }
};

/// Number of outputs along an axis and padding in front, as TensorFlow's documentation has them.
struct ConvAxis {
  Index output, before;
};
inline ConvAxis conv_axis(Index in, Index kernel, Index stride, Index dilation, Padding padding) {
  const Index span = (kernel - 1) * dilation + 1;
  if (padding == Padding::valid) return {(in - span) / stride + 1, 0};
  const Index output = in % stride == 0 ? in / stride : in / stride + 1;
  const Index total = (output - 1) * stride + span - in;
  return {output, total > 0 ? total / 2 : 0};
}

/// What a convolution gives for x, kernel and the gradient g of its result. Sums are doubles;
/// `chain` is y as one chain of float fused multiply-adds per output.
struct ConvOutcome {
  Shape shape;
  std::vector<double> y, dx, dkernel;
  std::vector<float> chain;
};

inline ConvOutcome naive_conv2d(const ConvCase& c, const Tensor& x, const Tensor& kernel,
                                const std::function<float(std::size_t)>& g) {
  const ConvAxis rows = conv_axis(c.h, c.kh, c.stride[0], c.dilation[0], c.padding);
  const ConvAxis columns = conv_axis(c.w, c.kw, c.stride[1], c.dilation[1], c.padding);
  const Index filters = c.groups * c.filters;
  ConvOutcome r;
  r.shape = {c.n, rows.output, columns.output, filters};
  r.dx.resize(x.span().size());
  r.dkernel.resize(kernel.span().size());
  for (Index i = 0; i < c.n; ++i) {
    for (Index oy = 0; oy < rows.output; ++oy) {
      for (Index ox = 0; ox < columns.output; ++ox) {
        for (Index f = 0; f < filters; ++f) {
          double sum = 0.0;
          float chain = 0.0F;
          const double upstream = g(r.y.size());
          for (Index ky = 0; ky < c.kh; ++ky) {
            for (Index kx = 0; kx < c.kw; ++kx) {
              const Index iy = oy * c.stride[0] - rows.before + ky * c.dilation[0];
              const Index ix = ox * c.stride[1] - columns.before + kx * c.dilation[1];
              if (iy < 0 || iy >= c.h || ix < 0 || ix >= c.w) continue;
              for (Index q = 0; q < c.channels; ++q) {
                const Index channel = f / c.filters * c.channels + q;
                const auto at = static_cast<std::size_t>(
                    ((i * c.h + iy) * c.w + ix) * c.groups * c.channels + channel);
                const auto tap =
                    static_cast<std::size_t>(((ky * c.kw + kx) * c.channels + q) * filters + f);
                const float a = x.span()[at];
                const float b = kernel.span()[tap];
                sum += double{a} * b;
                chain = std::fma(a, b, chain);
                r.dx[at] += upstream * b;
                r.dkernel[tap] += upstream * a;
              }
            }
          }
          r.y.push_back(sum);
          r.chain.push_back(chain);
        }
      }
    }
  }
  return r;
}

/// Checks that each element is within `tolerance` of the expected one, relative to the largest.
inline void expect_near(const Tensor& found, const std::vector<double>& expected,
                        const std::string& what, double tolerance = 1e-6) {
  ASSERT_EQ(found.span().size(), expected.size()) << what;
  double largest = 1.0;
  for (const double value : expected) largest = std::max(largest, std::fabs(value));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(found.span()[i], expected[i], tolerance * largest) << what << ", element " << i;
  }
}

/// A random case of odd shapes: 1 x 1 images, kernels larger than the image, strides larger than
/// the kernel and dilation are among them.
inline ConvCase random_conv_case(std::uint64_t seed) {
  const Random random(seed);
  std::uint64_t drawn = 0;
  const auto draw = [&](std::uint32_t lo, std::uint32_t hi) {
    return Index{lo} + Index{random.below(drawn++, hi - lo + 1)};
  };
  ConvCase c{.n = draw(0, 1) == 0 ? 1 : 5, .h = draw(1, 9), .w = draw(1, 9), .kh = 1, .kw = 1};
  c.kh = draw(1, 5);
  c.kw = draw(1, 5);
  c.groups = draw(1, 3);
  c.channels = draw(1, 3);
  c.filters = draw(1, 4);
  c.stride = {draw(1, 4), draw(1, 4)};
  c.dilation = {draw(1, 3), draw(1, 3)};
  const bool fits = (c.kh - 1) * c.dilation[0] + 1 <= c.h && (c.kw - 1) * c.dilation[1] + 1 <= c.w;
  c.padding = fits && draw(0, 1) == 0 ? Padding::valid : Padding::same;
  return c;
}

/// The result of `f` on leaves, and their gradients for the upstream gradient `g`.
struct Gradients {
  Tensor y, x, kernel;
};
inline Gradients gradients_of(const std::function<Tensor(const Tensor&, const Tensor&)>& f,
                              const Tensor& x, const Tensor& kernel, std::uint64_t seed) {
  const Tensor a = leaf(x.clone());
  const Tensor b = leaf(kernel.clone());
  Tensor y = f(a, b);
  y.backward(random_tensor(y.shape(), seed));
  return {y.detach(), a.grad(), b.grad()};
}

}  // namespace octet::test
