#pragma once

#include <gtest/gtest.h>
#include <octet/deploy/layer_codes.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/layers/lower.h>
#include <octet/tests/layers/quantize/quantize_testing.h>

#include <cstdint>
#include <string>
#include <vector>

namespace octet::test {

template <class T>
std::vector<T> vector_of(std::span<const T> values) {
  return {values.begin(), values.end()};
}

/// Fails unless the codes of every layer, and an output that layers in float compute, are the same
/// in `model` and in `shipped`. ASSERTs: a caller in a loop asks HasFatalFailure().
inline void expect_same_as_shipped(const Model& model, const IntegerModel& shipped,
                                   const Tensor& x) {
  SimulatedCodes trained(model);
  InterpretedCodes run(shipped);
  trained.run(x);
  run.run(x);
  ASSERT_EQ(trained.layers().size(), run.layers().size());
  for (std::size_t i = 0; i < trained.layers().size(); ++i) {
    ASSERT_EQ(vector_of(trained.codes(i)), vector_of(run.codes(i))) << trained.layers()[i].name;
  }
  ASSERT_EQ(trained.float_output().has_value(), run.float_output().has_value());
  ASSERT_EQ(vector_of(trained.floats()), vector_of(run.floats()));
}

/// Holds a model against the file that is written of it. ASSERTs.
inline void expect_same_as_shipped(const Model& model, const Tensor& x) {
  expect_same_as_shipped(model, from_tflite(to_tflite(lower(model))), x);
}

/// Quantizes the networks Net(0), Net(1), ... as options(net) says, trains each a little on its
/// batches, and holds it against its file. ASSERTs.
template <class Net, class Options>
void expect_random_networks_ship(std::uint32_t count, Options&& options) {
  for (std::uint32_t seed = 0; seed < count; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Net net(seed);
    Model model = quantize_model(net.model(), options(net));
    calibrate(model, net.batch(17));
    train_a_little(model, 2, [&] { return net.batch(5); });
    if (::testing::Test::HasFatalFailure()) return;
    expect_same_as_shipped(model, net.batch(11));
    if (::testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace octet::test
