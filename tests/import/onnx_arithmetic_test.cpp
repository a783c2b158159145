// Arithmetic with constants, resizes, transposed convolutions and flattenings of ONNX files,
// against their definitions in ONNX's order.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/core/ops/activation.h>
#include <octet/core/ops/elementwise.h>
#include <octet/core/ops/shape_ops.h>
#include <octet/core/random.h>
#include <octet/import/onnx/import_onnx.h>
#include <octet/layers/folded_batch_norm.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/tests/import/onnx_computed.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace octet::test::onnx_arithmetic_test {
namespace {

using namespace onnx_computed;

struct Arithmetic {
  const char* op;
  std::function<float(float x, float c)> of;
};

// Each op with the constant on either side, of one value and of one for each channel.
TEST(OnnxArithmetic, WithConstants) {
  const std::vector<Arithmetic> all = {{"Add", [](float x, float c) { return x + c; }},
                                       {"Sub", [](float x, float c) { return x - c; }},
                                       {"Mul", [](float x, float c) { return x * c; }},
                                       {"Div", [](float x, float c) { return x / c; }}};
  const Tensor images = Tensor::uniform({2, 3, 4, 5}, Random(1), -1.0F, 1.0F);
  const Tensor vectors = Tensor::uniform({2, 3}, Random(2), -1.0F, 1.0F);
  for (const auto& [op, of] : all) {
    for (const bool behind : {false, true}) {
      if (behind && std::string(op) == "Div") continue;
      for (const Integers& dims :
           {Integers{}, Integers{1}, Integers{3, 1, 1}, Integers{1, 3, 1, 1}}) {
        const std::string name = op + std::to_string(dims.size()) + (behind ? " behind" : "");
        const bool varies = dims.size() > 1;
        const std::vector<std::string> operands =
            behind ? std::vector<std::string>{"c", "i"} : std::vector<std::string>{"i", "c"};
        Tensor expected = images.clone();
        for (Index k = 0; k < images.size(); ++k) {
          const float c = 0.1F * static_cast<float>(1 + (varies ? k / 20 % 3 : 0));
          const float x = images.data()[k];
          expected.mutable_data()[k] = behind ? of(c, x) : of(x, c);
        }
        expect_same(computed(onnx_file({-1, 3, 4, 5}, {images_first(), node(op, operands, "y")},
                                       {floats("c", dims)}),
                             images),
                    expected, name);
      }
      Tensor expected = vectors.clone();
      for (Index k = 0; k < vectors.size(); ++k) {
        const float c = 0.1F * static_cast<float>(1 + k % 3);
        const float x = vectors.data()[k];
        expected.mutable_data()[k] = behind ? of(c, x) : of(x, c);
      }
      const std::vector<std::string> operands =
          behind ? std::vector<std::string>{"c", "x"} : std::vector<std::string>{"x", "c"};
      expect_same(
          computed(onnx_file({-1, 3}, {node(op, operands, "y")}, {floats("c", {3})}), vectors),
          expected, op);
    }
  }
}

TEST(OnnxArithmetic, OfAFlatteningIsInItsOrder) {
  const Bytes file = onnx_file(
      {-1, 3, 2, 2}, {images_first(), node("Flatten", {"i"}, "f"), node("Mul", {"f", "c"}, "y")},
      {floats("c", {12})});
  const Tensor x = Tensor::uniform({2, 3, 2, 2}, Random(3), -1.0F, 1.0F);
  Tensor expected = x.reshape({2, 12}).clone();
  for (Index k = 0; k < 24; ++k) {
    expected.mutable_data()[k] *= 0.1F * static_cast<float>(1 + k % 12);
  }
  expect_same(computed(file, x), expected, "Mul");
}

TEST(OnnxArithmetic, SlopesOfAFlatteningAreInItsOrder) {
  const Bytes file = onnx_file(
      {-1, 3, 2, 2}, {images_first(), node("Flatten", {"i"}, "f"), node("PRelu", {"f", "c"}, "y")},
      {floats("c", {12})});
  const Tensor x = Tensor::uniform({2, 3, 2, 2}, Random(15), -1.0F, 0.0F);
  Tensor expected = x.reshape({2, 12}).clone();
  for (Index k = 0; k < 24; ++k) {
    expected.mutable_data()[k] *= 0.1F * static_cast<float>(1 + k % 12);
  }
  expect_same(computed(file, x), expected, "PRelu");
}

TEST(OnnxArithmetic, WithConstantsIsQuantizedByFolding) {
  const Bytes file = onnx_file({-1, 3, 4, 5},
                               {images_first(), node("Conv", {"i", "w"}, "a"),
                                node("Mul", {"a", "c"}, "b"), node("Add", {"b", "c"}, "y")},
                               {floats("w", {3, 3, 1, 1}), floats("c", {3, 1, 1})});
  Model model = quantize_model(import_onnx(file));
  model.forward(Tensor::uniform({2, 4, 5, 3}, Random(4), -1.0F, 1.0F),
                {.mode = ForwardContext::Mode::calibration});
  EXPECT_NE(folded_batch_norm(*model.layers().back()), nullptr);
}

TEST(OnnxArithmetic, SumsAndHardSigmoids) {
  const Tensor x = Tensor::uniform({2, 3}, Random(5), -4.0F, 4.0F);
  expect_same(
      computed(onnx_file({-1, 3}, {node("Sum", {"x", "c", "x"}, "y")}, {floats("c", {3})}), x),
      x + x + Tensor::from({3}, std::vector<float>{0.1F, 0.2F, 0.3F}), "Sum");
  expect_same(computed(onnx_file({-1, 3}, {node("Sum", {"x"}, "s"), node("Relu", {"s"}, "y")}), x),
              relu(x), "Sum of one");
  for (const auto& [alpha, beta] : {std::pair(0.2F, 0.5F), std::pair(1.0F / 6, 0.5F)}) {
    Tensor expected = x.clone();
    for (float& v : expected.mutable_span()) v = std::clamp(alpha * v + beta, 0.0F, 1.0F);
    expect_same(
        computed(onnx_file({-1, 3}, {node("HardSigmoid", {"x"}, "y",
                                          {attribute("alpha", alpha), attribute("beta", beta)})}),
                 x),
        expected, "HardSigmoid");
  }
}

TEST(OnnxArithmetic, OfTwoValuesAndFunctionsOfOne) {
  const Tensor x = Tensor::uniform({2, 3}, Random(12), -2.0F, 2.0F);
  const Message scaled = node("Mul", {"x", "c"}, "s");
  struct Case {
    Message node;
    float (*of)(float x, float scaled);
  };
  // The constants are 0.1, 0.2 and 0.3.
  const std::vector<Case> cases = {
      {node("Sub", {"x", "s"}, "y"), [](float v, float s) { return v - s; }},
      {node("Max", {"s", "x"}, "y"), [](float v, float s) { return std::max(v, s); }},
      {node("Min", {"x", "s"}, "y"), [](float v, float s) { return std::min(v, s); }},
      {node("Max", {"x", "c"}, "y"), [](float v, float s) { return std::max(v, s / v); }},
      {node("Min", {"c", "x"}, "y"), [](float v, float s) { return std::min(v, s / v); }},
      {node("Elu", {"s"}, "y"), [](float, float s) { return s > 0.0F ? s : std::expm1(s); }},
      {node("Elu", {"x"}, "y", {attribute("alpha", 0.5F)}),
       [](float v, float) { return v > 0.0F ? v : 0.5F * std::expm1(v); }},
      {node("Selu", {"x"}, "y"),
       [](float v, float) { return 1.0507009F * (v > 0.0F ? v : 1.6732632F * std::expm1(v)); }},
      {node("Neg", {"x"}, "y"), [](float v, float) { return -v; }},
      {node("Abs", {"x"}, "y"), [](float v, float) { return std::abs(v); }},
      {node("Clip", {"x", "lo", "hi"}, "y"),
       [](float v, float) { return std::clamp(v, -0.5F, 1.25F); }},
      {node("Clip", {"x", "", "hi"}, "y"), [](float v, float) { return std::min(v, 1.25F); }},
      {node("Clip", {"x", "lo"}, "y"), [](float v, float) { return std::max(v, -0.5F); }},
      {node("Gelu", {"s"}, "y"),
       [](float, float s) { return 0.5F * s * (1.0F + std::erf(s / std::sqrt(2.0F))); }}};
  for (const Case& c : cases) {
    Tensor expected = x.clone();
    for (Index k = 0; k < x.size(); ++k) {
      const float v = x.data()[k];
      expected.mutable_data()[k] = c.of(v, v * 0.1F * static_cast<float>(1 + k % 3));
    }
    const Bytes file = onnx_file({-1, 3}, {scaled, c.node},
                                 {floats("c", {3}), real("lo", -0.5F), real("hi", 1.25F)});
    expect_same(computed(file, x), expected, "");
  }
}

TEST(OnnxArithmetic, ExpandRepeatsAxesOfOneElement) {
  const Tensor x = Tensor::uniform({2, 1, 3, 2}, Random(14), -1.0F, 1.0F);
  for (const Index channels : {2, 21}) {
    const Bytes file = onnx_file({-1, 1, 3, 2}, {images_first(), node("Expand", {"i", "n"}, "y")},
                                 {integers("n", {channels, 1, 1})});
    const std::vector<Tensor> copies(static_cast<std::size_t>(channels), x);
    expect_same(computed(file, x), concatenate(copies, 1), std::to_string(channels));
  }
}

TEST(OnnxArithmetic, MaxOfXAndAlphaXIsALeakyReLU) {
  const Tensor x = Tensor::uniform({2, 3}, Random(13), -2.0F, 2.0F);
  for (const auto& inputs : {std::vector<std::string>{"x", "s"}, {"s", "x"}}) {
    const Bytes file = onnx_file({-1, 3}, {node("Mul", {"c", "x"}, "s"), node("Max", inputs, "y")},
                                 {floats("c", {})});
    EXPECT_EQ(import_onnx(file).layers().back()->type(), "LeakyReLU");
    Tensor expected = x.clone();
    for (float& v : expected.mutable_span()) v = std::max(v, 0.1F * v);
    expect_same(computed(file, x), expected, "LeakyReLU");
  }
}

double softplus_of(double v) { return std::max(v, 0.0) + std::log1p(std::exp(-std::abs(v))); }

TEST(OnnxArithmetic, FunctionsOfOneValue) {
  struct Case {
    std::vector<Message> nodes;
    std::function<double(double)> formula;
    float most = 6;
  };
  const std::vector<Case> cases = {
      {{node("Exp", {"x"}, "y")}, [](double v) { return std::exp(v); }},
      {{node("Sigmoid", {"x"}, "s"), node("Log", {"s"}, "y")},
       [](double v) { return -softplus_of(-v); }},
      {{node("Mul", {"x", "x"}, "s"), node("Sqrt", {"s"}, "y")},
       [](double v) { return std::abs(v); }},
      {{node("Relu", {"x"}, "s"), node("Pow", {"s", "half"}, "y")},
       [](double v) { return std::sqrt(std::max(v, 0.0)); }},
      {{node("Softplus", {"x"}, "y")}, softplus_of, 120},
      {{node("Mish", {"x"}, "y")}, [](double v) { return v * std::tanh(softplus_of(v)); }, 120}};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const float most = cases[i].most;
    const Tensor x = Tensor::from({2, 3}, {-most, -1.5F, -0.1F, 0.2F, 1, most});
    const Model model = import_onnx(onnx_file({-1, 3}, cases[i].nodes, {real("half", 0.5F)}, 18));
    const Tensor y = model.forward(x);
    for (std::size_t k = 0; k < 6; ++k) {
      const double expected = cases[i].formula(double{x.span()[k]});
      EXPECT_NEAR(y.span()[k], expected, 1e-5 * std::max(1.0, expected)) << i;
    }
    // In integers, too.
    const Tensor near = Tensor::from({4, 3}, {-4, -3.5F, -3, -2, -1, 0, 0.5F, 1, 2, 3, 4, 5});
    const Model quantized = quantize_post_training(model, std::vector{near});
    const Tensor floats = model.forward(near);
    const Tensor integers = quantized.forward(near);
    const float steps = 0.02F * std::ranges::max(floats.span()) + 0.1F;
    for (std::size_t k = 0; k < 12; ++k) {
      EXPECT_NEAR(integers.span()[k], floats.span()[k], steps) << i;
    }
  }
}

