// anomaly [SEED]: finds anomalies in the spectra of a machine. An autoencoder learns to give back
// those of the machine in order, and gives back others worse. Trained in float, then in integers,
// and shipped. SEED, 0 unless given, chooses the spectra and the first weights.
#include <fmt/core.h>
#include <octet/examples/networks/networks.h>
#include <octet/octet.h>
#include <octet/train/layer_differences.h>
#include <octet/train/scores.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <string>
#include <vector>

namespace {

using namespace octet;

constexpr Index kBands = 128;

/// Adds a tone to a spectrum: a bump of `level` around `band`.
void add_tone(std::span<float> spectrum, float band, float level) {
  for (std::size_t i = 0; i < spectrum.size(); ++i) {
    const float distance = (static_cast<float>(i) - band) / 1.5F;
    spectrum[i] += level * std::exp(-distance * distance);
  }
}

/// `count` spectra of a shaft at varying speed and load: its harmonics, weaker the higher, and
/// noise. A machine that is out of order has one more tone, which is no harmonic: a worn bearing.
Tensor spectra(Index count, bool in_order, std::uint64_t seed) {
  const Random random(seed);
  Tensor result({count, kBands});
  for (Index i = 0; i < count; ++i) {
    auto draw = [&, next = std::uint64_t{0}](float low, float high) mutable {
      return low + (high - low) * random.fork(static_cast<std::uint64_t>(i)).uniform(next++);
    };
    const std::span<float> spectrum =
        result.mutable_span().subspan(static_cast<std::size_t>(i * kBands), kBands);
    for (float& band : spectrum) band = draw(0.0F, 0.04F);
    const float speed = draw(14.0F, 20.0F);
    const float load = draw(0.6F, 1.0F);
    const float falloff = draw(0.7F, 0.9F);
    for (int k = 1; static_cast<float>(k) * speed < kBands; ++k) {
      add_tone(spectrum, static_cast<float>(k) * speed,
               load * std::pow(falloff, static_cast<float>(k - 1)));
    }
    if (!in_order) add_tone(spectrum, (draw(1.0F, 5.0F) + 0.5F) * speed, draw(0.3F, 0.6F));
  }
  return result;
}

double mean(const std::vector<float>& values) {
  double sum = 0.0;
  for (const float value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

/// Prints the errors of normal and of anomalous examples; the area under the ROC curve.
double report(const char* what, const std::vector<float>& normal,
              const std::vector<float>& anomalous) {
  std::vector<float> all = normal;
  all.insert(all.end(), anomalous.begin(), anomalous.end());
  Labels is_anomaly(all.size());
  std::fill(is_anomaly.begin() + std::ssize(normal), is_anomaly.end(), 1);
  const double area = roc_auc(all, is_anomaly);
  fmt::print("{:<14} mean squared error: normal {:.2e}, anomalous {:.2e}; AUC {:.4f}\n", what,
             mean(normal), mean(anomalous), area);
  return area;
}

/// Whether the file tells anomalies apart as well as the network in float, and computes what was
/// trained, to the last bit.
bool run(std::uint64_t seed) {
  const auto dataset = [](const Tensor& x) { return Dataset::from_tensors("spectra", x, x); };
  const Dataset train = dataset(spectra(4000, /*in_order=*/true, 3 * seed));
  const Tensor normal = spectra(500, /*in_order=*/true, 3 * seed + 1);
  const Tensor anomalous = spectra(500, /*in_order=*/false, 3 * seed + 2);
  const TrainerOptions options{.loss = mean_squared_error(), .batch_size = 64, .seed = seed};

  Model model = networks::autoencoder(kBands);
  constexpr std::size_t kSteps = 63;
  Trainer(model, Adam(cosine_decay(2e-3F, 15 * kSteps)), options).fit(train, /*epochs=*/15);
  Model quantized = quantize_model(model);
  const Adam slower(cosine_decay(5e-4F, 5 * kSteps));
  // A copy takes as many steps in float, to compare with.
  Model control = model;
  Trainer(control, slower, options).fit(train, /*epochs=*/5);
  const double in_float = report("float", reconstruction_errors(control.forward(normal), normal),
                                 reconstruction_errors(control.forward(anomalous), anomalous));
  Trainer qat(quantized, slower, options);
  qat.fit(train, /*epochs=*/5);
  qat.export_int8("anomaly_int8.tflite");
  qat.export_c_source("anomaly_int8");

  const IntegerModel file = read_tflite("anomaly_int8.tflite");
  Interpreter interpreter(file);
  const auto errors = [&](const Tensor& x) {
    return reconstruction_errors(Tensor::from(x.shape(), interpreter.run(x.span())), x);
  };
  const double area = report("int8, the file", errors(normal), errors(anomalous));
  const std::size_t differing =
      compare_networks(quantized, file, dataset(anomalous)).total().differing;
  fmt::print("layer outputs in which the file differs from the trained network: {}\n", differing);
  constexpr double kNoise = 1e-3;
  return area > in_float - kNoise && differing == 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? std::stoull(argv[1]) : 0) ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "anomaly: {}\n", error.what());
    return 1;
  }
}
