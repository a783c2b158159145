// Layers and optimizers of a program's own, in forms that examples/custom_layer.cpp has none of: a
// layer with weights, one with two inputs, one of two operators. octet.h and extend.h alone are
// included for them; layer_differences.h is for the comparison.

#include <octet/extend.h>
#include <octet/layers/architecture.h>
#include <octet/octet.h>
#include <octet/tests/core/quant/contracts.h>
#include <octet/tests/layers/layer_testing.h>
#include <octet/tests/train/saved_and_shipped.h>
#include <octet/train/layer_differences.h>

namespace octet::test::custom_parts_test {
namespace {

/// x W without a bias.
class Projection : public Layer {
 public:
  explicit Projection(Index units) : Layer(""), units_(units) {}
  Projection(const Projection& other)
      : Layer(other), units_(other.units_), kernel_(clone_leaf(other.kernel_)) {}
  std::string_view type() const override { return "Projection"; }
  LayerTensors tensors() const override { return {.parameters = {{"kernel", kernel_}}}; }
  std::optional<LayerWeights> weights() const override {
    return LayerWeights{.kernel = kernel_, .bias = {}, .unit_axis = 1};
  }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override {
    return {graph.linear(inputs[0])};
  }
  void describe(Description& description) const override { description.set("units", units_); }
  std::unique_ptr<Layer> clone() const override { return std::make_unique<Projection>(*this); }

 protected:
  void make_tensors(std::span<const Shape> input_shapes, const Random& random) override {
    kernel_ = Tensor::normal({input_shapes[0].size(), units_}, random, 0.0F, 0.4F);
    kernel_.set_requires_grad(true);
  }

