// Two layers, one of them recurrent, an observer, a loss, an optimizer and a metric of a program's
// own: trained, quantized, saved, loaded and exported as if they were Octet's.
#include <octet/extend.h>
#include <octet/octet.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace octet;

/// y = min(max(x, -1), 1). What it computes is said once, by emit(): training in floats, training
/// on integers and the exported file all follow from it.
class Relu1 : public Layer {
 public:
  explicit Relu1(std::string name = "") : Layer(std::move(name)) {}
  std::string_view type() const override { return "Relu1"; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override {
    return {graph.op(OpCode::relu_n1_to_1, {inputs[0]})};
  }
  std::unique_ptr<Layer> clone() const override { return std::make_unique<Relu1>(*this); }
};

/// A recurrent layer over the rows of [steps, features]: h' = tanh(x_t W + h U), from h = 0; the
/// result is the last h. Quantized, W and U have a scale each, and a value has one at all steps.
class Recurrent : public Layer {
 public:
  explicit Recurrent(Index units) : Layer(""), units_(units) {}
  Recurrent(const Recurrent& other)
      : Layer(other),
        units_(other.units_),
        kernel_(clone_leaf(other.kernel_)),
        recurrent_kernel_(clone_leaf(other.recurrent_kernel_)) {}
  std::string_view type() const override { return "Recurrent"; }
  LayerTensors tensors() const override {
    return {.parameters = {{"kernel", kernel_}, {"recurrent_kernel", recurrent_kernel_}}};
  }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override {
    const auto kernel = [this] { return LayerWeights{.kernel = kernel_, .bias = {}}; };
    const auto recurrent = [this] { return LayerWeights{.kernel = recurrent_kernel_, .bias = {}}; };
    const GraphValue x = graph.linear(inputs[0], "kernel", kernel, "/input");
    const auto step = [&](std::span<const GraphValue> x_t, GraphValue h) {
      const GraphValue fed_back = graph.linear(h, "recurrent_kernel", recurrent, "/fed_back");
      const GraphValue sum = graph.op(OpCode::add, {x_t[0], fed_back}, std::nullopt, "/sum");
      return graph.op(OpCode::tanh, {sum}, std::nullopt, "/h");
    };
    return {graph.scan({&x, 1}, std::nullopt, step).back()};
  }
  void describe(Description& description) const override { description.set("units", units_); }
  std::unique_ptr<Layer> clone() const override { return std::make_unique<Recurrent>(*this); }

 protected:
  void make_tensors(std::span<const Shape> input_shapes, const Random& random) override {
    kernel_ = Tensor::normal({input_shapes[0][1], units_}, random.fork(0), 0.0F, 0.2F);
    recurrent_kernel_ = Tensor::normal({units_, units_}, random.fork(1), 0.0F, 0.2F);
    kernel_.set_requires_grad(true);
    recurrent_kernel_.set_requires_grad(true);
  }

 private:
  Index units_;
  Tensor kernel_;
  Tensor recurrent_kernel_;
};

/// Keeps a range that leaves out the `outside` smallest and the `outside` largest values of each
/// 1000: the mean of the batches' ranges.
class PermilleObserver : public Observer {
 public:
  explicit PermilleObserver(Index outside) : outside_(outside) {}
  std::string_view type() const override { return "Permille"; }
  void observe(const Tensor& x) override {
    limits_of(x);  // throws for NaN and infinity
    std::vector<float> values(x.span().begin(), x.span().end());
    const Index last = x.size() - 1;
    const auto kth = [&values](Index k) {
      std::nth_element(values.begin(), values.begin() + k, values.end());
      return values[static_cast<std::size_t>(k)];
    };
    const Range range = widened({kth(last * outside_ / 1000), kth(last - last * outside_ / 1000)});
    set_updates(updates() + 1.0F);
    mins()[0] += (range.min - mins()[0]) / updates();
    maxs()[0] += (range.max - maxs()[0]) / updates();
  }
  void describe(Description& description) const override { description.set("outside", outside_); }
  std::unique_ptr<Observer> clone() const override {
    return std::make_unique<PermilleObserver>(*this);
  }

