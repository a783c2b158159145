#include <fmt/core.h>
#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/core/log.h>
#include <octet/core/ops/shape_ops.h>
#include <octet/import/weights/weights.h>
#include <octet/layers/layers.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/layers/sequential.h>
#include <octet/tests/import/safetensors_files.h>

#include <algorithm>

namespace octet::test::weights_test {
namespace {

namespace fs = std::filesystem;

Sequential network(std::uint64_t seed) {
  Sequential model("net", Input({6, 5, 2}), Conv2D(3, 3), BatchNorm(), ReLU(), DepthwiseConv2D(2),
                   Flatten(), Dense(4));
  model.build(seed);
  return model;
}

/// All numbers of a model.
std::vector<float> numbers(const Model& model) {
  std::vector<float> all;
  for (const auto& [name, tensor] : model.saved_tensors()) {
    const Tensor& values = tensor;
    all.insert(all.end(), values.span().begin(), values.span().end());
  }
  return all;
}

using Named = std::vector<std::pair<std::string, Tensor>>;
using Names = std::vector<std::string>;

/// The tensors of a model under other names.
template <class Rename>
Named tensors_of(const Model& model, Rename rename) {
  Named tensors;
  std::vector<NamedTensor> all = model.parameters();
  append(all, model.state());
  for (const auto& [name, tensor] : all) tensors.emplace_back(rename(name), tensor);
  return tensors;
}

std::string keras_name(const std::string& name) {
  if (name == "depthwise_conv2d/kernel") return "depthwise_conv2d/depthwise_kernel:0";
  return name + ":0";
}

class LoadWeights : public testing::Test {
 protected:
  fs::path write(const Named& tensors) const {
    write_safetensors(path_, tensors);
    return path_;
  }

  /// The message of load_weights(), which must leave the model as it was.
  std::string error(const Named& tensors, const WeightRules& rules = {}) const {
    Sequential model = network(2);
    const std::vector<float> before = numbers(model);
    write(tensors);
    std::string message = message_of<FormatError>([&] { load_weights(model, path_, rules); });
    EXPECT_EQ(numbers(model), before);
    return message;
  }

