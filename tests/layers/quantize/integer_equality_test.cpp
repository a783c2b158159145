#include <octet/core/tensor_internal.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/layers/lower.h>
#include <octet/layers/quantize/quantize_layer.h>
#include <octet/layers/quantize/quantize_wrapper.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/core/quant/contracts.h>
#include <octet/tests/layers/quantize/random_nets.h>

#include <set>
#include <utility>

// The promise of Simulation::integer: what training computes is what the exported model computes,
// layer by layer and bit for bit.

namespace octet::test::integer_equality_test {
namespace {

using detail::TensorAccess;

std::int32_t tensor_index(const IntegerModel& model, const std::string& name) {
  for (std::size_t i = 0; i < model.tensors.size(); ++i) {
    if (model.tensors[i].name == name) return static_cast<std::int32_t>(i);
  }
  return -1;
}

/// The codes that the values of `y` stand for on its grid.
std::vector<std::int8_t> codes_of(const Tensor& y) {
  std::vector<std::int8_t> codes;
  if (y.quantization() == nullptr) {
    ADD_FAILURE() << "a result on no grid";
    return codes;
  }
  for (const float v : y.span()) {
    const double steps = double{v} / double{y.quantization()->scale()};
    EXPECT_NEAR(steps, std::round(steps), 1e-3);
    codes.push_back(static_cast<std::int8_t>(std::lround(steps) + y.quantization()->zero_point()));
  }
  return codes;
}

/// The name of the tensor that holds a layer's result, as lower() gives it; empty for a layer that
/// becomes no tensor.
std::string tensor_name(const Sequential& model, const Layer& layer) {
  if (dynamic_cast<const QuantizeLayer*>(&layer)) return model.layers().front()->name();
  return layer.name().substr(std::string("quant_").size());
}

/// Runs an interpreter on the codes of the first layers, then compares every layer's codes.
class Comparison {
 public:
  Comparison(const Sequential& model, IntegerModel lowered, const Tensor& x)
      : model_(model),
        interpreter_(std::move(lowered), {.batch = x.dim(0), .keep_tensors = true}),
        x_(x) {}

  void run() {
    const Tensor value = model_
                             .forward_all({&x_, 1},
                                          [&](std::size_t i, const auto& steps) {
                                            if (i > 0) compare_layer(i, steps);
                                          })
                             .front();
    const auto output = interpreter_.output<std::int8_t>();
    EXPECT_EQ(codes_of(value), (std::vector<std::int8_t>{output.begin(), output.end()}));
  }

  void compare_layer(std::size_t i, const std::vector<Tensor>& steps) {
    const Layer& layer = *model_.layers()[i];
    // The quantized values in front of a softmax, sigmoid or tanh have a tensor of their own.
    if (steps.size() == 2) compare(tensor_name(model_, layer) + "/linear", steps.front());
    if (i == 1) {
      std::ranges::copy(codes_of(steps.back()), interpreter_.input<std::int8_t>().begin());
      interpreter_.invoke();
    }
    const std::string name = tensor_name(model_, layer);
    if (tensor_index(interpreter_.model(), name) == -1) {
      expect_no_operator(layer);
    } else {
      compare(name, steps.back());
    }
  }

  std::size_t compared() const { return compared_; }

 private:
  static void expect_no_operator(const Layer& layer) {
    const auto* wrapper = dynamic_cast<const QuantizeWrapper*>(&layer);
    ASSERT_NE(wrapper, nullptr) << layer.name();
    // The last one of several reshapes in a row is left.
    EXPECT_TRUE(dynamic_cast<const Dropout*>(&wrapper->wrapped()) ||
                dynamic_cast<const Reshape*>(&wrapper->wrapped()) ||
                wrapper->input_shape() == wrapper->output_shape())
        << layer.name();
  }

  void compare(const std::string& name, const Tensor& value) {
    const std::int32_t index = tensor_index(interpreter_.model(), name);
    ASSERT_NE(index, -1) << name;
    const ModelTensor& tensor = interpreter_.model().tensors[static_cast<std::size_t>(index)];
    EXPECT_EQ(tensor.quantization.scales, value.quantization()->scales) << name;
    EXPECT_EQ(tensor.quantization.zero_points, value.quantization()->zero_points) << name;
    const auto bytes = interpreter_.tensor_bytes(index);
    const std::vector<std::int8_t> codes = codes_of(value);
    ASSERT_EQ(codes.size(), bytes.size()) << name;
    for (std::size_t i = 0; i < codes.size(); ++i) {
      ASSERT_EQ(codes[i], static_cast<std::int8_t>(bytes[i])) << name << ", element " << i;
    }
    ++compared_;
  }

