#include <octet/core/error.h>
#include <octet/core/gradcheck.h>
#include <octet/core/ops/ops.h>
#include <octet/layers/batch_norm.h>
#include <octet/layers/conv1d.h>
#include <octet/layers/graph.h>
#include <octet/layers/lower.h>
#include <octet/layers/program/program.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/layers/reshape.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/core/special_values.h>
#include <octet/tests/layers/layer_testing.h>

#include <bit>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

// The program that a model makes of what its layers emit, and the passes over it.

namespace octet::test::program_test {
namespace {

std::vector<std::string> step_names(const Program& program) {
  std::vector<std::string> names;
  for (const Step& step : program.steps) names.push_back(program.values[step.result].name());
  return names;
}

TEST(Program, HasTheStepsOfAllLayersInTheirOrder) {
  Sequential model("m", Input({6, 2}, "x"), Conv1D(3, 2, Activation::softmax, {.name = "conv"}),
                   Flatten("flat"), Dense(4, Activation::relu, DenseOptions{.name = "dense"}));
  model.build();
  const Program& program = model.program();
  EXPECT_EQ(step_names(program),
            (std::vector<std::string>{"conv/images", "conv/linear/convolution", "conv/linear",
                                      "conv", "flat", "dense"}));
  EXPECT_EQ(program.values[program.steps[1].result].shape, (Shape{1, 5, 3}));
  EXPECT_EQ(program.steps.back().clamp, FusedActivation::relu);
  EXPECT_EQ(program.outputs, (std::vector<std::size_t>{program.steps.back().result}));
  // Names are those that the layers have when they are asked for.
  model.layers()[1]->set_name("other");
  EXPECT_EQ(step_names(model.program())[3], "other");
}

TEST(Program, LeavesOutWhatPassesItsInputOn) {
  Sequential model("m", Input({4}), ActivationLayer(Activation::none), Reshape({4}),
                   Dense(2, Activation::none, DenseOptions{.name = "dense"}));
  model.build();
  EXPECT_EQ(step_names(model.program()), (std::vector<std::string>{"dense"}));
  const Tensor x = Tensor::ones({1, 4});
  std::vector<Shape> seen;
  model.forward_all({&x, 1}, [&](std::size_t, const std::vector<Tensor>& steps) {
    ASSERT_EQ(steps.size(), 1U);
    seen.push_back(steps.back().shape());
  });
  EXPECT_EQ(seen, (std::vector<Shape>{{1, 4}, {1, 4}, {1, 4}, {1, 2}}));
}

TEST(Program, ALayerThatIsAddedOrBuiltAnewIsPartOfIt) {
  Sequential model("m", Input({3}), Dense(2));
  model.build(1);
  const Tensor x = Tensor::ones({1, 3});
  const std::vector<float> before = values_of(model.forward(x));
  model.build(2);
  EXPECT_NE(values_of(model.forward(x)), before);
  model.add(Dense(5));
  EXPECT_THROW(model.forward(x), InvalidArgument);
  model.build(1);
  EXPECT_EQ(model.forward(x).shape(), (Shape{1, 5}));
}

/// A BatchNorm and a clamp behind it; `output` makes the former an output too.
Model normalized(Activation clamp, bool output) {
  Model model("m");
  const Value x = model.input({5});
  const Value norm = model.add(BatchNorm({.name = "norm"}), x);
  if (output) model.output(norm);
  model.output(model.add(ActivationLayer(clamp, "clamp"), norm));
  model.build();
  return model;
}

TEST(Program, AnOutputThatIsAddedIsPartOfIt) {
  Model model("m");
  const Value x = model.input({3});
  const Value hidden = model.add(Dense(4), x);
  model.output(model.add(Dense(2), hidden));
  model.build();
  const Tensor one = Tensor::ones({1, 3});
  EXPECT_EQ(model.forward_all({&one, 1}).size(), 1U);
  model.output(hidden);
  const std::vector<Tensor> both = model.forward_all({&one, 1});
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[1].shape(), (Shape{1, 4}));
}

TEST(Program, ACopyTrainsItsOwnStatistics) {
  Model model = normalized(Activation::relu, false);
  const Tensor x = random_tensor({9, 5}, 3, 2.0F, 8.0F);
  static_cast<void>(model.forward(x));
  Model copy = model;
  Model moved = std::move(model);
  static_cast<void>(copy.forward(x, training()));
  const auto mean_of = [](const Model& of) {
    return values_of(tensor_named(of.state(), "norm/moving_mean"));
  };
  EXPECT_EQ(mean_of(moved), std::vector<float>(5, 0.0F));
  EXPECT_NE(mean_of(copy), std::vector<float>(5, 0.0F));
  // Frozen behind the first forward pass, it stays as it is.
  const std::vector<float> before = mean_of(copy);
  copy.layer("norm").set_trainable(false);
  static_cast<void>(copy.forward(x, training()));
  EXPECT_EQ(mean_of(copy), before);
}

TEST(FusedClamps, GiveTheSameBitsInOneStepLess) {
  const Tensor x = random_tensor({9, 5}, 3, -8.0F, 8.0F);
  for (const Activation clamp : {Activation::relu, Activation::relu6}) {
    const auto run = [&](bool seen) {
      Model model = normalized(clamp, false);
      EXPECT_EQ(model.program().steps.size(), 2U);
      EXPECT_EQ(with_fused_clamps(model.program()).steps.size(), 1U);
      // What is seen is not fused.
      const Model::Visit visit = [](std::size_t, const std::vector<Tensor>&) {};
      Tensor input = x.clone();
      input.set_requires_grad(true);
      const Tensor y =
          model.forward_all({&input, 1}, training(), seen ? visit : Model::Visit{}).front();
      sum(square(y)).backward();
      std::vector<float> all = values_of(y);
      for (const float g : values_of(input.grad())) all.push_back(g);
      for (const float v : values_of(tensor_named(model.state(), "norm/moving_mean"))) {
        all.push_back(v);
      }
      return all;
    };
    EXPECT_EQ(run(true), run(false)) << to_string(clamp);
  }
}

TEST(FusedClamps, LeaveWhatIsReadBeforeTheClampOrIsNone) {
  EXPECT_EQ(with_fused_clamps(normalized(Activation::relu, true).program()).steps.size(), 2U);
  EXPECT_EQ(with_fused_clamps(normalized(Activation::tanh, false).program()).steps.size(), 2U);
  Model fork("m");
  const Value norm = fork.add(BatchNorm(), fork.input({5}));
  fork.output(fork.add(ReLU(), norm));
  fork.output(fork.add(ReLU6(), norm));
  fork.build();
  EXPECT_EQ(with_fused_clamps(fork.program()).steps.size(), 3U);
}

/// Emits what the test asks for.
class Emitting : public Layer {
 public:
  using Emit = std::function<std::vector<GraphValue>(Graph&, std::span<const GraphValue>)>;
  explicit Emitting(Emit emit) : Layer("own"), emit_(std::move(emit)) {}
  std::string_view type() const override { return "Emitting"; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override {
    return emit_(graph, inputs);
  }
  std::unique_ptr<Layer> clone() const override { return std::make_unique<Emitting>(*this); }

 private:
  Emit emit_;
};

TEST(Graph, RefusesWhatIsNoProgramByTheNameOfTheLayer) {
  const auto refused = [](Emitting::Emit emit, const std::vector<std::string>& parts) {
    std::vector<std::string> all = {"\"own\"", "Emitting"};
    all.insert(all.end(), parts.begin(), parts.end());
    expect_throws<InvalidArgument>(
        [&] {
          Sequential("m", Input({4, 4, 2}), Emitting(emit)).build();
        },
        all);
  };
  refused([](Graph& g, auto) { return std::vector{g.op(OpCode::relu, {GraphValue{77}})}; },
          {"a value of this graph", "77"});
  refused([](Graph&, auto) { return std::vector{GraphValue{5}}; }, {"a value of this graph"});
  refused([](Graph&, auto x) { return std::vector{x[0], GraphValue{77}}; }, {"of this graph"});
  refused([](Graph&, auto) { return std::vector<GraphValue>{}; }, {"a value, found none"});
  refused([](Graph& g, auto x) { return std::vector{g.linear(x[0])}; }, {"weights()"});
  refused([](Graph& g, auto x) { return std::vector{g.op(OpCode::dequantize, {x[0]})}; },
          {"DEQUANTIZE", "Graph::linear()"});
  refused(
      [](Graph& g, auto x) {
        const PoolAttributes window{.filter_h = 9, .filter_w = 9};
        return std::vector{g.op(OpCode::max_pool_2d, {x[0]}, window)};
      },
      {"max_pool2d"});
  for (const auto& [code, function] : {std::pair{OpCode::pad, "Graph::pad()"},
                                       {OpCode::reshape, "Graph::reshape()"},
                                       {OpCode::resize_bilinear, "Graph::resize()"},
                                       {OpCode::resize_nearest_neighbor, "repeat_pixels()"},
                                       {OpCode::strided_slice, "Graph::slice()"},
                                       {OpCode::split, "Graph::slice()"},
                                       {OpCode::transpose, "Graph::transpose()"}}) {
    refused(
        [code = code](Graph& g, auto x) {
          return std::vector{g.op(code, {x[0], x[0]})};
        },
        {function});
  }
  refused([](Graph& g,
             auto x) { return std::vector{g.op(OpCode::leaky_relu, {x[0]}, PoolAttributes{})}; },
          {"LEAKY_RELU", "another operator"});
  refused([](Graph& g, auto x) { return std::vector{g.reshape(x[0], {5})}; }, {"32", "[5]"});
  refused(
      [](Graph& g, auto x) {
        return std::vector{g.slice(x[0], {{0, 4}, {0, 4}, {0, 3}})};
      },
      {"slice", "[0, 3)", "axis 3"});
  refused([](Graph& g, auto x) { return std::vector{g.transpose(x[0], {0, 1, 1})}; }, {"permute"});
  const auto last_of_scan = [](Graph& g, const std::vector<GraphValue>& sequences) {
    return std::vector{g.scan(sequences, {}, [](std::span<const GraphValue> x_t, GraphValue) {
                          return x_t[0];
                        }).back()};
  };
  refused([&](Graph& g, auto /*x*/) { return last_of_scan(g, {}); }, {"scan", "found none"});
  refused(
      [&](Graph& g, auto x) {
        return last_of_scan(g, {x[0], g.slice(x[0], {{0, 3}, {0, 4}, {0, 2}})});
      },
      {"scan", "[4, 4, 2]", "[3, 4, 2]", "one length"});
}

TEST(Graph, ValuesOfOneSuffixAreNumberedAndTheResultHasTheName) {
  Sequential model("m", Input({4, 4, 2}), Emitting([](Graph& g, std::span<const GraphValue> x) {
                     const GraphValue once = g.op(OpCode::tanh, {x[0]});
                     const GraphValue twice = g.op(OpCode::tanh, {once});
                     return std::vector{g.op(OpCode::tanh, {twice})};
                   }));
  model.build();
  EXPECT_EQ(step_names(model.program()), (std::vector<std::string>{"own/1", "own/2", "own"}));
}

struct OperatorCase {
  OpCode code;
  /// Whether the operator reads a tensor beside x.
  bool reads_two = false;
  std::optional<OperatorAttributes> attributes{};
};

PoolAttributes pool_of_four(std::int32_t stride, FusedActivation clamp) {
  return {Padding::valid, stride, stride, 2, 2, clamp};
}

// NaN, infinities and the sign of 0 are no exception.
TEST(Graph, FloatsGiveTheBitsOfTheInterpreter) {
  std::vector<OperatorCase> cases = {
      {OpCode::leaky_relu, false, LeakyReluAttributes{.alpha = 0.1F}},
      {OpCode::gelu, false, GeluAttributes{}},
      {OpCode::softmax, false, SoftmaxAttributes{.beta = 3.0F}},
      {OpCode::add, true, BinaryAttributes{.activation = FusedActivation::relu}},
      {OpCode::sub, true, BinaryAttributes{.activation = FusedActivation::relu6}},
      {OpCode::mul, true, BinaryAttributes{.activation = FusedActivation::relu_n1_to_1}},
      {OpCode::max_pool_2d, false, pool_of_four(1, FusedActivation::none)},
      {OpCode::max_pool_2d, false, pool_of_four(2, FusedActivation::relu)},
      {OpCode::average_pool_2d, false, pool_of_four(1, FusedActivation::relu6)}};
  for (const OpCode code :
       {OpCode::relu, OpCode::relu6, OpCode::relu_n1_to_1, OpCode::hard_swish, OpCode::elu,
        OpCode::exp, OpCode::log, OpCode::sqrt, OpCode::logistic, OpCode::tanh}) {
    cases.push_back({code});
  }
  for (const OpCode code : {OpCode::add, OpCode::maximum, OpCode::minimum, OpCode::prelu}) {
    cases.push_back({code, true});
  }
  const Tensor other = Tensor::from({2}, {1.5F, -0.0F});
  const Tensor x = Tensor::from(
      {1, 4, 4, 2}, {-0.0F, 0,     1e-40F, 0.5F,   0.3F,    1.7F, 6,     7,    1e30F, kInf, -1e-40F,
                     -0.5F, -1,    -3,     -1e30F, -kInf,   -1,   kNan,  5,    -0.0F, 2,    kInf,
                     -6,    -0.0F, -1e-3F, -0.0F,  -1e-40F, 0,    1e30F, 6.5F, -7,    3});
  for (const OperatorCase& now : cases) {
    Sequential model("m", Input({4, 4, 2}), Emitting([&](Graph& g, std::span<const GraphValue> in) {
                       std::vector<GraphValue> inputs = {in[0]};
                       if (now.reads_two) inputs.push_back(g.parameter("other", other));
                       return std::vector{g.op(now.code, inputs, now.attributes)};
                     }));
    model.build();
    Interpreter interpreter(lower_float(model));
    std::ranges::copy(x.span(), interpreter.input<float>().begin());
    interpreter.invoke();
    const auto found = std::as_const(interpreter).output<float>();
    const std::vector<float> expected = values_of(model.forward(x));
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (std::isnan(found[i]) && std::isnan(expected[i])) continue;
      EXPECT_EQ(std::bit_cast<std::uint32_t>(found[i]), std::bit_cast<std::uint32_t>(expected[i]))
          << to_string(now.code) << " at " << i << ": " << found[i] << ", " << expected[i];
    }
  }
}

// The slopes are computed of x here, so that gradients of both operands reach it.
TEST(Graph, PreluPassesGradientsToItsInputAndItsSlopes) {
  Sequential model("m", Input({3, 2}), Emitting([](Graph& g, std::span<const GraphValue> x) {
                     const GraphValue slopes = g.op(OpCode::logistic, {x[0]});
                     return std::vector{g.op(OpCode::prelu, {x[0], slopes})};
                   }));
  model.build();
  Tensor x = leaf(Tensor::from({1, 3, 2}, {-1, 1, 0, 2, -3, 5}));
  Tensor y = model.forward(x);
  const auto sigmoid_of = [](float v) { return 1.0F / (1.0F + std::exp(-v)); };
  const std::vector<float> expected = {-sigmoid_of(-1), 1, 0, 2, -3 * sigmoid_of(-3), 5};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(y.span()[i], expected[i], 1e-6F) << i;
  y.backward(Tensor::ones(y.shape()));
  EXPECT_EQ(x.grad().span()[1], 1.0F);
  EXPECT_NEAR(x.grad().span()[2], 0.5F, 1e-6F) << "the slope at 0";
  expect_gradient([&](const std::vector<Tensor>& in) { return model.forward(in[0]); },
                  {random_tensor({2, 3, 2}, 5)});
}

/// Says another shape than its operators give.
class Misshapen : public Emitting {
 public:
  using Emitting::Emitting;
  std::unique_ptr<Layer> clone() const override { return std::make_unique<Misshapen>(*this); }

