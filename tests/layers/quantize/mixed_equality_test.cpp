#include <octet/core/ops/ops.h>
#include <octet/layers/input.h>
#include <octet/layers/lower.h>
#include <octet/tests/core/quant/contracts.h>
#include <octet/tests/layers/quantize/random_graphs.h>
#include <octet/tests/layers/quantize/random_nets.h>
#include <octet/tests/layers/quantize/same_as_shipped.h>

// Networks of which some layers stay in float: what is trained is what the file computes, the codes
// of its integer parts and the floats of the others.

namespace octet::test::mixed_equality_test {
namespace {

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

  /// Each stood for often enough.
  void expect_many() const {
    EXPECT_GT(in_codes, 50U);
    EXPECT_GT(in_floats, 50U);
    EXPECT_GT(conversions, 50U);
  }
};

/// Trains `model` a little on batches of `source`, and holds it against its file.
template <class Source>
void expect_ships(Model& model, Source& source, Kinds& kinds) {
  train_a_little(model, source, 2);
  if (::testing::Test::HasFatalFailure()) return;
  const IntegerModel lowered = lower(model);
  kinds.count(lowered);
  expect_same_as_shipped(model, source.batch(13));
}

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
      if (is_input(*layer)) continue;
      const bool chosen = net.random().integer(0, 1) == 1;
      any = any || (chosen && marks);
      if (chosen) layer->set_quantization({.in_float = !marks});
    }
    if (marks && !any) continue;
    const QuantizeOptions options = net.options(GetParam());
    Sequential model = marks ? quantize_apply(source, options) : quantize_model(source, options);
    calibrate(model, net.batch(9));
    expect_ships(model, net, kinds);
    if (HasFatalFailure()) return;
  }
  kinds.expect_many();
}

TEST_P(MixedEquality, RandomGraphsWithLayersInFloat) {
  Kinds kinds;
  for (std::uint32_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomGraph graph(seed);
    Model source = graph.model();
    for (std::size_t i = 0; i < source.layers().size(); ++i) {
      Layer& layer = *source.layers()[i];
      if (!is_input(layer) && (seed + i) % 3 == 0) {
        layer.set_quantization({.in_float = true});
      }
    }
    Model model = quantize_model(source, graph.options(GetParam()));
    calibrate(model, graph.batch(17));
    expect_ships(model, graph, kinds);
    if (HasFatalFailure()) return;
  }
  kinds.expect_many();
}

INSTANTIATE_TEST_SUITE_P(Contracts, MixedEquality, ::testing::ValuesIn(kContracts), contract_name);

}  // namespace
}  // namespace octet::test::mixed_equality_test
