// A layer of a program's own with two kernels, of which one is used twice, and with a tensor that
// an operator multiplies by.

#include <octet/extend.h>
#include <octet/octet.h>
#include <octet/tests/layers/layer_testing.h>
#include <octet/tests/train/saved_and_shipped.h>
#include <octet/train/layer_differences.h>

namespace octet::test::several_kernels_test {
namespace {

/// sigmoid(x G + c) * f(f(x)) * s with f(x) = x W + b.
class Highway : public Layer {
 public:
  Highway() : Layer("") {}
  Highway(const Highway& other)
      : Layer(other),
        kernel_(clone_leaf(other.kernel_)),
        bias_(clone_leaf(other.bias_)),
        gate_kernel_(clone_leaf(other.gate_kernel_)),
        gate_bias_(clone_leaf(other.gate_bias_)),
        scale_(clone_leaf(other.scale_)) {}
  std::string_view type() const override { return "Highway"; }
  LayerTensors tensors() const override {
    return {.parameters = {{"kernel", kernel_},
                           {"bias", bias_},
                           {"gate_kernel", gate_kernel_},
                           {"gate_bias", gate_bias_},
                           {"scale", scale_}}};
  }
  std::vector<GraphValue> emit(Graph& g, std::span<const GraphValue> x) const override {
    const auto f = [&](GraphValue v, std::string_view suffix) {
      const auto weights = [this] { return LayerWeights{.kernel = kernel_, .bias = bias_}; };
      return g.linear(v, "kernel", weights, suffix);
    };
    const auto gate_weights = [this] {
      return LayerWeights{.kernel = gate_kernel_, .bias = gate_bias_};
    };
    const GraphValue sum = g.linear(x[0], "gate_kernel", gate_weights, "/gate_sum");
    const GraphValue gate = g.op(OpCode::logistic, {sum}, std::nullopt, "/gate");
    const GraphValue twice = f(f(x[0], "/first"), "/second");
    const GraphValue product = g.op(OpCode::mul, {gate, twice}, std::nullopt, "/product");
    return {g.op(OpCode::mul, {product, g.parameter("scale", scale_)})};
  }
  std::unique_ptr<Layer> clone() const override { return std::make_unique<Highway>(*this); }

 protected:
  void make_tensors(std::span<const Shape> input_shapes, const Random& random) override {
    const Index n = input_shapes[0][0];
    kernel_ = Tensor::normal({n, n}, random, 0.0F, 0.4F).set_requires_grad(true);
    bias_ = Tensor::normal({n}, random.fork(1), 0.0F, 0.4F).set_requires_grad(true);
    gate_kernel_ = Tensor::normal({n, n}, random.fork(2), 0.0F, 0.4F).set_requires_grad(true);
    gate_bias_ = Tensor::zeros({n}).set_requires_grad(true);
    scale_ = Tensor::normal({n}, random.fork(3), 1.0F, 0.1F).set_requires_grad(true);
  }

