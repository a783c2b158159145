// Layers over sequences: what they compute, and that what is trained is what is shipped.

#include <fmt/format.h>
#include <octet/core/gradcheck.h>
#include <octet/core/ops/ops.h>
#include <octet/layers/architecture.h>
#include <octet/octet.h>
#include <octet/tests/layers/layer_testing.h>
#include <octet/tests/train/saved_and_shipped.h>
#include <octet/train/layer_differences.h>

#include <cmath>
#include <functional>

namespace octet::test::sequences_test {
namespace {

constexpr Index kSteps = 5;
constexpr Index kFeatures = 4;

double sigmoid_of(double x) { return 1.0 / (1.0 + std::exp(-x)); }

/// The states of a GRU behind all steps of one example, by loops over the formula of its page.
std::vector<std::vector<double>> naive_gru(const Layer& gru, std::span<const float> x,
                                           std::vector<double> h) {
  const std::size_t units = h.size();
  const auto tensor = [&](std::string_view name) { return tensor_named(gru.parameters(), name); };
  const auto sum = [&](const Tensor& kernel, std::size_t row_of_bias, std::size_t column,
                       const auto& values) {
    const Tensor bias = tensor("bias");
    double result = bias.data()[row_of_bias * 3 * units + column];
    for (std::size_t i = 0; i < values.size(); ++i) {
      result += static_cast<double>(values[i]) * kernel.data()[i * 3 * units + column];
    }
    return result;
  };
  std::vector<std::vector<double>> states;
  const std::size_t features = x.size() / kSteps;
  for (std::size_t t = 0; t < kSteps; ++t) {
    const auto x_t = x.subspan(t * features, features);
    std::vector<double> next(units);
    for (std::size_t u = 0; u < units; ++u) {
      const auto input = [&](std::size_t gate) {
        return sum(tensor("kernel"), 0, gate * units + u, x_t);
      };
      const auto recurrent = [&](std::size_t gate) {
        return sum(tensor("recurrent_kernel"), 1, gate * units + u, h);
      };
      const double z = sigmoid_of(input(0) + recurrent(0));
      const double r = sigmoid_of(input(1) + recurrent(1));
      const double n = std::tanh(input(2) + r * recurrent(2));
      next[u] = z * h[u] + (1.0 - z) * n;
    }
    h = next;
    states.push_back(h);
  }
  return states;
}

/// A built layer whose parameters, biases too, are drawn.
template <class L>
L drawn(L layer, const std::vector<Shape>& shapes) {
  layer.build_all(shapes, Random(3));
  std::uint64_t seed = 40;
  for (auto& [name, parameter] : layer.parameters()) {
    const Tensor values = Tensor::normal(parameter.shape(), Random(++seed), 0.0F, 0.6F);
    std::ranges::copy(values.span(), parameter.mutable_span().begin());
  }
  return layer;
}

TEST(GRU, ComputesItsFormulaFromZerosAndFromAState) {
  constexpr Index kUnits = 3;
  const Shape sequences{kSteps, kFeatures};
  const Tensor x = Tensor::normal({2, kSteps, kFeatures}, Random(5), 0.0F, 1.0F);
  const Tensor h = Tensor::normal({2, kUnits}, Random(6), 0.0F, 0.5F);
  for (const bool with_state : {false, true}) {
    for (const bool all : {false, true}) {
      GRU gru = drawn(GRU(kUnits, {.return_sequences = all}),
                      with_state ? std::vector<Shape>{sequences, Shape{kUnits}}
                                 : std::vector<Shape>{sequences});
      const std::vector<Tensor> inputs = with_state ? std::vector{x, h} : std::vector{x};
      const Tensor y = gru.forward_all(inputs, {});
      EXPECT_EQ(y.shape(), all ? (Shape{2, kSteps, kUnits}) : (Shape{2, kUnits}));
      const auto found = y.span();
      for (std::size_t example = 0; example < 2; ++example) {
        std::vector<double> start(kUnits, 0.0);
        if (with_state) std::copy_n(h.data() + example * kUnits, kUnits, start.begin());
        const auto states = naive_gru(
            gru, x.span().subspan(example * kSteps * kFeatures, kSteps * kFeatures), start);
        std::vector<double> expected;
        for (std::size_t t = all ? 0 : kSteps - 1; t < kSteps; ++t) {
          expected.insert(expected.end(), states[t].begin(), states[t].end());
        }
        for (std::size_t i = 0; i < expected.size(); ++i) {
          EXPECT_NEAR(found[example * expected.size() + i], expected[i], 1e-5) << i;
        }
      }
    }
  }
}

TEST(SelfAttention, ComputesItsFormula) {
  constexpr std::size_t kHeads = 2;
  constexpr std::size_t kDim = 3;
  SelfAttention layer = drawn(SelfAttention(kHeads, kDim), {Shape{kSteps, kFeatures}});
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

template <class L>
void expect_gradients(L layer, const std::vector<Shape>& shapes) {
  L built = drawn(std::move(layer), shapes);
  std::vector<Tensor> inputs;
  std::uint64_t seed = 10;
  for (const Shape& shape : shapes) {
    inputs.push_back(Tensor::normal(shape.with_batch(2), Random(++seed), 0.0F, 1.0F));
    inputs.back().set_requires_grad(true);
  }
  const std::size_t count = inputs.size();
  for (auto& [name, parameter] : built.parameters()) inputs.push_back(parameter);
  const auto f = [&](const std::vector<Tensor>& at) {
    const Tensor y = built.forward_all(std::span(at).first(count), training());
    return sum(mul(y, y));
  };
  const GradcheckResult result = gradcheck(f, inputs);
  EXPECT_TRUE(result.ok) << result.message;
}

TEST(GRU, HasTheGradientsOfItsFormula) {
  expect_gradients(GRU(2), {Shape{3, 2}, Shape{2}});
  expect_gradients(GRU(2, {.return_sequences = true}), {Shape{3, 2}});
}
TEST(SelfAttention, HasTheGradientsOfItsFormula) {
  expect_gradients(SelfAttention(2, 2), {Shape{3, 2}});
}

/// Networks over sequences of clouds, by name.
struct Network {
  std::string name;
  std::function<Model()> make;
};
std::vector<Network> networks() {
  const auto of = [](auto make_body) {
    return [make_body] {
      Model model("m");
      const Value x = model.input({kSteps * kFeatures});
      const Value sequence = model.add(Reshape({kSteps, kFeatures}), x);
      model.output(model.add(Dense(3, Activation::softmax), make_body(model, sequence)));
      model.build(/*seed=*/4);
      return model;
    };
  };
  return {
      {"gru", of([](Model& m, const Value& x) { return m.add(GRU(6), x); })},
      {"two_grus", of([](Model& m, const Value& x) {
         const Value states = m.add(GRU(5, {.return_sequences = true}), x);
         return m.add(GRU(4), {states, m.add(Dense(4), m.add(Flatten(), x))});
       })},
      {"attention", of([](Model& m, const Value& x) {
         const Value y = m.add(Add(), {x, m.add(SelfAttention(2, 3), x)});
         return m.add(Flatten(), y);
       })},
      {"parts", of([](Model& m, const Value& x) {
         const std::vector<Value> parts = m.split(x, 2);
         const Value left = m.add(Dense(6, Activation::relu), parts[0]);
         const Value sum = m.add(Add(), {left, m.add(Dense(6), parts[1])});
         const Value turned = m.add(Permute({2, 1}), sum);
         return m.add(Flatten(), m.add(Slice({.begin = 1, .size = kSteps - 1}), turned));
       })},
  };
}

TEST(Sequences, AreTrainedShippedAndLoadedToTheLastBit) {
  const Dataset train = clouds(200, 1, kSteps * kFeatures, 3, 0.2F);
  const Dataset test = clouds(200, 2, kSteps * kFeatures, 3, 0.2F);
  for (const Network& network : networks()) {
    for (const QuantizeOptions& options :
         {QuantizeOptions{}, QuantizeOptions{.rounding = Rounding::single_rounding},
          QuantizeOptions{.rounding = Rounding::double_rounding, .weight_bits = 4},
          QuantizeOptions{.per_channel = true,
          .weight_scales = Scales::lsq,
          .activation_scales = Scales::lsq_plus}}) {
      SCOPED_TRACE(fmt::format("{}, {}", network.name, to_string(options.rounding)));
      Model model = network.make();
      Trainer(model, Adam(0.01F)).fit(train, 5);
      Model quantized = quantize_model(model, options);
      Trainer trainer(quantized, Adam(0.005F));
      trainer.fit(train, test, 3);
      const IntegerModel read =
          expect_saved_and_shipped(quantized, trainer, test, 0.85, OnnxStyle::standard);
      for (const Operator& op : read.operators) {
        EXPECT_EQ(read.tensors[static_cast<std::size_t>(op.outputs[0])].dtype, DType::int8);
      }
    }
  }
}

TEST(GRU, HasOneScaleForAValueAtAllStepsAndOneTensorForAKernel) {
  Model quantized = quantize_model(networks()[0].make());
  calibrate(quantized, clouds(60, 1, kSteps * kFeatures).features(0, 60));
  refresh_kernel_ranges(quantized);
  EXPECT_EQ(fmt::format("{}", fmt::join(names_of(quantized.layer("quant_gru").state()), " ")),
            "output_min output_max output_zero_point kernel_z_min kernel_z_max input_z_min "
            "input_z_max input_z_zero_point kernel_r_min kernel_r_max input_r_min input_r_max "
            "input_r_zero_point kernel_n_min kernel_n_max input_n_min input_n_max "
            "input_n_zero_point recurrent_kernel_z_min recurrent_kernel_z_max recurrent_z_min "
            "recurrent_z_max recurrent_z_zero_point recurrent_kernel_r_min "
            "recurrent_kernel_r_max recurrent_r_min recurrent_r_max recurrent_r_zero_point "
            "recurrent_kernel_n_min recurrent_kernel_n_max recurrent_n_min recurrent_n_max "
            "recurrent_n_zero_point sum_z_min sum_z_max sum_z_zero_point sum_r_min sum_r_max "
            "sum_r_zero_point reset_min reset_max reset_zero_point sum_n_min sum_n_max "
            "sum_n_zero_point difference_min difference_max difference_zero_point kept_min "
            "kept_max kept_zero_point");
  const IntegerModel model = lower(quantized);
  std::size_t constants = 0;
  for (const ModelTensor& tensor : model.tensors) {
    constants += tensor.dtype == DType::int8 && !tensor.data.empty() ? 1 : 0;
  }
  EXPECT_EQ(constants, 7U);  // Three kernels of each kind, and the Dense's.
  const ModelTensor& last = model.tensors[static_cast<std::size_t>(
      std::ranges::find(model.tensors, "gru", &ModelTensor::name) - model.tensors.begin())];
  const auto first = std::ranges::find(model.tensors, "gru/h", &ModelTensor::name);
  ASSERT_NE(first, model.tensors.end());
  EXPECT_EQ(first->quantization, last.quantization);
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

TEST(GRU, QuantizedWithoutTrainingKeepsItsMemory) {
  const Model model = networks()[0].make();
  const Dataset data = clouds(200, 1, kSteps * kFeatures, 3, 0.2F);
  for (const Calibration calibration : {Calibration::min_max, Calibration::moving_average}) {
    Model quantized = quantize_post_training(model, data.features(0, 200),
                                             {.activation_calibration = calibration});
    const Tensor real = model.forward(data.features(0, 50));
    const Tensor found = quantized.forward(data.features(0, 50));
    for (Index i = 0; i < real.size(); ++i) {
      EXPECT_NEAR(found.data()[i], real.data()[i], 0.05F);
    }
  }
}

TEST(Sequences, RefuseShapesByName) {
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
  EXPECT_EQ(message(SelfAttention(1, 3, {.name = "a"}), {Shape{4}}),
            "SelfAttention \"a\": expected sequences [steps, features], found [4]");
  EXPECT_THROW(GRU(0), InvalidArgument);
  EXPECT_THROW(SelfAttention(0, 2), InvalidArgument);
}

}  // namespace
}  // namespace octet::test::sequences_test