 protected:
  Shape result_shape(std::span<const Shape> /*input_shapes*/) const override { return {8}; }
};

TEST(Graph, RefusesAResultOfAnotherShapeThanTheLayerSays) {
  const auto turns = [](Graph& g, auto x) { return std::vector{g.reshape(x[0], {32})}; };
  expect_throws<InvalidArgument>(
      [&] {
        Sequential("m", Input({4, 4, 2}), Misshapen(turns)).build();
      },
      {"\"own\"", "[8]", "[32]"});
}

/// Computes nothing that it says.
class Silent : public Layer {
 public:
  Silent() : Layer("silent") {}
  std::string_view type() const override { return "Silent"; }
  std::unique_ptr<Layer> clone() const override { return std::make_unique<Silent>(*this); }
};

TEST(Graph, ALayerThatSaysNothingIsRefusedWhereItIsBuilt) {
  expect_throws<InvalidArgument>([] { Sequential("m", Input({4}), Silent()).build(); },
                                 {"\"silent\"", "emit()", "forward_all()", "result_shape()"});
  expect_throws<InvalidArgument>([&] { static_cast<void>(program_of(Silent())); },
                                 {"\"silent\"", "before build()"});
}

/// Has a kernel, and computes it as often as the test asks for.
class Repeated : public Dense {
 public:
  explicit Repeated(int times)
      : Dense(4, Activation::none, DenseOptions{.name = "again"}), times_(times) {}
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override {
    GraphValue x = graph.op(OpCode::tanh, {inputs[0]}, std::nullopt, "/tanh");
    for (int i = 0; i < times_; ++i) x = graph.linear(x);
    return {x};
  }
  std::unique_ptr<Layer> clone() const override { return std::make_unique<Repeated>(*this); }

