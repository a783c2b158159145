// Trains a network with a residual block and two branches, quantizes it, trains on in integers, and
// counts the codes in which what was trained and what is shipped differ, layer by layer.
//
//   residual [--data DIR]   DIR holds MNIST's IDX files; without it, digits are drawn
#include <fmt/core.h>
#include <octet/octet.h>
#include <octet/train/layer_differences.h>

#include <exception>
#include <string_view>

#include "residual_mlp.h"

namespace {

using namespace octet;

/// Whether every code of every layer is the same.
bool report(const NetworkDifference& difference) {
  for (const LayerDifference& layer : difference.layers) {
    fmt::print("{:<34} {:>9} codes, {} differ\n", layer.name, layer.compared, layer.differing);
  }
  const LayerDifference total = difference.total();
  fmt::print("layer outputs that differ: {} of {} over {} images\n", total.differing,
             total.compared, difference.samples);
  return total.differing == 0;
}

bool run(const DataSplit& data) {
  Model model = residual_mlp(data.train.example_shape(), static_cast<Index>(data.train.classes()));
  Trainer trainer(model, Adam());
  trainer.add_callback(std::make_shared<ProgressBar>(stdout));
  trainer.fit(data.train, data.test, /*epochs=*/2);

  Model quantized = quantize_model(model);
  Trainer qat(quantized, Adam(1e-4F));
  qat.add_callback(std::make_shared<ProgressBar>(stdout));
  qat.fit(data.train, data.test, /*epochs=*/1);
  fmt::print("{}", quantized.summary());

  qat.save_checkpoint("residual.ckpt");
  qat.export_int8("residual_int8.tflite");
  qat.export_c_source("residual_int8");
  qat.export_onnx("residual_int8.onnx");
  return report(compare_networks(quantized, read_tflite("residual_int8.tflite"), data.test));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const bool given = argc == 3 && std::string_view(argv[1]) == "--data";
    if (argc > 1 && !given) {
      fmt::print(stderr, "usage: residual [--data DIR]\n");
      return 2;
    }
    return run(given ? load_idx(argv[2])
                     : make_digits(/*seed=*/0, /*train_count=*/20000, /*test_count=*/2000))
               ? 0
               : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "residual: {}\n", error.what());
    return 1;
  }
}
