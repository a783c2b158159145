#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/tests/core/quant/contracts.h>
#include <octet/tests/core/random_networks.h>
#include <octet/tests/layers/quantize/random_sequences.h>
#include <octet/tests/layers/quantize/same_as_shipped.h>

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
