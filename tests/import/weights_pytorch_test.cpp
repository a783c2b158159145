// Networks of PyTorch with their weights in Octet's: the same outputs. tests/data/weights holds the
// files and the script that made them.

#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/import/weights/weights.h>
#include <octet/layers/layers.h>
#include <octet/layers/sequential.h>
#include <octet/tests/import/safetensors_files.h>
#include <octet_test_paths.h>

#include <algorithm>
#include <cmath>

namespace octet::test::weights_pytorch_test {
namespace {

std::filesystem::path data(const std::string& name) {
  return std::filesystem::path(OCTET_TEST_DATA_DIR) / "weights" / (name + ".safetensors");
}

Tensor run_of(const std::string& name, std::string_view tensor) {
  for (const WeightTensor& found : read_safetensors(data(name + "_runs"))) {
    if (found.name == tensor) return found.values;
  }
  ADD_FAILURE() << name << " has no " << tensor;
  return {};
}

/// The largest difference, relative to the largest output.
float difference(const Model& model, const std::string& name) {
  const Tensor y = model.forward(run_of(name, "x"));
  const Tensor expected = run_of(name, "y");
  EXPECT_EQ(y.shape(), expected.shape());
  float scale = 0;
  float worst = 0;
  for (std::size_t i = 0; i < y.span().size(); ++i) {
    scale = std::max(scale, std::abs(expected.span()[i]));
    worst = std::max(worst, std::abs(expected.span()[i] - y.span()[i]));
  }
  return worst / scale;
}

constexpr float kMost = 1e-5F;

Sequential mlp() {
  Sequential model("mlp", Input({12}), Dense(9, Activation::relu), Dense(7, Activation::relu),
                   Dense(4, Activation::none, {.use_bias = false}));
  model.build(3);
  return model;
}

const WeightRules kMlp = {.names = WeightNames::pytorch,
                          .layers = {{"fc1", "dense"}, {"fc2", "dense_1"}, {"fc3", "dense_2"}}};

Sequential images() {
  const BatchNormOptions norm{.epsilon = 1e-5F};
  Sequential model(
      "images", Input({8, 7, 3}), ZeroPadding2D({.top = 1, .bottom = 1, .left = 1, .right = 1}),
      Conv2D(6, {3, 2}, Activation::none, {.use_bias = false}), BatchNorm(norm), ReLU(),
      DepthwiseConv2D(3, Activation::relu, {.strides = {2, 2}, .depth_multiplier = 2}),
      Conv2D(8, 1, Activation::relu, {.groups = 4}),
      TransposedConv2D(5, 3, Activation::none, {.strides = {2, 2}}), BatchNorm(norm), ReLU(),
      MaxPool2D(), Flatten(), BatchNorm(norm), Dropout(0.5F), Dense(10), BatchNorm(norm), ReLU(),
      Dense(3));
  model.build(3);
  return model;
}

const WeightRules kImages = {.names = WeightNames::pytorch,
                             .layers = {{"0", "conv2d"},
                                        {"1", "batch_norm"},
                                        {"3", "depthwise_conv2d"},
                                        {"5", "conv2d_1"},
                                        {"7", "transposed_conv2d"},
                                        {"8", "batch_norm_1"},
                                        {"12", "batch_norm_2"},
                                        {"14", "dense"},
                                        {"15", "batch_norm_3"},
                                        {"17", "dense_1"}}};

Model sequences() {
  Model model("sequences");
  const Value x = model.input({9, 4});
  const Value left =
      model.add(Flatten(), model.add(Conv1D(6, 3, Activation::relu, {.name = "left"}), x));
  const Value right =
      model.add(Flatten(), model.add(Conv1D(5, 2, Activation::relu, {.name = "right"}), x));
  const Value both = model.add(Concatenate(), std::vector{left, right});
  model.output(model.add(Dense(3, Activation::none, "out"), both));
  model.build(3);
  return model;
}

TEST(PyTorchWeights, AnMlpGivesTheSame) {
  Sequential model = mlp();
  load_weights(model, data("pytorch_mlp"), kMlp);
  EXPECT_LE(difference(model, "pytorch_mlp"), kMost);
}

TEST(PyTorchWeights, AreReadFromNpzFilesToo) {
  const auto folder = data("").parent_path();
  Sequential keras = mlp();
  load_weights(keras, folder / "keras_mlp.npz", {.names = WeightNames::keras});
  EXPECT_LE(difference(keras, "pytorch_mlp"), kMost);
  Sequential compressed = images();
  load_weights(compressed, folder / "pytorch_images.npz", kImages);
  EXPECT_LE(difference(compressed, "pytorch_images"), kMost);
}

TEST(PyTorchWeights, EveryKindOfLayerWithImagesGivesTheSame) {
  Sequential model = images();
  load_weights(model, data("pytorch_images"), kImages);
  EXPECT_LE(difference(model, "pytorch_images"), kMost);
  // Without the order of flattened images it is another network.
  WeightRules rules = kImages;
  rules.flatten_channels_first = false;
  load_weights(model, data("pytorch_images"), rules);
  EXPECT_GT(difference(model, "pytorch_images"), 1e-2F);
}

TEST(PyTorchWeights, SequencesAndAConcatenationOfFlattenedOnesGiveTheSame) {
  Model model = sequences();
  load_weights(model, data("pytorch_sequences"), {.names = WeightNames::pytorch});
  EXPECT_LE(difference(model, "pytorch_sequences"), kMost);
}

/// What is saved for PyTorch is what PyTorch had written: all tensors but its counters.
void expect_saved(const Model& model, const std::string& name, const WeightRules& rules) {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "saved.safetensors";
  save_weights(model, path, rules);
  std::vector<WeightTensor> saved = read_safetensors(path);
  std::vector<WeightTensor> wanted = read_safetensors(data(name));
  std::erase_if(wanted, [](const auto& t) { return !t.values.defined(); });
  std::ranges::sort(saved, {}, &WeightTensor::name);
  std::ranges::sort(wanted, {}, &WeightTensor::name);
  ASSERT_EQ(saved.size(), wanted.size());
  for (std::size_t i = 0; i < saved.size(); ++i) {
    EXPECT_EQ(saved[i].name, wanted[i].name);
    EXPECT_EQ(saved[i].shape, wanted[i].shape) << saved[i].name;
    const Tensor& a = saved[i].values;
    const Tensor& b = wanted[i].values;
    EXPECT_TRUE(std::ranges::equal(a.span(), b.span())) << saved[i].name;
  }
}

TEST(PyTorchWeights, AreSavedAsTheyWereLoaded) {
  Sequential first = mlp();
  load_weights(first, data("pytorch_mlp"), kMlp);
  expect_saved(first, "pytorch_mlp", kMlp);
  Sequential second = images();
  load_weights(second, data("pytorch_images"), kImages);
  expect_saved(second, "pytorch_images", kImages);
  Model third = sequences();
  load_weights(third, data("pytorch_sequences"), {.names = WeightNames::pytorch});
  expect_saved(third, "pytorch_sequences", {.names = WeightNames::pytorch});
}

TEST(PyTorchWeights, AnErrorSuggestsTheLayersByTheirShapes) {
  Sequential model = images();
  const std::string message = message_of<FormatError>(
      [&] { load_weights(model, data("pytorch_images"), {.names = WeightNames::pytorch}); });
  expect_mentions(message,
                  R"(rules.layers = {{"0", "conv2d"}, {"1", "batch_norm"}, )"
                  R"({"3", "depthwise_conv2d"}, {"5", "conv2d_1"}, {"7", "transposed_conv2d"}, )"
                  R"({"8", "batch_norm_1"}, {"12", "batch_norm_2"}, {"14", "dense"}, )"
                  R"({"15", "batch_norm_3"}, {"17", "dense_1"}})");
  expect_mentions(message, "conv2d/kernel [6, 3, 3, 2]");
  expect_mentions(message, "\"0.weight\" [6, 3, 3, 2]");
  // A model that differs: a convolution that the file has in another size.
  Sequential other("other", Input({12}), Dense(8, Activation::none, "fc1"));
  other.build();
  expect_mentions(message_of<FormatError>([&] {
                    load_weights(other, data("pytorch_mlp"), {.names = WeightNames::pytorch});
                  }),
                  "fc1/kernel: expected shape [8, 12], [12, 8] in the model, found \"fc1.weight\" "
                  "of shape [9, 12]");
}

TEST(PyTorchWeights, APartOfAFlattenedImageIsRefusedByName) {
  Sequential model("m", Input({2, 2, 3}), Flatten(), Slice({.size = 5, .name = "some"}),
                   Dense(2, Activation::none, "out"));
  model.build();
  const std::filesystem::path file = data("pytorch_mlp");
  try {
    load_weights(model, file, {.names = WeightNames::pytorch});
    ADD_FAILURE() << "loaded";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("\"some\" of type Slice takes a part"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace octet::test::weights_pytorch_test
