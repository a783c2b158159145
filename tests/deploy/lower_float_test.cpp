#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/layers/lower.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/layers/quantize/random_nets.h>

namespace octet::test::lower_float_test {
namespace {

void expect_same_results(const Sequential& model, const IntegerModel& lowered, const Tensor& x) {
  Interpreter interpreter(lowered, {.batch = x.dim(0)});
  std::ranges::copy(x.span(), interpreter.input<float>().begin());
  interpreter.invoke();
  const Tensor expected = model.forward(x);
  const auto output = interpreter.output<float>();
  ASSERT_EQ(output.size(), expected.span().size());
  for (std::size_t i = 0; i < output.size(); ++i) {
    EXPECT_NEAR(output[i], expected.span()[i], 1e-5F * (1.0F + std::fabs(expected.span()[i])));
  }
}

TEST(LowerFloat, EqualsTheModelOnRandomNets) {
  for (std::uint32_t seed = 300; seed < 340; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomNet net(seed);
    const IntegerModel lowered = lower_float(net.model());
    expect_same_results(net.model(), lowered, net.batch(7));
    expect_same_results(net.model(), from_tflite(to_tflite(lowered)), net.batch(3));
  }
}

TEST(LowerFloat, WritesOneOperatorALayer) {
  Sequential model =
      build_model(Input({2, 3}), Flatten(), Dense(5, Activation::relu6, "a"), Dropout(0.5F),
                  Dense(4, Activation::tanh, "b"), ReLU(), Dense(2, Activation::softmax, "c"));
  const IntegerModel lowered = lower_float(model);
  std::vector<std::string> operators;
  for (const Operator& op : lowered.operators) {
    operators.push_back(std::string(to_string(op.code)) + " " +
                        lowered.tensors[static_cast<std::size_t>(op.outputs[0])].name);
  }
  EXPECT_EQ(operators, (std::vector<std::string>{"RESHAPE flatten", "FULLY_CONNECTED a",
                                                 "FULLY_CONNECTED b/linear", "TANH b", "RELU re_lu",
                                                 "FULLY_CONNECTED c/linear", "SOFTMAX c"}));
  EXPECT_EQ(lowered.operators[1].activation(), FusedActivation::relu6);
  EXPECT_EQ(lowered.description, "octet float model");
  EXPECT_EQ(lowered.name, "m");
}

TEST(LowerFloat, TakesMarkedLayers) {
  Sequential model("m", Input({4}));
  model.add(quantize_annotate_layer(Dense(3, Activation::relu)));
  model.build();
  expect_same_results(model, lower_float(model), random_tensor({5, 4}, 1));
}

TEST(LowerFloat, NamesWhatItCannotExpress) {
  expect_error([] { lower_float(Sequential("bare", Input({4}), Dense(3))); },
               "\"bare\" has no tensors yet");
  expect_error([] { lower_float(Sequential("empty")); }, "\"empty\" has no tensors yet");
  expect_error([] { lower_float(build_model(Input({4}), Doubling("mine"))); },
               "\"mine\" of type Doubling");
  expect_error([] { lower_float(quantize_model(build_model(Input({4}), Dense(3)))); },
               "quantized already; give it the model that quantize_model() took");
}

}  // namespace
}  // namespace octet::test::lower_float_test
