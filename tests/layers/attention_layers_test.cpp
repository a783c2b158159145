// MultiHeadAttention and the layers around it compute their formulas and gradients.

#include <octet/layers/layers.h>
#include <octet/tests/layers/drawn_layers.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

namespace octet::test::attention_layers_test {
namespace {

constexpr Index kSteps = 5;
constexpr Index kFeatures = 4;

using Vector = std::vector<double>;

TEST(MultiHeadAttention, ComputesItsFormula) {
  constexpr std::size_t kHeads = 2;
  constexpr std::size_t kDim = 3;
  MultiHeadAttention layer = drawn(MultiHeadAttention(kHeads, kDim), {Shape{kSteps, kFeatures}});
  const Tensor x = Tensor::normal({1, kSteps, kFeatures}, Random(5), 0.0F, 1.0F);
  const auto project = [&](const std::string& name, const std::vector<double>& from,
                           std::size_t columns) {
    const Tensor kernel = tensor_named(layer.parameters(), name + "_kernel");
    const Tensor bias = tensor_named(layer.parameters(), name + "_bias");
    const std::size_t rows = from.size() / kSteps;
    std::vector<double> result;
    for (std::size_t t = 0; t < kSteps; ++t) {
      for (std::size_t c = 0; c < columns; ++c) {
        double sum = bias.data()[c];
        for (std::size_t i = 0; i < rows; ++i) {
          sum += from[t * rows + i] * kernel.data()[i * columns + c];
        }
        result.push_back(sum);
      }
    }
    return result;
  };
  const std::vector<double> values(x.span().begin(), x.span().end());
  constexpr std::size_t kColumns = kHeads * kDim;
  const auto q = project("query", values, kColumns);
  const auto k = project("key", values, kColumns);
  const auto v = project("value", values, kColumns);
  std::vector<double> context(kSteps * kColumns);
  for (std::size_t head = 0; head < kHeads; ++head) {
    for (std::size_t t = 0; t < kSteps; ++t) {
      std::vector<double> weights(kSteps);
      double total = 0.0;
      for (std::size_t s = 0; s < kSteps; ++s) {
        double score = 0.0;
        for (std::size_t c = head * kDim; c < (head + 1) * kDim; ++c) {
          score += q[t * kColumns + c] * k[s * kColumns + c];
        }
        total += weights[s] = std::exp(score / std::sqrt(static_cast<double>(kDim)));
      }
      for (std::size_t c = head * kDim; c < (head + 1) * kDim; ++c) {
        for (std::size_t s = 0; s < kSteps; ++s) {
          context[t * kColumns + c] += weights[s] / total * v[s * kColumns + c];
        }
      }
    }
  }
  const auto expected = project("output", context, kFeatures);
  const Tensor y = layer.forward(x, {});
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(y.data()[i], expected[i], 1e-4) << i;
  }
}

TEST(MultiHeadAttention, HasTheGradientsOfItsFormula) {
  for (const std::vector<Shape>& shapes : {std::vector{Shape{3, 2}},
                                           {Shape{3, 2}, Shape{2, 1}},
                                           {Shape{2, 2}, Shape{3, 1}, Shape{3, 2}}}) {
    MultiHeadAttention layer(2, 2);
    expect_gradients(layer, shapes);
    EXPECT_EQ(layer.output_shape(), shapes[0]);
  }
}

TEST(MultiHeadAttention, OfOneValueIsThatOfThreeTimesTheValue) {
  const Shape shape = {kSteps, kFeatures};
  MultiHeadAttention one = drawn(MultiHeadAttention(2, 3), {shape});
  const Tensor x = Tensor::normal(shape.with_batch(2), Random(5), 0.0F, 1.0F);
  const Tensor expected = one.forward(x, {});
  for (const std::size_t inputs : {2U, 3U}) {
    MultiHeadAttention several = drawn(MultiHeadAttention(2, 3), std::vector(inputs, shape));
    const Tensor found = several.forward_all(std::vector(inputs, x), {});
    EXPECT_TRUE(std::ranges::equal(found.span(), expected.span()));
  }
}

/// The first `count` steps of sequences.
Tensor first_steps(const Tensor& x, Index count) {
  return slice(x, {{0, x.dim(0)}, {0, count}, {0, x.dim(2)}});
}

/// What attention without a mask gives position `i` of the first query for the first `keys` steps.
std::vector<float> attended(const Tensor& query, const Tensor& value, Index i, Index keys) {
  const Tensor read = first_steps(value, keys);
  MultiHeadAttention layer = drawn(MultiHeadAttention(2, 3),
                                   {query.shape().without_batch(), read.shape().without_batch()});
  const Tensor y = layer.forward_all(std::vector{query, read}, {});
  const auto row = y.span().subspan(static_cast<std::size_t>(i * query.dim(2)),
                                    static_cast<std::size_t>(query.dim(2)));
  return {row.begin(), row.end()};
}

TEST(MultiHeadAttention, AttendsToWhatItsMasksLeave) {
  constexpr Index kKeys = 4;
  constexpr Index kValid = 3;
  const Tensor query = Tensor::normal({1, kSteps, kFeatures}, Random(5), 0.0F, 1.0F);
  const Tensor value = Tensor::normal({1, kKeys, kFeatures}, Random(6), 0.0F, 1.0F);
  for (const auto& [causal, masked] : {std::pair(true, false), {false, true}, {true, true}}) {
    MultiHeadAttention layer(2, 3, {.causal = causal, .masked = masked});
    std::vector<Tensor> inputs = {query, value};
    std::vector<Shape> shapes = {Shape{kSteps, kFeatures}, Shape{kKeys, kFeatures}};
    if (masked) {
      inputs.push_back(Tensor::from({1, kKeys}, {1, 1, 1, 0}));
      shapes.push_back({kKeys});
    }
    draw(layer, shapes);
    const Tensor y = layer.forward_all(inputs, {});
    for (Index i = 0; i < kSteps; ++i) {
      const Index keys = std::min(masked ? kValid : kKeys, causal ? i + 1 : kKeys);
      const std::vector<float> expected = attended(query, value, i, keys);
      for (Index f = 0; f < kFeatures; ++f) {
        EXPECT_NEAR(y.at({0, i, f}), expected[static_cast<std::size_t>(f)], 1e-5F) << i;
      }
    }
    expect_made_again(layer);
  }
}

TEST(MultiHeadAttention, HasGradientsUnderMasks) {
  MultiHeadAttention causal(1, 2, {.causal = true});
  expect_gradients(causal, {Shape{3, 2}});
}

TEST(PositionEmbedding, AddsItsVectors) {
  PositionEmbedding layer = drawn(PositionEmbedding(), {Shape{3, 2}});
  const Tensor x = Tensor::normal({2, 3, 2}, Random(5), 0.0F, 1.0F);
  const Tensor y = layer.forward(x, {});
  const Tensor embeddings = tensor_named(layer.parameters(), "embeddings");
  for (std::size_t i = 0; i < y.span().size(); ++i) {
    EXPECT_EQ(y.span()[i], x.span()[i] + embeddings.span()[i % 6]);
  }
  expect_gradients(layer, {Shape{3, 2}});
}

/// `layer` applied to one row of features, by its formula in double.
Vector naive_normalized(const Vector& row, double epsilon, bool centers) {
  double mean = 0.0;
  for (const double x : row) mean += centers ? x / static_cast<double>(row.size()) : 0.0;
  double power = 0.0;
  for (const double x : row) power += (x - mean) * (x - mean) / static_cast<double>(row.size());
  Vector result;
  for (const double x : row) result.push_back((x - mean) / std::sqrt(power + epsilon));
  return result;
}

TEST(Normalizations, ComputeTheirFormulaAndItsGradients) {
  constexpr float kEpsilon = 0.25F;
  std::vector<std::unique_ptr<Layer>> layers;
  for (const bool center : {true, false}) {
    for (const bool scale : {true, false}) {
      layers.push_back(std::make_unique<LayerNormalization>(
          LayerNormalizationOptions{.epsilon = kEpsilon, .center = center, .scale = scale}));
    }
  }
  layers.push_back(
      std::make_unique<RMSNormalization>(RMSNormalizationOptions{.epsilon = kEpsilon}));
  const Tensor x = Tensor::normal({2, 3, kFeatures}, Random(5), 0.5F, 1.0F);
  for (const auto& layer : layers) {
    draw(*layer, {Shape{3, kFeatures}});
    const std::vector<NamedTensor> learned = layer->parameters();
    const auto value_of = [&](std::string_view name, Index i, double absent) {
      const auto found = std::ranges::find(learned, name, &NamedTensor::name);
      return found == learned.end() ? absent : double{found->tensor.data()[i]};
    };
    const bool centers = layer->type() == LayerNormalization::kType;
    const Tensor y = layer->forward(x, {});
    for (Index row = 0; row < 6; ++row) {
      const Vector expected = naive_normalized(
          {x.data() + row * kFeatures, x.data() + (row + 1) * kFeatures}, kEpsilon, centers);
      for (Index i = 0; i < kFeatures; ++i) {
        EXPECT_NEAR(y.data()[row * kFeatures + i],
                    value_of("gamma", i, 1.0) * expected[static_cast<std::size_t>(i)] +
                        value_of("beta", i, 0.0),
                    1e-5);
      }
    }
    expect_gradients(*layer, {Shape{2, 3}});
    expect_made_again(*layer);
  }
  EXPECT_THROW(LayerNormalization({.epsilon = 0.0F}), InvalidArgument);
  EXPECT_THROW(RMSNormalization().build(Shape{}, Random()), InvalidArgument);
}

}  // namespace
}  // namespace octet::test::attention_layers_test
