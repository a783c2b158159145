// Class weights, rates that fall on plateaus, averages of weights.

#include <octet/core/error.h>
#include <octet/core/gradcheck.h>
#include <octet/tests/train/training.h>
#include <octet/train/class_weights.h>
#include <octet/train/reduce_on_plateau.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace octet::test::training_aids_test {
namespace {

TEST(ClassWeights, BalanceClassesAndWeighTheirLosses) {
  const Labels labels = {0, 0, 0, 1};
  EXPECT_EQ(balanced_class_weights(labels, 2), (std::vector<float>{4.0F / 6, 2.0F}));
  EXPECT_EQ(balanced_class_weights(labels, 3)[2], 0.0F);
  const std::vector<float> weights = {0.5F, 3.0F};
  const Tensor logits = Tensor::from({4, 2}, {1, 2, 0, -1, 3, 3, -2, 0.5F});
  const Loss loss = class_weighted_cross_entropy(weights);
  double expected = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const double a = logits.span()[2 * i];
    const double b = logits.span()[2 * i + 1];
    const double own = labels[i] == 0 ? a : b;
    const auto weight = static_cast<double>(weights[static_cast<std::size_t>(labels[i])]);
    expected -= weight * (own - std::log(std::exp(a) + std::exp(b))) / 4;
  }
  EXPECT_NEAR(loss(logits, Targets(labels)).item(), expected, 1e-6);
  const auto of = [&](const std::vector<Tensor>& x) { return loss(x[0], Targets(labels)); };
  const GradcheckResult checked = gradcheck(of, {logits});
  EXPECT_TRUE(checked.ok) << checked.message;
  EXPECT_THROW(class_weighted_cross_entropy({1, -1}), InvalidArgument);
  EXPECT_THROW(class_weighted_cross_entropy({1}), InvalidArgument);
  EXPECT_THROW(class_weighted_cross_entropy({0, 0}), InvalidArgument);
  expect_mentions(message_of<InvalidArgument>([&] {
                    class_weighted_cross_entropy({1, 1, 1})(logits, Targets(labels));
                  }),
                  "found 2");
}

std::vector<float> rates_of(const History& history) {
  std::vector<float> rates;
  for (const EpochRecord& record : history) rates.push_back(record.learning_rate);
  return rates;
}

TEST(ReduceOnPlateauTest, LowersTheRateAlsoOfARunThatIsResumed) {
  const ScratchDirectory scratch;
  const Dataset data = clouds(40);
  const auto fit = [&](Trainer& trainer, const std::shared_ptr<ReduceOnPlateau>& plateau,
                       int epochs) {
    trainer.add_callback(plateau);
    trainer.fit_until(data, data, epochs);
  };
  // No epoch is better than the first.
  const auto make = [] {
    return std::make_shared<ReduceOnPlateau>(
        2, PlateauOptions{.factor = 0.5F, .score = [](const EpochRecord&) { return 1.0; }});
  };
  Sequential model = small_mlp();
  const auto plateau = make();
  Trainer trainer(model, Adam(plateau->over(constant_rate(0.01F))), {.batch_size = 16});
  fit(trainer, plateau, 7);
  EXPECT_EQ(rates_of(trainer.history()),
            (std::vector<float>{0.01F, 0.01F, 0.01F, 0.005F, 0.005F, 0.0025F, 0.0025F}));
  EXPECT_EQ(plateau->factor(), 0.125F);

  Sequential begun = small_mlp();
  const auto first = make();
  Trainer before(begun, Adam(first->over(constant_rate(0.01F))), {.batch_size = 16});
  fit(before, first, 4);
  before.save_checkpoint(scratch.path() / "c");
  Sequential other = small_mlp(3);
  const auto second = make();
  Trainer after(other, Adam(second->over(constant_rate(0.01F))), {.batch_size = 16});
  after.load_checkpoint(scratch.path() / "c");
  fit(after, second, 7);
  EXPECT_EQ(bytes_of(other), bytes_of(model));
  EXPECT_THROW(ReduceOnPlateau(0), InvalidArgument);
  EXPECT_THROW(ReduceOnPlateau(1, {.min_rate = -1.0F}), InvalidArgument);
  EXPECT_THROW(ReduceOnPlateau(1, {.factor = 1.0F}), InvalidArgument);
  EXPECT_THROW(static_cast<void>(plateau->over({})), InvalidArgument);
}

