#include <octet/core/error.h>
#include <octet/core/ops/activation.h>
#include <octet/core/ops/elementwise.h>
#include <octet/core/ops/reduce.h>
#include <octet/layers/concatenate.h>
#include <octet/tests/core/ops/op_testing.h>
#include <octet/tests/train/training.h>
#include <octet/train/data/data_description.h>
#include <octet/train/data/fingerprint.h>
#include <octet/train/data/image_augmentation.h>
#include <octet/train/data/normalization.h>

#include <functional>

namespace octet::test::sample_weights_test {
namespace {

const std::vector<float> kWeights = {2, 0, 1, 0.5F, 3, 1};

Dataset rows(const Tensor& targets) {
  return Dataset::from_tensors("rows", random_tensor({6, 3}, 5), targets);
}

Tensor column(const std::vector<float>& values) {
  return Tensor::from({static_cast<Index>(values.size()), 1}, values);
}

/// What three epochs of one step each make of a small model.
std::vector<float> trained(Model& model, const Dataset& data, const TrainerOptions& options) {
  Trainer trainer(model, Sgd(0.3F), options);
  trainer.fit(data, 3);
  std::vector<float> values;
  for (const NamedTensor& parameter : model.parameters()) {
    const std::span<const float> span = parameter.tensor.span();
    values.insert(values.end(), span.begin(), span.end());
  }
  return values;
}

std::vector<float> trained(Activation end, const Dataset& data, const Loss& loss) {
  Sequential model("small", Input({3}), Dense(4, Activation::tanh), Dense(1, end));
  model.build(3);
  return trained(model, data, {.loss = loss, .batch_size = 6, .shuffle = false});
}

void expect_near(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5F) << i;
}

TEST(SampleWeights, WeighWhatExamplesAddToTheGradientOfAnyLoss) {
  const Tensor weights = column(kWeights);
  const Dataset numbers = rows(random_tensor({6, 1}, 9));
  const Loss squares = [&](const Tensor& y, const Targets& t) {
    return mean(weights * square(y - t.values()));
  };
  const auto weighed =
      trained(Activation::none, numbers.with_sample_weights(kWeights), mean_squared_error());
  expect_near(weighed, trained(Activation::none, numbers, squares));
  EXPECT_NE(weighed, trained(Activation::none, numbers, mean_squared_error()));

  // Its loss reads the logits in front of the sigmoid.
  const Dataset flags = rows(column({1, 0, 0, 1, 1, 0}));
  const Loss logs = [&](const Tensor& y, const Targets& targets) {
    const Tensor& t = targets.values();
    return -mean(weights * (t * log(y) + (1.0F - t) * log(1.0F - y)));
  };
  expect_near(
      trained(Activation::sigmoid, flags.with_sample_weights(kWeights), binary_cross_entropy()),
      trained(Activation::sigmoid, flags, logs));
}

TEST(SampleWeights, WeighTheLossOfEveryOutput) {
  const auto build = [] {
    Model model("two");
    const Value x = model.input({3});
    model.output(model.add(Dense(1, Activation::none, "a"), x));
    model.output(model.add(Dense(1, Activation::none, "b"), x));
    model.build(2);
    return model;
  };
  const Tensor a = random_tensor({6, 1}, 1);
  const Tensor b = random_tensor({6, 1}, 2);
  const Dataset data =
      Dataset::from_tensors("two", {random_tensor({6, 3}, 3)}, std::vector<Targets>{a, b});
  const Loss squares = [](const Tensor& y, const Targets& t) {
    return mean(column(kWeights) * square(y - t.values()));
  };
  const auto options = [](const Loss& loss) {
    return TrainerOptions{
        .losses = {{.output = "a", .loss = loss}, {.output = "b", .loss = loss, .weight = 0.5F}},
        .batch_size = 6,
        .shuffle = false};
  };
  Model weighed = build();
  Model expected = build();
  expect_near(trained(weighed, data.with_sample_weights(kWeights), options(mean_squared_error())),
              trained(expected, data, options(squares)));
}

TEST(SampleWeights, WeightsOfOneChangeNothing) {
  const Dataset data = clouds(40);
  Sequential alone = small_mlp();
  Sequential weighed = small_mlp();
  Trainer(alone, Adam(0.01F)).fit(data, 2);
  Trainer(weighed, Adam(0.01F)).fit(data.with_sample_weights(std::vector<float>(40, 1.0F)), 2);
  EXPECT_EQ(bytes_of(alone), bytes_of(weighed));
}

std::vector<float> weights_of(const Dataset& data) {
  return {data.sample_weights().begin(), data.sample_weights().end()};
}

TEST(SampleWeights, StayWithTheirExamples) {
  const Dataset data = clouds(6).with_sample_weights(kWeights);
  const std::vector<std::uint32_t> some = {4, 0, 3};
  EXPECT_EQ(weights_of(data.subset(some)), (std::vector<float>{3, 2, 0.5F}));
  EXPECT_EQ(weights_of(data.slice(1, 3)), (std::vector<float>{0, 1}));
  EXPECT_EQ(data.batch(some).weights, (std::vector<float>{3, 2, 0.5F}));
  EXPECT_EQ(data.batch(1, 3).weights, (std::vector<float>{0, 1}));
  EXPECT_EQ(weights_of(normalized(data, measure_normalization(data))), kWeights);
  EXPECT_NE(fingerprint(data), fingerprint(clouds(6)));
  EXPECT_TRUE(clouds(6).batch(0, 6).weights.empty());
}

TEST(SampleWeights, WrongOnesAreNamed) {
  const auto refused = [](const std::vector<float>& weights, const std::string& says) {
    expect_throws<InvalidArgument>([&] { clouds(3).with_sample_weights(weights); }, {says});
  };
  refused({1, 2}, "a weight for each of its 3 examples, found 2");
  refused({1, -1, 2}, "expected finite weights of 0 or more, found -1 of example 1");
  refused({1, 1, std::numeric_limits<float>::infinity()}, "found inf of example 2");
  refused({0, 0, 0}, "expected a weight above 0, found none");
}

/// Three examples of one value, which say that they weigh something.
class WeighingReader final : public DatasetReader {
 public:
  std::size_t size() const override { return 3; }
  Shape example_shape() const override { return {1}; }
  int classes() const override { return 2; }
  Batch read(std::span<const std::uint32_t> rows) override {
    const auto count = static_cast<Index>(rows.size());
    return {.features = Tensor::zeros({count, 1}),
            .targets = Labels(rows.size(), 1),
            .weights = std::vector<float>(rows.size(), 2.0F)};
  }
};

TEST(SampleWeights, AreNotTakenFromAReader) {
  const Dataset data = Dataset::from_reader("read", std::make_shared<WeighingReader>());
  expect_throws<InvalidArgument>([&] { data.batch(0, 2); },
                                 {"expected the reader to return no weights, found 2"});
}

TEST(OtherFeatures, KeepWhatBelongsToTheExamples) {
  const Dataset images =
      Dataset::from_bytes("i", {4, 4}, std::vector<std::uint8_t>(32, 7), {1, 0}, 2)
          .with_class_names({"idle", "worn"})
          .with_sample_weights({1, 3});
  const Dataset middle = center_crop(images, 2, 3);
  EXPECT_EQ(middle.example_shape(), (Shape{2, 3}));
  EXPECT_EQ(middle.class_names(), images.class_names());
  EXPECT_EQ(weights_of(middle), (std::vector<float>{1, 3}));
  EXPECT_EQ(middle.labels()[0], 1);
  EXPECT_EQ(middle.name(), "i");
  EXPECT_EQ(middle.classes(), 2);
  const Dataset numbers = images.with_targets(Tensor::from({2, 2}, {1, 2, 3, 4}));
  const Dataset other = numbers.with_features(middle);
  EXPECT_EQ(other.example_shape(), (Shape{2, 3}));
  EXPECT_EQ(other.target_shape(), (Shape{2}));
  EXPECT_EQ(other.targets(1, 2).values().at({0, 1}), 4.0F);
  // What describes files describes features of their shape.
  const Dataset described = Dataset(images).with_description(
      std::make_shared<DataDescription>(DataDescription{.format = "images", .shape = {4, 4}}));
  EXPECT_EQ(center_crop(described, 2, 3).description(), nullptr);
  EXPECT_EQ(normalized(described, measure_normalization(described)).description(),
            described.description());
  expect_throws<InvalidArgument>([&] { images.with_features(clouds(3)); },
                                 {"features of one input for its 2 examples, in memory, found 3"});
}

}  // namespace
}  // namespace octet::test::sample_weights_test
