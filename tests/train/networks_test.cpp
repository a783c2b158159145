// The networks of examples/networks.

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <octet/examples/networks/networks.h>
#include <octet/runtime/operator_cost.h>
#include <octet/tests/core/thrown.h>
#include <octet/train/layer_differences.h>

#include <cmath>

namespace octet::test::networks_test {
namespace {

Index parameters_of(Model model) {
  model.build(/*seed=*/0);
  Index count = 0;
  for (const auto& list : {model.parameters(), model.state()}) {
    for (const NamedTensor& tensor : list) count += tensor.tensor.size();
  }
  return count;
}

TEST(Networks, HaveTheParametersOfTheReference) {
  EXPECT_EQ(parameters_of(networks::lenet5({28, 28, 1}, 10)), 61706);
  EXPECT_EQ(parameters_of(networks::dscnn({49, 10, 1}, 12)), 24908);
  EXPECT_EQ(parameters_of(networks::resnet8({32, 32, 3}, 10)), 78666);
  EXPECT_EQ(parameters_of(networks::mobilenet_v1({96, 96, 3}, 2)), 221794);
  EXPECT_EQ(parameters_of(networks::autoencoder(640)), 269992);
  EXPECT_EQ(parameters_of(networks::mlp({28, 28}, {256, 128}, 10)), 235146);
}

TEST(Networks, HaveTheLayersOfTheReference) {
  Model model = networks::resnet8({32, 32, 3}, 10);
  model.build(/*seed=*/0);
  std::map<std::string, int> layers;
  for (const auto& layer : model.layers()) ++layers[std::string(layer->type())];
  EXPECT_EQ(layers, (std::map<std::string, int>{{"Add", 3},
                                                {"BatchNorm", 7},
                                                {"Conv2D", 9},
                                                {"Dense", 1},
                                                {"GlobalAveragePool2D", 1},
                                                {"InputLayer", 1},
                                                {"ReLU", 4}}));
}

TEST(Networks, AWidthScalesTheFilters) {
  Model model = networks::mobilenet_v1({32, 32, 3}, 5, Activation::softmax, /*width=*/0.5);
  model.build(/*seed=*/0);
  EXPECT_EQ(model.layers()[1]->output_shape(), (Shape{16, 16, 16}));
  EXPECT_EQ(model.layers()[model.layers().size() - 2]->output_shape(), (Shape{512}));
  for (const double width : {0.0, -1.0, 4.5, std::nan("")}) {
    EXPECT_THROW(networks::mobilenet_v1({32, 32, 3}, 5, Activation::softmax, width),
                 InvalidArgument)
        << width;
  }
}

TEST(Networks, TakeImagesOfAnySizeWithAndWithoutAnAxisOfChannels) {
  for (const networks::Classifier& one : networks::classifiers()) {
    SCOPED_TRACE(one.name);
    for (const Shape& image : {Shape{28, 28}, Shape{28, 28, 1}, Shape{32, 20, 3}}) {
      Model model = one.make(image, 7);
      model.build(/*seed=*/0);
      EXPECT_EQ(model.input_shape().size(), image.size());
      EXPECT_EQ(model.input_shape().rank(), 3);
      EXPECT_EQ(model.output_shape(), (Shape{7}));
      EXPECT_TRUE(model.ends_in_softmax());
      const Tensor y = model.forward(Tensor::zeros(model.input_shape().with_batch(2)));
      EXPECT_EQ(y.shape(), (Shape{2, 7}));
    }
  }
}

TEST(Networks, OfSequencesTakeThemAndNoImages) {
  for (const networks::Classifier& one : networks::sequence_classifiers()) {
    SCOPED_TRACE(one.name);
    Model model = one.make({29, 12}, 9);
    model.build(/*seed=*/0);
    EXPECT_EQ(model.output_shape(), (Shape{9}));
    EXPECT_LE(parameters_of(model), 60000);
    expect_throws<InvalidArgument>(
        [&] {
          one.make({28, 28, 1}, 9);
        },
        {std::string(one.name), "sequences [steps, features]", "found examples [28, 28, 1]"});
  }
  EXPECT_EQ(parameters_of(networks::gru({29, 12}, 9)), 14329);
}

TEST(Networks, AnUnknownNameListsAll) {
  EXPECT_EQ(networks::classifier("lenet5").name, "lenet5");
  expect_throws<InvalidArgument>([&] { networks::classifier("lenet"); },
                                 {"expected one of lenet5, ", "found \"lenet\""});
}

std::int64_t multiply_adds_of(Model model) {
  model.build(/*seed=*/0);
  return model_cost(lower_float(model)).multiply_adds;
}

TEST(Networks, CostWhatTheReferenceCosts) {
  EXPECT_EQ(multiply_adds_of(networks::lenet5({28, 28, 1}, 10)), 416520);
  EXPECT_EQ(multiply_adds_of(networks::resnet8({32, 32, 3}, 10)), 12501632);
  EXPECT_EQ(multiply_adds_of(networks::autoencoder(640)), 264192);
}

TEST(Networks, ShipWhatTheyTrain) {
  const DataSplit data = make_digits(/*seed=*/0, /*train_count=*/90, /*test_count=*/20);
  std::vector<networks::Classifier> all = networks::classifiers();
  // The rows of an image are a sequence.
  all.insert(all.end(), networks::sequence_classifiers().begin(),
             networks::sequence_classifiers().end());
  for (const networks::Classifier& one : all) {
    Model model = one.make(data.train.example_shape(), 10);
    Trainer(model, Adam(), {.batch_size = 30}).fit(data.train, /*epochs=*/1);
    for (const Target target : {Target::litert, Target::tflm}) {
      SCOPED_TRACE(fmt::format("{} for {}", one.name, to_string(target)));
      Model quantized = quantize_model(model, {.rounding = contract_of(target)});
      Trainer qat(quantized, Adam(1e-4F), {.batch_size = 30});
      qat.fit(data.train, /*epochs=*/1);
      const IntegerModel shipped = from_tflite(to_tflite(lower(quantized)));
      EXPECT_EQ(rounding_of(shipped), contract_of(target));
      const NetworkDifference difference = compare_networks(quantized, shipped, data.test);
      EXPECT_GT(difference.total().compared, 20U * 5000);
      EXPECT_EQ(difference.total().differing, 0U);
      EXPECT_EQ(difference.differing_predictions, 0U);
    }
  }
}

}  // namespace
}  // namespace octet::test::networks_test
