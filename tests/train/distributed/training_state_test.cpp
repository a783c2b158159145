// What shards leave of a model's state, merged.

#include <octet/layers/batch_norm.h>
#include <octet/layers/quantize/quantize_layer.h>
#include <octet/layers/quantize/quantizers.h>
#include <octet/tests/train/training.h>
#include <octet/train/distributed/parts.h>
#include <octet/train/distributed/training_state.h>

#include <limits>

namespace octet::test::training_state_test {
namespace {

using detail::TrainingState;

Tensor rows_of(const Tensor& x, IndexRange part) {
  return x.slice(static_cast<Index>(part.begin), static_cast<Index>(part.end));
}

ForwardContext training() { return {.mode = ForwardContext::Mode::training}; }

/// Runs the shards of x, each from the state that `model` has, and merges what they leave.
void run_in_shards(Model& model, const Tensor& x, std::size_t shards) {
  TrainingState state(model);
  const std::vector<float> before = state.values();
  std::vector<float> first;
  std::vector<double> sums(state.sums());
  std::vector<double> least(state.least(), std::numeric_limits<double>::infinity());
  const auto rows = static_cast<std::size_t>(x.dim(0));
  for (std::size_t k = 0; k < shards; ++k) {
    const IndexRange part = part_of(rows, shards, k);
    state.restore(before);
    static_cast<void>(model.forward(rows_of(x, part), training()));
    if (k == 0) first = state.values();
    const std::vector<double> weighted = state.weighted(part.size());
    const std::vector<double> bounds = state.bounds();
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += weighted[i];
    for (std::size_t i = 0; i < least.size(); ++i) least[i] = std::min(least[i], bounds[i]);
  }
  state.restore(first);
  state.merge(sums, least, rows);
}

Sequential quantized_layer(const QuantizeOptions& options) {
  Sequential model("one", Input({5}), Dense(4, Activation::relu));
  model.build(1);
  return quantize_model(model, options);
}

std::map<std::string, std::vector<float>> values_of(const Model& model) {
  std::map<std::string, std::vector<float>> values;
  for (const auto& [name, tensor] : model.saved_tensors()) {
    values[name].assign(tensor.span().begin(), tensor.span().end());
  }
  return values;
}

TEST(TrainingState, RangesOfShardsBecomeThatOfTheBatch) {
  for (const QuantizeOptions& options :
       {QuantizeOptions{}, QuantizeOptions::tfmot_ranges(), QuantizeOptions{.per_channel = true},
        QuantizeOptions{.weight_bits = 4, .per_channel = true}}) {
    for (const std::size_t shards : {1U, 2U, 5U}) {
      Sequential whole = quantized_layer(options);
      Sequential cut = quantized_layer(options);
      for (std::uint64_t step = 0; step < 4; ++step) {
        const Tensor x = Tensor::normal({23, 5}, Random(3, step), 0.5F, 2.0F);
        static_cast<void>(whole.forward(x, training()));
        run_in_shards(cut, x, shards);
        // The layer behind it reads values on the grid, which are those of the shard's range.
        const auto expected = values_of(whole);
        const auto found = values_of(cut);
        for (const auto& [name, values] : expected) {
          if (name.starts_with("quantize_layer") || name.find("kernel") != std::string::npos) {
            EXPECT_EQ(found.at(name), values) << name << " step " << step << " of " << shards;
          }
        }
      }
      EXPECT_EQ(bytes_of(cut).size(), bytes_of(whole).size());
      if (shards == 1) {
        EXPECT_EQ(values_of(cut), values_of(whole));
      }
    }
  }
}

/// A quantizer for a tensor of its own, in a model.
Sequential observing(std::unique_ptr<Quantizer> quantizer) {
  Sequential model("observer", Input({7}),
                   QuantizeLayer(std::move(quantizer), QuantizeOptions{}, "quantizer"));
  model.build(0);
  return model;
}

TEST(TrainingState, EveryObserverSeesTheBatch) {
  const QuantSpec plain{};
  const QuantSpec symmetric{.is_signed = true, .narrow_range = true, .symmetric = true};
  const QuantSpec symmetric_wide{.is_signed = true, .symmetric = true};
  for (const QuantSpec& spec : {plain, symmetric, symmetric_wide}) {
    const std::vector<std::function<std::unique_ptr<Quantizer>()>> makers = {
        [&] { return std::make_unique<LastValueQuantizer>(spec); },
        [&] { return std::make_unique<MovingAverageQuantizer>(spec, RangeStart::tfmot, 0.9); },
        [&] {
          return std::make_unique<MovingAverageQuantizer>(spec, RangeStart::first_batch, 0.9);
        },
        [&] { return std::make_unique<AllValuesQuantizer>(spec, RangeStart::first_batch); },
        [&] { return std::make_unique<AllValuesQuantizer>(spec, RangeStart::tfmot); }};
    for (std::size_t i = 0; i < makers.size(); ++i) {
      Sequential whole = observing(makers[i]());
      Sequential cut = observing(makers[i]());
      for (std::uint64_t step = 0; step < 20; ++step) {
        const Tensor x = Tensor::normal({11, 7}, Random(9, step), 0.3F * static_cast<float>(i),
                                        1.0F + static_cast<float>(step % 3));
        static_cast<void>(whole.forward(x, training()));
        run_in_shards(cut, x, 3);
        EXPECT_EQ(values_of(cut), values_of(whole)) << "observer " << i << ", step " << step;
      }
    }
  }
}

TEST(TrainingState, LearnedScalesStartFromTheMergedRange) {
  for (const Scales scales : {Scales::lsq, Scales::lsq_plus, Scales::pact}) {
    const QuantizeOptions options{.weight_scales = Scales::lsq, .activation_scales = scales};
    Sequential cut = quantized_layer(options);
    Sequential fresh = quantized_layer(options);
    run_in_shards(cut, Tensor::normal({12, 5}, Random(4)), 3);
    const Quantizer& merged = *cut.layers().back()->result_quantizer();
    Quantizer& expected = *fresh.layers().back()->result_quantizer();
    // A batch of the same range makes the same start.
    const float low = merged.min().item();
    const float high = merged.max().item();
    expected.observe(Tensor::from({1, 4}, {low, high, low, high}));
    ASSERT_FALSE(merged.parameters().empty());
    EXPECT_EQ(bytes_of(merged.parameters()), bytes_of(expected.parameters()));
    EXPECT_EQ(bytes_of(merged.counters()), bytes_of(expected.counters()));
    EXPECT_EQ(bytes_of(merged.state()), bytes_of(expected.state()));
  }
}

TEST(TrainingState, MovingStatisticsBecomeTheMeanByRows) {
  Sequential model("norm", Input({3}), BatchNorm({.momentum = 0.75F}));
  model.build(0);
  const Tensor x = Tensor::normal({10, 3}, Random(2), 1.0F, 2.0F);
  run_in_shards(model, x, 4);
  for (Index channel = 0; channel < 3; ++channel) {
    double expected_mean = 0.0;
    double expected_variance = 0.0;
    for (std::size_t k = 0; k < 4; ++k) {
      const IndexRange part = part_of(10, 4, k);
      const auto rows = static_cast<double>(part.size());
      double mean = 0.0;
      double squares = 0.0;
      for (std::size_t i = part.begin; i < part.end; ++i) {
        mean += double{x.at({static_cast<Index>(i), channel})} / rows;
      }
      for (std::size_t i = part.begin; i < part.end; ++i) {
        const double away = double{x.at({static_cast<Index>(i), channel})} - mean;
        squares += away * away;
      }
      expected_mean += rows / 10.0 * 0.25 * mean;
      expected_variance += rows / 10.0 * (0.75 + 0.25 * squares / (rows - 1.0));
    }
    EXPECT_NEAR(model.state()[0].tensor.at({channel}), expected_mean, 1e-6);
    EXPECT_NEAR(model.state()[1].tensor.at({channel}), expected_variance, 1e-5);
  }
}

TEST(TrainingState, WhatAllShardsLeaveAlikeStaysToTheBit) {
  Sequential model("norm", Input({3}), BatchNorm({.momentum = 1.0F}));
  model.build(0);
  Tensor mean = model.state()[0].tensor;
  for (Index i = 0; i < 3; ++i) mean.mutable_at({i}) = 0.1F / static_cast<float>(i + 3);
  const auto before = values_of(model);
  run_in_shards(model, Tensor::normal({29, 3}, Random(2)), 7);
  EXPECT_EQ(values_of(model), before);
}

}  // namespace
}  // namespace octet::test::training_state_test
