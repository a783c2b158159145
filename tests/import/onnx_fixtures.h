#pragma once

#include <octet/import/onnx/import_onnx.h>
#include <octet/train/data/npy.h>
#include <octet_test_paths.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

// The files of tests/data/onnx, and the inputs that their outputs were computed of.

namespace octet::test {

struct OnnxFixture {
  const char* name;
  /// The shape of an example, in the order of the file.
  std::vector<Index> extents;
  /// Whether channels are the first axis there, which the model has last.
  bool channels_first;
};

inline const std::vector<OnnxFixture>& onnx_fixtures() {
  static const std::vector<OnnxFixture> list = {
      {"mlp_9", {1, 28, 28}, true},
      {"mlp_17", {1, 28, 28}, true},
      {"lenet5_9", {1, 28, 28}, true},
      {"lenet5_13", {1, 28, 28}, true},
      {"resnet8_11", {3, 32, 32}, true},
      {"resnet8_16", {3, 32, 32}, true},
      {"ds_cnn_13", {1, 49, 10}, true},
      {"ds_cnn_17", {1, 49, 10}, true},
      {"mobilenet_v1_9", {3, 32, 32}, true},
      {"mobilenet_v1_17", {3, 32, 32}, true},
      {"operators_9", {4, 15, 11}, true},
      {"operators_13", {4, 15, 11}, true},
      {"operators_17", {4, 15, 11}, true},
      {"sequence_13", {3, 32}, true},
      {"tf2onnx_13", {16, 16, 3}, false},
      {"mlp_external", {1, 28, 28}, true},
      {"lstm_14", {7, 6}, false},
      {"lstm_state_9", {7, 6}, false},
      {"gru_17", {7, 6}, false},
      {"gru_state_11", {7, 6}, false},
      {"attention_13", {5, 8}, false},
      {"attention_17", {5, 8}, false},
      {"encoder_14", {5, 8}, false},
      {"encoder_17", {5, 8}, false},
  };
  return list;
}

inline std::filesystem::path onnx_folder() {
  return std::filesystem::path(OCTET_TEST_DATA_DIR) / "onnx";
}

inline std::filesystem::path onnx_path(const std::string& name) {
  return onnx_folder() / (name + ".onnx");
}

/// Element `i` of a batch in the file's order: make_fixtures.py has the same formula.
inline float onnx_input(Index i) { return static_cast<float>(i * 7919 % 2017) / 1008.0F - 1.0F; }

/// `examples` inputs as the imported model reads them.
inline Tensor onnx_inputs(const OnnxFixture& fixture, Index examples) {
  const Shape example(fixture.extents);
  Tensor x(example.with_batch(examples));
  if (!fixture.channels_first) {
    for (Index i = 0; i < x.size(); ++i) x.mutable_data()[i] = onnx_input(i);
    return x;
  }
  const Index channels = example[0];
  const Index pixels = example.size() / channels;
  float* to = x.mutable_data();
  for (Index n = 0; n < examples; ++n) {
    for (Index c = 0; c < channels; ++c) {
      for (Index p = 0; p < pixels; ++p) {
        to[(n * pixels + p) * channels + c] = onnx_input((n * channels + c) * pixels + p);
      }
    }
  }
  std::vector<Index> moved(fixture.extents.begin() + 1, fixture.extents.end());
  moved.push_back(channels);
  return x.reshape(Shape(moved).with_batch(examples));
}

/// The largest difference of two results, by the largest value of `expected`.
inline float relative_difference(const Tensor& found, const Tensor& expected) {
  float largest = 0;
  float difference = 0;
  for (Index i = 0; i < expected.size(); ++i) {
    const float e = expected.data()[i];
    largest = std::max(largest, std::abs(e));
    const float d = std::abs(found.data()[i] - e);
    difference = std::isnan(d) ? d : std::max(difference, d);
  }
  return difference / largest;
}

}  // namespace octet::test