TEST(ReduceOnPlateauTest, SaysWhenItLowersTheRateAndEndsAtTheLeast) {
  const Dataset data = clouds(40);
  for (const auto& [least, rates, said] :
       {std::tuple{0.002F, std::vector<float>{0.01F, 0.01F, 0.005F, 0.0025F, 0.002F, 0.002F},
                   std::vector<std::string>{"2: the learning rate falls from 0.01 to 0.005",
                                            "3: the learning rate falls from 0.005 to 0.0025",
                                            "4: the learning rate falls from 0.0025 to 0.002"}},
        // A schedule that is below it stays.
        std::tuple{0.02F, std::vector<float>(6, 0.01F), std::vector<std::string>()}}) {
    std::vector<std::string> lines;
    const auto plateau = std::make_shared<ReduceOnPlateau>(
        1, PlateauOptions{.factor = 0.5F,
                          .min_rate = least,
                          .score = [](const EpochRecord&) { return 1.0; },
                          .tell = [&](const std::string& line) { lines.push_back(line); }});
    Sequential model = small_mlp();
    Trainer trainer(model, Adam(plateau->over(constant_rate(0.01F))), {.batch_size = 16});
    trainer.add_callback(plateau);
    trainer.fit(data, data, 6);
    EXPECT_EQ(rates_of(trainer.history()), rates);
    ASSERT_EQ(lines.size(), said.size());
    for (std::size_t i = 0; i < said.size(); ++i) {
      EXPECT_EQ(lines[i], "plateau after epoch " + said[i]);
    }
  }
}

TEST(WeightAverageTest, IsThatOfANaiveLoopOnAnyNumberOfThreadsAndResumed) {
  const ScratchDirectory scratch;
  const Dataset data = clouds(40);
  Sequential plain = small_mlp();
  std::vector<std::vector<float>> expected;
  for (const NamedTensor& one : plain.parameters()) {
    expected.emplace_back(one.tensor.span().begin(), one.tensor.span().end());
  }
  Trainer naive(plain, Adam(0.01F), {.batch_size = 16});
  naive.add_callback({.on_step_end = [&](Trainer& trainer, const Progress&) {
    const auto parameters = trainer.model().parameters();
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      for (std::size_t i = 0; i < expected[p].size(); ++i) {
        expected[p][i] = 0.75F * expected[p][i] + 0.25F * parameters[p].tensor.span()[i];
      }
    }
  }});
  naive.fit(data, data, 4);

  const KeepThreads keep;
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    Sequential model = small_mlp();
    Trainer trainer(model, Adam(0.01F), {.batch_size = 16});
    trainer.add_callback(std::make_shared<WeightAverage>(0.75F));
    trainer.fit_until(data, data, 4);
    const auto parameters = model.parameters();
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      EXPECT_TRUE(std::ranges::equal(parameters[p].tensor.span(), expected[p]))
          << parameters[p].name;
    }
  }
  // Saved within an epoch's end, as LastCheckpoint does, and gone on with.
  Sequential begun = small_mlp();
  Trainer before(begun, Adam(0.01F), {.batch_size = 16});
  before.add_callback(std::make_shared<WeightAverage>(0.75F));
  before.add_callback({.on_epoch_end = [&](Trainer& trainer, const EpochRecord& record) {
    if (record.epoch == 2) trainer.save_checkpoint(scratch.path() / "c");
  }});
  before.fit_until(data, data, 3);
  Sequential other = small_mlp(3);
  Trainer after(other, Adam(0.01F), {.batch_size = 16});
  after.add_callback(std::make_shared<WeightAverage>(0.75F));
  after.load_checkpoint(scratch.path() / "c");
  after.fit_until(data, data, 4);
  const auto parameters = other.parameters();
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    EXPECT_TRUE(std::ranges::equal(parameters[p].tensor.span(), expected[p])) << parameters[p].name;
  }
  EXPECT_THROW(WeightAverage(1.0F), InvalidArgument);
  WeightAverage damaged(0.5F);
  damaged.set_state({{parameters[0].name, Tensor({1})}});
  expect_mentions(message_of<FormatError>([&] { damaged.on_fit_begin(after, {}); }),
                  "WeightAverage: expected an average of shape");
}

}  // namespace
}  // namespace octet::test::training_aids_test
