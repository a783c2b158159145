#pragma once

#include <gtest/gtest.h>
#include <octet/deploy/layer_codes.h>

#include <vector>

namespace octet::testing {

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

}  // namespace octet::testing