 private:
  Tensor kernel_;
  Tensor bias_;
  Tensor gate_kernel_;
  Tensor gate_bias_;
  Tensor scale_;
};

Model with_highway() {
  register_layer<Highway>("Highway",
                          [](const Description&) { return std::make_unique<Highway>(); });
  Sequential model("m", Input({6}), Dense(11), Highway(), Dense(3, Activation::softmax));
  model.build(/*seed=*/5);
  return model;
}

TEST(SeveralKernels, ComputeWhatTheirFormulaSaysWithItsGradients) {
  const Model model = with_highway();
  Layer& layer = *model.layers()[2];
  const auto tensor = [&](std::string_view name) { return tensor_named(layer.parameters(), name); };
  const auto expected = [&](const Tensor& x) {
    const auto f = [&](const Tensor& v) { return matmul(v, tensor("kernel")) + tensor("bias"); };
    const Tensor gate = sigmoid(matmul(x, tensor("gate_kernel")) + tensor("gate_bias"));
    return mul(mul(gate, f(f(x))), tensor("scale"));
  };
  const Tensor x = Tensor::normal({4, 11}, Random(7), 0.0F, 1.0F);
  const auto gradients = [&](const Tensor& y) {
    for (auto& [name, parameter] : layer.parameters()) parameter.zero_grad();
    sum(mul(y, y)).backward();
    std::vector<float> all;
    for (auto& [name, parameter] : layer.parameters()) {
      const auto values = parameter.grad().span();
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  };
  const Tensor found = layer.forward(x, {.mode = ForwardContext::Mode::training});
  const Tensor wanted = expected(x);
  for (Index i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found.data()[i], wanted.data()[i], 1e-5F);
  }
  const std::vector<float> by_layer = gradients(found);
  const std::vector<float> by_formula = gradients(expected(x));
  ASSERT_EQ(by_layer.size(), by_formula.size());
  for (std::size_t i = 0; i < by_layer.size(); ++i) {
    EXPECT_NEAR(by_layer[i], by_formula[i], 1e-4F * (1.0F + std::abs(by_formula[i])));
  }
}

TEST(SeveralKernels, AreTrainedShippedAndLoadedToTheLastBit) {
  const Dataset train = clouds(200, 1, 6, 3, 0.2F);
  const Dataset test = clouds(300, 2, 6, 3, 0.2F);
  for (const QuantizeOptions& options :
       {QuantizeOptions{}, QuantizeOptions{.rounding = Rounding::single_rounding, .weight_bits = 4},
        QuantizeOptions{.rounding = Rounding::double_rounding, .per_channel = true},
        QuantizeOptions{.weight_scales = Scales::lsq}}) {
    Model quantized = quantize_model(with_highway(), options);
    Trainer trainer(quantized, Adam(0.01F));
    trainer.fit(train, test, 12);
    expect_saved_and_shipped(quantized, trainer, test);
  }
}

TEST(SeveralKernels, OfOneNameAreOneTensorInFiles) {
  Model quantized = quantize_model(with_highway());
  calibrate(quantized, clouds(40, 1, 6, 3).features(0, 40));
  refresh_kernel_ranges(quantized);
  const auto constants = [](const IntegerModel& model) {
    std::vector<std::string> names;
    for (const ModelTensor& tensor : model.tensors) {
      if (!tensor.data.empty() && tensor.name.starts_with("highway/")) names.push_back(tensor.name);
    }
    return names;
  };
  EXPECT_EQ(constants(lower_float(with_highway())),
            (std::vector<std::string>{"highway/gate_kernel", "highway/gate_kernel_bias",
                                      "highway/kernel", "highway/kernel_bias", "highway/scale"}));
  // A bias has the scale of what its kernel reads.
  EXPECT_EQ(
      constants(lower(quantized)),
      (std::vector<std::string>{"highway/gate_kernel", "highway/gate_kernel_bias", "highway/kernel",
                                "highway/kernel_bias", "highway/kernel_bias/1", "highway/scale"}));
}

TEST(SeveralKernels, HaveStateUnderTheirNames) {
  const Model quantized = quantize_model(with_highway());
  std::vector<std::string> names;
  for (const auto& [name, tensor] : quantized.layer("quant_highway").state()) names.push_back(name);
  EXPECT_EQ(names,
            (std::vector<std::string>{
                "output_min",       "output_max",      "output_zero_point",  "gate_kernel_min",
                "gate_kernel_max",  "gate_sum_min",    "gate_sum_max",       "gate_sum_zero_point",
                "kernel_min",       "kernel_max",      "first_min",          "first_max",
                "first_zero_point", "second_min",      "second_max",         "second_zero_point",
                "product_min",      "product_max",     "product_zero_point", "scale_min",
                "scale_max",        "scale_zero_point"}));
}

/// A kernel and a value of one name.
class TwiceNamed : public Dense {
 public:
  explicit TwiceNamed(std::string kernel) : Dense(3), kernel_(std::move(kernel)) {}
  std::optional<LayerWeights> weights() const override { return std::nullopt; }
  std::vector<GraphValue> emit(Graph& g, std::span<const GraphValue> x) const override {
    const auto weights = [this] { return LayerWeights{.kernel = kernel(), .bias = bias()}; };
    const GraphValue value = g.linear(x[0], kernel_, weights, "/gate");
    return {g.op(OpCode::add, {value, value})};
  }
  std::unique_ptr<Layer> clone() const override { return std::make_unique<TwiceNamed>(*this); }

 private:
  std::string kernel_;
};

TEST(SeveralKernels, WhoseNamesWouldCollideAreRefused) {
  for (const char* name : {"", "a/b"}) {
    Sequential model("m", Input({6}), TwiceNamed(name));
    EXPECT_THROW(model.build(1), InvalidArgument) << name;
  }
  Sequential model("m", Input({6}), TwiceNamed("gate"));
  model.build(1);
  EXPECT_THROW(quantize_model(model), InvalidArgument);
}

/// A scan whose body emits one operator more behind the first step.
class Uneven : public Layer {
 public:
  explicit Uneven(bool reads) : Layer(""), reads_(reads) {}
  std::string_view type() const override { return "Uneven"; }
  std::vector<GraphValue> emit(Graph& g, std::span<const GraphValue> x) const override {
    int t = 0;
    const auto body = [&](std::span<const GraphValue> x_t, GraphValue h) {
      const GraphValue sum = g.op(OpCode::add, {h, x_t[0]}, std::nullopt, "/sum");
      return t++ == 0 ? sum : g.op(OpCode::relu, {sum}, std::nullopt, "/relu");
    };
    return {g.scan(x.first(reads_ ? 1 : 0), std::nullopt, body).back()};
  }
  std::unique_ptr<Layer> clone() const override { return std::make_unique<Uneven>(*this); }

 private:
  bool reads_;
};

TEST(SeveralKernels, OfAScanAreTheSameAtEveryStepOfTime) {
  for (const bool reads : {true, false}) {
    Sequential model("m", Input({3, 2}), Uneven(reads));
    EXPECT_THROW(model.build(1), InvalidArgument) << reads;
  }
}

TEST(SeveralKernels, RangesFollowTheTensorsThatAreTrained) {
  Model quantized = quantize_model(with_highway());
  calibrate(quantized, clouds(40, 1, 6, 3).features(0, 40));
  freeze_ranges(quantized, true);
  for (auto& [name, tensor] : quantized.parameters()) {
    for (float& value : tensor.mutable_span()) value *= 3.0F;
  }
  const auto maximum = [&](std::string_view name) {
    return tensor_named(quantized.layer("quant_highway").state(), name).item();
  };
  const float sum = maximum("gate_sum_max");
  const float kernel = maximum("kernel_max");
  const float scale = maximum("scale_max");
  refresh_kernel_ranges(quantized);
  EXPECT_EQ(maximum("gate_sum_max"), sum);
  EXPECT_EQ(maximum("kernel_max"), kernel * 3.0F);
  EXPECT_EQ(maximum("scale_max"), scale * 3.0F);
}

}  // namespace
}  // namespace octet::test::several_kernels_test
