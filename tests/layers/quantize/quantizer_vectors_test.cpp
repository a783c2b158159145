#include <octet/core/ops/ops.h>
#include <octet/layers/quantize/quantize_wrapper.h>
#include <octet/tests/core/quant/vectors.h>
#include <octet/tests/layers/layer_testing.h>

#include <array>

// The vectors of TensorFlow Model Optimization: quantizers' state and whole layers.

namespace octet::test::quantizer_vectors_test {
namespace {

using test::Vector;

std::vector<Vector> vectors_of_op(const char* op) {
  const std::array<std::string, 1> ops = {op};
  return test::vectors_of(ops);
}

std::string name_of(const ::testing::TestParamInfo<Vector>& info) {
  return test::test_name(info.param);
}

std::unique_ptr<Quantizer> quantizer_of(const nlohmann::json& params) {
  const QuantSpec spec{.num_bits = params.at("num_bits"),
                       .narrow_range = params.at("narrow_range"),
                       .symmetric = params.at("symmetric")};
  const std::string algorithm = params.at("algorithm");
  constexpr RangeStart kStart = RangeStart::tfmot;
  if (algorithm == "AllValues") return std::make_unique<AllValuesQuantizer>(spec, kStart);
  if (algorithm == "LastValue") return std::make_unique<LastValueQuantizer>(spec, kStart);
  return std::make_unique<MovingAverageQuantizer>(spec, kStart, params.at("ema_decay"));
}

class QuantizerState : public ::testing::TestWithParam<Vector> {};

TEST_P(QuantizerState, IsTfmots) {
  const Vector& vector = GetParam();
  ASSERT_FALSE(vector.params.at("per_channel").get<bool>());
  const auto quantizer = quantizer_of(vector.params);
  quantizer->build("tensor", "t_", {2}, Quantizer::ZeroPoint::hidden);
  // The upstream test starts from variables of its own.
  fill(quantizer->min(), test::floats(vector.input.at("min_init")));
  fill(quantizer->max(), test::floats(vector.input.at("max_init")));
  for (const auto& batch : vector.input.at("batches")) {
    const std::vector<float> values = test::floats(batch);
    quantizer->observe(Tensor::from({static_cast<Index>(values.size())}, values));
  }
  test::expect_close(quantizer->min().span(), vector.expected.at("min"), vector);
  test::expect_close(quantizer->max().span(), vector.expected.at("max"), vector);
}

INSTANTIATE_TEST_SUITE_P(Vectors, QuantizerState,
                         ::testing::ValuesIn(vectors_of_op("quantizer_state")), name_of);

/// Fixed variables in the places of a layer's quantizers, as the upstream tests have them.
class GivenRanges : public QuantizeConfig {
 public:
  explicit GivenRanges(const nlohmann::json& params)
      : QuantizeConfig({.simulation = Simulation::fake_quant}), params_(params) {}

  std::unique_ptr<Quantizer> kernel_quantizer(const Layer& /*layer*/) const override {
    return last_value({.num_bits = params_.at("kernel_num_bits"),
                       .narrow_range = params_.at("kernel_narrow_range"),
                       .symmetric = true});
  }
  std::unique_ptr<Quantizer> activation_quantizer(const Layer& /*layer*/) const override {
    return last_value({});
  }
  std::unique_ptr<Quantizer> output_quantizer(const Layer& /*layer*/) const override {
    return params_.at("position") == "none" ? nullptr : last_value({});
  }

 private:
  static std::unique_ptr<Quantizer> last_value(const QuantSpec& spec) {
    return std::make_unique<LastValueQuantizer>(spec, RangeStart::tfmot);
  }

  nlohmann::json params_;
};

void set_range(const Quantizer& quantizer, const nlohmann::json& range) {
  fill(quantizer.min(), {test::floats(range)[0]});
  fill(quantizer.max(), {test::floats(range)[1]});
}

Tensor dense_result(const Vector& vector, const Tensor& x) {
  const auto kernel_shape = vector.params.at("kernel_shape").get<std::vector<Index>>();
  auto dense = std::make_unique<Dense>(
      kernel_shape[1], parse_activation(vector.params.at("activation").get<std::string>()));
  QuantizeWrapper wrapper(std::move(dense), std::make_shared<GivenRanges>(vector.params));
  wrapper.build({kernel_shape[0]}, Random());
  fill(tensor_named(wrapper.parameters(), "kernel"), test::floats(vector.input.at("kernel")));
  fill(tensor_named(wrapper.parameters(), "bias"), test::floats(vector.input.at("bias")));
  set_range(*wrapper.kernel_quantizer(), vector.params.at("kernel_range"));
  set_range(*wrapper.activation_quantizer(), vector.params.at("post_activation_range"));
  return wrapper.forward(x, {});
}

Tensor activation_result(const Vector& vector, const Tensor& x) {
  EXPECT_EQ(vector.params.at("activation"), "noop");
  QuantizeWrapper wrapper(std::make_unique<ActivationLayer>(Activation::none),
                          std::make_shared<GivenRanges>(vector.params));
  wrapper.build(x.shape().without_batch(), Random());
  return wrapper.forward(x, {});
}

class QatLayer : public ::testing::TestWithParam<Vector> {};

TEST_P(QatLayer, ComputesWhatTfmotComputes) {
  const Vector& vector = GetParam();
  ASSERT_FALSE(vector.params.at("training").get<bool>());
  const nlohmann::json& input = vector.input.at("x");
  const Tensor x = Tensor::from(Shape(test::shape_of(input)), test::floats(input.at("data")));
  const Tensor y =
      vector.params.at("layer") == "dense" ? dense_result(vector, x) : activation_result(vector, x);
  EXPECT_EQ(y.shape(), Shape(test::shape_of(vector.expected)));
  test::expect_close(y.span(), vector.expected.at("data"), vector);
}

INSTANTIATE_TEST_SUITE_P(Vectors, QatLayer, ::testing::ValuesIn(vectors_of_op("qat_layer")),
                         name_of);

}  // namespace
}  // namespace octet::test::quantizer_vectors_test
