// The program of docs/howto/streaming.md: trains a network that tells words in a stream of frames,
// writes it as C source, and what it says of a long stream to the files "frames" and "expected".
#include <fmt/core.h>
#include <octet/core/quant/quantize.h>
#include <octet/octet.h>

#include <exception>
#include <fstream>

namespace {

using namespace octet;

constexpr Index kFrames = 32;
constexpr Index kBands = 8;

/// Frames of noise: of word 0 nothing else, of word 1 a tone that rises, of word 2 one that falls.
Dataset words(Index count, std::uint64_t seed) {
  const Tensor frames = Tensor::normal({count, kFrames, kBands}, Random(seed), 0.0F, 0.3F);
  std::vector<float> values(frames.span().begin(), frames.span().end());
  std::vector<std::int32_t> labels;
  for (Index i = 0; i < count; ++i) {
    labels.push_back(static_cast<std::int32_t>(i % 3));
    for (Index t = 0; t < kFrames && labels.back() > 0; ++t) {
      const Index band = t * kBands / kFrames;
      const Index at = labels.back() == 1 ? band : kBands - 1 - band;
      values[static_cast<std::size_t>((i * kFrames + t) * kBands + at)] += 1.0F;
    }
  }
  return Dataset::from_floats("words", {kFrames, kBands}, std::move(values), std::move(labels), 3);
}

bool run() {
  const Dataset train = words(600, /*seed=*/0);
  const Dataset test = words(300, /*seed=*/1);

  Sequential model("spotter", Input({kFrames, kBands}),
                   Conv1D(16, 5, Activation::relu, {.stride = 2, .padding = Padding::causal}),
                   SeparableConv1D(16, 5, Activation::relu, {.padding = Padding::causal}),
                   GRU(8, {.return_sequences = true}), GlobalAveragePool1D(),
                   Dense(3, Activation::softmax));
  model.build(/*seed=*/0);
  Trainer(model, Adam(0.005F)).fit(train, test, /*epochs=*/8);
  Sequential quantized = quantize_model(model, {.rounding = contract_of(Target::cmsis_nn)});
  Trainer qat(quantized, Adam(0.001F));
  const EpochRecord last = qat.fit(train, test, /*epochs=*/2).back();

  const StepModel spotter = step_model(quantized);  // takes spotter.steps == 2 frames at once
  write_c_source(lower(spotter), "spotter");
  write_tflite(lower(spotter), "spotter.tflite");

  StreamingInterpreter stream(lower(spotter), spotter.states);
  std::ofstream frames("frames", std::ios::binary);
  std::ofstream expected("expected");
  const Tensor sound = test.features(0, 20).reshape({20 * kFrames, kBands});
  for (Index t = 0; t < sound.dim(0); t += spotter.steps) {
    const auto pieces = stream.interpreter().input<std::int8_t>();
    quantize(sound.span().subspan(static_cast<std::size_t>(t * kBands), pieces.size()),
             spotter.model.layer("quantize_layer").result_quantizer()->params(), pieces);
    for (const std::int8_t value : pieces) frames.put(static_cast<char>(value));
    stream.step();
    for (const std::int8_t code : stream.interpreter().output<std::int8_t>()) {
      expected << int(code) << '\n';
    }
  }
  const double accuracy = last.integer_accuracy.value();
  fmt::print("accuracy {:.3f}, {} steps at once\n", accuracy, spotter.steps);
  return accuracy > 0.95 && spotter.steps == 2;
}

}  // namespace

int main() {
  try {
    return run() ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "stream_words: {}\n", error.what());
    return 1;
  }
}