 private:
  Index units_;
  Tensor kernel_;
};

/// clamp(a + b, -1, 1), as one operator or as two.
class BoundedSum : public Layer {
 public:
  explicit BoundedSum(bool fused) : Layer(""), fused_(fused) {}
  std::string_view type() const override { return "BoundedSum"; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override {
    const std::vector<GraphValue> both(inputs.begin(), inputs.end());
    if (fused_) {
      return {graph.op(OpCode::add, both,
                       BinaryAttributes{.activation = FusedActivation::relu_n1_to_1})};
    }
    const GraphValue sum = graph.op(OpCode::add, both, std::nullopt, "/sum");
    return {graph.op(OpCode::relu_n1_to_1, {sum})};
  }
  void describe(Description& description) const override { description.set("fused", fused_); }
  std::unique_ptr<Layer> clone() const override { return std::make_unique<BoundedSum>(*this); }

 private:
  bool fused_;
};

/// tanh by the operator, whose results have a grid of their own.
class OwnTanh : public Layer {
 public:
  OwnTanh() : Layer("tanh") {}
  std::string_view type() const override { return "OwnTanh"; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override {
    return {graph.op(OpCode::tanh, {inputs[0]})};
  }
  std::unique_ptr<Layer> clone() const override { return std::make_unique<OwnTanh>(*this); }
};

/// Quantizes results that have a scale of their operator's.
class Measuring : public Default8BitQuantizeConfig {
 public:
  std::unique_ptr<Quantizer> output_quantizer(const Layer& /*layer*/) const override {
    return std::make_unique<MovingAverageQuantizer>(QuantSpec{});
  }
};

void register_own() {
  register_layer<Projection>("Projection", [](const Description& d) {
    return std::make_unique<Projection>(d.integer("units"));
  });
  register_layer<BoundedSum>("BoundedSum", [](const Description& d) {
    return std::make_unique<BoundedSum>(d.flag("fused"));
  });
}

/// A fork whose branches are a layer of the program's own and one of Octet's.
Model forked(bool fused) {
  Model model("own");
  const Value x = model.input({6});
  const Value left = model.add(Projection(8), x);
  const Value right = model.add(Dense(8, Activation::relu), x);
  const Value sum = model.add(BoundedSum(fused), {left, right});
  model.output(model.add(Dense(3, Activation::softmax), sum));
  model.build(/*seed=*/2);
  return model;
}

TEST(CustomParts, OfAGraphAreTrainedShippedAndLoadedToTheLastBit) {
  register_own();
  const Dataset train = clouds(200, 1, 6, 3, 0.2F);
  const Dataset test = clouds(300, 2, 6, 3, 0.2F);
  for (const bool fused : {true, false}) {
    for (const Rounding rounding : kContracts) {
      Model model = forked(fused);
      Trainer(model, Adam(0.01F)).fit(train, 30);
      Model quantized = quantize_model(model, {.rounding = rounding, .per_channel = true});
      Trainer trainer(quantized, Adam(0.005F));
      trainer.fit(train, test, 4);
      SCOPED_TRACE(fused);
      expect_saved_and_shipped(quantized, trainer, test);
    }
  }
}

TEST(CustomParts, OfAFixedGridAreTrainedAsOctetsOwn) {
  const Dataset data = clouds(40);
  const auto trained = [&](auto layer, Simulation simulation) {
    Sequential model("m", Input({6}), Dense(8), std::move(layer), Dense(3, Activation::softmax));
    model.build(/*seed=*/3);
    Sequential quantized = quantize_model(model, {.simulation = simulation});
    Trainer(quantized, Adam(), {.batch_size = 8}).fit(data, 2);
    return bytes_of(quantized);
  };
  for (const Simulation simulation : {Simulation::integer, Simulation::fake_quant}) {
    EXPECT_EQ(trained(OwnTanh(), simulation),
              trained(ActivationLayer(Activation::tanh, "tanh"), simulation))
        << to_string(simulation);
  }
}

TEST(CustomParts, OfTwoOperatorsHaveAQuantizerForEach) {
  const Dataset data = clouds(40);
  for (const Simulation simulation : {Simulation::integer, Simulation::fake_quant}) {
    Model model = quantize_model(forked(/*fused=*/false), {.simulation = simulation});
    calibrate(model, data.features(0, 40));
    refresh_kernel_ranges(model);
    const Tensor sum = tensor_named(model.state(), "quant_bounded_sum/sum_max");
    const Tensor bounded = tensor_named(model.state(), "quant_bounded_sum/output_max");
    EXPECT_GT(sum.item(), 1.0F);
    EXPECT_LE(bounded.item(), 1.0F);
    const std::size_t differing = compare_networks(model, lower(model), data).total().differing;
    EXPECT_EQ(differing == 0, simulation == Simulation::integer);
  }
}

/// sigmoid(a + b), or its tanh joined with the sum: the last operator has a scale of its own.
class Gated : public Layer {
 public:
  explicit Gated(bool joins) : Layer(""), joins_(joins) {}
  std::string_view type() const override { return "Gated"; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override {
    const GraphValue sum = graph.op(OpCode::add, {inputs[0], inputs[1]}, std::nullopt, "/sum");
    if (!joins_) return {graph.op(OpCode::logistic, {sum})};
    const GraphValue product = graph.op(OpCode::mul, {sum, inputs[0]}, std::nullopt, "/product");
    return {graph.op(OpCode::concatenation, {sum, product}, ConcatenationAttributes{.axis = 1})};
  }
  void describe(Description& description) const override { description.set("joins", joins_); }
  std::unique_ptr<Layer> clone() const override { return std::make_unique<Gated>(*this); }

 private:
  bool joins_;
};

TEST(CustomParts, WhoseLastOperatorIsNotMeasuredAreTrainedShippedAndLoaded) {
  register_layer<Gated>(
      "Gated", [](const Description& d) { return std::make_unique<Gated>(d.flag("joins")); });
  const Dataset data = clouds(60, 1, 6, 3, 0.2F);
  const ScratchDirectory scratch;
  for (const bool joins : {false, true}) {
    Model model("m");
    const Value x = model.input({6});
    const Value both = model.add(Gated(joins), {model.add(Dense(5), x), model.add(Dense(5), x)});
    model.output(model.add(Dense(3, Activation::softmax), both));
    model.build(1);
    Model quantized = quantize_model(model);
    Trainer(quantized, Adam(), {.batch_size = 8}).fit(data, 2);
    const IntegerModel shipped = lower(quantized);
    EXPECT_EQ(compare_networks(quantized, shipped, data).total().differing, 0U);
    for (const Operator& op : shipped.operators) {
      EXPECT_EQ(shipped.tensors[static_cast<std::size_t>(op.outputs[0])].dtype, DType::int8);
    }
    quantized.save(scratch.path() / "gated");
    const Model loaded = load_model(scratch.path() / "gated");
    EXPECT_EQ(to_tflite(lower(loaded)), to_tflite(shipped));
    // What a file says of the quantizers is there before the layer is built.
    EXPECT_EQ(architecture_json(model_from_json(architecture_json(quantized))),
              architecture_json(quantized));
  }
}

TEST(CustomParts, QuantizedThoughTheirOperatorGivesAScaleComputeInFloats) {
  const Dataset data = clouds(40);
  Sequential silent("m", Input({6}), Dense(8),
                    quantize_annotate_layer(OwnTanh(), std::make_shared<Measuring>()),
                    Dense(3, Activation::softmax));
  silent.build(/*seed=*/3);
  Sequential quantized = quantize_model(silent);
  calibrate(quantized, data.features(0, 40));
  refresh_kernel_ranges(quantized);
  // It was simulated in floats, and so it is shipped.
  const IntegerModel shipped = lower(quantized);
  EXPECT_TRUE(std::ranges::any_of(shipped.operators, [&](const Operator& op) {
    const auto& output = shipped.tensors[static_cast<std::size_t>(op.outputs[0])];
    return op.code == OpCode::tanh && output.dtype == DType::float32;
  }));
  EXPECT_EQ(compare_networks(quantized, shipped, data).total().differing, 0U);
}

}  // namespace
}  // namespace octet::test::custom_parts_test
