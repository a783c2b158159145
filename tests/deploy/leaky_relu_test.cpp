// LEAKY_RELU from the layer to every export.

#include <octet/core/error.h>
#include <octet/core/gradcheck.h>
#include <octet/core/ops/ops.h>
#include <octet/deploy/layer_codes.h>
#include <octet/deploy/onnx/writer.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/layers/layer_registry.h>
#include <octet/layers/leaky_relu.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/deploy/c_programs.h>
#include <octet/tests/deploy/lowered.h>
#include <octet/tests/deploy/onnx_evaluator.h>
#include <octet/tests/runtime/naive_graph.h>

#include <limits>

namespace octet::test::leaky_relu_test {
namespace {

using octet::test::random_tensor;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

IntegerModel make_leaky_relu(float alpha, const std::vector<std::int32_t>& shape, DType dtype,
                             const QuantParams& in, const QuantParams& out) {
  RawModelBuilder b;
  b.model.inputs = {b.add({"x", dtype, shape, {}, in, {}})};
  b.model.outputs = {b.add({"y", dtype, shape, {}, out, {}})};
  b.op(OpCode::leaky_relu, {0}, 1, LeakyReluAttributes{.alpha = alpha});
  return b.model;
}

/// All codes, one after the other.
IntegerModel make_of_all_codes(float alpha, const QuantParams& in, const QuantParams& out) {
  return make_leaky_relu(alpha, {1, 256}, DType::int8, in, out);
}

std::vector<std::int8_t> all_codes() {
  std::vector<std::int8_t> codes;
  for (int code = -128; code < 128; ++code) codes.push_back(static_cast<std::int8_t>(code));
  return codes;
}

std::vector<std::int8_t> interpreted_codes(const IntegerModel& model, Rounding rounding,
                                           const std::vector<std::int8_t>& codes) {
  Interpreter interpreter(model, {.rounding = rounding});
  return run<std::int8_t, std::int8_t>(interpreter, codes);
}

// ---- Interpreter

TEST(LeakyRelu, RoundsTwiceWhereXnnpackDoesNotTakeIt) {
  const QuantParams in = quant(0.03F, 5);
  const QuantParams out = quant(0.031F, -7);
  const auto codes_of = [&](float alpha, Rounding rounding) {
    return interpreted_codes(make_of_all_codes(alpha, in, out), rounding, all_codes());
  };
  EXPECT_NE(codes_of(0.01F, Rounding::fp32), codes_of(0.01F, Rounding::double_rounding));
  // Below 1/256.
  EXPECT_EQ(codes_of(0.004F, Rounding::fp32), codes_of(0.004F, Rounding::double_rounding));
  EXPECT_EQ(codes_of(0.2F, Rounding::single_rounding), codes_of(0.2F, Rounding::double_rounding));
  // alpha 0 is RELU.
  IntegerModel relu = make_of_all_codes(0.0F, in, out);
  relu.operators[0].code = OpCode::relu;
  relu.operators[0].attributes = NoAttributes{};
  EXPECT_EQ(codes_of(0.0F, Rounding::double_rounding),
            interpreted_codes(relu, Rounding::double_rounding, all_codes()));
}

TEST(LeakyRelu, OfFloats) {
  const IntegerModel model = make_leaky_relu(0.25F, {1, 4}, DType::float32, {}, {});
  Interpreter interpreter(model);
  EXPECT_EQ((run<float, float>(interpreter, {-4, -0.5F, 0, 3})),
            (std::vector<float>{-1, -0.125F, 0, 3}));
}

TEST(LeakyRelu, RefusesAnAlphaThatIsNoNumberByName) {
  const IntegerModel model = make_of_all_codes(kNaN, quant(0.1F, 0), quant(0.1F, 0));
  EXPECT_EQ(message_of<FormatError>([&] { model.validate(); }),
            "operator 0 (LEAKY_RELU): alpha nan is not finite");
}

// ---- Layer

TEST(LeakyRelu, LayerAndGradient) {
  LeakyReLU layer(0.25F);
  layer.build(Shape{4}, Random(1));
  Tensor x = Tensor::from(Shape{1, 4}, {-4, -0.5F, 0, 3});
  x.set_requires_grad(true);
  const Tensor y = layer.forward(x, {});
  EXPECT_EQ((std::vector<float>{y.span().begin(), y.span().end()}),
            (std::vector<float>{-1, -0.125F, 0, 3}));
  sum(y).backward();
  const Tensor gradient = x.grad();
  EXPECT_EQ((std::vector<float>{gradient.span().begin(), gradient.span().end()}),
            (std::vector<float>{0.25F, 0.25F, 0.25F, 1}));

  const auto result =
      gradcheck([&](const std::vector<Tensor>& in) { return square(layer.forward(in[0], {})); },
                {Tensor::from(Shape{1, 4}, {-2, -0.3F, 0.4F, 1.5F})});
  EXPECT_TRUE(result.ok) << result.message;
}

TEST(LeakyRelu, LayerIsMadeAgainOfItsDescription) {
  const auto again = make_layer(describe_layer(LeakyReLU(0.125F, "leak")));
  EXPECT_EQ(again->name(), "leak");
  EXPECT_EQ(dynamic_cast<const LeakyReLU&>(*again).alpha(), 0.125F);
  for (const float alpha : {-0.1F, kNaN, std::numeric_limits<float>::infinity()}) {
    EXPECT_THROW(LeakyReLU{alpha}, InvalidArgument);
  }
}

// ---- Integer training and exports

/// A network trained for some steps on the integers of a contract.
Sequential trained(Rounding rounding) {
  Sequential model("m", Input({6}, "in"), Dense(20, Activation::none, "front"),
                   LeakyReLU(0.2F, "leak"), Dense(3, Activation::none, "back"));
  model.build(5);
  model = quantize_model(model, {.rounding = rounding});
  calibrate(model, random_tensor(Shape{32, 6}, 1));
  for (std::uint32_t step = 0; step < 3; ++step) {
    model.zero_grad();
    const ForwardContext context{.mode = ForwardContext::Mode::training};
    mean(square(model.forward_logits(random_tensor(Shape{16, 6}, 2 + step), context))).backward();
    for (auto& [name, tensor] : model.parameters()) {
      const Tensor gradient = tensor.grad();
      EXPECT_TRUE(gradient.defined() &&
                  std::ranges::any_of(gradient.span(), [](float g) { return g != 0.0F; }))
          << name;
      for (std::size_t i = 0; i < tensor.span().size(); ++i) {
        tensor.mutable_span()[i] -= 0.05F * gradient.span()[i];
      }
    }
  }
  refresh_kernel_ranges(model);
  return model;
}

TEST(LeakyRelu, TrainingComputesTheCodesOfTheFile) {
  for (const Rounding rounding : kContracts) {
    const Sequential model = trained(rounding);
    const IntegerModel lowered = lower(model);
    const IntegerModel file = from_tflite(to_tflite(lowered));
    const auto found = std::ranges::find(file.operators, OpCode::leaky_relu, &Operator::code);
    ASSERT_NE(found, file.operators.end());
    EXPECT_EQ(found->as<LeakyReluAttributes>().alpha, 0.2F);
    EXPECT_EQ(found->version, 1);
    SimulatedCodes training(model);
    InterpretedCodes shipped(file);
    const Tensor x = random_tensor(Shape{40, 6}, 9);
    training.run(x);
    shipped.run(x);
    ASSERT_EQ(training.layers().size(), 4U);
    for (std::size_t i = 0; i < training.layers().size(); ++i) {
      EXPECT_TRUE(std::ranges::equal(training.codes(i), shipped.codes(i)))
          << to_string(rounding) << " " << training.layers()[i].name;
    }
  }
}

TEST(LeakyRelu, OnnxStyleStandardIsLeakyReluOfReals) {
  const IntegerModel model = make_of_all_codes(0.3F, quant(0.03F, 5), quant(0.02F, -7));
  const OnnxFile file(to_onnx(model, {.style = OnnxStyle::standard, .float_io = false}));
  const OnnxNode& node = file.producer_of(file.producer_of("y").inputs.at(0));
  EXPECT_EQ(node.op, "LeakyRelu");
  EXPECT_EQ(node.reals.at("alpha"), 0.3F);
  EXPECT_EQ(file.producer_of(node.inputs.at(0)).op, "DequantizeLinear");
}

}  // namespace
}  // namespace octet::test::leaky_relu_test
