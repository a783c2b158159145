#include <octet/core/ops/ops.h>
#include <octet/deploy/layer_codes.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/layers/lower.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/layers/quantize/random_graphs.h>
#include <octet/tests/layers/quantize/random_nets.h>

// Networks of which some layers stay in float: what is trained is what the file computes, the codes
// of its integer parts and the floats of the others.

namespace octet::testing {
namespace {

/// Every tensor of codes, and the outputs where they are floats.
void expect_same(const Model& model, const IntegerModel& shipped, const Tensor& x) {
  SimulatedCodes trained(model);
  InterpretedCodes run(shipped);
  trained.run(x);
  run.run(x);
  ASSERT_EQ(trained.layers().size(), run.layers().size());
  for (std::size_t i = 0; i < trained.layers().size(); ++i) {
    const auto a = trained.codes(i);
    const auto b = run.codes(i);
    ASSERT_EQ(std::vector<std::int8_t>(a.begin(), a.end()),
              std::vector<std::int8_t>(b.begin(), b.end()))
        << trained.layers()[i].name;
  }
  const ModelTensor& output = shipped.tensors[static_cast<std::size_t>(shipped.outputs[0])];
  if (output.dtype != DType::float32) return;
  Interpreter interpreter(shipped, {.batch = x.dim(0)});
  const auto codes = trained.codes(0);
  std::ranges::copy(codes, interpreter.input<std::int8_t>().begin());
  interpreter.invoke();
  const auto found = interpreter.output<float>();
  ASSERT_EQ(std::vector<float>(found.begin(), found.end()), values_of(model.forward(x)));
}

/// What the operators of a model write and read.
struct Kinds {
  std::size_t in_codes = 0;
  std::size_t in_floats = 0;
  std::size_t conversions = 0;

  void count(const IntegerModel& model) {
    for (const Operator& op : model.operators) {
      const bool floats =
          model.tensors[static_cast<std::size_t>(op.outputs[0])].dtype == DType::float32;
      const bool converts = op.code == OpCode::quantize || op.code == OpCode::dequantize;
      (converts ? conversions : floats ? in_floats : in_codes) += 1;
    }
  }
};

class MixedEquality : public ::testing::TestWithParam<Rounding> {};

TEST_P(MixedEquality, RandomNetsWithLayersInFloat) {
  Kinds kinds;
  for (std::uint32_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomNet net(seed);
    Sequential source = net.model();
    // Some are left in float, or some are marked and all others left in float.
    const bool marks = seed % 3 == 0;
    bool any = false;
    for (const auto& layer : source.layers()) {
      if (layer->example_shape() != nullptr) continue;
      const bool chosen = net.random().integer(0, 1) == 1;
      any = any || (chosen && marks);
      if (chosen) layer->set_quantization({.in_float = !marks});
    }
    if (marks && !any) continue;
    const QuantizeOptions options = net.options(GetParam());
    Sequential model = marks ? quantize_apply(source, options) : quantize_model(source, options);
    calibrate(model, net.batch(9));
    train_a_little(model, net, 2);
    if (HasFatalFailure()) return;
    const IntegerModel lowered = lower(model);
    kinds.count(lowered);
    expect_same(model, from_tflite(to_tflite(lowered)), net.batch(13));
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(kinds.in_codes, 50U);
  EXPECT_GT(kinds.in_floats, 50U);
  EXPECT_GT(kinds.conversions, 50U);
}

TEST_P(MixedEquality, RandomGraphsWithLayersInFloat) {
  Kinds kinds;
  for (std::uint32_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomGraph graph(seed);
    Model source = graph.model();
    for (std::size_t i = 0; i < source.layers().size(); ++i) {
      Layer& layer = *source.layers()[i];
      if (layer.example_shape() == nullptr && (seed + i) % 3 == 0) {
        layer.set_quantization({.in_float = true});
      }
    }
    Model model = quantize_model(source, graph.options(GetParam()));
    calibrate(model, graph.batch(17));
    train_a_little(model, graph, 2);
    if (HasFatalFailure()) return;
    const IntegerModel lowered = lower(model);
    kinds.count(lowered);
    expect_same(model, from_tflite(to_tflite(lowered)), graph.batch(13));
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(kinds.in_codes, 50U);
  EXPECT_GT(kinds.in_floats, 50U);
  EXPECT_GT(kinds.conversions, 50U);
}

INSTANTIATE_TEST_SUITE_P(Contracts, MixedEquality,
                         ::testing::Values(Rounding::fp32, Rounding::single_rounding,
                                           Rounding::double_rounding),
                         [](const auto& test) { return std::string(to_string(test.param)); });

}  // namespace
}  // namespace octet::testing
