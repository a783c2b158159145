// Recurrent layers compute their formulas and gradients, with masks, dropout and truncation.

#include <octet/layers/layers.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/layers/quantize/ranges.h>
#include <octet/tests/layers/drawn_layers.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace octet::test::recurrent_layers_test {
namespace {

constexpr Index kSteps = 5;
constexpr Index kFeatures = 4;

double sigmoid_of(double x) { return 1.0 / (1.0 + std::exp(-x)); }

using Vector = std::vector<double>;
/// (f h) U (+ c), by gate and unit, for factors f; h U for none.
using Products = std::function<std::vector<Vector>(const Vector& factors)>;
/// The first states, and those behind a step: from x W + b, by gate and unit, and h U.
using NaiveStep = std::function<std::vector<Vector>(
    const std::vector<Vector>& x, const Products& products, const std::vector<Vector>& states)>;

/// A recurrent layer and its formula.
struct RecurrentCase {
  std::string name;
  std::size_t gates;
  std::size_t states;
  std::function<std::unique_ptr<Layer>(Index units, const RecurrentOptions& options)> make;
  NaiveStep step;
};

const std::vector<RecurrentCase>& recurrent_cases() {
  static const std::vector<RecurrentCase> cases = {
      {"GRU", 3, 1,
       [](Index units, const RecurrentOptions& options) {
         return std::make_unique<GRU>(units, options);
       },
       [](const auto& x, const Products& products, const auto& states) {
         const std::vector<Vector> u = products({});
         Vector h = states[0];
         for (std::size_t i = 0; i < h.size(); ++i) {
           const double z = sigmoid_of(x[0][i] + u[0][i]);
           const double r = sigmoid_of(x[1][i] + u[1][i]);
           h[i] = z * h[i] + (1.0 - z) * std::tanh(x[2][i] + r * u[2][i]);
         }
         return std::vector<Vector>{h};
       }},
      {"GRUOfResetStates", 3, 1,
       [](Index units, RecurrentOptions options) {
         options.reset_after = false;
         return std::make_unique<GRU>(units, std::move(options));
       },
       [](const auto& x, const Products& products, const auto& states) {
         const std::vector<Vector> u = products({});
         Vector h = states[0];
         Vector r;
         for (std::size_t i = 0; i < h.size(); ++i) r.push_back(sigmoid_of(x[1][i] + u[1][i]));
         const Vector u_n = products(r)[2];
         for (std::size_t i = 0; i < h.size(); ++i) {
           const double z = sigmoid_of(x[0][i] + u[0][i]);
           h[i] = z * h[i] + (1.0 - z) * std::tanh(x[2][i] + u_n[i]);
         }
         return std::vector<Vector>{h};
       }},
      {"LSTM", 4, 2,
       [](Index units, const RecurrentOptions& options) {
         return std::make_unique<LSTM>(units, options);
       },
       [](const auto& x, const Products& products, const auto& states) {
         const std::vector<Vector> u = products({});
         Vector h = states[0];
         Vector c = states[1];
         for (std::size_t i = 0; i < h.size(); ++i) {
           c[i] = sigmoid_of(x[1][i] + u[1][i]) * c[i] +
                  sigmoid_of(x[0][i] + u[0][i]) * std::tanh(x[2][i] + u[2][i]);
           h[i] = sigmoid_of(x[3][i] + u[3][i]) * std::tanh(c[i]);
         }
         return std::vector<Vector>{h, c};
       }},
      {"SimpleRNN", 1, 1,
       [](Index units, const RecurrentOptions& options) {
         return std::make_unique<SimpleRNN>(units, options);
       },
       [](const auto& x, const Products& products, const auto& states) {
         const std::vector<Vector> u = products({});
         Vector h = states[0];
         for (std::size_t i = 0; i < h.size(); ++i) h[i] = std::tanh(x[0][i] + u[0][i]);
         return std::vector<Vector>{h};
       }},
  };
  return cases;
}

/// By gate and unit: values times the kernel, with row `row` of the biases where there is one.
std::vector<Vector> gate_sums(const Layer& layer, std::size_t gates, std::string_view kernel_name,
                              std::size_t row, std::span<const double> values) {
  const Tensor kernel = tensor_named(layer.parameters(), kernel_name);
  const Tensor bias = tensor_named(layer.parameters(), "bias");
  const auto columns = static_cast<std::size_t>(kernel.dim(1));
  const std::size_t units = columns / gates;
  std::vector<Vector> sums(gates, Vector(units));
  for (std::size_t column = 0; column < columns; ++column) {
    double& sum = sums[column / units][column % units];
    if (row * columns < bias.span().size()) sum = bias.span()[row * columns + column];
    for (std::size_t i = 0; i < values.size(); ++i) {
      sum += values[i] * kernel.span()[i * columns + column];
    }
  }
  return sums;
}

/// Options of a layer beside its formula, for one example: keep its states at the steps where the
/// mask is 0, and drop parts of the state that the gates read.
struct Beside {
  std::array<float, kSteps> mask{1, 1, 1, 1, 1};
  Vector factors{};
};

/// The first state of a layer behind all steps of one example, by loops over its formula.
std::vector<Vector> naive_states(const RecurrentCase& of, const Layer& layer,
                                 std::span<const float> x, std::vector<Vector> states,
                                 const Beside& beside = {}) {
  std::vector<Vector> all;
  const std::size_t features = x.size() / kSteps;
  for (std::size_t t = 0; t < kSteps; ++t) {
    const auto row = x.subspan(t * features, features);
    const Vector x_t(row.begin(), row.end());
    Vector h = states[0];
    for (std::size_t i = 0; i < beside.factors.size(); ++i) h[i] *= beside.factors[i];
    if (beside.mask.at(t) != 0.0F) {
      const auto products = [&](const Vector& by) {
        Vector scaled = h;
        for (std::size_t i = 0; i < by.size(); ++i) scaled[i] *= by[i];
        return gate_sums(layer, of.gates, "recurrent_kernel", 1, scaled);
      };
      states = of.step(gate_sums(layer, of.gates, "kernel", 0, x_t), products, states);
    }
    all.push_back(states[0]);
  }
  return all;
}

class RecurrentLayers : public ::testing::TestWithParam<RecurrentCase> {};

INSTANTIATE_TEST_SUITE_P(All, RecurrentLayers, ::testing::ValuesIn(recurrent_cases()),
                         [](const auto& test) { return test.param.name; });

TEST_P(RecurrentLayers, ComputeTheirFormulaFromZerosAndFromStates) {
  constexpr Index kUnits = 3;
  const RecurrentCase& of = GetParam();
  const Tensor x = Tensor::normal({2, kSteps, kFeatures}, Random(5), 0.0F, 1.0F);
  for (const bool with_states : {false, true}) {
    std::vector<Shape> shapes = {{kSteps, kFeatures}};
    std::vector<Tensor> inputs = {x};
    for (std::size_t i = 0; with_states && i < of.states; ++i) {
      shapes.push_back(i == 0 ? Shape{kUnits} : Shape{1, kUnits});
      inputs.push_back(Tensor::normal(shapes.back().with_batch(2), Random(6 + i), 0.0F, 0.5F));
    }
    for (const bool all : {false, true}) {
      const auto layer = of.make(kUnits, {.return_sequences = all});
      draw(*layer, shapes);
      const Tensor y = layer->forward_all(inputs, {});
      EXPECT_EQ(y.shape(), all ? (Shape{2, kSteps, kUnits}) : (Shape{2, kUnits}));
      for (std::size_t example = 0; example < 2; ++example) {
        std::vector<Vector> start(of.states, Vector(kUnits));
        for (std::size_t i = 1; i < inputs.size(); ++i) {
          std::copy_n(inputs[i].data() + example * kUnits, kUnits, start[i - 1].begin());
        }
        const auto values = x.span().subspan(example * kSteps * kFeatures, kSteps * kFeatures);
        const std::vector<Vector> states = naive_states(of, *layer, values, start);
        Vector expected;
        for (std::size_t t = all ? 0 : kSteps - 1; t < kSteps; ++t) {
          expected.insert(expected.end(), states[t].begin(), states[t].end());
        }
        for (std::size_t i = 0; i < expected.size(); ++i) {
          EXPECT_NEAR(y.span()[example * expected.size() + i], expected[i], 1e-5) << i;
        }
      }
    }
  }
}

TEST_P(RecurrentLayers, KeepTheirStatesAtMaskedSteps) {
  constexpr std::array<std::array<float, kSteps>, 5> kMasks = {
      {{1, 1, 1, 0, 0}, {1, 1, 1, 1, 1}, {0, 0, 0, 0, 0}, {1, 0, 0, 1, 1}, {0, 1, 0, 1, 0}}};
  constexpr auto kExamples = static_cast<Index>(kMasks.size());
  const RecurrentCase& of = GetParam();
  const Tensor x = Tensor::normal({kExamples, kSteps, kFeatures}, Random(5), 0.0F, 1.0F);
  for (const bool with_states : {false, true}) {
    const Shape mask_shape = with_states ? Shape{kSteps, 1} : Shape{kSteps};
    Tensor mask = Tensor::zeros(mask_shape.with_batch(kExamples));
    for (std::size_t i = 0; i < kMasks.size(); ++i) {
      std::ranges::copy(kMasks.at(i), mask.mutable_data() + i * kSteps);
    }
    std::vector<Tensor> inputs = {x, mask};
    std::vector<Shape> shapes = {{kSteps, kFeatures}, mask_shape};
    for (std::size_t i = 0; with_states && i < of.states; ++i) {
      shapes.emplace_back(Shape{3});
      inputs.push_back(Tensor::normal({kExamples, 3}, Random(6 + i), 0.0F, 0.5F));
    }
    const auto layer = of.make(3, {.return_sequences = true, .masked = true});
    draw(*layer, shapes);
    const Tensor y = layer->forward_all(inputs, {});
    for (std::size_t i = 0; i < kMasks.size(); ++i) {
      const auto values = x.span().subspan(i * kSteps * kFeatures, kSteps * kFeatures);
      std::vector<Vector> start(of.states, Vector(3));
      for (std::size_t state = 2; state < inputs.size(); ++state) {
        std::copy_n(inputs[state].data() + i * 3, 3, start[state - 2].begin());
      }
      const std::vector<Vector> states =
          naive_states(of, *layer, values, start, {kMasks.at(i), {}});
      for (std::size_t t = 0; t < kSteps; ++t) {
        for (std::size_t unit = 0; unit < 3; ++unit) {
          EXPECT_NEAR(y.span()[(i * kSteps + t) * 3 + unit], states[t][unit], 1e-5) << t;
        }
      }
    }
    expect_made_again(*layer);
  }
}

TEST_P(RecurrentLayers, DropTheSameFeaturesAtAllSteps) {
  const RecurrentCase& of = GetParam();
  const Shape shape = {kSteps, kFeatures};
  const Tensor x = Tensor::normal(shape.with_batch(1), Random(5), 0.0F, 1.0F);
  const auto layer = of.make(8, {.return_sequences = true, .dropout = 0.5F});
  draw(*layer, {shape});
  const auto plain = of.make(8, {.return_sequences = true});
  draw(*plain, {shape});
  const Tensor dropped = drawn(SpatialDropout1D(0.5F), {shape}).forward(x, training(3));
  EXPECT_FALSE(std::ranges::equal(dropped.span(), x.span()));
  const auto equal = [](const Tensor& a, const Tensor& b) {
    return std::ranges::equal(a.span(), b.span());
  };
  EXPECT_TRUE(equal(layer->forward(x, training(3)), plain->forward(dropped, {})));
  EXPECT_TRUE(equal(layer->forward(x, {}), plain->forward(x, {})));
  expect_made_again(*layer);

  const auto recurrent = of.make(8, {.return_sequences = true, .recurrent_dropout = 0.5F});
  draw(*recurrent, {shape});
  EXPECT_TRUE(equal(recurrent->forward(x, {}), plain->forward(x, {})));
  const Tensor kept = drawn(Dropout(0.5F), {Shape{8}}).forward(Tensor::ones({1, 8}), training(3));
  const std::vector<Vector> states =
      naive_states(of, *plain, x.span(), std::vector<Vector>(of.states, Vector(8)),
                   {.factors = {kept.span().begin(), kept.span().end()}});
  const Tensor y = recurrent->forward(x, training(3));
  for (std::size_t i = 0; i < y.span().size(); ++i) {
    EXPECT_NEAR(y.span()[i], states[i / 8][i % 8], 1e-5) << i;
  }
  expect_made_again(*recurrent);
}

TEST_P(RecurrentLayers, GiveNoGradientBeyondATruncatedPart) {
  const RecurrentCase& of = GetParam();
  const Shape shape = {kSteps, kFeatures};
  for (const Index truncation : {1, 2, 3, 5}) {
    const auto layer = of.make(3, {.truncation = truncation});
    draw(*layer, {shape});
    const auto whole = of.make(3, {});
    draw(*whole, {shape});
    Tensor x = Tensor::normal(shape.with_batch(2), Random(5), 0.0F, 1.0F);
    x.set_requires_grad(true);
    Tensor y = layer->forward(x, training(1));
    EXPECT_TRUE(std::ranges::equal(y.span(), whole->forward(x, training(1)).span()));
    sum(y).backward();
    const Index first = (kSteps - 1) / truncation * truncation;
    for (Index i = 0; i < x.size(); ++i) {
      EXPECT_EQ(x.grad().data()[i] != 0.0F, i / kFeatures % kSteps >= first) << i;
    }
    expect_made_again(*layer);
  }
}

TEST_P(RecurrentLayers, GiveTheFirstStatesTheGradientsOfTheFirstTruncatedPart) {
  const RecurrentCase& of = GetParam();
  std::vector<Shape> shapes = {{kSteps, kFeatures}};
  shapes.resize(1 + of.states, Shape{3});
  const auto gradients = [&](Index truncation, Index steps) {
    const auto layer = of.make(3, {.return_sequences = true, .truncation = truncation});
    draw(*layer, shapes);
    std::vector<Tensor> inputs;
    for (const Shape& shape : shapes) {
      const Random random(5 + inputs.size());
      inputs.push_back(Tensor::normal(shape.with_batch(2), random, 0.0F, 1.0F));
      inputs.back().set_requires_grad(true);
    }
    const Tensor y = layer->forward_all(inputs, training(1));
    sum(slice(y, {{0, 2}, {0, steps}, {0, 3}})).backward();
    std::vector<float> all;
    for (std::size_t i = 1; i < inputs.size(); ++i) {
      const auto grad = inputs[i].grad().span();
      all.insert(all.end(), grad.begin(), grad.end());
    }
    return all;
  };
  for (const Index truncation : {1, 2, 3, 5}) {
    const std::vector<float> expected = gradients(0, truncation);
    const std::vector<float> found = gradients(truncation, kSteps);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_NE(expected[i], 0.0F);
      EXPECT_NEAR(found[i], expected[i], 1e-6F) << i;
    }
  }
}

