// Quantizes a network to few bits without training, by each of the helpers there are, and prints
// what each keeps of the accuracy. Usage: post_training [FOLDER [NETWORK [SEED]]], a folder with
// IDX files (MNIST; drawn digits where it is empty), and mlp, lenet5, dscnn, resnet8 or mobilenet.
#include <fmt/core.h>
#include <octet/compress/adaround.h>
#include <octet/examples/networks/networks.h>
#include <octet/octet.h>

#include <exception>
#include <string>

namespace {

using namespace octet;

constexpr std::size_t kSamples = 1000;

Model trained(const std::string& network, const DataSplit& data, std::uint64_t seed) {
  const bool mlp = network == "mlp";
  const Shape& image = data.train.example_shape();
  Model model = mlp ? networks::mlp(image, {256, 128}, data.train.classes())
                    : networks::classifier(network).make(image, data.train.classes());
  model.build(seed);
  const float rate = mlp ? 1e-3F : networks::classifier(network).learning_rate;
  Trainer(model, Adam(rate), {.seed = seed}).fit(data.train, /*epochs=*/5);
  return model;
}

/// Accuracies of `model` with weights of so many bits, on the integers that ship.
void print_row(const Model& model, const DataSplit& data, int bits, bool per_channel) {
  const Tensor samples = fit_to_input(model, data.train.features(0, kSamples));
  Model equalized(model);
  cross_layer_equalization(equalized);
  const auto print = [&](const Model& quantized) {
    fmt::print(" {:6.2f} %", 100.0 * evaluate(lower(quantized), data.test).accuracy);
    std::fflush(stdout);
  };
  const auto quantize = [&](const Model& source, Calibration calibration) {
    return quantize_post_training(
        source, samples,
        {.weight_bits = bits, .per_channel = per_channel, .weight_calibration = calibration});
  };
  fmt::print("{:4} {:<10}", bits, per_channel ? "per unit" : "per tensor");
  print(quantize(model, Calibration::min_max));
  print(quantize(model, Calibration::mse));
  const Model before = quantize(equalized, Calibration::mse);
  print(before);
  Model corrected(before);
  correct_biases(corrected, samples);
  print(corrected);
  Model rounded(before);
  adaround(rounded, samples);
  print(rounded);
  correct_biases(rounded, before, samples);
  print(rounded);
  fmt::print("\n");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string folder = argc > 1 ? argv[1] : "";
    const std::string network = argc > 2 ? argv[2] : "mlp";
    const std::uint64_t seed = argc > 3 ? std::stoull(argv[3]) : 0;
    const DataSplit data = folder.empty() ? make_digits(seed) : load_idx(folder);
    const Model model = trained(network, data, seed);
    fmt::print("{}, in float: {:.2f} %\n", network, 100.0 * evaluate(model, data.test).accuracy);
    fmt::print(
        "bits scale        min-max      mse    + equalization + biases + AdaRound  + both\n");
    for (const int bits : {4, 3, 2}) {
      for (const bool per_channel : {false, true}) print_row(model, data, bits, per_channel);
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "post_training: {}\n", error.what());
    return 1;
  }
  return 0;
}
