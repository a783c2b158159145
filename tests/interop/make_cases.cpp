// Writes what foreign runtimes are held against: models, inputs and the outputs of our interpreter.
//
//   make_interop_cases DIR
//
// DIR/cases.json lists the cases; models, and numbers with samples end to end, are parts [begin,
// end) of DIR/cases.bin: one file, since there are thousands. Images come from the folder
// OCTET_MNIST_DIR, or are drawn where that is not set. Where OCTET_MLPERF_DIR names a folder, the
// int8 networks of MLPerf Tiny in it, which others made, are cases too.

#include <fmt/format.h>
#include <octet/core/quant/quantize.h>
#include <octet/examples/networks/networks.h>
#include <octet/examples/residual_mlp.h>
#include <octet/octet.h>
#include <octet/tests/interop/case_folder.h>
#include <octet/tests/interop/model_windows.h>
#include <octet/tests/layers/quantize/random_convolutions.h>
#include <octet/tests/layers/quantize/random_graphs.h>
#include <octet/tests/layers/quantize/random_nets.h>
#include <octet/tests/runtime/conv_models.h>
#include <octet/tests/runtime/elementwise_models.h>
#include <octet/tests/runtime/mean_models.h>
#include <octet/tests/runtime/naive_graph.h>
#include <octet/tests/runtime/transposed_models.h>
#include <octet/tests/runtime/window_models.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