TEST_P(RecurrentLayers, RefuseOptionsThatAreOutOfRange) {
  for (const RecurrentOptions& options :
       {RecurrentOptions{.dropout = 1.0F}, {.recurrent_dropout = -0.1F}, {.truncation = -1}}) {
    EXPECT_THROW(GetParam().make(2, options), InvalidArgument);
  }
}

TEST_P(RecurrentLayers, StartAsKerasDoes) {
  const auto layer = GetParam().make(4, {});
  layer->build({kSteps, kFeatures}, Random(1));
  const Tensor recurrent = tensor_named(layer->parameters(), "recurrent_kernel");
  for (Index a = 0; a < 4; ++a) {
    for (Index b = 0; b <= a; ++b) {
      double dot = 0.0;
      for (Index i = 0; i < recurrent.dim(1); ++i) {
        dot += double{recurrent.at({a, i})} * recurrent.at({b, i});
      }
      EXPECT_NEAR(dot, a == b ? 1.0 : 0.0, 1e-6);
    }
  }
  const Tensor bias = tensor_named(layer->parameters(), "bias");
  for (std::size_t i = 0; i < bias.span().size(); ++i) {
    EXPECT_EQ(bias.span()[i], GetParam().name == "LSTM" && i / 4 == 1 ? 1.0F : 0.0F) << i;
  }
}

