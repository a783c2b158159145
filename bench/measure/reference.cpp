#include <octet/bench/measure/reference.h>
#include <octet/examples/networks/networks.h>

#include <algorithm>
#include <array>
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

Model unbuilt(const Reference& of) {
  if (of.name == kConvolutions) return convolutions(of);
  if (of.classes == 0) return networks::autoencoder(of.example.size());
  if (of.name == "mlp") return networks::mlp(of.example, {256, 128}, of.classes);
  return networks::classifier(of.name).make(of.example, of.classes);
}

}  // namespace

std::span<const Reference> references() {
  static const std::array<Reference, 6> all = {{{"mlp", {784}, 10},
                                                {"lenet5", {28, 28, 1}, 10},
                                                {"dscnn", {49, 10, 1}, 12},
                                                {"resnet8", {32, 32, 3}, 10},
                                                {"mobilenet", {96, 96, 3}, 2},
                                                {"autoencoder", {640}, 0}}};
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
  throw InvalidArgument(
      "octet_measure: expected mlp, lenet5, dscnn, resnet8, mobilenet, autoencoder or "
      "convolutions, found \"" +
      std::string(name) + "\"");
}

Model make_network(const Reference& of) {
  Model model = unbuilt(of);
  model.build(/*seed=*/0);
  return model;
}

IntegerModel integers_of(const Reference& of) {
  // Examples that give activations their ranges.
  constexpr Index kCalibration = 2;
  Model model = quantize_model(make_network(of));
  calibrate(model, Tensor::uniform(of.example.with_batch(kCalibration), Random(1), 0.0F, 1.0F));
  return lower(model);
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