  const Sequential& model_;
  Interpreter interpreter_;
  Tensor x_;
  std::size_t compared_ = 0;
};

constexpr std::uint32_t kNets = 200;

// What the nets below are made of, so that no kind can drop out unnoticed.
TEST(RandomNets, CoverEveryDepthActivationAndWayToQuantize) {
  std::set<int> depths;
  std::set<Activation> activations;
  std::set<std::pair<int, bool>> quantized;
  std::set<Index> widths;
  std::set<Index> ranks;
  for (std::uint32_t seed = 0; seed < kNets; ++seed) {
    RandomNet net(seed);
    depths.insert(net.depth());
    for (const auto& layer : net.model().layers()) {
      if (const auto* dense = dynamic_cast<const Dense*>(layer.get())) {
        activations.insert(dense->activation());
        widths.insert(dense->units());
        ranks.insert(dense->input_shape().rank());
        EXPECT_EQ(dense->units() % 2, 1);
      }
    }
    const QuantizeOptions options = net.options(Rounding::fp32);
    quantized.insert({options.weight_bits, options.per_channel});
  }
  EXPECT_EQ(depths, (std::set<int>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(activations.size(), 6U);
  EXPECT_EQ(ranks, (std::set<Index>{1, 2, 3}));
  for (int bits = 2; bits <= 8; ++bits) {
    EXPECT_TRUE(quantized.contains({bits, false}) && quantized.contains({bits, true})) << bits;
  }
  EXPECT_TRUE(widths.contains(1) && widths.size() > 30);
}

class IntegerEquality : public ::testing::TestWithParam<Rounding> {};

TEST_P(IntegerEquality, OfEveryLayerOfRandomNets) {
  std::size_t compared = 0;
  for (std::uint32_t seed = 0; seed < kNets; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomNet net(seed);
    Sequential model = quantize_model(net.model(), net.options(GetParam()));
    calibrate(model, net.batch(9));
    train_a_little(model, net, 3);
    const IntegerModel lowered = lower(model);
    EXPECT_EQ(lowered.metadata.at("octet.rounding"), to_string(GetParam()));
    Comparison direct(model, lowered, net.batch(net.random().integer(1, 33)));
    direct.run();
    // Equal also through a file.
    Comparison stored(model, from_tflite(to_tflite(lowered)), net.batch(5));
    stored.run();
    compared += direct.compared();
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
  EXPECT_GT(compared, 1000U);
}

TEST_P(IntegerEquality, OfTheStepItselfAndTheInferenceBehindIt) {
  for (std::uint32_t seed = 200; seed < 230; ++seed) {
    RandomNet net(seed);
    Sequential model = quantize_model(net.model(), net.options(GetParam()));
    const Tensor x = net.batch(7);
    calibrate(model, x);
    // Calibration observes, then quantizes with what it has observed: no other than inference.
    const Tensor seen = model.forward(x, calibration());
    const Sequential copy(model);
    EXPECT_EQ(values_of(copy.forward(x)), values_of(seen)) << "seed " << seed;
  }
}

TEST_P(IntegerEquality, HoldsOnAnyNumberOfThreads) {
  RandomNet net(17);
  Sequential model = quantize_model(net.model(), net.options(GetParam()));
  const Tensor x = net.batch(333);
  calibrate(model, x);
  expect_same_on_any_threads([&] { return std::vector<Tensor>{model.forward(x)}; });
}

TEST_P(IntegerEquality, OfRealInputsRoundedAtTheInput) {
  Sequential net("m", Input({1}), Dense(1, Activation::none, "d"));
  net.build();
  Sequential model = quantize_model(net, {.rounding = GetParam()});
  fill(model.parameters()[0].tensor, {1.0F});
  // Steps of 1/2: halves between the codes are exact.
  calibrate(model, Tensor::from({2, 1}, {-64.0F, 63.5F}));
  std::vector<float> inputs;
  for (int i = -270; i <= 270; ++i) inputs.push_back(0.25F * static_cast<float>(i));
  const auto count = static_cast<Index>(inputs.size());
  const Tensor x = Tensor::from({count, 1}, inputs);
  Interpreter interpreter(lower(model, {.input = IoType::float32, .output = IoType::float32}),
                          {.batch = count, .keep_tensors = true});
  std::ranges::copy(inputs, interpreter.input<float>().begin());
  interpreter.invoke();
  const auto bytes = interpreter.tensor_bytes(tensor_index(interpreter.model(), "quantize_layer"));
  const std::vector<std::int8_t> codes = codes_of(model.layer("quantize_layer").forward(x, {}));
  for (std::size_t i = 0; i < codes.size(); ++i) {
    EXPECT_EQ(codes[i], static_cast<std::int8_t>(bytes[i])) << inputs[i];
  }
  const auto output = interpreter.output<float>();
  EXPECT_EQ(values_of(model.forward(x)), (std::vector<float>{output.begin(), output.end()}));
}

INSTANTIATE_TEST_SUITE_P(Contracts, IntegerEquality, ::testing::ValuesIn(kContracts),
                         contract_name);

}  // namespace
}  // namespace octet::test::integer_equality_test
