#pragma once

#include <octet/core/archive.h>
#include <octet/core/tensor_internal.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/layers/dense.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/tests/core/keep_threads.h>
#include <octet/tests/train/data/idx_files.h>
#include <octet/train/trainer.h>

#include <map>
#include <string>
#include <vector>

namespace octet::test {

/// Points around one centre a class: what a small network learns in a few epochs.
inline Dataset clouds(std::size_t count, std::uint64_t seed = 1, Index features = 6,
                      int classes = 3, float spread = 0.25F) {
  const Random centre(99);
  const Random noise = Random(seed).fork(7);
  const auto width = static_cast<std::size_t>(features);
  std::vector<float> values(count * width);
  Labels labels(count);
  for (std::size_t i = 0; i < count; ++i) {
    labels[i] = static_cast<std::int32_t>((i * 7 + seed) % static_cast<std::size_t>(classes));
    for (std::size_t j = 0; j < width; ++j) {
      const auto at = static_cast<std::size_t>(labels[i]) * width + j;
      values[i * width + j] =
          2.0F * centre.uniform(at) - 1.0F + spread * noise.normal(i * width + j);
    }
  }
  return Dataset::from_floats("clouds", {features}, values, labels, classes);
}

/// Input(features), Dense(hidden, relu), Dense(classes, softmax), built.
inline Sequential small_mlp(std::uint64_t seed = 0, Index features = 6, Index hidden = 8,
                            Index classes = 3) {
  Sequential model("small", Input({features}), Dense(hidden, Activation::relu),
                   Dense(classes, Activation::softmax));
  model.build(seed);
  return model;
}

inline Bytes bytes_of(const std::vector<NamedTensor>& tensors) {
  Archive archive;
  for (const auto& [name, tensor] : tensors) archive.add(name, tensor);
  return archive.to_bytes();
}

/// Parameters, state and counters.
inline Bytes bytes_of(const Model& model) { return bytes_of(model.saved_tensors()); }

inline Bytes exported_bytes(const Trainer& trainer) { return to_tflite(trainer.lower()); }

/// All that a checkpoint holds, times aside: the tensors of model and optimizer, and the history.
struct Snapshot {
  std::map<std::string, std::vector<float>> tensors;
  std::string history;

  bool operator==(const Snapshot&) const = default;
};

inline Snapshot snapshot_of(const Trainer& trainer) {
  const ScratchDirectory scratch;
  trainer.save_checkpoint(scratch.path() / "snapshot");
  const Archive archive = Archive::read(scratch.path() / "snapshot");
  Snapshot result;
  for (const auto& [name, tensor] : archive.tensors()) {
    result.tensors[name].assign(tensor.span().begin(), tensor.span().end());
  }
  result.history = history_csv(trainer.history(), false);
  return result;
}

/// Returns parameters of ones, with gradients of ones and of twos.
inline std::vector<NamedTensor> two_parameters() {
  Tensor a = Tensor::ones({2, 3}).set_requires_grad(true);
  Tensor b = Tensor::ones({3}).set_requires_grad(true);
  detail::TensorAccess::mutable_grad(a) = Tensor::ones({2, 3});
  detail::TensorAccess::mutable_grad(b) = Tensor::full({3}, 2.0F);
  return {{"a", a}, {"b", b}};
}

}  // namespace octet::test
