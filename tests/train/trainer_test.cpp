#include <octet/core/error.h>
#include <octet/core/ops/ops.h>
#include <octet/layers/dropout.h>
#include <octet/layers/gru.h>
#include <octet/layers/reshape.h>
#include <octet/tests/train/training.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

namespace octet::test::trainer_test {
namespace {

TEST(Trainer, LearnsASeparableProblem) {
  const Dataset train = clouds(90, 1, 6, 3, 0.15F);
  const Dataset test = clouds(60, 2, 6, 3, 0.15F);
  Sequential model = small_mlp();
  Trainer trainer(model, Adam(0.01F), {.batch_size = 16});
  EXPECT_LT(trainer.evaluate(test).accuracy, 0.8);
  const History& history = trainer.fit(train, test, 20);
  ASSERT_EQ(history.size(), 20U);
  for (std::size_t i = 0; i < history.size(); ++i) {
    EXPECT_EQ(history[i].phase, "float");
    EXPECT_EQ(history[i].epoch, static_cast<int>(i) + 1);
    EXPECT_GT(history[i].seconds, 0.0);
    EXPECT_NEAR(history[i].images_per_second * history[i].seconds, 90.0, 1e-6);
    EXPECT_FALSE(history[i].integer_accuracy.has_value());
    EXPECT_FALSE(history[i].differing_predictions.has_value());
  }
  EXPECT_LT(history.back().train_loss, 0.5 * history.front().train_loss);
  EXPECT_GT(*history.back().train_accuracy, 0.95);
  EXPECT_GT(*history.back().test_accuracy, 0.95);
  EXPECT_EQ(*history.back().test_accuracy, trainer.evaluate(test).accuracy);
  EXPECT_EQ(trainer.evaluate(test).predictions, trainer.predict(test.features(0, test.size())));
  EXPECT_EQ(trainer.steps(), 20U * 6U);
  EXPECT_FALSE(trainer.stopped());
  EXPECT_FALSE(trainer.calibrated().has_value());
}

/// Several calls, fit(trainer, data) one after the other, end where one call of 5 epochs ends.
void expect_as_five_epochs(const std::function<void(Trainer&, const Dataset&)>& fit) {
  const Dataset data = clouds(30);
  Sequential once = small_mlp();
  Sequential often = small_mlp();
  Trainer a(once, Adam(), {.batch_size = 8});
  Trainer b(often, Adam(), {.batch_size = 8});
  a.fit(data, data, 5);
  fit(b, data);
  EXPECT_EQ(b.history().size(), 5U);
  EXPECT_EQ(b.history().back().epoch, 5);
  EXPECT_EQ(snapshot_of(a), snapshot_of(b));
}

TEST(Trainer, FitTrainsOn) {
  expect_as_five_epochs([](Trainer& trainer, const Dataset& data) {
    for (const int epochs : {2, 0, 1, 2}) trainer.fit(data, data, epochs);
  });
}

TEST(Trainer, AnEpochThatWasStoppedIsFinishedAndCounts) {
  const Dataset data = clouds(30);
  Sequential model = small_mlp();
  int steps = 0;
  Trainer trainer(model, Adam(), {.batch_size = 8, .should_stop = [&] { return ++steps == 6; }});
  trainer.fit(data, 3);
  EXPECT_TRUE(trainer.stopped());
  EXPECT_EQ(trainer.history().size(), 1U);
  trainer.fit(data, 2);
  EXPECT_EQ(trainer.history().size(), 3U);
  EXPECT_EQ(trainer.steps(), 12U);
}

TEST(Trainer, FitUntilCountsEpochsOverCalls) {
  expect_as_five_epochs([](Trainer& trainer, const Dataset& data) {
    for (const int epochs : {0, 2, 2, 1, 5}) trainer.fit_until(data, data, epochs);
  });
}

TEST(Trainer, WorksWithoutATestSet) {
  const Dataset data = clouds(30);
  Sequential with = small_mlp();
  Sequential without = small_mlp();
  Trainer a(with, Adam());
  Trainer b(without, Adam());
  a.fit(data, data, 2);
  b.fit(data, 2);
  EXPECT_FALSE(b.history()[1].test_accuracy.has_value());
  EXPECT_EQ(a.history()[1].train_loss, b.history()[1].train_loss);
  EXPECT_EQ(bytes_of(with), bytes_of(without));
}

TEST(Trainer, MeansWeighALastSmallBatchByItsRows) {
  const Dataset data = clouds(21);
  Sequential model = small_mlp();
  const Tensor output = model.forward_logits(data.features(0, 21));
  const auto expected =
      static_cast<double>(sparse_categorical_cross_entropy()(output, data.labels()).item());
  for (const std::size_t batch : {1U, 4U, 20U, 21U, 500U}) {
    // So small a rate changes no output.
    Trainer trainer(model, Sgd(1e-30F), {.batch_size = batch});
    const EpochRecord record = trainer.fit(data, 1)[0];
    EXPECT_NEAR(record.train_loss, expected, 1e-6) << batch;
    EXPECT_NEAR(*record.train_accuracy, accuracy(output, data.labels()), 1e-12) << batch;
    EXPECT_EQ(trainer.steps(), (21 + batch - 1) / batch);
  }
}

TEST(Trainer, AsksTheScheduleForEveryStep) {
  std::vector<std::uint64_t> asked;
  const Schedule schedule = [&](std::uint64_t step) {
    asked.push_back(step);
    return 0.01F / static_cast<float>(step + 1);
  };
  const Dataset data = clouds(10);
  Sequential model = small_mlp();
  Trainer trainer(model, Sgd(schedule), {.batch_size = 4});
  trainer.fit(data, 2);
  EXPECT_EQ(std::set<std::uint64_t>(asked.begin(), asked.end()),
            (std::set<std::uint64_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(trainer.history()[0].learning_rate, 0.01F);
  EXPECT_EQ(trainer.history()[1].learning_rate, 0.01F / 4.0F);
}

TEST(Trainer, ACosineMayEndAtZero) {
  const Dataset data = clouds(10);
  Sequential model = small_mlp();
  Trainer trainer(model, Sgd(cosine_decay(0.1F, 5), {.momentum = 0.5F}), {.batch_size = 2});
  trainer.fit(data, 1);
  const Bytes before = bytes_of(model);
  EXPECT_NO_THROW(trainer.fit(data, 1));
  EXPECT_EQ(bytes_of(model), before);
}

/// The labels of an epoch in the order in which they were trained on.
std::vector<Labels> orders(bool shuffle, std::uint64_t seed) {
  std::vector<Labels> epochs(2);
  std::size_t seen = 0;
  const Dataset data = clouds(40, 3);
  Sequential model = small_mlp();
  Trainer trainer(model, Sgd(),
                  {.batch_size = 7,
                   .seed = seed,
                   .shuffle = shuffle,
                   .augment = [&](Tensor&, std::span<const std::int32_t> labels, Random) {
                     for (const auto label : labels) epochs[seen++ / 40].push_back(label);
                   }});
  trainer.fit(data, 2);
  return epochs;
}

TEST(Trainer, ShufflesByTheSeed) {
  const Dataset data = clouds(40, 3);
  const Labels plain(data.labels().begin(), data.labels().end());
  EXPECT_EQ(orders(false, 0), (std::vector<Labels>{plain, plain}));
  const auto shuffled = orders(true, 0);
  EXPECT_NE(shuffled[0], shuffled[1]);
  EXPECT_EQ(shuffled, orders(true, 0));
  EXPECT_NE(shuffled, orders(true, 1));
  for (Labels labels : shuffled) {
    Labels sorted = plain;
    std::ranges::sort(labels);
    std::ranges::sort(sorted);
    EXPECT_EQ(labels, sorted);
  }
}

TEST(Trainer, AugmentationIsWhatIsTrainedOn) {
  const Dataset data = clouds(20);
  Sequential model = small_mlp();
  const auto kernel_before = bytes_of({model.parameters()[0]});
  std::set<float> draws;
  Trainer trainer(model, Sgd(), {.batch_size = 6, .augment = [&](Tensor& x, auto, Random random) {
                                   draws.insert(random.uniform(0));
                                   x = Tensor::zeros(x.shape());
                                 }});
  trainer.fit(data, 3);
  // Features of 0 give the first kernel no slope; the second bias learns the shares of the classes.
  EXPECT_EQ(bytes_of({model.parameters()[0]}), kernel_before);
  EXPECT_NE(model.parameters()[3].tensor.data()[0], 0.0F);
  EXPECT_EQ(draws.size(), 12U);

  Trainer wrong(model, Sgd(), {.augment = [](Tensor& x, auto, Random) { x = x.slice(0, 1); }});
  expect_mentions(message_of<InvalidArgument>([&] { wrong.fit(data, 1); }), "augmentation");
}

TEST(Trainer, ClipsTheGradientOfAllParameters) {
  const Dataset data = clouds(20);
  Sequential recurrent("recurrent", Input({6}), Reshape({3, 2}), GRU(4), Dense(3));
  recurrent.build(1);
  const auto step_norm = [&](std::optional<double> clip_norm, Sequential model = small_mlp()) {
    const Sequential before = model;
    const auto steep = [](const Tensor& y, const Targets& labels) {
      return sparse_categorical_cross_entropy()(y, labels) * 100.0F;
    };
    Trainer trainer(model, Sgd(1.0F), {.loss = steep, .batch_size = 20, .clip_norm = clip_norm});
    trainer.fit(data, 1);
    double squares = 0.0;
    for (std::size_t p = 0; p < model.parameters().size(); ++p) {
      const Tensor moved = model.parameters()[p].tensor;
      for (Index i = 0; i < moved.size(); ++i) {
        squares += std::pow(static_cast<double>(moved.data()[i]) -
                                static_cast<double>(before.parameters()[p].tensor.data()[i]),
                            2.0);
      }
    }
    return std::sqrt(squares);
  };
  const double free = step_norm(0.0);
  EXPECT_NEAR(step_norm(free / 3.0), free / 3.0, 1e-5);
  EXPECT_DOUBLE_EQ(step_norm(free * 1.01), free);
  EXPECT_DOUBLE_EQ(step_norm({}), free);
  EXPECT_GT(step_norm(0.0, recurrent), 10.0);
  EXPECT_NEAR(step_norm({}, recurrent), 1.0, 1e-5);
}

TEST(Trainer, DropoutDropsInTrainingAlone) {
  const Dataset train = clouds(120, 1);
  const Dataset test = clouds(60, 2);
  const auto make = [] {
    Sequential model("dropping", Input({6}), Dense(24, Activation::relu), Dropout(0.3F),
                     Dense(3, Activation::softmax));
    model.build(0);
    return model;
  };
  Sequential model = make();
  Trainer trainer(model, Adam(0.01F), {.batch_size = 16});
  trainer.fit(train, test, 15);
  EXPECT_GT(*trainer.history().back().test_accuracy, 0.9);
  EXPECT_EQ(trainer.evaluate(test).predictions, trainer.evaluate(test).predictions);

  Sequential again = make();
  Trainer same(again, Adam(0.01F), {.batch_size = 16});
  same.fit(train, test, 15);
  EXPECT_EQ(snapshot_of(trainer), snapshot_of(same));

  Sequential plain = make();
  Trainer other_seed(plain, Adam(0.01F), {.batch_size = 120, .seed = 1});
  other_seed.fit(train, test, 1);
  Sequential third = make();
  Trainer other_masks(third, Adam(0.01F), {.batch_size = 120, .seed = 2});
  other_masks.fit(train, test, 1);
  // One batch holds all examples: what differs is what was dropped.
  EXPECT_GT(std::abs(other_seed.history()[0].train_loss - other_masks.history()[0].train_loss),
            1e-4);
}

TEST(Trainer, EveryStepDropsOthers) {
  const Dataset data = clouds(20);
  Sequential model("dropping", Input({6}), Dropout(0.5F), Dense(3, Activation::softmax));
  std::set<float> losses;
  Trainer trainer(model, Sgd(1e-30F),
                  {.loss =
                       [&](const Tensor& output, auto labels) {
                         Tensor loss = sparse_categorical_cross_entropy()(output, labels);
                         losses.insert(loss.item());
                         return loss;
                       },
                   .shuffle = false});
  trainer.fit(data, 5);
  EXPECT_EQ(losses.size(), 5U);
}

TEST(Trainer, TakesExamplesOfAnotherShapeButEqualSize) {
  const Dataset flat = clouds(30);
  const Tensor all = flat.features(0, 30);
  const Dataset images =
      Dataset::from_floats("images", {2, 3}, {all.span().begin(), all.span().end()},
                           {flat.labels().begin(), flat.labels().end()}, 3);
  Sequential a = small_mlp();
  Sequential b = small_mlp();
  Trainer on_flat(a, Adam());
  Trainer on_images(b, Adam());
  on_flat.fit(flat, flat, 2);
  on_images.fit(images, images, 2);
  EXPECT_EQ(snapshot_of(on_flat), snapshot_of(on_images));
}

TEST(Trainer, BuildsAModelWithoutTensorsBySeed) {
  Sequential model("small", Input({6}), Dense(8, Activation::relu), Dense(3, Activation::softmax));
  const Trainer trainer(model, Adam(), {.seed = 11});
  EXPECT_EQ(bytes_of(model), bytes_of(small_mlp(11)));
  EXPECT_NE(bytes_of(model), bytes_of(small_mlp(0)));
  EXPECT_EQ(&trainer.model(), &model);
}

TEST(Trainer, KeepsACopyOfTheOptimizer) {
  const Dataset data = clouds(20);
  const Adam adam;
  Sequential a = small_mlp();
  Sequential b = small_mlp();
  Trainer first(a, adam);
  first.fit(data, 2);
  Trainer second(b, adam);
  second.fit(data, 2);
  EXPECT_EQ(snapshot_of(first), snapshot_of(second));
  EXPECT_EQ(adam.state().size(), 1U);
}

}  // namespace
}  // namespace octet::test::trainer_test
