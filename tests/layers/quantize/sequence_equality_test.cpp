#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/tests/core/quant/contracts.h>
#include <octet/tests/core/random_networks.h>
#include <octet/tests/layers/quantize/random_sequences.h>
#include <octet/tests/layers/quantize/same_as_shipped.h>

#include <algorithm>
#include <cmath>

// Networks over sequences: what is trained is what the file computes.

namespace octet::test::sequence_equality_test {
namespace {

class SequenceEquality : public testing::TestWithParam<Rounding> {};

TEST_P(SequenceEquality, OfRandomNetworks) {
  expect_random_networks_ship<RandomSequence>(
      random_networks(120), [](RandomSequence& net) { return net.options(GetParam()); });
}

INSTANTIATE_TEST_SUITE_P(Contracts, SequenceEquality, ::testing::ValuesIn(kContracts),
                         contract_name);

// Integers forget as well what masks hide: not one bit of a result depends on it.
TEST(SequenceEquality, OfAttentionThatDoesNotSeeWhatIsHidden) {
  constexpr Index kSteps = 6;
  for (const Rounding rounding : kContracts) {
    for (const bool causal : {true, false}) {
      Model model("attention");
      const Value x = model.input({kSteps, 5});
      const Value values = model.add(Slice({.axis = 1, .begin = 0, .size = 4}), x);
      if (causal) {
        model.output(model.add(MultiHeadAttention(2, 3, {.causal = true}), values));
      } else {
        const Value mask = model.add(Slice({.axis = 1, .begin = 4, .size = 1}), x);
        model.output(model.add(MultiHeadAttention(2, 3, {.masked = true}), {values, mask}));
      }
      model.build(7);
      Model quantized = quantize_model(model, {.rounding = rounding});
      // The first three steps count, and behind them there is anything.
      const auto batch = [](std::uint64_t first, std::uint64_t others) {
        Tensor all = Tensor::uniform({20, kSteps, 5}, Random(first), -2.0F, 2.0F);
        const Tensor behind = Tensor::uniform(all.shape(), Random(others), -2.0F, 2.0F);
        for (Index i = 0; i < all.size(); ++i) {
          const bool counts = i / 5 % kSteps < 3;
          float& v = all.mutable_data()[i];
          if (i % 5 == 4) {
            v = counts ? 1.0F : 0.0F;
          } else if (!counts) {
            v = behind.data()[i];
          }
        }
        return all;
      };
      calibrate(quantized, batch(1, 2));
      expect_same_as_shipped(quantized, batch(1, 3));
      const auto first_steps = [&](const Model& of, std::uint64_t others) {
        const Tensor y = of.forward(batch(1, others));
        return slice(y, {{0, 20}, {0, 3}, {0, 4}});
      };
      const Tensor found = first_steps(quantized, 3);
      EXPECT_TRUE(std::ranges::equal(found.span(), first_steps(quantized, 4).span()));
      const Tensor expected = first_steps(model, 3);
      float apart = 0.0F;
      for (std::size_t i = 0; i < found.span().size(); ++i) {
        apart = std::max(apart, std::abs(found.span()[i] - expected.span()[i]));
      }
      EXPECT_LT(apart, 0.1F) << to_string(rounding);
    }
  }
}

// Where nothing but zeros was read while ranges were taken, RSQRT reads epsilon alone.
TEST(SequenceEquality, OfARootOfZeros) {
  for (const Rounding rounding : kContracts) {
    for (const bool is_root : {true, false}) {
      Model model("zeros");
      const Value x = model.add(ReLU(), model.input({3, 4}));
      model.output(is_root ? model.add(MathFunction(UnaryFunction::sqrt), x)
                           : model.add(RMSNormalization(), x));
      model.build(1);
      Model quantized = quantize_model(model, {.rounding = rounding});
      calibrate(quantized, Tensor::full({5, 3, 4}, -1.0F));
      expect_same_as_shipped(quantized, Tensor::uniform({5, 3, 4}, Random(1), -1.0F, 1.0F));
    }
  }
}

// The mean of squares begins at 0, whatever is learned of its scale.
TEST(SequenceEquality, OfNormalizationsOfLearnedScales) {
  for (const Scales scales : {Scales::lsq, Scales::lsq_plus, Scales::pact}) {
    for (const bool is_root : {true, false}) {
      Model model("norm");
      const Value x = model.add(Dense(6), model.input({3, 4}));
      const Value y =
          is_root ? model.add(RMSNormalization(), x) : model.add(LayerNormalization(), x);
      model.output(model.add(Dense(3), y));
      model.build(1);
      Model quantized =
          quantize_model(model, {.weight_scales = Scales::lsq, .activation_scales = scales});
      std::uint64_t drawn = 0;
      const auto batch = [&] { return Tensor::uniform({9, 3, 4}, Random(++drawn), -1.0F, 1.0F); };
      calibrate(quantized, batch());
      train_a_little(quantized, 30, batch);
      expect_same_as_shipped(quantized, batch());
    }
  }
}

/// Layers of operators that do not compute on int16 are refused.
TEST(SequenceEquality, OfRandomNetworksOnInt16) {
  std::size_t compared = 0;
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomSequence net(seed);
    QuantizeOptions options = net.options(Rounding::q15);
    options.activation_bits = 16;
    Model model("none");
    try {
      model = quantize_model(net.model(), options);
    } catch (const InvalidArgument& error) {
      ASSERT_NE(std::string(error.what()).find("with activations of 16 bits"), std::string::npos)
          << error.what();
      continue;
    }
    calibrate(model, net.batch(17));
    train_a_little(model, 2, [&] { return net.batch(5); });
    if (HasFatalFailure()) return;
    expect_same_as_shipped(model, net.batch(11));
    if (HasFatalFailure()) return;
    ++compared;
  }
  EXPECT_GT(compared, 100U);
}

}  // namespace
}  // namespace octet::test::sequence_equality_test
