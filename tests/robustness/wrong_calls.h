#pragma once

#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/layers/lower.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/train/training.h>

#include <functional>
#include <string>

namespace octet::test {

/// Fails unless `call` throws an exception of Octet's that says so.
inline void expect_refused(const std::string& name, const std::string& says,
                           const std::function<void()>& call) {
  SCOPED_TRACE(name);
  expect_throws<Error>(call, {says});
}

/// A small network whose ranges are measured, and its integers.
inline Model calibrated(const QuantizeOptions& options = {}) {
  Model model = quantize_model(small_mlp(), options);
  calibrate(model, clouds(20).features(0, 20));
  return model;
}

inline const IntegerModel& integers() {
  static const IntegerModel model = lower(calibrated());
  return model;
}

}  // namespace octet::test
