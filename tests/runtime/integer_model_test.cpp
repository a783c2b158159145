#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/runtime/models.h>

#include <functional>
#include <limits>

namespace octet::test::integer_model_test {
namespace {

IntegerModel good() { return make_mlp(1, {6, 5, 4}, true, true); }

// Tensors of good(): 0 input, 1 input_q, 2 kernel, 3 bias, 4 dense_1, 5 kernel, 6 bias, 7 dense_2,
// 8 softmax, 9 output.

struct Fault {
  std::string name;
  /// A part of the message.
  std::string message;
  std::function<void(IntegerModel&)> make;
};

// NOLINTNEXTLINE(readability-identifier-naming): the name that GoogleTest looks for
void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }

class Validate : public ::testing::TestWithParam<Fault> {};

TEST_P(Validate, NamesTheFault) {
  IntegerModel model = good();
  ASSERT_NO_THROW(model.validate());
  GetParam().make(model);
  expect_throws<FormatError>([&] { model.validate(); }, {GetParam().message});
}

const float kInfinity = std::numeric_limits<float>::infinity();
const float kNaN = std::numeric_limits<float>::quiet_NaN();

INSTANTIATE_TEST_SUITE_P(
    Tensors, Validate,
    ::testing::Values(
        Fault{"NegativeExtent", "extent -5", [](auto& m) { m.tensors[4].shape[1] = -5; }},
        Fault{"ZeroExtent", "extent 0", [](auto& m) { m.tensors[4].shape[0] = 0; }},
        Fault{"Overflow", "no size below 2^31",
              [](auto& m) {
                m.tensors[4].shape = {65536, 65536, 65536, 65536};
              }},
        Fault{"RankTooHigh", "rank 9", [](auto& m) { m.tensors[4].shape.assign(9, 1); }},
        Fault{"DataTooShort", "tensor 2 'dense_1/kernel': 29 bytes of data",
              [](auto& m) { m.tensors[2].data.pop_back(); }},
        Fault{"DataTooLong", "21 bytes of data", [](auto& m) { m.tensors[3].data.push_back(0); }},
        Fault{"SignatureRank", "shape_signature [-1]",
              [](auto& m) { m.tensors[0].shape_signature = {-1}; }},
        Fault{"SignatureExtent", "shape_signature [-1, 7]",
              [](auto& m) {
                m.tensors[0].shape_signature = {-1, 7};
              }},
        Fault{"ScaleZero", "scale 0", [](auto& m) { m.tensors[1].quantization.scales[0] = 0; }},
        Fault{"ScaleNegative", "scale -1",
              [](auto& m) { m.tensors[1].quantization.scales[0] = -1; }},
        Fault{"ScaleInfinite", "scale inf",
              [](auto& m) { m.tensors[1].quantization.scales[0] = kInfinity; }},
        Fault{"ScaleNaN", "scale nan", [](auto& m) { m.tensors[2].quantization.scales[3] = kNaN; }},
        Fault{"ScaleCount", "5 zero points for 4 scales",
              [](auto& m) { m.tensors[2].quantization.scales.pop_back(); }},
        Fault{"ChannelCount", "4 scales for an axis of extent 5",
              [](auto& m) {
                m.tensors[2].quantization.scales.pop_back();
                m.tensors[2].quantization.zero_points.pop_back();
              }},
        Fault{"ZeroPointRange", "zero point 128 outside int8",
              [](auto& m) { m.tensors[1].quantization.zero_points[0] = 128; }},
        Fault{"AxisBeyondRank", "quantized_dimension 1 outside its rank 1",
              [](auto& m) { m.tensors[3].quantization.quantized_dimension = 1; }},
        Fault{"AxisNegative", "quantized_dimension -1",
              [](auto& m) { m.tensors[2].quantization.quantized_dimension = -1; }},
        Fault{"QuantizedFloat", "quantized float32",
              [](auto& m) { m.tensors[0].quantization = quant(1, 0); }}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Graph, Validate,
    ::testing::Values(
        Fault{"NoInputs", "expected inputs and outputs", [](auto& m) { m.inputs.clear(); }},
        Fault{"NoOutputs", "expected inputs and outputs", [](auto& m) { m.outputs.clear(); }},
        Fault{"InputOutside", "tensor index 10 outside", [](auto& m) { m.inputs[0] = 10; }},
        Fault{"InputNegative", "tensor index -1 outside", [](auto& m) { m.inputs[0] = -1; }},
        Fault{"InputTwice", "has a value already",
              [](auto& m) {
                m.inputs = {0, 0};
              }},
        Fault{"InputConstant", "has a value already", [](auto& m) { m.inputs.push_back(2); }},
        Fault{"OutputOutside", "model output: tensor index 99", [](auto& m) { m.outputs[0] = 99; }},
        Fault{"OutputNotWritten", "before it has a value", [](auto& m) { m.operators.pop_back(); }},
        Fault{"OperandOutside", "operator 1 (FULLY_CONNECTED): tensor index 1000",
              [](auto& m) { m.operators[1].inputs[1] = 1000; }},
        Fault{"ResultOutside", "operator 1 (FULLY_CONNECTED): tensor index -1",
              [](auto& m) { m.operators[1].outputs[0] = -1; }},
        Fault{"WrongOrder", "operator 1 (FULLY_CONNECTED): reads tensor 4",
              [](auto& m) { std::swap(m.operators[1], m.operators[2]); }},
        Fault{"WrittenTwice", "writes tensor 9 'output', which has a value already",
              [](auto& m) { m.operators.push_back(m.operators.back()); }},
        Fault{"WritesConstant", "writes tensor 4",
              [](auto& m) { m.tensors[4].data.assign(5, 0); }}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Operators, Validate,
    ::testing::Values(
        Fault{"OperandMissing", "expected 2 to 3 inputs",
              [](auto& m) { m.operators[1].inputs.resize(1); }},
        Fault{"OperandAbsent", "input 1 is absent", [](auto& m) { m.operators[1].inputs[1] = -1; }},
        Fault{"TwoResults", "expected 1 to 1 inputs and 1 output",
              [](auto& m) { m.operators[0].outputs.push_back(4); }},
        Fault{"UnknownCode", "unknown operator code 5",
              [](auto& m) { m.operators[0].code = static_cast<OpCode>(5); }},
        Fault{"InputType", "before it has a value",
              [](auto& m) { std::swap(m.operators[1].inputs[0], m.inputs[0]); }},
        Fault{"BiasType", "types (int8, int8, float32) -> int8",
              [](auto& m) {
                m.tensors[3].dtype = DType::float32;
                m.tensors[3].quantization = {};
              }},
        Fault{"BiasScale", "of bias 2 is not input scale times weight scale",
              [](auto& m) { m.tensors[3].quantization.scales[2] *= 1.03F; }},
        Fault{"BiasZeroPoint", "zero point 1 of bias 1",
              [](auto& m) { m.tensors[3].quantization.zero_points[1] = 1; }},
        Fault{"BiasSize", "expected a constant bias of 5 values",
              [](auto& m) {
                m.tensors[3].data.resize(16);
                m.tensors[3].shape = {4};
                m.tensors[3].quantization.scales.pop_back();
                m.tensors[3].quantization.zero_points.pop_back();
              }},
        Fault{"WeightsNotConstant", "are no constant",
              [](auto& m) {
                m.tensors[2].data.clear();
                m.inputs.push_back(2);
              }},
        Fault{"WeightsRank", "expected weights [units, inputs], found shape [5, 6, 1]",
              [](auto& m) {
                m.tensors[2].shape = {5, 6, 1};
              }},
        Fault{"WeightZeroPoints", "have a zero point other than 0",
              [](auto& m) { m.tensors[2].quantization.zero_points[4] = 3; }},
        Fault{"WeightAxis", "along axis 1, not 0",
              [](auto& m) {
                m.tensors[2].quantization.quantized_dimension = 1;
                m.tensors[2].quantization.scales.assign(6, 1.0F);
                m.tensors[2].quantization.zero_points.assign(6, 0);
              }},
        Fault{"OutputShape", "expected output shape [1, 5], found [1, 1, 5]",
              [](auto& m) {
                m.tensors[4].shape = {1, 1, 5};
                m.tensors[4].shape_signature = {};
              }},
        Fault{"DepthDoesNotFit", "is no whole number of rows of 5 weights",
              [](auto& m) {
                m.tensors[2].shape = {6, 5};
                m.tensors[2].quantization = quant(1, 0);
              }},
        Fault{"NoScale", "has no scale", [](auto& m) { m.tensors[2].quantization = {}; }},
        Fault{"FusedTanh", "fused activation 4",
              [](auto& m) {
                m.operators[1].template as<FullyConnectedAttributes>().activation =
                    static_cast<FusedActivation>(4);
              }},
        Fault{"SoftmaxScale", "expected output scale 0.00390625",
              [](auto& m) { m.tensors[8].quantization.scales[0] = 1 / 250.0F; }},
        Fault{"SoftmaxZeroPoint", "zero point -128, found",
              [](auto& m) { m.tensors[8].quantization.zero_points[0] = 0; }},
        Fault{"SoftmaxBeta", "beta 0",
              [](auto& m) { m.operators[3].template as<SoftmaxAttributes>().beta = 0; }},
        Fault{"SoftmaxShape", "differ",
              [](auto& m) {
                m.tensors[8].shape = {2, 2};
                m.tensors[8].shape_signature = {};
              }},
        Fault{"DequantizeOfFloat", "types (float32) -> float32",
              [](auto& m) {
                m.operators[4].inputs[0] = 0;
                m.tensors[9].shape = {1, 6};
                m.tensors[9].shape_signature = {};
              }}),
    [](const auto& test) { return test.param.name; });

TEST(Validate, BiasMayBeOffByTwoPercentOrHaveNoScale) {
  IntegerModel model = good();
  model.tensors[3].quantization.scales[2] *= 1.019F;
  EXPECT_NO_THROW(model.validate());
  model.tensors[3].quantization = {};
  EXPECT_NO_THROW(model.validate());
}

// Converters let layers share one of zeros: its scale is that of one of them.
TEST(Validate, ABiasOfZerosMayHaveAnyScale) {
  IntegerModel model = good();
  model.tensors[3].quantization.scales[2] *= 3.0F;
  EXPECT_THROW(model.validate(), FormatError);
  std::ranges::fill(model.tensors[3].data, 0);
  EXPECT_NO_THROW(model.validate());
}

TEST(Validate, ReshapeNeedsOneSizeOneScaleAndAShapeThatFits) {
  const auto make = [](std::vector<std::int32_t> shape, float scale,
                       std::vector<std::int32_t> new_shape) {
    IntegerModel model =
        make_unary(OpCode::reshape, {"x", DType::int8, {2, 3}, {}, quant(0.5F, 1), {}},
                   {"y", DType::int8, std::move(shape), {}, quant(scale, 1), {}});
    model.operators[0].as<ReshapeAttributes>().new_shape = std::move(new_shape);
    return model;
  };
  EXPECT_NO_THROW(make({6}, 0.5F, {}).validate());
  EXPECT_NO_THROW(make({6, 1}, 0.5F, {-1, 1}).validate());
  EXPECT_THROW(make({5}, 0.5F, {}).validate(), FormatError);
  EXPECT_THROW(make({6}, 0.25F, {}).validate(), FormatError);
  EXPECT_THROW(make({6, 1}, 0.5F, {1, 6}).validate(), FormatError);
  EXPECT_THROW(make({6, 1}, 0.5F, {-1, -1}).validate(), FormatError);
  EXPECT_THROW(make({6, 1}, 0.5F, {6}).validate(), FormatError);
}

TEST(DTypes, HaveNumpysNamesAndSizes) {
  EXPECT_EQ(to_string(DType::float32), "float32");
  EXPECT_EQ(to_string(DType::int8), "int8");
  EXPECT_EQ(size_of(DType::int16), 2U);
  EXPECT_EQ(size_of(DType::int64), 8U);
  EXPECT_THROW(size_of(static_cast<DType>(6)), InvalidArgument);
}

}  // namespace
}  // namespace octet::test::integer_model_test
