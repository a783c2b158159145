#include <octet/core/error.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/quant/softmax.h>
#include <octet/runtime/interpreter.h>
#include <octet/runtime/operators/mean.h>
#include <octet/tests/core/kernels/kernel_testing.h>
#include <octet/tests/runtime/elementwise_models.h>
#include <octet/tests/runtime/mean_models.h>

#include <optional>
#include <tuple>

namespace octet::test::extreme_scales_test {
namespace {

using detail::QuantizedMean;

// Scales of any size that float32 has: an operator refuses them, or gives the same codes on every
// code path.

constexpr std::array kScales = {1e-45F, 1e-20F, 1e-3F, 1.0F, 1e20F, 1e36F, 3e38F};
constexpr std::array kOtherScales = {1e-45F, 1.0F, 3e38F};
constexpr std::array kZeroPoints = {-128, 127};

IntegerModel dense_model(const QuantParams& in, const QuantParams& weights,
                         const QuantParams& out) {
  RawModelBuilder b;
  b.model.inputs = {b.activation("x", {1, 256}, DType::int8, in)};
  std::vector<std::int8_t> codes(std::size_t{3} * 256);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::int8_t>(i * 7 % 255);
  const std::int32_t w = b.constant("w", {3, 256}, DType::int8, codes, weights);
  b.model.outputs = {b.activation("y", {1, 3}, DType::int8, out)};
  b.op(OpCode::fully_connected, {0, w}, 2);
  return b.model;
}

IntegerModel softmax_model(float scale, float beta, std::int32_t row) {
  const std::vector<std::int32_t> shape{256 / row, row};
  IntegerModel model =
      make_unary(OpCode::softmax, {"x", DType::int8, shape, {}, quant(scale, 0), {}},
                 {"y", DType::int8, shape, {}, quant(1.0F / 256, -128), {}});
  model.operators[0].attributes = SoftmaxAttributes{.beta = beta};
  return model;
}

/// The operators of one input whose output's grid is free, with these grids.
std::vector<IntegerModel> unary_models(const QuantParams& in, const QuantParams& out) {
  std::vector<IntegerModel> models;
  const std::vector<std::int32_t> shape{1, 256};
  const ModelTensor x{"x", DType::int8, shape, {}, in, {}};
  const ModelTensor y{"y", DType::int8, shape, {}, out, {}};
  for (const OpCode code : {OpCode::elu, OpCode::exp, OpCode::gelu, OpCode::hard_swish,
                            OpCode::leaky_relu, OpCode::log, OpCode::quantize, OpCode::relu,
                            OpCode::relu6, OpCode::relu_n1_to_1, OpCode::rsqrt, OpCode::sqrt}) {
    models.push_back(make_unary(code, x, y));
  }
  models.push_back(make_unary(OpCode::dequantize, x, {"y", DType::float32, shape, {}, {}, {}}));
  for (const auto& [code, scale, zero_point] :
       {std::tuple{OpCode::logistic, 1.0F / 256, -128}, {OpCode::tanh, 1.0F / 128, 0}}) {
    models.push_back(
        make_unary(code, x, {"y", DType::int8, shape, {}, quant(scale, zero_point), {}}));
  }
  for (const bool keep_dims : {false, true}) {
    models.push_back(
        model_of(Mean{.image = {1, 8, 8, 4}, .keep_dims = keep_dims, .in = in, .out = out}));
  }
  return models;
}

std::vector<IntegerModel> models_of(float first, float second, std::int32_t zero_point) {
  const QuantParams in = quant(first, zero_point);
  const QuantParams out = quant(second, zero_point);
  std::vector<IntegerModel> models = unary_models(in, out);
  for (const float third : kOtherScales) {
    for (const OpCode code : {OpCode::add, OpCode::sub, OpCode::mul, OpCode::prelu}) {
      models.push_back(model_of(Pair{
          .code = code, .first = {256}, .second = {256}, .grids = {in, quant(third, 5), out}}));
    }
    models.push_back(dense_model(in, quant(third, 0), out));
  }
  for (const std::int32_t row : {4, 64}) models.push_back(softmax_model(first, second, row));
  return models;
}

/// What the model gives for every code, as each code path computes it; nothing where it is refused.
std::optional<std::vector<std::byte>> outputs(const IntegerModel& model, Rounding rounding) {
  std::optional<Interpreter> interpreter;
  try {
    interpreter.emplace(model, InterpreterOptions{.rounding = rounding});
  } catch (const FormatError&) {
    return std::nullopt;
  }
  for (std::size_t k = 0; k < model.inputs.size(); ++k) {
    const auto bytes = interpreter->input_bytes(k);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<std::byte>(i * (k == 0 ? 1 : 37));
    }
  }
  interpreter->invoke();
  const auto bytes = interpreter->output_bytes();
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

/// Whether the model runs, which is the same on every code path, as are its results.
bool runs_alike(const IntegerModel& model, Rounding rounding) {
  std::optional<std::vector<std::byte>> expected;
  for (const KernelTable* table : available_kernels()) {
    const Forced forced(table);
    const auto found = outputs(model, rounding);
    if (table == available_kernels().front()) expected = found;
    EXPECT_EQ(found, expected) << to_string(table->isa);
  }
  return expected.has_value();
}

TEST(ExtremeScales, EveryCodePathGivesOneResultOrTheModelIsRefused) {
  int ran = 0;
  for (const float first : kScales) {
    for (const float second : kScales) {
      for (const std::int32_t zero_point : kZeroPoints) {
        for (const IntegerModel& model : models_of(first, second, zero_point)) {
          for (const Rounding rounding : kContracts) {
            ran += runs_alike(model, rounding) ? 1 : 0;
            ASSERT_FALSE(HasFailure()) << to_string(model.operators[0].code) << " " << first << " "
                                       << second << " " << zero_point << " " << to_string(rounding);
          }
        }
      }
    }
  }
  EXPECT_GT(ran, 2000);
}

TEST(ExtremeScales, ProductsThatLeaveFloat32AreRefused) {
  const auto make = [](float scale, float beta, Rounding rounding) {
    return SoftmaxInt8::make(scale, beta, rounding);
  };
  EXPECT_THROW(make(1e20F, 1e20F, Rounding::fp32), NumericError);
  EXPECT_EQ(make(1e19F, 1e19F, Rounding::fp32).exp_float()[0], 1.0F);
  // In double it is a number, and all but the largest code get next to nothing.
  EXPECT_EQ(make(1e20F, 1e20F, Rounding::double_rounding).exp_fixed()[1], 0);
}

TEST(ExtremeScales, AMeanOfProductsThatLeaveFloat32IsRefused) {
  const auto make = [](float in, float out, bool keeps_axes, Rounding rounding) {
    return QuantizedMean::make(quant(in, -128), quant(out, 0), 16, keeps_axes, rounding);
  };
  EXPECT_THROW(make(3e38F, 1.0F, false, Rounding::fp32), NumericError);
  EXPECT_THROW(make(3e38F, 1e38F, true, Rounding::single_rounding), NumericError);
  EXPECT_THROW(make(1.0F, 1e38F, true, Rounding::single_rounding), NumericError);
  // Integers hold it.
  EXPECT_EQ(make(3e38F, 1.0F, false, Rounding::double_rounding).apply(-128 * 16), 0);
  EXPECT_EQ(make(1e36F, 1.0F, false, Rounding::fp32).apply(-127 * 16), 127);
}

}  // namespace
}  // namespace octet::test::extreme_scales_test