 private:
  int times_;
};

TEST(Graph, AKernelThatIsQuantizedIsComputedOnceAndAlone) {
  for (const int times : {0, 1, 2}) {
    Sequential model("m", Input({4}), Repeated(times));
    model.build();
    EXPECT_NO_THROW(model.forward(Tensor::ones({1, 4})));
    expect_throws<InvalidArgument>([&] { static_cast<void>(quantize_model(model)); },
                                   {"\"again\"", "Graph::linear() and nothing else"});
  }
}

TEST(Graph, OperatorsOfOneLayerAreThoseOfLayersInARow) {
  const auto emit = [](Graph& g, std::span<const GraphValue> x) {
    const GraphValue doubled = g.op(OpCode::add, {x[0], x[0]}, std::nullopt, "/twice");
    const GraphValue gate = g.op(OpCode::logistic, {doubled}, std::nullopt, "/gate");
    return std::vector{g.op(OpCode::mul, {x[0], gate})};
  };
  Sequential model("m", Input({6}), Emitting(emit));
  model.build();
  const auto result = gradcheck([&](const auto& in) { return square(model.forward(in[0])); },
                                {random_tensor({3, 6}, 5)});
  EXPECT_TRUE(result.ok) << result.message;
  const IntegerModel lowered = lower_float(model);
  ASSERT_EQ(lowered.operators.size(), 3U);
  EXPECT_EQ(lowered.tensors[static_cast<std::size_t>(lowered.operators[1].outputs[0])].name,
            "own/gate");
}

}  // namespace
}  // namespace octet::test::program_test
