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
  std::function<void(IntegerModel&)> make;
  std::string message;
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
        Fault{"NegativeExtent", [](auto& m) { m.tensors[4].shape[1] = -5; }, "extent -5"},
        Fault{"ZeroExtent", [](auto& m) { m.tensors[4].shape[0] = 0; }, "extent 0"},
        Fault{"Overflow",
              [](auto& m) {
                m.tensors[4].shape = {65536, 65536, 65536, 65536};
              },
              "no size below 2^31"},
        Fault{"RankTooHigh", [](auto& m) { m.tensors[4].shape.assign(9, 1); }, "rank 9"},
        Fault{"DataTooShort", [](auto& m) { m.tensors[2].data.pop_back(); },
              "tensor 2 'dense_1/kernel': 29 bytes of data"},
        Fault{"DataTooLong", [](auto& m) { m.tensors[3].data.push_back(0); }, "21 bytes of data"},
        Fault{"SignatureRank", [](auto& m) { m.tensors[0].shape_signature = {-1}; },
              "shape_signature [-1]"},
        Fault{"SignatureExtent",
              [](auto& m) {
                m.tensors[0].shape_signature = {-1, 7};
              },
              "shape_signature [-1, 7]"},
        Fault{"ScaleZero", [](auto& m) { m.tensors[1].quantization.scales[0] = 0; }, "scale 0"},
        Fault{"ScaleNegative", [](auto& m) { m.tensors[1].quantization.scales[0] = -1; },
              "scale -1"},
        Fault{"ScaleInfinite", [](auto& m) { m.tensors[1].quantization.scales[0] = kInfinity; },
              "scale inf"},
        Fault{"ScaleNaN", [](auto& m) { m.tensors[2].quantization.scales[3] = kNaN; }, "scale nan"},
        Fault{"ScaleCount", [](auto& m) { m.tensors[2].quantization.scales.pop_back(); },
              "5 zero points for 4 scales"},
        Fault{"ChannelCount",
              [](auto& m) {
                m.tensors[2].quantization.scales.pop_back();
                m.tensors[2].quantization.zero_points.pop_back();
              },
              "4 scales for an axis of extent 5"},
        Fault{"ZeroPointRange", [](auto& m) { m.tensors[1].quantization.zero_points[0] = 128; },
              "zero point 128 outside int8"},
        Fault{"AxisBeyondRank", [](auto& m) { m.tensors[3].quantization.quantized_dimension = 1; },
              "quantized_dimension 1 outside its rank 1"},
        Fault{"AxisNegative", [](auto& m) { m.tensors[2].quantization.quantized_dimension = -1; },
              "quantized_dimension -1"},
        Fault{"QuantizedFloat", [](auto& m) { m.tensors[0].quantization = quant(1, 0); },
              "quantized float32"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Graph, Validate,
    ::testing::Values(
        Fault{"NoInputs", [](auto& m) { m.inputs.clear(); }, "expected inputs and outputs"},
        Fault{"NoOutputs", [](auto& m) { m.outputs.clear(); }, "expected inputs and outputs"},
        Fault{"InputOutside", [](auto& m) { m.inputs[0] = 10; }, "tensor index 10 outside"},
        Fault{"InputNegative", [](auto& m) { m.inputs[0] = -1; }, "tensor index -1 outside"},
        Fault{"InputTwice",
              [](auto& m) {
                m.inputs = {0, 0};
              },
              "has a value already"},
        Fault{"InputConstant", [](auto& m) { m.inputs.push_back(2); }, "has a value already"},
        Fault{"OutputOutside", [](auto& m) { m.outputs[0] = 99; }, "model output: tensor index 99"},
        Fault{"OutputNotWritten", [](auto& m) { m.operators.pop_back(); }, "before it has a value"},
        Fault{"OperandOutside", [](auto& m) { m.operators[1].inputs[1] = 1000; },
              "operator 1 (FULLY_CONNECTED): tensor index 1000"},
        Fault{"ResultOutside", [](auto& m) { m.operators[1].outputs[0] = -1; },
              "operator 1 (FULLY_CONNECTED): tensor index -1"},
        Fault{"WrongOrder", [](auto& m) { std::swap(m.operators[1], m.operators[2]); },
              "operator 1 (FULLY_CONNECTED): reads tensor 4"},
        Fault{"WrittenTwice", [](auto& m) { m.operators.push_back(m.operators.back()); },
              "writes tensor 9 'output', which has a value already"},
        Fault{"WritesConstant", [](auto& m) { m.tensors[4].data.assign(5, 0); },
              "writes tensor 4"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Operators, Validate,
    ::testing::Values(
        Fault{"OperandMissing", [](auto& m) { m.operators[1].inputs.resize(1); },
              "expected 2 to 3 inputs"},
        Fault{"OperandAbsent", [](auto& m) { m.operators[1].inputs[1] = -1; }, "input 1 is absent"},
        Fault{"TwoResults", [](auto& m) { m.operators[0].outputs.push_back(4); },
              "expected 1 to 1 inputs and 1 output"},
        Fault{"UnknownCode", [](auto& m) { m.operators[0].code = static_cast<OpCode>(5); },
              "unknown operator code 5"},
        Fault{"InputType", [](auto& m) { std::swap(m.operators[1].inputs[0], m.inputs[0]); },
              "before it has a value"},
        Fault{"BiasType",
              [](auto& m) {
                m.tensors[3].dtype = DType::float32;
                m.tensors[3].quantization = {};
              },
              "types (int8, int8, float32) -> int8"},
        Fault{"BiasScale", [](auto& m) { m.tensors[3].quantization.scales[2] *= 1.03F; },
              "of bias 2 is not input scale times weight scale"},
        Fault{"BiasZeroPoint", [](auto& m) { m.tensors[3].quantization.zero_points[1] = 1; },
              "zero point 1 of bias 1"},
        Fault{"BiasSize",
              [](auto& m) {
                m.tensors[3].data.resize(16);
                m.tensors[3].shape = {4};
                m.tensors[3].quantization.scales.pop_back();
                m.tensors[3].quantization.zero_points.pop_back();
              },
              "expected a constant bias of 5 values"},
        Fault{"WeightsNotConstant",
              [](auto& m) {
                m.tensors[2].data.clear();
                m.inputs.push_back(2);
              },
              "are no constant"},
        Fault{"WeightsRank",
              [](auto& m) {
                m.tensors[2].shape = {5, 6, 1};
              },
              "expected weights [units, inputs], found shape [5, 6, 1]"},
        Fault{"WeightZeroPoints", [](auto& m) { m.tensors[2].quantization.zero_points[4] = 3; },
              "have a zero point other than 0"},
        Fault{"WeightAxis",
              [](auto& m) {
                m.tensors[2].quantization.quantized_dimension = 1;
                m.tensors[2].quantization.scales.assign(6, 1.0F);
                m.tensors[2].quantization.zero_points.assign(6, 0);
              },
              "along axis 1, not 0"},
        Fault{"OutputShape",
              [](auto& m) {
                m.tensors[4].shape = {1, 1, 5};
                m.tensors[4].shape_signature = {};
              },
              "expected output shape [1, 5], found [1, 1, 5]"},
        Fault{"DepthDoesNotFit",
              [](auto& m) {
                m.tensors[2].shape = {6, 5};
                m.tensors[2].quantization = quant(1, 0);
              },
              "is no whole number of rows of 5 weights"},
        Fault{"NoScale", [](auto& m) { m.tensors[2].quantization = {}; }, "has no scale"},
        Fault{"FusedTanh",
              [](auto& m) {
                m.operators[1].template as<FullyConnectedAttributes>().activation =
                    static_cast<FusedActivation>(4);
              },
              "fused activation 4"},
        Fault{"SoftmaxScale", [](auto& m) { m.tensors[8].quantization.scales[0] = 1 / 250.0F; },
              "expected output scale 0.00390625"},
        Fault{"SoftmaxZeroPoint", [](auto& m) { m.tensors[8].quantization.zero_points[0] = 0; },
              "zero point -128, found"},
        Fault{"SoftmaxBeta",
              [](auto& m) { m.operators[3].template as<SoftmaxAttributes>().beta = 0; }, "beta 0"},
        Fault{"SoftmaxShape",
              [](auto& m) {
                m.tensors[8].shape = {2, 2};
                m.tensors[8].shape_signature = {};
              },
              "differ"},
        Fault{"DequantizeOfFloat",
              [](auto& m) {
                m.operators[4].inputs[0] = 0;
                m.tensors[9].shape = {1, 6};
                m.tensors[9].shape_signature = {};
              },
              "types (float32) -> float32"}),
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
