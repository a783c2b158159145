// Batches that are cut into shards: the same bytes whatever ranks share them out.

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <octet/core/ops/loss.h>
#include <octet/layers/batch_norm.h>
#include <octet/layers/conv2d.h>
#include <octet/layers/dropout.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/layers/reshape.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/train/distributed/thread_group.h>
#include <octet/tests/train/training.h>
#include <octet/train/distributed/distributed.h>
#include <octet/train/distributed/messages.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <mutex>
#include <string_view>

namespace octet::test::sharded_training_test {
namespace {

using testing::HasSubstr;

/// Batches of 13 and a last one of 4, which is fewer than some numbers of shards.
constexpr std::size_t kExamples = 43;
constexpr std::size_t kBatch = 13;

Augment noise() {
  return [](Tensor& x, auto, Random random) {
    for (Index i = 0; i < x.size(); ++i) {
      x.mutable_data()[i] += 0.05F * random.normal(static_cast<std::uint64_t>(i));
    }
  };
}

Sequential dense_net() {
  Sequential model("net", Input({6}), Dense(9, Activation::relu), Dropout(0.2F), Dense(11),
                   BatchNorm(), ActivationLayer(Activation::relu), Dense(3, Activation::softmax));
  model.build(1);
  return model;
}

Sequential conv_net() {
  Sequential model("conv", Input({6}), Reshape({3, 2, 1}),
                   Conv2D(4, {2, 2}, Activation::none, {.padding = Padding::same}), BatchNorm(),
                   ActivationLayer(Activation::relu), Flatten(), Dense(3, Activation::softmax));
  model.build(1);
  return model;
}

struct Case {
  const char* name;
  std::function<Sequential()> make;
  std::size_t accumulate = 1;
  float rate = 0.03F;
  GradientFormat gradients = GradientFormat::float32;
  Backward backward = Backward::float32;
};

std::vector<Case> cases() {
  return {{"float", dense_net},
          {"accumulated", dense_net, 2},
          {"convolution", conv_net},
          {"coded", conv_net, 1, 0.03F, GradientFormat::int8},
          {"coded and accumulated", dense_net, 2, 0.03F, GradientFormat::int8},
          {"coded and quantized", [] { return quantize_model(dense_net()); }, 1, 0.03F,
           GradientFormat::int8},
          {"gradients on int8", [] { return quantize_model(conv_net()); }, 1, 0.03F,
           GradientFormat::float32, Backward::int8},
          {"gradients on int8, at random", [] { return quantize_model(conv_net()); }, 1, 0.03F,
           GradientFormat::float32, Backward::int8_stochastic},
          {"percentiles",
           [] {
             return quantize_model(conv_net(), {.activation_calibration = Calibration::percentile,
                                                .percentile = 99.0});
           }},
          {"measured", [] { return quantize_model(dense_net()); }},
          {"statistics",
           [] { return quantize_model(conv_net(), {.batch_norm = BatchNormMode::statistics}); }},
          {"fake_quant",
           [] {
             return quantize_model(dense_net(),
                                   {.simulation = Simulation::fake_quant, .per_channel = true});
           }},
          {"learned",
           [] {
             return quantize_model(small_mlp(), {.weight_bits = 3,
                                                 .per_channel = true,
                                                 .weight_scales = Scales::lsq,
                                                 .activation_scales = Scales::lsq_plus,
                                                 .count_oscillations = true,
                                                 .freeze_oscillations_above = 0.005F});
           }},
          {"counted", [] {
             return quantize_model(conv_net(), {.weight_bits = 3,
                                                .weight_scales = Scales::lsq,
                                                .count_oscillations = true,
                                                .batch_norm = BatchNormMode::statistics});
           }}};
}

TrainerOptions options(const Case& one, std::size_t shards, ProcessGroup* group = nullptr) {
  return {.test_loss = true,
          .batch_size = kBatch,
          .accumulate_batches = one.accumulate,
          .seed = 4,
          .shards = shards,
          .gradients = one.gradients,
          .backward = one.backward,
          .group = group,
          .clip_norm = 0.5,
          .augment = noise()};
}

/// What rank 0 would save. That the others have come to the same model and history is checked here.
Snapshot outcome_of(const Trainer& trainer, ProcessGroup* group) {
  const std::string history = history_csv(trainer.history(), false);
  if (group != nullptr) {
    EXPECT_EQ(broadcast_bytes(*group, bytes_of(trainer.model())), bytes_of(trainer.model()));
    EXPECT_EQ(broadcast_text(*group, history), history);
  }
  if (trainer.is_root()) return snapshot_of(trainer);
  trainer.save_checkpoint({});
  return {};
}

Snapshot trained(const Case& one, std::size_t shards, ProcessGroup* group = nullptr) {
  Sequential model = one.make();
  Trainer trainer(model, AdamW(one.rate), options(one, shards, group));
  trainer.fit(clouds(kExamples, 1), clouds(20, 2), 3);
  return outcome_of(trainer, group);
}

TEST(ShardedTraining, OneShardIsAsBefore) {
  for (const Case& one : cases()) EXPECT_EQ(trained(one, 1), trained(one, 0)) << one.name;
}

TEST(ShardedTraining, SameBytesOnAnyNumberOfThreads) {
  const KeepThreads keep;
  for (const Case& one : cases()) {
    set_num_threads(1);
    const Snapshot expected = trained(one, 5);
    EXPECT_NE(expected, trained(one, 1)) << one.name;
    set_num_threads(3);
    EXPECT_EQ(trained(one, 5), expected) << one.name;
  }
}

TEST(ShardedTraining, SameBytesOnAnyNumberOfRanks) {
  const KeepThreads keep;
  set_num_threads(1);
  for (const Case& one : cases()) {
    for (const std::size_t shards : {3U, 8U}) {
      const Snapshot expected = trained(one, shards);
      for (const int ranks : {2, 3, 8}) {
        if (static_cast<std::size_t>(ranks) > shards) continue;
        ThreadGroups::run(ranks, [&](ProcessGroup& group) {
          const Snapshot found = trained(one, shards, &group);
          if (group.is_root()) {
            EXPECT_EQ(found, expected) << one.name << ", " << ranks << " ranks";
          }
        });
      }
    }
  }
}

TEST(ShardedTraining, WeightsAreFrozenInTheCaseOfIt) {
  const auto all = cases();
  const auto one = std::ranges::find(all, std::string_view("learned"), &Case::name);
  Sequential model = one->make();
  Trainer trainer(model, AdamW(one->rate), options(*one, 5));
  trainer.fit(clouds(kExamples, 1), 3);
  EXPECT_GT(oscillating_weights(model).front().frozen, 0.0);
}

/// The gradients of shards, by hand.
TEST(ShardedTraining, AStepIsTheSumOfItsShards) {
  const Dataset data = clouds(10, 1);
  Sequential model = small_mlp();
  Sequential by_hand = small_mlp();
  Trainer trainer(model, Sgd(0.5F), {.batch_size = 10, .shuffle = false, .shards = 4});
  trainer.fit(data, 1);
  std::vector<std::vector<std::vector<float>>> gradients;
  for (const auto& [begin, end] : {std::pair<Index, Index>{0, 3}, {3, 5}, {5, 8}, {8, 10}}) {
    by_hand.zero_grad();
    const auto b = static_cast<std::size_t>(begin);
    const auto e = static_cast<std::size_t>(end);
    Tensor loss = softmax_cross_entropy(
        by_hand.forward_logits(data.features(b, e), {.mode = ForwardContext::Mode::training}),
        data.labels().subspan(b, e - b));
    loss.backward(Tensor::scalar(static_cast<float>(static_cast<double>(e - b) / 10.0)));
    auto& of_shard = gradients.emplace_back();
    for (const auto& [name, tensor] : by_hand.parameters()) {
      of_shard.emplace_back(tensor.grad().span().begin(), tensor.grad().span().end());
    }
  }
  const auto parameters = by_hand.parameters();
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    Tensor tensor = parameters[p].tensor;
    for (std::size_t i = 0; i < tensor.span().size(); ++i) {
      const float sum =
          (gradients[0][p][i] + gradients[1][p][i]) + (gradients[2][p][i] + gradients[3][p][i]);
      tensor.mutable_span()[i] -= 0.5F * sum;
    }
  }
  EXPECT_EQ(bytes_of(model), bytes_of(by_hand));
}

TEST(ShardedTraining, ARunStoppedOnSomeRanksGoesOnOnOthers) {
  const KeepThreads keep;
  set_num_threads(1);
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "checkpoint";
  for (const Case& one : cases()) {
    const Snapshot expected = trained(one, 6);
    ThreadGroups::run(3, [&](ProcessGroup& group) {
      Sequential model = one.make();
      TrainerOptions stopping = options(one, 6, &group);
      int steps = 0;
      // Rank 0 decides; a signal may reach the others at another step.
      stopping.should_stop = [&] { return ++steps == (group.is_root() ? 3 : 2); };
      Trainer trainer(model, AdamW(one.rate), stopping);
      trainer.fit_until(clouds(kExamples, 1), clouds(20, 2), 3);
      EXPECT_TRUE(trainer.stopped());
      trainer.save_checkpoint(path);
    });
    const auto resume = [&](ProcessGroup* group) {
      Sequential model = one.make();
      Trainer trainer(model, AdamW(one.rate), options(one, 6, group));
      trainer.load_checkpoint(path);
      trainer.fit_until(clouds(kExamples, 1), clouds(20, 2), 3);
      const Snapshot found = outcome_of(trainer, group);
      if (trainer.is_root()) {
        EXPECT_EQ(found, expected) << one.name;
      }
    };
    resume(nullptr);
    ThreadGroups::run(2, [&](ProcessGroup& group) { resume(&group); });
  }
}

TEST(ShardedTraining, AnotherNumberOfShardsIsRefusedByName) {
  const ScratchDirectory scratch;
  const Case one{"float", dense_net};
  Sequential model = dense_net();
  Trainer trainer(model, Adam(), options(one, 2));
  trainer.fit(clouds(kExamples, 1), 1);
  trainer.save_checkpoint(scratch.path() / "c");
  for (const std::size_t shards : {1U, 4U}) {
    Sequential other = dense_net();
    Trainer resumed(other, Adam(), options(one, shards));
    expect_throws<FormatError>([&] { resumed.load_checkpoint(scratch.path() / "c"); },
                               {fmt::format("expected shards {}, found 2", shards)});
  }
}

TEST(ShardedTraining, RefusesMoreShardsThanExamples) {
  Sequential model = small_mlp();
  EXPECT_THROW(Trainer(model, Adam(), {.batch_size = 4, .shards = 5}), InvalidArgument);
}

TEST(ShardedTraining, TheDefaultDependsOnRanks) {
  EXPECT_EQ(default_shards(1), 1U);
  EXPECT_EQ(default_shards(2), 8U);
  EXPECT_EQ(default_shards(8), 8U);
  EXPECT_EQ(default_shards(9), 9U);
}

TEST(ShardedTraining, AProgramThatNoLauncherStartedIsAGroupOfOne) {
  Distributed group(0, nullptr);
  EXPECT_EQ(group.size(), 1);
  EXPECT_TRUE(group.is_root());
  EXPECT_EQ(broadcast_text(group, "alone"), "alone");
  EXPECT_THROW(group.send({}, 0), InvalidArgument);
  EXPECT_EQ(trained({"float", dense_net}, 3, &group), trained({"float", dense_net}, 3));
}

TEST(ShardedTraining, ScoresAreThoseOfOneProcess) {
  const KeepThreads keep;
  set_num_threads(1);
  Sequential model = quantize_model(small_mlp());
  const Dataset data = clouds(4300, 3);
  Trainer(model, Adam()).fit(data.head(64), 1);
  const IntegerModel lowered = lower(model);
  const std::vector<Metric> metrics = {loss_metric("loss", sparse_categorical_cross_entropy()),
                                       {"third", [](const Tensor&, const Targets& targets) {
                                          return 1.0 / static_cast<double>(targets.size());
                                        }}};
  const Evaluation expected = evaluate(model, data);
  const Evaluation expected_integers = evaluate(lowered, data);
  const auto expected_values = measure(model, data, metrics);
  // The naive mean.
  std::size_t right = 0;
  for (std::size_t i = 0; i < data.size(); ++i) {
    right += expected.predictions[i] == data.labels()[i] ? 1U : 0U;
  }
  EXPECT_EQ(expected.accuracy, static_cast<double>(right) / 4300.0);
  for (const int ranks : {2, 3, 7}) {
    ThreadGroups::run(ranks, [&](ProcessGroup& group) {
      const Evaluation found = evaluate(model, data, &group);
      EXPECT_EQ(found.predictions, expected.predictions);
      EXPECT_EQ(found.accuracy, expected.accuracy);
      EXPECT_EQ(evaluate(lowered, data, &group).predictions, expected_integers.predictions);
      EXPECT_EQ(measure(model, data, metrics, &group), expected_values);
      EXPECT_EQ(count_differing_outputs(model, lowered, data, &group), 0U);
    });
  }
}

/// What all ranks say where one of them trains on something else.
std::string refusal(const std::function<void(ProcessGroup&)>& body) {
  std::string text;
  std::mutex mutex;
  ThreadGroups::run(3, [&](ProcessGroup& group) {
    try {
      body(group);
      ADD_FAILURE() << "rank " << group.rank() << " noticed nothing";
    } catch (const InvalidArgument& error) {
      const std::lock_guard lock(mutex);
      EXPECT_TRUE(text.empty() || text == error.what());
      text = error.what();
    }
  });
  return text;
}

TEST(ShardedTraining, RanksThatDifferAreNamed) {
  const KeepThreads keep;
  set_num_threads(1);
  const Dataset data = clouds(40);
  const auto fit = [&](ProcessGroup& group, const Dataset& train, TrainerOptions options,
                       std::uint64_t model_seed) {
    Sequential model = small_mlp(model_seed);
    options.batch_size = 20;
    options.group = &group;
    Trainer(model, Adam(), options).fit(train, 1);
  };
  const auto is = [](const ProcessGroup& group) { return group.rank() == 2; };
  EXPECT_THAT(
      refusal([&](ProcessGroup& group) { fit(group, is(group) ? clouds(40, 2) : data, {}, 0); }),
      HasSubstr("rank 2 on thread was started with something else than rank 0 on thread: "
                "training data: "));
  EXPECT_THAT(
      refusal([&](ProcessGroup& group) { fit(group, data, {.seed = is(group) ? 5U : 4U}, 0); }),
      HasSubstr("seed: 5 against 4"));
  EXPECT_THAT(
      refusal([&](ProcessGroup& group) { fit(group, data, {.shards = is(group) ? 6U : 4U}, 0); }),
      HasSubstr("shards: 6 against 4"));
  EXPECT_THAT(refusal([&](ProcessGroup& group) { fit(group, data, {}, is(group) ? 1 : 0); }),
              HasSubstr("model: "));
}

TEST(ShardedTraining, ARankThatThrowsEndsTheOthers) {
  const KeepThreads keep;
  set_num_threads(1);
  const Dataset data = clouds(40);
  EXPECT_THROW(ThreadGroups::run(4,
                                 [&](ProcessGroup& group) {
                                   Sequential model = small_mlp();
                                   Augment fault = [&](Tensor& x, auto, Random) {
                                     if (group.rank() == 1) x.mutable_data()[0] = std::nanf("");
                                   };
                                   Trainer(model, Adam(),
                                           {.batch_size = 20, .group = &group, .augment = fault})
                                       .fit(data, 1);
                                 }),
               Error);
}

}  // namespace
}  // namespace octet::test::sharded_training_test
