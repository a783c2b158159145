// What operators refuse: each fault is named, with the operator's place and name in front.

#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/runtime/matmul_models.h>
#include <octet/tests/runtime/mean_models.h>
#include <octet/tests/runtime/sequence_faults.h>
#include <octet/tests/runtime/transposed_models.h>

#include <cmath>

namespace octet::test::operator_faults_test {
namespace {

const std::string kOneScale = "the same single scale";

// ---- Operators that move values

FaultyOperator split() {
  return {"Split",
          split_model({}),
          {{number(1, 0, 3), "axis 3 outside of rank 3"},
           {number(1, 0, -4), "axis -4 outside of rank 3"},
           {number(1, 0, 0), "axis 0 of extent 2 has no 3 equal parts"},
           {operand(1, 0),
            "expected the axis as an int32 constant, found 'x' of int8, shape [2, 6, 2]"},
           {[](IntegerModel& m) { m.operators[0].outputs.pop_back(); },
            "expected as many outputs as num_splits, 3, found 2"},
           {[](IntegerModel& m) { m.operators[0].outputs.clear(); },
            "expected 2 to 2 inputs and 1 to 16 outputs, found 2 and 0"},
           {shape(4, {2, 1, 2}), "expected output shape [2, 2, 2], found [2, 1, 2]"},
           {zero_point(4, 4), kOneScale},
           {signature(0, {2, -1, 2}), "axis 1 is the batch, which cannot be split"}}};
}

FaultyOperator strided_slice() {
  return {"StridedSlice",
          slice_model({}),
          {{number(3, 2, -1), "expected strides of 1 or more, found -1"},
           {number(3, 2, 0), "found 0"},
           {number(1, 1, 3), "axis 1 of extent 3: no element lies in [3, 3)"},
           {number(2, 1, 1), "no element lies in [1, 1)"},
           {number(2, 1, 2), "expected output shape [2, 1, 2], found [2, 2, 2]"},
           {both(number(1, 0, 2), attribute(&StridedSliceAttributes::shrink_axis_mask, 1)),
            "axis 0 of extent 2"},
           {operand(1, 0),
            "expected begin as an int32 constant of one number for each of at most 3 axes, as many "
            "as begin has, found 'x' of int8, shape [2, 3, 4]"},
           {dtype(2, DType::float32), "expected end"},
           {constant(3, {2}, 8), "expected strides"},
           {zero_point(4, 4), kOneScale},
           {dtype(4, DType::uint8), "are not supported"},
           {shape(0, {1, 1, 1, 2, 3, 4}), "expected an input of at most 5 axes, found 6"}}};
}

FaultyOperator strided_slice_of_any_batch() {
  IntegerModel model = slice_model({.shape = {1, 3, 4}, .attributes = {1, 1}});
  model.tensors[0].shape_signature = {-1, 3, 4};
  model.tensors[4].shape_signature = {-1, 2, 2};
  return {"StridedSliceOfAnyBatch",
          std::move(model),
          {{attribute(&StridedSliceAttributes::end_mask, 0), "axis 0 is the batch"}}};
}

FaultyOperator transpose() {
  return {
      "Transpose",
      transpose_model({}),
      {{number(1, 1, 1), "expected each of the 3 axes once as its permutation, found [0, 1, 1]"},
       {number(1, 1, 3), "found [0, 3, 1]"},
       {number(1, 1, -4), "found [0, -4, 1]"},
       {operand(1, 0),
        "expected the permutation as an int32 constant [3], found 'x' of int8, shape [2, 3, 4]"},
       {constant(1, {2}, 8), "of int32, shape [2]"},
       {shape(2, {2, 3, 4}), "expected output shape [2, 4, 3], found [2, 3, 4]"},
       {signature(0, {2, -1, 4}), "axis 1 is the batch, which cannot become axis 2"},
       {zero_point(2, 4), kOneScale}}};
}

FaultyOperator squeeze() {
  const auto dims = [](const Extents& wanted) {
    return attribute(&SqueezeAttributes::squeeze_dims, wanted);
  };
  return {"Squeeze",
          squeeze_model({1, 1, 2, 3}, {1}),
          {{dims({4}), "axis 4 is none of input shape [1, 1, 2, 3]"},
           {dims({-5}), "axis -5 is none of input shape [1, 1, 2, 3]"},
           {dims({2}), "axis 2 of input shape [1, 1, 2, 3] has another extent than 1"},
           {dims({}), "expected output shape [2, 3], found [1, 2, 3]"},
           {both(dims({0}), signature(0, {-1, 1, 2, 3})), "axis 0 is the batch"},
           {zero_point(1, 5), kOneScale},
           {dtype(1, DType::uint8), "types (int8) -> uint8"}}};
}

FaultyOperator pad() {
  return {"Pad",
          pad_model({1, 3, 2}, {{0, 0}, {1, 2}, {0, 1}}, quant(0.5F, 3)),
          {{shape(1, {2, 3}), "an int32 constant [3, 2]"},
           {dtype(1, DType::float32), "of float32"},
           {number(1, 2, -1), "paddings -1 and 2 of axis 1"},
           {number(1, 3, 2147483647), "paddings 1 and 2147483647 of axis 1"},
           {number(1, 2, 2), "expected output shape [1, 7, 3], found [1, 6, 3]"},
           {zero_point(2, 4), kOneScale},
           {signature(0, {1, -1, 2}), "axis 1 is the batch"},
           {dtype(2, DType::uint8), "types (int8, int32)"}}};
}

FaultyOperator pad_v2() {
  return {"PadV2",
          pad_model({1, 3}, {{0, 0}, {1, 2}}, quant(0.5F, 3), DType::int8, 5.0F),
          {{operand(2, 0),
            "expected its value as a constant of one int8, found 'x' of int8, shape [1, 3]"},
           {operand(2, 1), "found 'paddings' of int32"},
           {constant(3, {2}, 2), "shape [2]"},
           {zero_point(3, 4), "value 'value' and output need the same scale and zero point"},
           {operand(2, -1), "input 2 is absent"}}};
}

FaultyOperator resize() {
  using Attributes = ResizeAttributes;
  return {"ResizeNearestNeighbor",
          model_of(Resize{}),
          {{number(1, 0, 0), "expected output shape [1, 0, 6, 2], found [1, 4, 6, 2]"},
           {number(1, 0, -1), "expected output shape [1, -1, 6, 2]"},
           {number(1, 0, 5), "expected output shape [1, 5, 6, 2]"},
           {shape(1, {1, 2}), "an int32 constant [2]"},
           {dtype(1, DType::float32), "of float32"},
           {shape(0, {1, 2, 6}), "expected images"},
           {zero_point(2, 5), kOneScale},
           {both(attribute(&Attributes::align_corners, true),
                 attribute(&Attributes::half_pixel_centers, true)),
            "exclude each other"}}};
}

FaultyOperator bilinear() {
  FaultyOperator faulty = resize();
  faulty.name = "ResizeBilinear";
  faulty.model = model_of(Resize{.code = OpCode::resize_bilinear});
  // It interpolates integers, whatever scale the result has.
  std::erase_if(faulty.faults, [](const auto& fault) { return fault.message == kOneScale; });
  return faulty;
}

// ---- Operators of two operands

FaultyOperator binary(const std::string& name, OpCode code) {
  const std::string said = "do not broadcast to the output's, [1, 2, 3]";
  return {
      name,
      model_of(Pair{.code = code}),
      {{shape(1, {1, 2, 4}), said},
       {shape(1, {1, 2, 2}), said},
       {shape(1, {2, 2, 3}), said},
       {shape(1, {1, 1, 2, 3}), said},
       {both(shape(1, {1, 1, 3}), shape(2, {1, 2, 1, 3})), "do not broadcast to"},
       // Nobody has an extent of the output.
       {both(shape(1, {1, 1, 3}), shape(0, {1, 1, 3})), said},
       {both(both(shape(0, {1, 1, 1, 2, 3}), shape(2, {1, 1, 1, 2, 3})), shape(1, {1, 1, 1, 1, 3})),
        "of at most 4 axes"},
       // A sample of a batch has all axes.
       {both(shape(1, {1, 3}), signature(1, {-1, 3})), "do not broadcast to"},
       {uint8(1), "types (int8, uint8)"}}};
}

/// The slopes have as many axes as the input at most, and are the ones that are repeated.
FaultyOperator prelu() {
  return {"Prelu",
          model_of(Pair{.code = OpCode::prelu}),
          {{shape(0, {1, 1, 3}), "input shape [1, 1, 3] and output shape [1, 2, 3] differ"}}};
}

FaultyOperator batch_matmul() {
  return {"BatchMatmul",
          matmul_model({}),
          {{attribute(&BatchMatmulAttributes::adj_y, true),
            "rows of 5 do not fit columns of 4: did you mean another adj_x or adj_y?"},
           {shape(1, {3, 5, 4}),
            "shapes [2, 3, 5] and [3, 5, 4] do not broadcast in front of their matrices"},
           {shape(1, {5}), "expected operands of 2 to 5 axes, found 1 as operand 1"},
           {shape(2, {2, 4, 3}), "expected output shape [2, 3, 4], found [2, 4, 3]"},
           {dtype(1, DType::uint8), "types (int8, uint8) -> int8 are not supported"},
           {signature(0, {2, -1, 5}), "axis 1 of operand 0 is the batch"},
           {both(shape(0, {2, 3, 40000}), shape(1, {2, 40000, 4})),
            "sums of 40000 products could leave int32"},
           {[](IntegerModel& m) {
              for (ModelTensor& tensor : m.tensors) tensor.dtype = DType::int16;
            },
            "expected the zero point 0 of int16 for 'x', found 4"}}};
}

// ---- HARD_SWISH and windows

FaultyOperator hard_swish() {
  const std::string said = "expected an output scale above 1/128 of its input's";
  return {"HardSwish",
          hard_swish_model(quant(0.5F, 0), quant(0.004F, 0)),
          {{scale(1, 0.5F / 128), said}, {scale(1, 1e-9F), said}}};
}

FaultyOperator maximum() {
  const std::string said = "need the same single scale and zero point";
  return {"Maximum",
          model_of(extreme_pair(OpCode::maximum)),
          {{scale(0, 0.5F), said}, {scale(1, 0.5F), said}, {scale(2, 0.5F), said}}};
}

FaultyOperator root(const char* name, OpCode code) {
  return {name,
          function_model(code, quant(0.01F, -128), quant(0.05F, -128)),
          {{zero_point(0, -127),
            "expected an input of zero point -128, which has no values below "
            "0, found -127"}}};
}

FaultyOperator mean() {
  return {"Mean",
          model_of(Mean{}),
          {{number(1, 0, 2), "expected the axes of the pixels, [1, 2], found [2, 2]"},
           {number(1, 1, 3), "found [1, 3]; means over others are not supported"},
           {number(1, 0, 0), "found [0, 2]"},
           {number(1, 1, -4), "found [1, -4]"},
           {number(1, 1, 2147483647), "found [1, 2147483647]"},
           {dtype(1, DType::float32),
            "expected its axes as an int32 constant, found 'axes' of float32"},
           {attribute(&MeanAttributes::keep_dims, true),
            "expected output shape [1, 1, 1, 2], found [1, 2]"},
           {shape(0, {1, 16, 2}), "expected images"},
           {uint8(2), "types (int8, int32) -> uint8"},
           {[](IntegerModel& m) {
              m.tensors[2].quantization.scales = {1.0F, 2.0F};
              m.tensors[2].quantization.zero_points = {0, 0};
              m.tensors[2].quantization.quantized_dimension = 1;
            },
            "expected one scale for its output 'y', found 2"}}};
}

FaultyOperator pool(const std::string& name, OpCode code) {
  Pooling p;
  p.code = code;
  p.attributes = {.filter_h = 2, .filter_w = 3};
  using Attributes = PoolAttributes;
  return {
      name,
      model_of(p),
      {{attribute(&Attributes::stride_w, 0), "a stride"},
       {attribute(&Attributes::filter_h, -1), "a kernel size"},
       {attribute(&Attributes::filter_w, 5), "fits into the image"},
       {attribute(&Attributes::filter_w, 2), "expected output shape [1, 3, 3"},
       {attribute(&Attributes::padding, static_cast<Padding>(7)), "Padding"},
       {attribute(&Attributes::activation, static_cast<FusedActivation>(5)), "fused activation 5"},
       {shape(0, {4, 4, 2}), "expected images"},
       {dtype(1, DType::uint8), "types (int8) -> uint8"},
       {scale(1, 0.06F), "not rescale"},
       {zero_point(1, 4), "not rescale"}}};
}

FaultyOperator conv_2d() {
  Conv c;
  c.weights.assign(4 * 3 * 3 * 3, 1);
  using Attributes = Conv2DAttributes;
  return {
      "Conv2D",
      model_of(c),
      {{attribute(&Attributes::stride_h, 0), "a stride"},
       {attribute(&Attributes::dilation_w, -2), "a dilation"},
       {attribute(&Attributes::dilation_h, 3), "fits into the image"},
       {attribute(&Attributes::stride_w, 2), "shape"},
       {shape(0, {5, 5, 3}), "images"},
       {shape(0, {1, 5, 5, 4}), "over 3 channels"},
       {shape(1, {4, 9, 3}), "a filter"},
       // Two groups of three filters.
       {both(both(shape(0, {1, 5, 5, 6}), shape(2, {1, 3, 3, 3})), constant(1, {3, 3, 3, 3}, 81)),
        "3 filters"}}};
}

FaultyOperator depthwise_conv_2d() {
  Conv c;
  c.filter = {6, 2, 3, 1};
  c.weights.assign(6 * 6, 1);
  c.weight_scales.assign(6, 0.01F);
  c.bias.assign(6, 1);
  using Attributes = DepthwiseConv2DAttributes;
  return {"DepthwiseConv2D",
          depthwise_model(c),
          {{attribute(&Attributes::stride_h, 0), "a stride"},
           {attribute(&Attributes::dilation_w, -2), "a dilation"},
           {attribute(&Attributes::dilation_w, 3), "fits into the image"},
           {attribute(&Attributes::stride_w, 2), "expected output shape"},
           {attribute(&Attributes::depth_multiplier, 1),
            "3 channels times a depth multiplier of 1, found one of 6"},
           {attribute(&Attributes::depth_multiplier, 0), "multiplier of 0"},
           {shape(0, {5, 5, 3}), "expected images"},
           {shape(1, {2, 3, 1, 6}), "[1, height, width, units]"},
           {zero_point(1, 1, 2), "zero point"},
           {[](IntegerModel& m) {
              m.tensors[1].quantization.quantized_dimension = 0;
              m.tensors[1].quantization.scales.resize(1);
              m.tensors[1].quantization.zero_points.resize(1);
              m.tensors[2].quantization = {};
              constant(2, {1}, 4)(m);
            },
            "a constant bias of 6 values"}}};
}

FaultyOperator transpose_conv() {
  Transposed t;
  t.conv.image = {1, 3, 4, 2};
  t.conv.filter = {6, 2, 3, 2};
  t.conv.weights.assign(6 * 6 * 2, 1);
  t.conv.weight_scales.assign(6, 0.01F);
  t.conv.bias.assign(6, 1);
  t.conv.attributes = {.stride_h = 2, .stride_w = 1};
  t.output = {6, 6};
  using Attributes = TransposeConvAttributes;
  return {
      "TransposeConv",
      transposed_model(t),
      {{attribute(&Attributes::stride_h, 0), "a stride"},
       {attribute(&Attributes::stride_h, 1),
        "a kernel of 2, a stride of 1 and padding valid leads back to the 3 of axis 1, found 6"},
       {attribute(&Attributes::padding, Padding::same), "leads back to the 4 of axis 2, found 6"},
       {shape(0, {3, 4, 2}), "expected images"},
       {shape(0, {1, 3, 2, 4}), "expected images [n, height, width, 2]"},
       {shape(1, {6, 6, 2}), "[units, height, width, channels]"},
       {shape(4, {1, 6, 3, 12}), "expected an output"},
       {zero_point(1, 1, 2), "its weights have a zero point other than 0"},
       {[](IntegerModel& m) { m.operators[0].inputs.pop_back(); }, "its output's shape"},
       {operand(3, -1), "its output's shape"},
       {[](IntegerModel& m) { m.tensors[3].data[4] = 7; }, "as an int32 constant, found 'shape'"}}};
}

class OperatorFaults : public ::testing::TestWithParam<FaultyOperator> {};

TEST_P(OperatorFaults, AreNamed) {
  const FaultyOperator& row = GetParam();
  ASSERT_NO_THROW(row.model.validate());
  for (const OperatorFault& fault : row.faults) {
    SCOPED_TRACE(fault.message);
    IntegerModel model = row.model;
    fault.make(model);
    const std::string who =
        "operator 0 (" + std::string(to_string(model.operators[0].code)) + "): ";
    const std::string message = message_of<FormatError>([&] { model.validate(); });
    EXPECT_TRUE(message.starts_with(who)) << message;
    expect_mentions(message, fault.message);
  }
}

INSTANTIATE_TEST_SUITE_P(, OperatorFaults,
                         ::testing::Values(split(), strided_slice(), strided_slice_of_any_batch(),
                                           transpose(), squeeze(), pad(), pad_v2(), resize(),
                                           bilinear(), binary("Add", OpCode::add),
                                           binary("Sub", OpCode::sub), binary("Mul", OpCode::mul),
                                           prelu(), batch_matmul(), hard_swish(), maximum(),
                                           root("Rsqrt", OpCode::rsqrt), root("Sqrt", OpCode::sqrt),
                                           mean(), pool("AveragePool2D", OpCode::average_pool_2d),
                                           pool("MaxPool2D", OpCode::max_pool_2d), conv_2d(),
                                           depthwise_conv_2d(), transpose_conv(), faults::cast(),
                                           faults::gather(), faults::arg_max(), faults::lstm(),
                                           faults::svdf(), faults::detection()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace octet::test::operator_faults_test