 private:
  Index outside_;
};

/// The default scheme, but for the results of layers with a kernel.
class PermilleConfig : public Default8BitQuantizeConfig {
 public:
  std::unique_ptr<Quantizer> activation_quantizer(const Layer& /*layer*/) const override {
    return std::make_unique<Quantizer>(QuantSpec{},
                                       std::make_unique<PermilleObserver>(/*outside=*/1));
  }
};

/// The mean of max(0, 1 - t y)^2, where t is 1 at the label and -1 elsewhere.
Tensor squared_hinge(const Tensor& output, std::span<const std::int32_t> labels) {
  const Tensor target = 2.0F * one_hot(labels, output.dim(1)) - 1.0F;
  return mean(square(relu(1.0F - target * output)));
}

/// The share of rows that have fewer than three outputs above that of their label.
double top_3(const Tensor& output, std::span<const std::int32_t> labels) {
  const auto classes = static_cast<std::size_t>(output.dim(1));
  double right = 0.0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto row = output.span().subspan(i * classes, classes);
    const float own = row[static_cast<std::size_t>(labels[i])];
    right += std::ranges::count_if(row, [own](float y) { return y > own; }) < 3 ? 1.0 : 0.0;
  }
  return right / static_cast<double>(labels.size());
}

/// m = 0.9 m + 0.1 g; w -= lr sign(m) (Bernstein et al., "signSGD", ICML 2018).
class Signum : public Optimizer {
 public:
  explicit Signum(LearningRate rate) : Optimizer({"momentum"}, std::move(rate)) {}
  std::string_view type() const override { return "Signum"; }
  std::unique_ptr<Optimizer> clone() const override { return std::make_unique<Signum>(*this); }

 protected:
  void begin_step(float learning_rate, double /*step*/) override { rate_ = learning_rate; }
  void update(const ParameterPart& part) const override {
    const std::span<float> momentum = part.slot(0);
    for (std::size_t i = 0; i < part.parameter.size(); ++i) {
      momentum[i] = 0.9F * momentum[i] + 0.1F * part.gradient[i];
      part.parameter[i] -= rate_ * static_cast<float>((momentum[i] > 0) - (momentum[i] < 0));
    }
  }

 private:
  float rate_ = 0.0F;
};

void train(Model& model, const DataSplit& data, float learning_rate, int epochs) {
  Trainer trainer(model, Signum(learning_rate),
                  {.loss = squared_hinge, .metrics = {{"top_3", top_3}}});
  trainer.add_callback(std::make_shared<ProgressBar>(stdout));
  trainer.fit(data.train, data.test, epochs);
}

/// Whether the trained model, the same loaded from a file, and the exported integers agree.
bool run() {
  // What files name has to be registered before they are loaded.
  register_layer<Relu1>("Relu1", [](const Description&) { return std::make_unique<Relu1>(); });
  register_layer<Recurrent>("Recurrent", [](const Description& d) {
    return std::make_unique<Recurrent>(d.integer("units"));
  });
  register_observer<PermilleObserver>("Permille", [](const Description& d) {
    return std::make_unique<PermilleObserver>(d.integer("outside"));
  });
  const DataSplit data = make_digits(/*seed=*/0, /*train_count=*/5000, /*test_count=*/1000);
  const auto config = std::make_shared<PermilleConfig>();

  Sequential model("custom", Input({28, 28}), Recurrent(24),
                   quantize_annotate_layer(Dense(64), config), Relu1(),
                   quantize_annotate_layer(Dense(10), config));
  model.build(/*seed=*/0);
  train(model, data, 1e-3F, /*epochs=*/4);
  Sequential quantized = quantize_model(model);
  train(quantized, data, 1e-4F, /*epochs=*/2);

  quantized.save("custom.model");
  const Model loaded = load_model("custom.model");
  const IntegerModel integers = lower(loaded);
  write_tflite(integers, "custom_int8.tflite");
  write_c_source(integers, "custom_int8");

  const Labels trained = evaluate(quantized, data.test).predictions;
  const bool same_loaded = evaluate(loaded, data.test).predictions == trained;
  const bool same_file =
      evaluate(read_tflite("custom_int8.tflite"), data.test).predictions == trained;
  std::printf("on %zu test images the loaded model agrees: %s, the exported file agrees: %s\n",
              trained.size(), same_loaded ? "yes" : "no", same_file ? "yes" : "no");
  return same_loaded && same_file;
}

}  // namespace

int main() {
  try {
    return run() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "custom_layer: %s\n", error.what());
    return 1;
  }
}
