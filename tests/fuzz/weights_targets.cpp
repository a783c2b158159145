#include <octet/core/error.h>
#include <octet/import/weights/weights.h>
#include <octet/layers/layers.h>
#include <octet/layers/sequential.h>

#include "memory_file.h"
#include "targets.h"

namespace octet::fuzz {
namespace {

void check(const std::vector<WeightTensor>& tensors) {
  for (const WeightTensor& tensor : tensors) {
    require(!tensor.values.defined() || tensor.values.shape() == tensor.shape,
            "a tensor has the shape that its file says");
  }
}

/// What the names and shapes of the file's tensors bring about.
void load(const std::filesystem::path& path) {
  static Sequential model = [] {
    Sequential net("net", Input({3, 2, 1}),
                   Conv2D(2, {2, 1}, Activation::none, {.use_bias = false, .name = "conv"}),
                   BatchNorm({.name = "norm"}), AveragePool2D({.size = {1, 2}}), Flatten(),
                   Dense(1, Activation::none, {.use_bias = false, .name = "fc"}));
    net.build();
    return net;
  }();
  for (const bool allow : {false, true}) {
    try {
      load_weights(model, path,
                   {.names = WeightNames::pytorch, .allow_unused = allow, .allow_missing = allow});
    } catch (const FormatError&) {
      continue;
    }
  }
}

void read(Data input, std::vector<WeightTensor> (*reader)(const std::filesystem::path&)) {
  static const MemoryFile file;
  file.assign(input);
  try {
    check(reader(file.path()));
  } catch (const FormatError&) {
    return;
  }
  load(file.path());
}

}  // namespace

void safetensors(Data input) { read(input, read_safetensors); }

void npz(Data input) { read(input, read_npz); }

}  // namespace octet::fuzz
