#pragma once

#include <fmt/core.h>
#include <octet/core/ops/ops.h>
#include <octet/core/window.h>
#include <octet/tests/core/ops/op_testing.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

// Convolutions as one plain loop that shares nothing with the library: the oracle of its tests.

namespace octet::test {

struct ImageExtents {
  Index n = 1, h = 1, w = 1;
};

struct KernelExtents {
  Index h = 1, w = 1;
};

struct ConvCase {
  ImageExtents in = {};
  KernelExtents k = {};
  Index groups = 1, channels = 1, filters = 1;  // Channels and filters per group.
  std::array<Index, 2> stride = {1, 1};
  std::array<Index, 2> dilation = {1, 1};
  Padding padding = Padding::valid;

  Shape input() const { return {in.n, in.h, in.w, groups * channels}; }
  Shape kernel() const { return {k.h, k.w, channels, groups * filters}; }
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
                                const Tensor& g) {
  const ConvAxis rows = conv_axis(c.in.h, c.k.h, c.stride[0], c.dilation[0], c.padding);
  const ConvAxis columns = conv_axis(c.in.w, c.k.w, c.stride[1], c.dilation[1], c.padding);
  const Index filters = c.groups * c.filters;
  ConvOutcome r;
  r.shape = {c.in.n, rows.output, columns.output, filters};
  r.dx.resize(x.span().size());
  r.dkernel.resize(kernel.span().size());
  for (Index i = 0; i < c.in.n; ++i) {
    for (Index oy = 0; oy < rows.output; ++oy) {
      for (Index ox = 0; ox < columns.output; ++ox) {
        for (Index f = 0; f < filters; ++f) {
          double sum = 0.0;
          float chain = 0.0F;
          const double upstream = g.span()[r.y.size()];
          for (Index ky = 0; ky < c.k.h; ++ky) {
            for (Index kx = 0; kx < c.k.w; ++kx) {
              const Index iy = oy * c.stride[0] - rows.before + ky * c.dilation[0];
              const Index ix = ox * c.stride[1] - columns.before + kx * c.dilation[1];
              if (iy < 0 || iy >= c.in.h || ix < 0 || ix >= c.in.w) continue;
              for (Index q = 0; q < c.channels; ++q) {
                const Index channel = f / c.filters * c.channels + q;
                const auto at = static_cast<std::size_t>(
                    ((i * c.in.h + iy) * c.in.w + ix) * c.groups * c.channels + channel);
                const auto tap =
                    static_cast<std::size_t>(((ky * c.k.w + kx) * c.channels + q) * filters + f);
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
  ConvCase c;
  c.in = {.n = draw(0, 1) == 0 ? 1 : 5, .h = draw(1, 9), .w = draw(1, 9)};
  c.k = {.h = draw(1, 5), .w = draw(1, 5)};
  c.groups = draw(1, 3);
  c.channels = draw(1, 3);
  c.filters = draw(1, 4);
  c.stride = {draw(1, 4), draw(1, 4)};
  c.dilation = {draw(1, 3), draw(1, 3)};
  const bool fits =
      (c.k.h - 1) * c.dilation[0] + 1 <= c.in.h && (c.k.w - 1) * c.dilation[1] + 1 <= c.in.w;
  c.padding = fits && draw(0, 1) == 0 ? Padding::valid : Padding::same;
  return c;
}

/// The result of a convolution of leaves, and their gradients.
struct Gradients {
  Tensor y, x, kernel;
};

/// A convolution of the library and what its tests ask of it.
struct ConvOp {
  const char* name;
  ConvCase (*draw)(std::uint64_t seed);
  Shape (*kernel)(const ConvCase&);
  Tensor (*compute)(const ConvCase&, const Tensor& x, const Tensor& kernel);
  ConvOutcome (*naive)(const ConvCase&, const Tensor& x, const Tensor& kernel,
                       const Tensor& g) = naive_conv2d;
  /// Whether each result is one chain of fused multiply-adds.
  bool (*is_chain)(const ConvCase&) = [](const ConvCase&) { return false; };

  Tensor x_of(const ConvCase& c) const { return random_tensor(c.input(), 1); }
  Tensor kernel_of(const ConvCase& c) const { return random_tensor(kernel(c), 2); }
  Tensor upstream_of(const Tensor& y) const { return random_tensor(y.shape(), 3); }
  Gradients run(const ConvCase& c) const {
    const Tensor x = leaf(x_of(c));
    const Tensor k = leaf(kernel_of(c));
    Tensor y = compute(c, x, k);
    y.backward(upstream_of(y));
    return {y.detach(), x.grad(), k.grad()};
  }
};

/// Checks result and gradients against the plain loop; the result to the bit where it is a chain.
inline void expect_naive(const ConvOp& op, const ConvCase& c) {
  const Gradients found = op.run(c);
  const ConvOutcome expected = op.naive(c, op.x_of(c), op.kernel_of(c), op.upstream_of(found.y));
  const std::string what = std::string(op.name) + " of " + c.to_string();
  ASSERT_EQ(found.y.shape(), expected.shape) << what;
  expect_near(found.y, expected.y, what);
  EXPECT_TRUE(!op.is_chain(c) || values_of(found.y) == expected.chain) << what;
  expect_near(found.x, expected.dx, what + ", gradient of x");
  expect_near(found.kernel, expected.dkernel, what + ", gradient of the kernel");
}

inline ConvOp conv2d_op() {
  return {.name = "conv2d",
          .draw = random_conv_case,
          .kernel = [](const ConvCase& c) { return c.kernel(); },
          .compute =
              [](const ConvCase& c, const Tensor& x, const Tensor& kernel) {
                return conv2d(x, kernel, {c.stride, c.dilation, c.padding, c.groups});
              },
          .is_chain = [](const ConvCase& c) { return c.groups == 1 || c.channels > 1; }};
}

/// A depthwise convolution is one with as many groups as channels, whose kernel has another shape.
inline ConvOp depthwise_conv2d_op() {
  return {.name = "depthwise_conv2d",
          .draw =
              [](std::uint64_t seed) {
                ConvCase c = random_conv_case(seed);
                c.groups *= c.channels;
                c.channels = 1;
                return c;
              },
          .kernel =
              [](const ConvCase& c) {
                return Shape{c.k.h, c.k.w, c.groups, c.filters};
              },
          .compute =
              [](const ConvCase& c, const Tensor& x, const Tensor& kernel) {
                return depthwise_conv2d(x, kernel, {c.stride, c.dilation, c.padding});
              }};
}

}  // namespace octet::test