  ScratchDirectory scratch_;
  fs::path path_ = scratch_.path() / "weights.safetensors";
};

TEST_F(LoadWeights, TakesDepthwiseKernelsOfSequencesAsPyTorchLaysThemOut) {
  const auto sequences = [](std::uint64_t seed) {
    Sequential model("net", Input({6, 3}),
                     DepthwiseConv1D(4, Activation::none,
                                     {.depth_multiplier = 2, .use_bias = false, .name = "conv"}));
    model.build(seed);
    return model;
  };
  const Sequential from = sequences(1);
  const Tensor kernel = from.parameters()[0].tensor.detach();
  write({{"conv.weight", permute(kernel, {1, 2, 0}).reshape({6, 1, 4})}});
  Sequential to = sequences(2);
  load_weights(to, path_, {.names = WeightNames::pytorch});
  EXPECT_EQ(numbers(to), numbers(from));
}

TEST_F(LoadWeights, TakesNamesOfOctetAndOfKeras) {
  const Sequential from = network(1);
  Sequential octet = network(2);
  save_weights(from, path_);
  load_weights(octet, path_);
  EXPECT_EQ(numbers(octet), numbers(from));
  Sequential keras = network(3);
  write(tensors_of(from, keras_name));
  load_weights(keras, path_, {.names = WeightNames::keras});
  EXPECT_EQ(numbers(keras), numbers(from));
}

TEST_F(LoadWeights, TakesLayersOfOtherNames) {
  const Sequential from = network(1);
  const WeightRules rules = {.layers = {{"block/first", "conv2d"}, {"head", "dense"}}};
  save_weights(from, path_, rules);
  EXPECT_EQ(read_safetensors(path_).front().name, "block/first/kernel");
  Sequential to = network(2);
  load_weights(to, path_, rules);
  EXPECT_EQ(numbers(to), numbers(from));
}

TEST_F(LoadWeights, NamesWhatIsMissingUnusedAndOfAnotherShape) {
  Named tensors = tensors_of(network(1), [](const std::string& name) { return name; });
  const auto at = std::ranges::find(tensors, "dense/bias", &std::pair<std::string, Tensor>::first);
  at->first = "dense/offset";
  tensors.front().second = Tensor::zeros({3, 3, 2, 4});
  const std::string message = error(tensors);
  expect_mentions(message, "not in the file:\n    dense/bias [4]");
  expect_mentions(message, "wanted by no layer:\n    \"dense/offset\" [4]");
  expect_mentions(message,
                  "conv2d/kernel: expected shape [3, 3, 2, 3], found \"conv2d/kernel\" of "
                  "shape [3, 3, 2, 4]");
}

TEST_F(LoadWeights, AllowsWhatTheRulesAllow) {
  const Sequential from = network(1);
  Named tensors = tensors_of(from, [](const std::string& name) { return name; });
  tensors.emplace_back("optimizer/step", Tensor::scalar(3));
  expect_mentions(error(tensors), "\"optimizer/step\" []");
  Sequential to = network(2);
  write(tensors);
  load_weights(to, path_, {.allow_unused = true});
  EXPECT_EQ(numbers(to), numbers(from));

  tensors = {{"dense/bias", Tensor::full({4}, 7)}};
  expect_mentions(error(tensors), "dense/kernel [18, 4]");
  Sequential partly = network(2);
  write(tensors);
  load_weights(partly, path_, {.allow_missing = true});
  const Sequential before = network(2);
  EXPECT_EQ(std::as_const(partly).layer("dense").parameters()[1].tensor.at({0}), 7.0F);
  const Tensor kernel = partly.layer("dense").parameters()[0].tensor;
  const Tensor same = before.layer("dense").parameters()[0].tensor;
  EXPECT_TRUE(std::ranges::equal(kernel.span(), same.span()));
  const LoadedWeights loaded = load_weights(partly, path_, {.allow_missing = true});
  EXPECT_EQ(loaded.loaded, Names{"dense/bias"});
  EXPECT_EQ(std::ranges::count(loaded.missing, "dense/kernel"), 1);
  EXPECT_EQ(loaded.unused, Names());
  // A wrong shape is never allowed.
  const WeightRules all = {.allow_unused = true, .allow_missing = true};
  expect_mentions(error({{"dense/bias", Tensor::zeros({5})}}, all),
                  "found \"dense/bias\" of shape");
}

TEST_F(LoadWeights, TellsOfAFileOfWhichNothingIsTaken) {
  Sequential model("net", Input({4}), Dense(2, Activation::none, "head"));
  model.build();
  write({{"base/kernel", Tensor::zeros({4, 2})}, {"base/bias", Tensor::zeros({2})}});
  std::vector<std::string> warnings;
  const CollectWarnings collect(warnings);
  const LoadedWeights loaded =
      load_weights(model, path_, {.allow_unused = true, .allow_missing = true});
  EXPECT_EQ(loaded.loaded, Names());
  EXPECT_EQ(loaded.missing, (Names{"head/kernel", "head/bias"}));
  EXPECT_EQ(loaded.unused, (Names{"base/bias", "base/kernel"}));
  ASSERT_EQ(warnings.size(), 1U);
  expect_mentions(warnings[0], "model \"net\" took none of the 2 tensors of");
  expect_mentions(warnings[0], "rules.layers = {{\"base\", \"head\"}}");
  load_weights(model, path_, {.layers = {{"base", "head"}}});
  EXPECT_EQ(warnings.size(), 1U);
}

TEST_F(LoadWeights, RefusesTwoTensorsForOneAndWholeNumbers) {
  Named tensors = tensors_of(network(1), keras_name);
  tensors.emplace_back("dense/bias", Tensor::zeros({4}));
  expect_mentions(error(tensors, {.names = WeightNames::keras}),
                  "dense/bias: found \"dense/bias:0\" and \"dense/bias\" for it");
  Sequential model("small", Input({1}), Dense(1, Activation::none, {.use_bias = false}));
  model.build();
  const auto path = scratch_.write(
      "ints", safetensors_bytes(
                  R"({"dense/kernel":{"dtype":"I8","shape":[1,1],"data_offsets":[0,1]}})", {1}));
  expect_mentions(
      message_of<FormatError>([&] { load_weights(model, path); }),
      "dense/kernel: expected floating-point numbers, found \"dense/kernel\" of type I8");
}

TEST_F(LoadWeights, RefusesModelsAndRulesThatCannotBe) {
  Sequential model = network(1);
  save_weights(model, path_);
  Sequential unbuilt("net", Input({3}), Dense(2));
  EXPECT_THROW(load_weights(unbuilt, path_), InvalidArgument);
  EXPECT_THROW(save_weights(unbuilt, path_), InvalidArgument);
  EXPECT_THROW(load_weights(model, path_, {.layers = {{"dense", "no such layer"}}}),
               InvalidArgument);
  EXPECT_THROW(load_weights(model, path_, {.layers = {{"nowhere", "dense"}}}), InvalidArgument);
  EXPECT_THROW(save_weights(model, path_, {.layers = {{"a", "dense"}, {"b", "dense"}}}),
               InvalidArgument);
  EXPECT_THROW(save_weights(model, path_, {.layers = {{"conv2d", "dense"}}}), InvalidArgument);
  EXPECT_THROW(load_weights(model, scratch_.path() / "none.safetensors"), IoError);
  auto quantized = quantize_model(model);
  EXPECT_THROW(load_weights(quantized, path_, {.names = WeightNames::pytorch}), InvalidArgument);
  const auto hdf5 = scratch_.write("a.h5", {0x89, 'H', 'D', 'F', 0x0D, 0x0A});
  expect_mentions(message_of<FormatError>([&] { load_weights(model, hdf5); }), "HDF5");
}

TEST_F(LoadWeights, GivesAQuantizedModelBackUnderItsOwnNames) {
  const auto from = quantize_model(network(1));
  auto to = quantize_model(network(2));
  save_weights(from, path_);
  load_weights(to, path_);
  EXPECT_EQ(numbers(to), numbers(from));
}

TEST_F(LoadWeights, ListsNoMoreThanCanBeRead) {
  Named tensors;
  for (int i = 0; i < 50; ++i) tensors.emplace_back(fmt::format("t{}/x", i), Tensor::scalar(1));
  expect_mentions(error(tensors), "... and 30 more");
}

}  // namespace
}  // namespace octet::test::weights_test
