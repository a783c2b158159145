// Bidirectional layers, and shapes that layers over sequences refuse by name.

#include <fmt/format.h>
#include <octet/layers/layers.h>
#include <octet/tests/layers/drawn_layers.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace octet::test::sequence_layers_test {
namespace {

constexpr Index kSteps = 5;
constexpr Index kFeatures = 4;

/// The steps [batch, 1, features] of sequences.
std::vector<Tensor> split_steps(const Tensor& x) {
  std::vector<Tensor> steps;
  for (Index t = 0; t < x.dim(1); ++t) {
    steps.push_back(slice(x, {{0, x.dim(0)}, {t, t + 1}, {0, x.dim(2)}}));
  }
  return steps;
}

/// The steps of sequences [batch, steps, values] from the last to the first.
Tensor turned_around(const Tensor& x) {
  const std::vector<Tensor> steps = split_steps(x);
  return concatenate({steps.rbegin(), steps.rend()}, 1);
}

TEST(Recurrent, GoesBackwards) {
  const Shape shape = {kSteps, kFeatures};
  const Tensor x = Tensor::normal(shape.with_batch(2), Random(6), 0.0F, 1.0F);
  for (const bool all : {true, false}) {
    LSTM forward = drawn(LSTM(3, {.return_sequences = all}), {shape});
    LSTM backward = drawn(LSTM(3, {.return_sequences = all, .go_backwards = true}), {shape});
    Tensor expected = forward.forward(turned_around(x), {});
    if (all) expected = turned_around(expected);
    const Tensor found = backward.forward(x, {});
    EXPECT_EQ(found.shape(), expected.shape());
    EXPECT_TRUE(std::ranges::equal(found.span(), expected.span()));
    expect_made_again(backward);
  }
  expect_throws<InvalidArgument>([] { Bidirectional(GRU(2, {.go_backwards = true})); },
                                 {"Bidirectional", "go_backwards"});
}

TEST(Bidirectional, MergesBothDirections) {
  const Shape shape = {kSteps, kFeatures};
  const Tensor x = Tensor::normal(shape.with_batch(2), Random(5), 0.0F, 1.0F);
  for (const bool all : {true, false}) {
    const GRUOptions options{.return_sequences = all};
    for (const MergeMode mode :
         {MergeMode::concat, MergeMode::sum, MergeMode::mul, MergeMode::ave}) {
      Bidirectional both = drawn(Bidirectional(GRU(3, options), {.merge_mode = mode}), {shape});
      const auto direction = [&](const std::string& name, const Tensor& from) {
        GRU one = drawn(GRU(3, options), {shape});
        for (auto& [own, tensor] : one.parameters()) {
          const Tensor given = tensor_named(both.parameters(), fmt::format("{}_{}", name, own));
          std::ranges::copy(given.span(), tensor.mutable_span().begin());
        }
        return one.forward(from, {});
      };
      const Tensor forward = direction("forward", x);
      Tensor backward = direction("backward", turned_around(x));
      if (all) backward = turned_around(backward);
      const Tensor expected = mode == MergeMode::concat ? concatenate({forward, backward}, -1)
                              : mode == MergeMode::sum  ? forward + backward
                              : mode == MergeMode::mul  ? forward * backward
                                                        : (forward + backward) * 0.5F;
      const Tensor found = both.forward(x, {});
      EXPECT_EQ(found.shape(), expected.shape());
      EXPECT_EQ(found.shape().without_batch(), both.output_shape());
      EXPECT_TRUE(std::ranges::equal(found.span(), expected.span()));
      expect_made_again(both);
    }
  }
}

TEST(Bidirectional, HasTheGradientsOfItsFormula) {
  Bidirectional layer(LSTM(2, {.return_sequences = true}), {.merge_mode = MergeMode::ave});
  expect_gradients(layer, {Shape{3, 2}});
  EXPECT_THROW(Bidirectional(std::unique_ptr<Recurrent>()), InvalidArgument);
  EXPECT_THROW(parse_merge_mode("max"), InvalidArgument);
}

TEST(SequenceLayers, RefuseShapesByName) {
  const auto message = [](auto layer, const std::vector<Shape>& shapes) -> std::string {
    try {
      layer.build_all(shapes, Random());
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message(GRU(3, {.name = "g"}), {Shape{4}}),
            "GRU \"g\": expected sequences [steps, features], and behind them no other input or a "
            "first state [3] or [1, 3], found [4]");
  EXPECT_EQ(message(GRU(3, {.name = "g"}), {Shape{4, 2}, Shape{2}}),
            "GRU \"g\": expected sequences [steps, features], and behind them no other input or a "
            "first state [3] or [1, 3], found [4, 2], [2]");
  EXPECT_EQ(message(LSTM(3, {.name = "l"}), {Shape{4, 2}, Shape{3}}),
            "LSTM \"l\": expected sequences [steps, features], and behind them no other input or 2 "
            "first states, each [3] or [1, 3], found [4, 2], [3]");
  EXPECT_EQ(
      message(GRU(3, {.masked = true, .name = "g"}), {Shape{4, 2}, Shape{3}}),
      "GRU \"g\": expected sequences [steps, features] with their mask [steps] or [steps, 1], "
      "and behind them no other input or a first state [3] or [1, 3], found [4, 2], [3]");
  EXPECT_EQ(message(MultiHeadAttention(1, 3, {.name = "a"}), {Shape{4}}),
            "MultiHeadAttention \"a\": expected sequences [steps, features] as query, value and "
            "key, the last two of as many steps of at least 1, found [4]");
  EXPECT_EQ(
      message(MultiHeadAttention(1, 3, {.name = "a"}), {Shape{4, 2}, Shape{3, 2}, Shape{2, 2}}),
      "MultiHeadAttention \"a\": expected sequences [steps, features] as query, value and "
      "key, the last two of as many steps of at least 1, found [4, 2], [3, 2], [2, 2]");
  EXPECT_EQ(
      message(MultiHeadAttention(1, 3, {.masked = true, .name = "a"}), {Shape{4, 2}, Shape{3}}),
      "MultiHeadAttention \"a\": expected sequences [steps, features] as query, value and "
      "key, the last two of as many steps of at least 1, and behind them the mask [steps] or "
      "[steps, 1] of these, found [4, 2], [3]");
  EXPECT_THROW(GRU(0), InvalidArgument);
  EXPECT_THROW(LSTM(-1), InvalidArgument);
  EXPECT_THROW(LSTM(2, {.reset_after = false}), InvalidArgument);
  EXPECT_THROW(MultiHeadAttention(0, 2), InvalidArgument);
}

}  // namespace
}  // namespace octet::test::sequence_layers_test
