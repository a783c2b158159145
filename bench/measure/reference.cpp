#include <fmt/core.h>
#include <octet/bench/measure/reference.h>
#include <octet/examples/networks/networks.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace octet::bench {
namespace {

constexpr std::string_view kConvolutions = "convolutions";

Model convolutions(const Reference& of) {
  Model model{std::string(kConvolutions)};
  Value x = model.input(of.example);
  for (int i = 0; i < 4; ++i) {
    x = model.add(Conv2D(of.channels, 3, Activation::none, {.padding = Padding::same}), x);
    x = model.add(ReLU(), model.add(BatchNorm(), x));
  }
  x = model.add(GlobalAveragePool2D(), x);
  model.output(model.add(Dense(of.classes, Activation::softmax), x));
  return model;
}

/// A recurrent layer over the steps and a classifier of its last state.
template <class Layer>
Model recurrent(const Reference& of) {
  Model model{std::string(of.name)};
  const Value states = model.add(Layer(of.channels, {.fused = of.fused}), model.input(of.example));
  model.output(model.add(Dense(of.classes, Activation::softmax), states));
  return model;
}

/// Causal convolutions with residuals in blocks, dilated by 1, 2, 4, ...
Model tcn(const Reference& of) {
  constexpr int kBlocks = 6;
  Model model{std::string(of.name)};
  const auto convolved = [&](const Value& in, Index kernel, Index dilation) {
    return model.add(Conv1D(of.channels, kernel, Activation::relu,
                            {.dilation = dilation, .padding = Padding::causal}),
                     in);
  };
  Value x = convolved(model.input(of.example), 3, 1);
  for (int block = 0; block < kBlocks; ++block) {
    x = model.add(Add(), {x, convolved(convolved(x, 3, Index{1} << block), 3, Index{1} << block)});
  }
  model.output(
      model.add(Dense(of.classes, Activation::softmax), model.add(GlobalAveragePool1D(), x)));
  return model;
}

/// Attention of a sequence to itself, and a classifier of the mean of its results.
Model attention(const Reference& of) {
  constexpr Index kHeads = 4;
  Model model{std::string(of.name)};
  const Value x = model.input(of.example);
  const Value y = model.add(MultiHeadAttention(kHeads, of.channels / kHeads), x);
  model.output(model.add(Dense(of.classes, Activation::softmax),
                         model.add(GlobalAveragePool1D(), model.add(Add(), {x, y}))));
  return model;
}

Model unbuilt(const Reference& of) {
  if (of.name.starts_with("gru")) return recurrent<GRU>(of);
  if (of.name.starts_with("lstm")) return recurrent<LSTM>(of);
  if (of.name == "tcn") return tcn(of);
  if (of.name == "attention") return attention(of);
  if (of.name == kConvolutions) return convolutions(of);
  if (of.classes == 0) return networks::autoencoder(of.example.size());
  if (of.name == "mlp") return networks::mlp(of.example, {256, 128}, of.classes);
  return networks::classifier(of.name).make(of.example, of.classes);
}

}  // namespace

std::span<const Reference> references() {
  static const std::array<Reference, 14> all = {{{"mlp", {784}, 10},
                                                 {"lenet5", {28, 28, 1}, 10},
                                                 {"dscnn", {49, 10, 1}, 12},
                                                 {"resnet8", {32, 32, 3}, 10},
                                                 {"mobilenet", {96, 96, 3}, 2},
                                                 {"autoencoder", {640}, 0},
                                                 {"gru64", {50, 64}, 10, 64},
                                                 {"gru128", {50, 128}, 10, 128},
                                                 {"lstm64", {50, 64}, 10, 64},
                                                 {"lstm128", {50, 128}, 10, 128},
                                                 {"lstm64_fused", {50, 64}, 10, 64, true},
                                                 {"lstm128_fused", {50, 128}, 10, 128, true},
                                                 {"tcn", {100, 16}, 10, 32},
                                                 {"attention", {64, 64}, 10, 64}}};
  return all;
}

Reference reference(std::string_view name, const ConvolutionsSize& size) {
  if (name == kConvolutions) {
    return {
        .name = kConvolutions, .example = {size.image, size.image, 3}, .channels = size.channels};
  }
  const auto all = references();
  const auto found = std::ranges::find(all, name, &Reference::name);
  if (found != all.end()) return *found;
  std::string names;
  for (const Reference& one : all) names += std::string(one.name) + ", ";
  throw InvalidArgument(
      fmt::format("octet_measure: expected {}or convolutions, found \"{}\"", names, name));
}

Model make_network(const Reference& of) {
  Model model = unbuilt(of);
  model.build(/*seed=*/0);
  return model;
}

Model quantized(const Reference& of) {
  // Examples that give activations their ranges.
  constexpr Index kCalibration = 2;
  Model model = quantize_model(make_network(of), of.quantize_options());
  calibrate(model, Tensor::uniform(of.example.with_batch(kCalibration), Random(1), 0.0F, 1.0F));
  return model;
}

IntegerModel integers_of(const Reference& of) { return lower(quantized(of)); }

Model model_of(const TrainedNetwork& trained) {
  const Reference of = reference(trained.network, trained.of);
  Model model = make_network(of);
  if (!trained.quantized) return model;
  QuantizeOptions options = of.quantize_options();
  if (trained.batch_statistics) options.batch_norm = BatchNormMode::statistics;
  return quantize_model(model, options);
}

TrainerOptions options_of(const TrainedNetwork& trained) {
  TrainerOptions options{.batch_size = trained.batch,
                         .backward = trained.backward,
                         .freeze_batch_norm_after = std::numeric_limits<int>::max()};
  if (reference(trained.network, trained.of).classes == 0) options.loss = mean_squared_error();
  return options;
}

Dataset pixels_for(const Reference& of, std::size_t count) {
  std::vector<std::uint8_t> pixels(count * static_cast<std::size_t>(of.example.size()));
  const Random random(1);
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] = static_cast<std::uint8_t>(random.bits(i) & 0xFFU);
  }
  std::vector<std::int32_t> labels(count);
  for (std::size_t i = 0; i < count; ++i) labels[i] = static_cast<std::int32_t>(i) % of.classes;
  return Dataset::from_bytes("noise", of.example, std::move(pixels), std::move(labels), of.classes);
}

Dataset noise_for(const Reference& of, std::size_t count) {
  const Tensor x =
      Tensor::uniform(of.example.with_batch(static_cast<Index>(count)), Random(1), 0.0F, 1.0F);
  if (of.classes == 0) return Dataset::from_tensors("noise", x, x);
  std::vector<std::int32_t> labels(count);
  for (std::size_t i = 0; i < count; ++i) labels[i] = static_cast<std::int32_t>(i) % of.classes;
  return Dataset::from_floats("noise", of.example, {x.span().begin(), x.span().end()},
                              std::move(labels), of.classes);
}

}  // namespace octet::bench