TEST_P(RecurrentLayers, HaveTheGradientsOfTheirFormula) {
  std::vector<Shape> shapes = {{3, 2}};
  expect_gradients(*GetParam().make(2, {.return_sequences = true}), shapes);
  shapes.resize(1 + GetParam().states, Shape{2});
  expect_gradients(*GetParam().make(2, {}), shapes);
  expect_gradients(*GetParam().make(2, {.return_sequences = true, .masked = true}),
                   {Shape{3, 2}, Shape{3}});
}

/// By step of time: how far integers of a model of one recurrent layer are from its floats.
std::vector<double> errors_by_step(const RecurrentCase& of, Index steps) {
  Model model("m");
  const Value x = model.input({steps, kFeatures});
  model.output(model.add(of.make(16, {.return_sequences = true}), {x}));
  model.build(1);
  const Tensor samples = Tensor::normal({8, steps, kFeatures}, Random(7), 0.0F, 1.0F);
  const Tensor real = model.forward(samples);
  Model quantized = quantize_model(model);
  calibrate(quantized, samples);
  const Tensor integers = quantized.forward(samples);
  std::vector<double> errors(static_cast<std::size_t>(steps));
  const std::size_t units = 16;
  for (std::size_t i = 0; i < real.span().size(); ++i) {
    const double difference = static_cast<double>(real.span()[i]) - integers.span()[i];
    errors[i / units % errors.size()] += std::abs(difference) / (8.0 * units);
  }
  return errors;
}