namespace octet::interop {
namespace {

constexpr std::uint32_t kNets = 200;
constexpr std::uint32_t kTrainedGraphs = 100;
constexpr std::uint32_t kChains = 100;
constexpr std::uint32_t kConvolutions = 100;
constexpr std::uint32_t kElementwise = 150;
constexpr std::uint32_t kReadOnly = 90;
constexpr std::uint32_t kTrainedConvolutions = 40;
constexpr std::uint32_t kTransposed = 60;
constexpr std::uint32_t kTrainedTransposed = 40;
constexpr std::size_t kNetworkTrainImages = 2000;
/// What of the test set the networks of the examples are run on.
struct NetworkImages {
  std::size_t first = 0;
  std::size_t results = 1000;
  /// Images of which every layer is compared.
  std::size_t layers = 20;
};
/// Of each network that others made: cases, and samples of each; of all layers, one case of fewer.
constexpr int kForeignCases = 10;
constexpr Index kForeignSamples = 100;
constexpr Index kForeignLayerSamples = 10;
constexpr Index kNetSamples = 32;
constexpr std::size_t kTrainImages = 20000;
constexpr std::size_t kDrawnTestImages = 2000;
/// Of the cases beside the one that shows all layers, which takes every test image.
constexpr Index kFewImages = 2000;

/// The codes of `reals` on the grid of the model's input.
std::vector<std::int8_t> quantized(const IntegerModel& model, std::span<const float> reals) {
  std::vector<std::int8_t> codes(reals.size());
  quantize(reals, tensor_of(model, model.inputs[0]).quantization, codes, RoundMode::half_to_even);
  return codes;
}

/// The model with every layer's codes as an output.
IntegerModel with_all_layers(IntegerModel model) {
  model.outputs.clear();
  for (const Operator& op : model.operators) model.outputs.push_back(op.outputs[0]);
  return model;
}

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

/// The networks of the examples, batch normalization folded.
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

/// Half of the samples like those that the net has seen, the other half any codes at all.
Samples net_input(CaseFolder& folder, const IntegerModel& model, const Tensor& batch,
                  const Random& random) {
  const std::span<const float> reals = batch.span();
  if (tensor_of(model, model.inputs[0]).dtype == DType::float32) {
    return folder.input(DType::float32, kNetSamples, reals);
  }
  auto codes = quantized(model, reals);
  for (std::size_t i = codes.size() / 2; i < codes.size(); ++i) {
    codes[i] = static_cast<std::int8_t>(static_cast<int>(random.below(i, 256)) - 128);
  }
  return folder.input(DType::int8, kNetSamples, std::span<const std::int8_t>(codes));
}

/// False for a net that XNNPACK could not run.
bool add_net(CaseFolder& folder, std::uint32_t seed) {
  testing::RandomNet net(seed);
  QuantizeOptions options = net.options(Rounding::fp32);
  options.per_channel = seed % 2 == 0;
  Sequential model = quantize_model(net.model(), options);
  calibrate(model, net.batch(9));
  testing::train_a_little(model, net, 3);
  const IoType io = seed % 4 < 2 ? IoType::int8 : IoType::float32;
  const IntegerModel lowered = lower(model, {.input = io, .output = io});
  // A layer whose results are all 0 gets a tiny scale, and a factor that XNNPACK refuses.
  if (!runtime_warnings(lowered).empty()) return false;
  const Samples input = net_input(folder, lowered, net.batch(kNetSamples), Random(seed));
  ordered_json& entry = folder.add(fmt::format("net-{:03}", seed), lowered, input);
  folder.add_onnx(entry, lowered, input, CaseFolder::run(lowered, input));
  if (options.per_channel) {
    folder.add(fmt::format("net-{:03}-conv_2d", seed), per_channel_as_conv_2d(lowered), input);
  }
  return true;
}

/// A graph with forks, ADD and CONCATENATION: every layer's codes. False where XNNPACK could not
/// run it.
bool add_graph(CaseFolder& folder, const std::string& name, const IntegerModel& model,
               std::uint64_t seed) {
  if (!runtime_warnings(model).empty()) return false;
  test::Draw draw(seed);
  const auto size = static_cast<std::size_t>(tensor_of(model, model.inputs[0]).size());
  const auto codes = test::random_codes(size * kNetSamples, draw);
  const Samples input = folder.input(DType::int8, kNetSamples, std::span<const std::int8_t>(codes));
  ordered_json& entry = folder.add(name, with_all_layers(model), input);
  // The TensorFlow Lite of tfjs-tflite knows no fused activation of TRANSPOSE_CONV, and its XNNPACK
  // takes one scale for all units only.
  entry["newer"] = std::ranges::any_of(
      model.operators, [](const Operator& op) { return is_transposed(op) || is_mean(op); });
  // ONNX Runtime gets all samples at once.
  const bool takes_batches = !tensor_of(model, model.inputs[0]).shape_signature.empty();
  if (takes_batches && !rounds_twice(model)) {
    folder.add_onnx(entry, model, input, CaseFolder::run(model, input));
  }
  return true;
}

bool add_drawn_graph(CaseFolder& folder, std::uint32_t seed) {
  const IntegerModel graph =
      test::draw_graph(seed, /*several_inputs=*/false, /*per_channel=*/seed % 2 == 0);
  return add_graph(folder, fmt::format("graph-{:03}", seed), graph, seed);
}

/// The same for a graph of layers, quantized and trained.
bool add_trained_graph(CaseFolder& folder, std::uint32_t seed) {
  testing::RandomGraph graph(seed);
  const QuantizeOptions options = graph.options(Rounding::fp32);
  Model model = quantize_model(graph.model(), options);
  calibrate(model, graph.batch(17));
  testing::train_a_little(model, graph, 2);
  const IntegerModel lowered = lower(model);
  if (!runtime_warnings(lowered).empty()) return false;
  const Samples input = net_input(folder, lowered, graph.batch(kNetSamples), Random(seed));
  const std::string name = fmt::format("trained-graph-{:03}", seed);
  ordered_json& entry = folder.add(name, with_all_layers(lowered), input);
  folder.add_onnx(entry, lowered, input, CaseFolder::run(lowered, input));
  if (options.per_channel) {
    folder.add(name + "-conv_2d", with_all_layers(per_channel_as_conv_2d(lowered)), input);
  }
  return true;
}

/// LEAKY_RELU of slopes that XNNPACK's steps of 1/256 tell apart, and the codes of a model whose
/// end stays in float: its floats are summed in another order, so that they are not compared.
void add_leaky_and_mixed(CaseFolder& folder) {
  for (const float alpha : {0.3F, 0.01F, 1.5F, 0.0F}) {
    Sequential net("leaky", Input({12}), Dense(24), LeakyReLU(alpha), Dense(9, Activation::relu),
                   LeakyReLU(alpha, "last"), in_float(Dense(4, Activation::softmax)));
    net.build(/*seed=*/static_cast<std::uint64_t>(alpha * 100.0F));
    const Tensor samples = testing::random_tensor({kNetSamples, 12}, 7, -2.0F, 2.0F);
    IntegerModel model = lower(quantize_post_training(net, samples));
    model.outputs.clear();
    for (const Operator& op : model.operators) {
      if (tensor_of(model, op.outputs[0]).dtype == DType::int8) {
        model.outputs.push_back(op.outputs[0]);
      }
    }
    const Samples input = net_input(folder, model, samples, Random(5));
    folder.add(fmt::format("leaky-{}", alpha), model, input);
  }
}

/// A CONV_2D of any window. False where runtimes could not run it: XNNPACK asks for a bias.
bool add_convolution(CaseFolder& folder, std::uint32_t seed) {
  test::Draw draw(seed);
  const test::Conv c = test::draw_conv(draw);
  const IntegerModel model = test::model_of(c);
  if (c.bias.empty() || skips_pixels(model)) return false;
  return add_graph(folder, fmt::format("convolution-{:03}", seed), model, seed);
}

/// A network of convolutions, quantized and trained: every layer's codes. False where runtimes
/// could not run it.
bool add_trained_network(CaseFolder& folder, std::string_view kind, const Sequential& net,
                         std::uint32_t seed) {
  Sequential model = quantize_model(net);
  calibrate(model, testing::images_for(model, 20, seed));
  testing::train_a_little(model, seed);
  const IntegerModel lowered = lower(model);
  if (skips_pixels(lowered)) return false;
  return add_graph(folder, fmt::format("trained-{}-{:03}", kind, seed), lowered, seed);
}

bool add_trained_convolutions(CaseFolder& folder, std::uint32_t seed) {
  const bool images = seed % 2 == 0;
  return add_trained_network(
      folder, "convolutions",
      images ? testing::random_images_net(seed) : testing::random_sequences_net(seed), seed);
}

bool add_trained_transposed(CaseFolder& folder, std::uint32_t seed) {
  return add_trained_network(folder, "transposed", testing::random_transposed_net(seed), seed);
}

/// A TRANSPOSE_CONV of any window. False where runtimes could not run it.
bool add_transposed(CaseFolder& folder, std::uint32_t seed) {
  test::Draw draw(seed);
  const IntegerModel model = test::transposed_model(test::draw_transposed(draw));
  return add_graph(folder, fmt::format("transposed-{:03}", seed), model, seed);
}

/// MUL, ADD or SUB with a constant, shapes that broadcast among them, HARD_SWISH or
/// RESIZE_NEAREST_NEIGHBOR. False where runtimes could not run it.
bool add_elementwise(CaseFolder& folder, std::uint32_t seed) {
  test::Draw draw(seed);
  const std::string name = fmt::format("elementwise-{:03}", seed);
  switch (seed % 3) {
    case 0:
      return add_graph(folder, name, test::draw_constant_pair(draw, /*batched=*/true), seed);
    case 1:
      return add_graph(folder, name, test::draw_hard_swish(draw), seed);
    default:
      return add_graph(folder, name, test::model_of(test::draw_resize(draw)), seed);
  }
}

/// MEAN, PADV2 or SQUEEZE, which no layer becomes. False where runtimes could not run it.
bool add_read_only(CaseFolder& folder, std::uint32_t seed) {
  test::Draw draw(seed);
  const std::string name = fmt::format("read-only-{:03}", seed);
  switch (seed % 3) {
    case 0:
      return add_graph(folder, name, test::model_of(test::draw_mean(draw)), seed);
    case 1:
      return add_graph(folder, name, test::draw_pad(draw, OpCode::padv2), seed);
    default:
      return add_graph(folder, name, test::squeeze_model({2, 1, draw.between(1, 9), 1}, {1, -1}),
                       seed);
  }
}

/// Samples of random codes for a model of int8.
Samples random_input(CaseFolder& folder, const IntegerModel& model, Index count,
                     std::uint64_t seed) {
  test::Draw draw(seed);
  const auto size = static_cast<std::size_t>(tensor_of(model, model.inputs[0]).size());
  const auto codes = test::random_codes(size * static_cast<std::size_t>(count), draw);
  return folder.input(DType::int8, count, std::span<const std::int8_t>(codes));
}

void add_foreign_networks(CaseFolder& folder, const fs::path& files) {
  std::set<fs::path> found;
  for (const auto& entry : fs::directory_iterator(files)) {
    if (entry.path().extension() == ".tflite") found.insert(entry.path());
  }
  if (found.empty()) {
    throw InvalidArgument(fmt::format(
        "OCTET_MLPERF_DIR: expected .tflite files in '{}', found none", files.string()));
  }
  for (const fs::path& file : found) {
    const IntegerModel model = read_tflite(file);
    const std::string name = file.stem().string();
    for (int part = 0; part < kForeignCases; ++part) {
      folder.add(fmt::format("{}-{}", name, part), model,
                 random_input(folder, model, kForeignSamples, static_cast<std::uint64_t>(part)));
    }
    folder.add(name + "-layers", with_all_layers(model),
               random_input(folder, model, kForeignLayerSamples, kForeignCases));
  }
}

/// The images of MNIST where they are there, and what they are called.
std::pair<DataSplit, std::string> images() {
  const char* mnist = std::getenv("OCTET_MNIST_DIR");
  if (mnist != nullptr && *mnist != '\0') return {load_idx(mnist), "MNIST"};
  return {make_digits(0, kTrainImages, kDrawnTestImages), "drawn digits"};
}

/// Every layer of the networks of the examples, on `count` test images from `first` on.
void make_networks(const fs::path& path, std::size_t first, std::size_t count) {
  CaseFolder folder;
  const auto [data, name] = images();
  if (count == 0 || first + count > data.test.size()) {
    throw InvalidArgument(fmt::format("expected some of {} test images, found {} from {} on",
                                      data.test.size(), count, first));
  }
  add_networks(folder, data, {.first = first, .results = count, .layers = count});
  folder.write(path, name);
}

void make(const fs::path& path) {
  CaseFolder folder;
  const auto [data, name] = images();
  add_images(folder, data);
  add_networks(folder, data, {});
  const auto add_some = [&](std::uint32_t count, bool (*add)(CaseFolder&, std::uint32_t)) {
    for (std::uint32_t seed = 0; count > 0; ++seed) count -= add(folder, seed) ? 1 : 0;
  };
  add_some(kNets, add_net);
  add_some(kNets, add_drawn_graph);
  add_graph(folder, "graph-far-scales", test::make_far_scales(), 1);
  add_leaky_and_mixed(folder);
  add_graph(folder, "graph-axes", test::make_axes(), 1);
  for (std::uint32_t seed = 0; seed < kChains; ++seed) {
    add_graph(folder, fmt::format("rescaling-{:03}", seed), test::draw_rescaling_chain(seed), seed);
  }
  add_some(kTrainedGraphs, add_trained_graph);
  add_some(kConvolutions, add_convolution);
  add_some(kElementwise, add_elementwise);
  add_some(kReadOnly, add_read_only);
  add_some(kTrainedConvolutions, add_trained_convolutions);
  add_some(kTransposed, add_transposed);
  add_some(kTrainedTransposed, add_trained_transposed);
  const char* mlperf = std::getenv("OCTET_MLPERF_DIR");
  if (mlperf != nullptr && *mlperf != '\0') add_foreign_networks(folder, mlperf);
  folder.write(path, name);
}

}  // namespace
}  // namespace octet::interop

int main(int argc, char** argv) {
  const auto number = [&](int i) { return static_cast<std::size_t>(std::atoi(argv[i])); };
  if (argc != 2 && argc != 4) {
    fmt::print(stderr,
               "usage: make_interop_cases DIR [FIRST COUNT]\n"
               "FIRST COUNT: the networks of the examples alone, every layer, on these images\n");
    return 2;
  }
  try {
    if (argc == 2) octet::interop::make(argv[1]);
    if (argc == 4) octet::interop::make_networks(argv[1], number(2), number(3));
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "make_interop_cases: {}\n", error.what());
    return 1;
  }
}
