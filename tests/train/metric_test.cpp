#include <octet/core/autograd.h>
#include <octet/core/error.h>
#include <octet/core/ops/reduce.h>
#include <octet/tests/train/training.h>
#include <octet/train/evaluate.h>

#include <array>
#include <cmath>
#include <limits>

namespace octet::test::metric_test {
namespace {

/// The mean of the logits at the labels: a mean over rows, as accuracy is.
const Metric kAtLabel{"at_label", [](const Tensor& output, std::span<const std::int32_t> labels) {
                        double sum = 0.0;
                        for (std::size_t i = 0; i < labels.size(); ++i) {
                          const Index row = static_cast<Index>(i) * output.dim(1);
                          sum += double{output.data()[row + labels[i]]};
                        }
                        return sum / static_cast<double>(labels.size());
                      }};

Metric constant(std::string name, double value = 1.0) {
  return {std::move(name), [value](const Tensor&, auto) { return value; }};
}

TEST(Accuracy, TiesGoToTheFirstAndNaNIsWrong) {
  const float nan = std::nanf("");
  const float infinity = std::numeric_limits<float>::infinity();
  const auto of_row = [](std::initializer_list<float> row, std::int32_t label) {
    return accuracy(Tensor::from({1, 3}, row), std::array{label});
  };
  EXPECT_EQ(of_row({1.0F, 3.0F, 2.0F}, 1), 1.0);
  EXPECT_EQ(of_row({1.0F, 3.0F, 2.0F}, 2), 0.0);
  EXPECT_EQ(of_row({2.0F, 2.0F, 1.0F}, 0), 1.0);
  EXPECT_EQ(of_row({2.0F, 2.0F, 1.0F}, 1), 0.0);
  EXPECT_EQ(of_row({-infinity, -infinity, -infinity}, 0), 1.0);
  EXPECT_EQ(of_row({0.0F, infinity, 1.0F}, 1), 1.0);
  for (std::int32_t label = 0; label < 3; ++label) {
    EXPECT_EQ(of_row({nan, nan, nan}, label), 0.0);
    EXPECT_EQ(of_row({nan, 5.0F, 6.0F}, label), 0.0);
    EXPECT_EQ(of_row({7.0F, nan, 6.0F}, label), 0.0);
    EXPECT_EQ(of_row({7.0F, 5.0F, nan}, label), 0.0);
  }
}

TEST(Accuracy, IsTheShareOfRows) {
  const Tensor x = Tensor::from({4, 2}, {0, 1, 1, 0, 0, 1, 0, 1});
  EXPECT_EQ(accuracy(x, Labels{1, 0, 0, 1}), 0.75);
  EXPECT_EQ(accuracy(Tensor::zeros({0, 2}), Labels{}), 0.0);
  EXPECT_THROW(accuracy(x, Labels{1, 0}), InvalidArgument);
  EXPECT_THROW(accuracy(Tensor::zeros({4}), Labels{1, 0, 0, 1}), InvalidArgument);
}

TEST(Metric, OfADataSetIsTheMeanOverAllRows) {
  // More rows than are run at once, and a small last piece.
  const Dataset data = clouds(2113, 1, 6, 3, 0.8F);
  Sequential quantized = quantize_model(small_mlp());
  calibrate(quantized, data.features(0, 100));
  for (Sequential model : {small_mlp(), quantized}) {
    refresh_kernel_ranges(model);
    const Tensor output = model.forward_logits(data.features(0, data.size()));
    const auto values = measure(model, data, {kAtLabel, {"share", accuracy}});
    ASSERT_EQ(values.size(), 2U);
    EXPECT_EQ(values[0].name, "at_label");
    EXPECT_NEAR(values[0].value, kAtLabel.value(output, data.labels()), 1e-9);
    EXPECT_EQ(values[1].name, "share");
    EXPECT_NEAR(values[1].value, accuracy(output, data.labels()), 1e-12);
  }
}

TEST(Metric, SeesLogitsAndNoTape) {
  const Dataset data = clouds(10);
  const Sequential model = small_mlp();
  const Metric metric{"m", [](const Tensor& output, auto) {
                        EXPECT_FALSE(records_gradient({output}));
                        EXPECT_GT(std::abs(sum(output).item() - 10.0F), 1e-3F);
                        return 0.0;
                      }};
  measure(model, data, {metric});
}

TEST(Metric, IsRecordedAfterEachEpoch) {
  const Dataset train = clouds(40, 1);
  const Dataset test = clouds(30, 2);
  for (const bool quantized : {false, true}) {
    Sequential model = quantized ? quantize_model(small_mlp()) : small_mlp();
    Sequential without = model;
    Trainer trainer(model, Adam(), {.metrics = {kAtLabel, constant("one")}, .batch_size = 8});
    trainer.fit(train, test, 3);
    for (const EpochRecord& record : trainer.history()) {
      ASSERT_EQ(record.metrics.size(), 2U);
      EXPECT_EQ(record.metrics[1], (MetricValue{"one", 1.0}));
    }
    EXPECT_EQ(trainer.history().back().metrics, measure(model, test, {kAtLabel, constant("one")}));
    EXPECT_NE(trainer.history()[0].metrics, trainer.history()[1].metrics);
    EXPECT_EQ(trainer.calibrated().has_value(), quantized);
    if (quantized) {
      EXPECT_EQ(trainer.calibrated()->metrics.size(), 2U);
    }
    // Watching changes nothing.
    Trainer blind(without, Adam(), {.batch_size = 8});
    blind.fit(train, test, 3);
    EXPECT_EQ(bytes_of(without), bytes_of(model));
  }
  Sequential model = small_mlp();
  Trainer trainer(model, Adam(), {.metrics = {kAtLabel}});
  EXPECT_TRUE(trainer.fit(train, 1)[0].metrics.empty()) << "without a test set";
}

TEST(Metric, UnfitOnesAreRefusedByName) {
  const auto refusal = [](std::vector<Metric> metrics) {
    Sequential model = small_mlp();
    return message_of<InvalidArgument>(
        [&] { Trainer(model, Adam(), {.metrics = std::move(metrics)}); });
  };
  expect_mentions(refusal({constant("a"), constant("b"), constant("a")}),
                  "metric \"a\": another metric has that name");
  for (const char* taken :
       {"accuracy", "phase", "epoch", "train_loss", "test_accuracy", "seconds"}) {
    expect_mentions(refusal({constant(taken)}),
                    std::string("metric \"") + taken + "\": histories have");
  }
  for (const char* name : {"", "a,b", "a\nb", "\r", "\"a\"", "caf\xC3\xA9", "\x7F"}) {
    expect_mentions(refusal({constant(name)}), "expected printable ASCII");
  }
  EXPECT_EQ(refusal({constant("a\nb")}).find('\n'), std::string::npos);
  expect_mentions(refusal({{"empty", {}}}), "metric \"empty\": expected a function, found none");
  Sequential model = small_mlp();
  EXPECT_NO_THROW(
      Trainer(model, Adam(), {.metrics = {constant("top-3 (%)"), constant("Accuracy")}}));
}

TEST(Metric, OfNothingOrWithoutAValueIsAnError) {
  const Dataset data = clouds(10);
  const Sequential model = small_mlp();
  expect_mentions(message_of<InvalidArgument>([&] { measure(model, Dataset(), {kAtLabel}); }),
                  "empty data set");
  for (const double value : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    expect_mentions(message_of<NumericError>([&] {
                      measure(model, data, {kAtLabel, constant("odd", value)});
                    }),
                    "metric \"odd\": expected a finite number on \"clouds\", found");
  }
}

}  // namespace
}  // namespace octet::test::metric_test
