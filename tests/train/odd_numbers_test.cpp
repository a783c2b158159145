// Data and options at the edge of sense, through the Trainer. What else is refused, and with which
// message: dataset_test, data_loader_test, optimizer_test, schedule_test, trainer_fault_test.

#include <octet/core/error.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/train/training.h>

#include <cmath>
#include <limits>

namespace octet::test::odd_numbers_test {
namespace {

/// `count` examples of 6 features, all of label `label`.
Dataset one_label(std::size_t count, std::int32_t label, int classes) {
  std::vector<float> values(count * 6);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 11) / 10.0F;
  return Dataset::from_floats("one", {6}, values, Labels(count, label), classes);
}

TEST(OddNumbers, OneClassOnly) {
  // A set of one class, and one of three classes that shows a single one.
  for (const int classes : {1, 3}) {
    const Dataset data = one_label(20, classes - 1, classes);
    Sequential model = quantize_model(small_mlp(0, 6, 8, classes));
    Trainer trainer(model, Adam(0.05F));
    const History history = trainer.fit(data, data, 8);
    EXPECT_EQ(history.back().train_accuracy, 1.0);
    EXPECT_EQ(history.back().integer_accuracy, 1.0);
    Interpreter interpreter(trainer.lower());
    EXPECT_EQ(interpreter.predict(data.features(0, 20).span()), Labels(20, classes - 1));
  }
}

TEST(OddNumbers, ABatchLargerThanTheSetIsTheSet) {
  const Dataset data = clouds(30);
  std::vector<Bytes> models;
  for (const std::size_t batch : {std::size_t{30}, std::size_t{1} << 20}) {
    Sequential model = small_mlp();
    Trainer trainer(model, Adam(), {.batch_size = batch});
    trainer.fit(data, data, 3);
    EXPECT_EQ(trainer.steps(), 3U);
    models.push_back(bytes_of(model));
  }
  EXPECT_EQ(models[0], models[1]);
}

TEST(OddNumbers, ARateOf1e30StopsAdamToo) {
  const Dataset data = clouds(40);
  Sequential model = small_mlp();
  Trainer trainer(model, Adam(1e30F), {.batch_size = 8});
  const std::string message = message_of<NumericError>([&] { trainer.fit(data, data, 3); });
  expect_mentions(message, "training stopped at epoch 1, step ");
  expect_mentions(message, "smaller learning rate");
}

TEST(OddNumbers, ImagesThatAreNotFiniteAreNamedOrClassed) {
  const Dataset good = clouds(40);
  Sequential model = quantize_model(small_mlp());
  Trainer trainer(model, Adam());
  trainer.fit(good, good, 2);
  const Bytes before = bytes_of(model);
  for (const float odd : {std::nanf(""), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()}) {
    std::vector<float> values(12, 0.5F);
    values[7] = odd;
    const Dataset bad = Dataset::from_floats("bad", {6}, values, {0, 1}, 3);
    // Ranges would be spoilt by it: training and calibrating refuse.
    Sequential fresh = quantize_model(small_mlp());
    Trainer other(fresh, Adam());
    expect_mentions(message_of<NumericError>([&] { other.fit(bad, 1); }),
                    "the batch itself holds NaN or infinity");
    if (std::isnan(odd)) {
      expect_mentions(message_of<NumericError>([&] { trainer.predict(bad.features(0, 2)); }),
                      "predict: expected numbers, found NaN in row 1 of the features");
      continue;
    }
    // Scoring has its ranges: an infinity is a code like any other, and the integers agree.
    const Labels trained = trainer.predict(bad.features(0, 2));
    Interpreter interpreter(trainer.lower());
    EXPECT_EQ(interpreter.predict(bad.features(0, 2).span()), trained);
  }
  EXPECT_EQ(bytes_of(model), before);
}

}  // namespace
}  // namespace octet::test::odd_numbers_test