TEST(OnnxArithmetic, LogSoftmaxIsTheLogarithmOfASoftmax) {
  const Tensor x = Tensor::from({2, 3}, {-7, -1.5F, -0.1F, 0.2F, 1, 6});
  const Model model = import_onnx(onnx_file({-1, 3}, {node("LogSoftmax", {"x"}, "y")}, {}, 13));
  const Tensor logs = model.forward(x);
  for (std::size_t k = 0; k < 6; ++k) {
    double sum = 0;
    for (std::size_t j = k / 3 * 3; j < k / 3 * 3 + 3; ++j) sum += std::exp(double{x.span()[j]});
    EXPECT_NEAR(logs.span()[k], double{x.span()[k]} - std::log(sum), 1e-5);
  }
  // e^-7 is 0 as an int8 softmax, of which the logarithm is that of half a step.
  const Tensor integers = quantize_post_training(model, std::vector{x}).forward(x);
  EXPECT_NEAR(integers.span()[0], std::log(0.5 / 256), 0.05);
  EXPECT_NEAR(integers.span()[2], logs.span()[2], 0.05);
}

TEST(OnnxArithmetic, ARootOfIntegersBelowZeroIsRefused) {
  const Model model = import_onnx(onnx_file({-1, 3}, {node("Sqrt", {"x"}, "y")}));
  expect_throws<InvalidArgument>(
      [&] {
        static_cast<void>(
            quantize_post_training(model, std::vector{Tensor::from({1, 3}, {-0.5F, 1, 2})}));
      },
      {"of type MathFunction", "not below 0", "ReLU"});
}

}  // namespace
}  // namespace octet::test::onnx_arithmetic_test