TEST_P(RecurrentLayers, OnIntegersDoNotDriftOverALongSequence) {
  const std::vector<double> errors = errors_by_step(GetParam(), 240);
  const auto mean = [&](std::size_t begin, std::size_t count) {
    const auto first = errors.begin() + static_cast<std::ptrdiff_t>(begin);
    return std::accumulate(first, first + static_cast<std::ptrdiff_t>(count), 0.0) /
           static_cast<double>(count);
  };
  const double settled = mean(40, 40);
  EXPECT_GT(settled, 0.0);
  EXPECT_LT(settled, 0.03);
  EXPECT_LT(mean(200, 40), 1.2 * settled);
}

TEST(GRU, JoinsTheStatesOfAsManySteps) {
  for (const Index steps : {16, 17, 300}) {
    GRU gru = drawn(GRU(2, {.return_sequences = true}), {Shape{steps, 1}});
    const Tensor y = gru.forward(Tensor::normal({1, steps, 1}, Random(1), 0.0F, 1.0F), {});
    ASSERT_EQ(y.shape(), (Shape{1, steps, 2}));
  }
  EXPECT_THROW(drawn(GRU(2), {Shape{10001, 1}}).forward(Tensor::zeros({1, 10001, 1}), {}),
               InvalidArgument);
}

}  // namespace
}  // namespace octet::test::recurrent_layers_test
