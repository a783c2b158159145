#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/tests/core/quant/contracts.h>
#include <octet/tests/layers/quantize/random_sequences.h>
#include <octet/tests/layers/quantize/same_as_shipped.h>

// Networks over sequences: what is trained is what the file computes.

namespace octet::test::sequence_equality_test {
namespace {

class SequenceEquality : public testing::TestWithParam<Rounding> {};

TEST_P(SequenceEquality, OfRandomNetworks) {
  expect_random_networks_ship<RandomSequence>(
      40, [](RandomSequence& net) { return net.options(GetParam()); });
}

INSTANTIATE_TEST_SUITE_P(Contracts, SequenceEquality, ::testing::ValuesIn(kContracts),
                         contract_name);

}  // namespace
}  // namespace octet::test::sequence_equality_test
