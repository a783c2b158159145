#include <fmt/core.h>
#include <octet/core/ops/shape_ops.h>
#include <octet/core/quant/quantize.h>
#include <octet/examples/networks/networks.h>
#include <octet/examples/residual_mlp.h>
#include <octet/tests/interop/cases.h>

namespace octet::interop {

std::vector<std::int8_t> quantized(const IntegerModel& model, std::span<const float> reals) {
  std::vector<std::int8_t> codes(reals.size());
  quantize(reals, tensor_of(model, model.inputs[0]).quantization, codes, RoundMode::half_to_even);
  return codes;
}

IntegerModel with_all_layers(IntegerModel model) {
  model.outputs.clear();
  for (const Operator& op : model.operators) {
    model.outputs.insert(model.outputs.end(), op.outputs.begin(), op.outputs.end());
  }
  return model;
}

namespace {

constexpr std::size_t kNetworkTrainImages = 2000;
/// Images of the cases beside the one that shows all layers, which takes every test image.
constexpr Index kFewImages = 2000;

Model mlp(const Shape& image, Index classes) {
  return Sequential("classifier", Input(image), Flatten(), Dense(256, Activation::relu),
                    Dense(128, Activation::relu), Dense(classes, Activation::softmax));
}

struct Classifier {
  std::string_view name;
  Model (*make)(const Shape& image, Index classes);
};

constexpr Classifier kClassifiers[] = {{"images", mlp}, {"images-residual", residual_mlp}};

Model train(Model model, const Dataset& images, bool per_channel,
            const TrainerOptions& options = {}) {
  model.build(/*seed=*/0);
  Trainer(model, Adam(), options).fit(images, 1);
  Model quantized = quantize_model(model, {.per_channel = per_channel});
  Trainer(quantized, Adam(1e-4F), options).fit(images, 1);
  refresh_kernel_ranges(quantized);
  return quantized;
}

/// The layers with a scale per channel as CONV_2D.
void add_convolutions(CaseFolder& folder, const std::string& name, const Model& trained,
                      const Samples& floats, std::span<const float> pixels) {
  LowerOptions options{.per_channel_dense = DenseForm::conv_2d};
  const IntegerModel model = lower(trained, options);
  const auto codes = quantized(model, pixels);
  folder.add(name + "-conv_2d-layers", with_all_layers(model),
             folder.input(DType::int8, floats.count, std::span<const std::int8_t>(codes)));
  options.input = options.output = IoType::float32;
  folder.add(name + "-conv_2d-float32", lower(trained, options),
             head(floats, std::min(floats.count, kFewImages)));
}

/// A trained classifier, and the test images: `floats`, `count` of them.
void add_classifier(CaseFolder& folder, const std::string& name, const Model& trained,
                    const Samples& floats, std::span<const float> pixels) {
  const IntegerModel model = lower(trained);
  const auto codes = quantized(model, pixels);
  const Samples ints = folder.input(DType::int8, floats.count, std::span<const std::int8_t>(codes));
  const Samples few_ints = head(ints, std::min(ints.count, kFewImages));
  folder.add(name + "-int8", model, few_ints);
  folder.add(name + "-float32",
             lower(trained, {.input = IoType::float32, .output = IoType::float32}),
             head(floats, few_ints.count));
  folder.add(name + "-control", with_all_layers(model), few_ints, Rounding::double_rounding);
  ordered_json& layers = folder.add(name + "-layers", with_all_layers(model), ints);
  folder.add_onnx(layers, model, floats, CaseFolder::run(model, ints));
}

}  // namespace

void add_images(CaseFolder& folder, const DataSplit& data) {
  const Dataset images = data.train.head(kTrainImages);
  const Tensor reals = data.test.features(0, data.test.size());
  const std::span<const float> pixels = reals.span();
  const Samples floats = folder.input(DType::float32, static_cast<Index>(data.test.size()), pixels);
  const auto classes = static_cast<Index>(images.classes());
  for (const auto& [net, make] : kClassifiers) {
    for (const bool per_channel : {false, true}) {
      const std::string name =
          fmt::format("{}-{}", net, per_channel ? "per_channel" : "per_tensor");
      Model trained = train(make(images.example_shape(), classes), images, per_channel);
      add_classifier(folder, name, trained, floats, pixels);
      if (per_channel) add_convolutions(folder, name, trained, floats, pixels);
    }
  }
}

namespace {

void add_network(CaseFolder& folder, const std::string& name, const Model& trained,
                 const Tensor& images, const NetworkImages& count) {
  const IntegerModel model = lower(trained);
  const auto codes = quantized(model, images.span());
  const Samples input =
      folder.input(DType::int8, images.dim(0), std::span<const std::int8_t>(codes));
  const Samples results = head(input, static_cast<Index>(count.results));
  ordered_json& entry = folder.add(name, model, results);
  folder.add_onnx(entry, model, results, CaseFolder::run(model, results));
  folder.add(name + "-layers", with_all_layers(model),
             head(input, static_cast<Index>(count.layers)));
}

}  // namespace

void add_networks(CaseFolder& folder, const DataSplit& data, const NetworkImages& count) {
  const Dataset images = data.train.head(kNetworkTrainImages);
  const Tensor test = data.test.features(count.first, count.first + count.results);
  for (const networks::Classifier& network : networks::classifiers()) {
    Model model = network.make(images.example_shape(), static_cast<Index>(images.classes()));
    add_network(folder, std::string(network.name),
                train(std::move(model), images, /*per_channel=*/true), test, count);
  }
  const Index values = images.example_shape().size();
  const auto flat = [&](const Tensor& x) { return reshape(x, {x.dim(0), values}); };
  const Tensor x = flat(images.features(0, images.size()));
  add_network(folder, "autoencoder",
              train(networks::autoencoder(values), Dataset::from_tensors("images", x, x),
                    /*per_channel=*/false, {.loss = mean_squared_error()}),
              flat(test), count);
}

}  // namespace octet::interop
