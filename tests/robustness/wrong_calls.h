#pragma once

#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/layers/lower.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/tests/train/training.h>

#include <exception>
#include <functional>
#include <string>
#include <vector>

namespace octet::test {

struct WrongCall {
  std::string name;
  std::function<void()> call;
  /// A part of the message.
  std::string says;
};

inline void expect_refused(const std::vector<WrongCall>& calls) {
  for (const auto& [name, call, says] : calls) {
    try {
      call();
      ADD_FAILURE() << name << ": was not refused";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(says), std::string::npos)
          << name << ": " << error.what();
    } catch (const std::exception& error) {
      ADD_FAILURE() << name << ": no exception of Octet's: " << error.what();
    }
  }
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
