#include <octet/core/tensor_internal.h>
#include <octet/layers/conv2d.h>
#include <octet/layers/depthwise_conv2d.h>
#include <octet/layers/quantize/integer_ops.h>
#include <octet/layers/quantize/quantize_wrapper.h>
#include <octet/layers/transposed_conv2d.h>
#include <octet/tests/layers/quantize/integer_testing.h>
#include <octet/tests/layers/quantize/quantize_testing.h>

#include <algorithm>
#include <vector>

// The values of integer simulation against naive loops on integers.

namespace octet::test::integer_ops_test {
namespace {

using detail::TensorAccess;

/// All 256 codes of a grid, in rows of 16.
Tensor every_code(float scale, std::int32_t zero_point) {
  Tensor x(Shape{16, 16});
  for (Index i = 0; i < 256; ++i) {
    x.mutable_data()[i] = static_cast<float>(i - 128 - zero_point) * scale;
  }
  return on_grid(x, scale, zero_point);
}

void expect_codes(const Tensor& y, const std::vector<std::int32_t>& expected, float scale,
                  std::int32_t zero_point) {
  ASSERT_NE(y.quantization(), nullptr);
  EXPECT_EQ(y.quantization()->scale(), scale);
  EXPECT_EQ(y.quantization()->zero_point(), zero_point);
  ASSERT_EQ(y.span().size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(y.span()[i], static_cast<float>(expected[i] - zero_point) * scale) << i;
  }
}

std::int32_t clamp_code(double value, std::int32_t lo = -128, std::int32_t hi = 127) {
  return static_cast<std::int32_t>(std::clamp(value, double(lo), double(hi)));
}

TEST(IntegerClamp, RescalesAndClampsEveryCode) {
  constexpr float kIn = 0.07F;
  for (const auto& [out, zero_point] : {std::pair{0.03F, -128}, {0.05F, -100}, {0.011F, 3}}) {
    for (const Activation activation : {Activation::relu, Activation::relu6}) {
      const Tensor y = integer_clamp(every_code(kIn, -20), activation,
                                     QuantParams::per_tensor(out, zero_point), "c");
      const std::int32_t lo = std::max(-128, zero_point);
      const auto six = static_cast<std::int32_t>(std::lround(6.0F / out)) + zero_point;
      const std::int32_t hi = activation == Activation::relu6 ? std::min(127, six) : 127;
      std::vector<std::int32_t> expected;
      for (int code = -128; code < 128; ++code) {
        const float scaled = static_cast<float>(code + 20) * (kIn / out);
        expected.push_back(clamp_code(double{std::rint(scaled)} + zero_point, lo, hi));
      }
      expect_codes(y, expected, out, zero_point);
    }
  }
}

TEST(IntegerTable, LooksUpEveryCode) {
  for (const auto& [scale, zero_point] : {std::pair{0.05F, 0}, {0.11F, -128}, {0.004F, 127}}) {
    std::vector<std::int32_t> sigmoids;
    std::vector<std::int32_t> tanhs;
    for (int code = -128; code < 128; ++code) {
      const double x = double{static_cast<float>(code - zero_point) * scale};
      sigmoids.push_back(clamp_code(std::rint(256.0 / (1.0 + std::exp(-x))) - 128));
      tanhs.push_back(clamp_code(std::rint(128.0 * std::tanh(x))));
    }
    const Tensor x = every_code(scale, zero_point);
    expect_codes(integer_table(x, Activation::sigmoid, Rounding::fp32, "t"), sigmoids,
                 1.0F / 256.0F, -128);
    expect_codes(integer_table(x, Activation::tanh, Rounding::fp32, "t"), tanhs, 1.0F / 128.0F, 0);
  }
}

TEST(IntegerSoftmax, WorksRowByRow) {
  constexpr float kScale = 0.1F;
  // Long rows, short rows, and more rows than one parallel chunk has.
  for (const Shape& shape : {Shape{1, 300}, Shape{7, 10}, Shape{5000, 10}, Shape{3, 1}}) {
    Tensor x(shape);
    for (Index i = 0; i < x.size(); ++i) {
      x.mutable_data()[i] = static_cast<float>((i * 37) % 256 - 128 - 5) * kScale;
    }
    const Tensor y = integer_softmax(on_grid(x, kScale, 5), Rounding::fp32, "s");
    const Index row = shape[1];
    std::vector<std::int32_t> expected;
    for (Index r = 0; r < shape[0]; ++r) {
      std::vector<int> codes;
      for (Index j = 0; j < row; ++j) codes.push_back(static_cast<int>(((r * row + j) * 37) % 256));
      const int top = *std::ranges::max_element(codes);
      float sum = 0.0F;
      std::vector<float> terms;
      for (const int code : codes) {
        terms.push_back(std::exp(-kScale * static_cast<float>(top - code)));
        sum += terms.back();
      }
      const float inverse = 1.0F / (sum * (1.0F / 256.0F));
      for (const float term : terms) {
        expected.push_back(clamp_code(double{std::round(term * inverse)} - 128));
      }
    }
    // The library may make exp in double: a tie may fall to either side.
    ASSERT_EQ(y.span().size(), expected.size());
    Index different = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const auto code = std::lround(y.span()[i] * 256.0F) - 128;
      EXPECT_LE(std::abs(code - expected[i]), 1);
      different += code != expected[i] ? 1 : 0;
    }
    EXPECT_LE(different, static_cast<Index>(expected.size()) / 1000);
  }
}

struct Naive {
  std::vector<std::int32_t> codes;
  std::vector<float> real;
};

/// FULLY_CONNECTED under fp32, term by term.
Naive naive_dense(const Dense& dense, const Tensor& x, const QuantParams& kernel,
                  const QuantParams& output, std::int32_t lo, std::int32_t hi) {
  Naive result;
  const float in_scale = x.quantization()->scale();
  for (Index i = 0; i < x.dim(0); ++i) {
    for (Index j = 0; j < dense.units(); ++j) {
      const float w_scale = kernel.scale(kernel.per_channel() ? static_cast<std::size_t>(j) : 0);
      std::int64_t acc = 0;
      for (Index k = 0; k < x.dim(1); ++k) {
        const auto code = std::lround(double{x.at({i, k})} / double{in_scale});
        const float steps = std::round(dense.kernel().at({k, j}) / w_scale);
        acc += code *
               static_cast<std::int64_t>(std::clamp(steps, float(kernel.qmin), float(kernel.qmax)));
      }
      if (dense.bias().defined()) {
        acc += std::llround(double{dense.bias().at({j})} / (double{in_scale} * double{w_scale}));
      }
      const float product = in_scale * w_scale;
      const float scaled = static_cast<float>(acc) * (product / output.scale());
      result.codes.push_back(clamp_code(double{std::rint(scaled)} + output.zero_point(), lo, hi));
      result.real.push_back(static_cast<float>(acc) * product);
    }
  }
  return result;
}

TEST(IntegerLinear, EqualsANaiveLoop) {
  for (const bool per_channel : {false, true}) {
    for (const int bits : {2, 5, 8}) {
      for (const Activation activation : {Activation::none, Activation::relu, Activation::relu6}) {
        const auto dense = built(Dense(7, activation), {19});
        Random(3).fill_uniform(Tensor(dense->bias()).mutable_span(), -1.0F, 1.0F);
        auto kernel = default_8bit({.weight_bits = bits, .per_channel = per_channel})
                          ->kernel_quantizer(*dense);
        kernel->build("k", "kernel_", {19, 7}, Quantizer::ZeroPoint::hidden);
        kernel->observe(dense->kernel());
        Tensor x(Shape{45, 19});
        for (Index i = 0; i < x.size(); ++i) {
          x.mutable_data()[i] = static_cast<float>((i * 91) % 256 - 128 - 9) * 0.013F;
        }
        x = on_grid(x, 0.013F, 9);
        const QuantParams output = QuantParams::per_tensor(0.02F, -30);
        const IntegerLinear integer =
            integer_linear(*dense, x, kernel->params(), Rounding::fp32, "d");
        const std::int32_t lo = activation == Activation::none ? -128 : -30;
        // Six is 300 codes up: relu6 never reaches it here.
        const Naive naive = naive_dense(*dense, x, kernel->params(), output, lo, 127);
        expect_codes(integer.output(output), naive.codes, 0.02F, -30);
        for (std::size_t i = 0; i < naive.real.size(); ++i) {
          float real = naive.real[i];
          if (activation != Activation::none) real = std::max(real, 0.0F);
          if (activation == Activation::relu6) real = std::min(real, 6.0F);
          EXPECT_EQ(integer.real_output().span()[i], real);
        }
      }
    }
  }
}

TEST(IntegerLinear, HasNoBiasWhereTheLayerHasNone) {
  const auto dense = built(Dense(1, Activation::none, DenseOptions{.use_bias = false}), {1});
  fill(dense->kernel(), {1.0F});
  const IntegerLinear integer =
      integer_linear(*dense, on_grid(Tensor::from({1, 1}, {5.0F}), 1.0F, 0),
                     QuantParams::per_tensor(1.0F, 0, -127, 127), Rounding::fp32, "d");
  EXPECT_EQ(integer.output(QuantParams::per_tensor(1.0F, 0)).item(), 5.0F);
}

/// real() and the gradients of x and of the parameters.
std::vector<Tensor> reals_of(const Layer& layer, IntegerLinear::Sums use) {
  for (auto& parameter : layer.parameters()) parameter.tensor.zero_grad();
  Tensor x(layer.input_shape().with_batch(3));
  for (Index i = 0; i < x.size(); ++i) {
    x.mutable_data()[i] = static_cast<float>((i * 91) % 256 - 128 - 9) * 0.013F;
  }
  x = on_grid(x, 0.013F, 9);
  x.set_requires_grad(true);
  const Tensor real =
      IntegerLinear(*layer.weights(), FusedActivation::none, x,
                    QuantParams::per_tensor(0.004F, 0, -127, 127), Rounding::fp32, "l", {}, use)
          .real();
  Tensor g(real.shape());
  for (Index i = 0; i < g.size(); ++i) g.mutable_data()[i] = static_cast<float>(i % 7) - 3.0F;
  sum(real * g).backward();
  std::vector<Tensor> results = {real.detach(), x.grad().clone()};
  for (const auto& [name, parameter] : layer.parameters()) {
    results.push_back(parameter.grad().clone());
  }
  return results;
}

/// With a bias, whose gradient needs the sums of the rows, and without.
TEST(IntegerLinear, DroppedSumsGiveTheSameRealsAndGradients) {
  const auto expect_same = [](const Layer& layer) {
    const std::vector<Tensor> kept = reals_of(layer, IntegerLinear::Sums::kept);
    const std::vector<Tensor> dropped = reals_of(layer, IntegerLinear::Sums::dropped);
    for (std::size_t i = 0; i < kept.size(); ++i) {
      EXPECT_TRUE(std::ranges::equal(kept[i].span(), dropped[i].span())) << layer.type() << i;
    }
  };
  for (const bool use_bias : {false, true}) {
    expect_same(*built(Dense(7, Activation::none, {.use_bias = use_bias}), {19}));
    expect_same(*built(Conv2D(6, 3, Activation::none, {.use_bias = use_bias}), {7, 9, 4}));
    expect_same(
        *built(Conv2D(6, 3, Activation::none, {.groups = 2, .use_bias = use_bias}), {7, 9, 4}));
    expect_same(*built(DepthwiseConv2D(3, Activation::none, {.use_bias = use_bias}), {7, 9, 4}));
    expect_same(
        *built(TransposedConv2D(6, 3, Activation::none, {.use_bias = use_bias}), {4, 5, 3}));
  }
}

TEST(IntegerOps, TakeAnEmptyBatch) {
  const QuantParams grid = QuantParams::per_tensor(1.0F, 0);
  const Tensor x = on_grid(Tensor::zeros({0, 3}), 1.0F, 0);
  const auto dense = built(Dense(2), {3});
  EXPECT_EQ(integer_linear(*dense, x, grid, Rounding::fp32, "d").output(grid).shape(),
            (Shape{0, 2}));
  EXPECT_EQ(integer_clamp(x, Activation::relu, grid, "c").shape(), (Shape{0, 3}));
  EXPECT_EQ(integer_softmax(x, Rounding::fp32, "s").shape(), (Shape{0, 3}));
  EXPECT_EQ(integer_table(x, Activation::tanh, Rounding::fp32, "t").shape(), (Shape{0, 3}));
}

TEST(IntegerOps, NeedAnInputOnAGrid) {
  const Tensor x = Tensor::ones({2, 3});
  const QuantParams grid = QuantParams::per_tensor(1.0F, 0);
  const auto dense = built(Dense(2), {3});
  for (const auto& body : std::vector<std::function<void()>>{
           [&] { integer_linear(*dense, x, grid, Rounding::fp32, "layer"); },
           [&] { integer_clamp(x, Activation::relu, grid, "layer"); },
           [&] { integer_softmax(x, Rounding::fp32, "layer"); },
           [&] { integer_table(x, Activation::tanh, Rounding::fp32, "layer"); }}) {
    expect_error(body, "layer: integer simulation expects a quantized input");
  }
}

TEST(IntegerOps, RefuseCodesThatOperatorsDoNotHave) {
  const Tensor x = on_grid(Tensor::ones({2, 3}), 1.0F, 0);
  const QuantParams int8 = QuantParams::per_tensor(1.0F, 0);
  const QuantParams int4 = QuantParams::per_tensor(1.0F, 0, -8, 7);
  const auto dense = built(Dense(2), {3});
  expect_error([&] { integer_linear(*dense, x, int8, Rounding::fp32, "layer").output(int4); },
               "layer: expected a result of the int8 values -128 to 127, found -8 to 7");
  expect_error([&] { integer_clamp(x, Activation::relu, int4, "layer"); }, "found -8 to 7");
  // A kernel's zero point is not in the sums.
  expect_error(
      [&] { integer_linear(*dense, x, QuantParams::per_tensor(1.0F, 3), Rounding::fp32, "layer"); },
      "layer: expected a kernel of int8 values with zero point 0");
  expect_error(
      [&] {
        integer_linear(*dense, x, QuantParams::per_tensor(1.0F, 0, -32768, 32767), Rounding::fp32,
                       "layer");
      },
      "-32768 to 32767");
}

TEST(IntegerOps, RefuseSumsThatCouldOverflow) {
  constexpr Index kInputs = 70000;
  const auto dense = built(Dense(2, Activation::none, DenseOptions{.use_bias = false}), {kInputs});
  Tensor kernel = dense->kernel();
  for (Index i = 0; i < kInputs; ++i) kernel.mutable_at({i, 1}) = 127.0F;
  const QuantParams unit = QuantParams::per_tensor(1.0F, 0, -127, 127);
  const Tensor x = on_grid(Tensor::zeros({1, kInputs}), 1.0F, -128);
  expect_error([&] { integer_linear(*dense, x, unit, Rounding::fp32, "layer"); },
               "layer, channel 1: sums could reach 2266950000, beyond int32");
}

TEST(QuantizeWrapper, AppliesAnActivationInFloatWithoutAGridOrIntegers) {
  const Tensor real = Tensor::from({1, 3}, {0.1F, -0.7F, 1.3F});
  const Tensor gridded = on_grid(real.clone(), 0.1F, 0);
  for (const Activation f : {Activation::sigmoid, Activation::tanh, Activation::softmax}) {
    const std::vector<float> expected = values_of(apply_activation(f, real));
    const auto run = [&](const Tensor& x, Simulation simulation) {
      QuantizeWrapper wrapper(std::make_unique<ActivationLayer>(f, "a"),
                              default_8bit({.simulation = simulation}));
      wrapper.build({3}, Random());
      return wrapper.forward(x, {});
    };
    expect_tensor(run(real, Simulation::integer), {1, 3}, expected);
    expect_tensor(run(gridded, Simulation::fake_quant), {1, 3}, expected);
    EXPECT_NE(run(gridded, Simulation::integer).quantization(), nullptr);
    EXPECT_NE(values_of(run(gridded, Simulation::integer)), expected);
  }
}

}  // namespace
}  // namespace octet::test::integer_ops_test
