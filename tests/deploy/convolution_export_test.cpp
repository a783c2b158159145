// CONV_2D and TRANSPOSE_CONV in the exports: versions, operands, C source and warnings. What they
// compute is in operator_export_test.cpp.

#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/deploy/c/writer.h>
#include <octet/deploy/onnx/writer.h>
#include <octet/deploy/runtime_warnings.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/deploy/raw_flatbuffer.h>
#include <octet/tests/runtime/transposed_models.h>

namespace octet::test::convolution_export_test {
namespace {

/// 2 x 2 pixels of 1 channel, to 4 x 4 of 3.
Transposed small() {
  Transposed t;
  t.conv.image = {1, 2, 2, 1};
  t.conv.filter = {3, 2, 2, 1};
  t.conv.weights.assign(12, 1);
  t.conv.bias.assign(3, 1);
  t.conv.attributes = {.stride_h = 2, .stride_w = 2};
  t.output = {4, 4};
  return t;
}

// ---- .tflite

TEST(TransposeConvExport, TfliteFilesHaveTheFirstVersionThatKnowsBiasAndActivation) {
  Transposed t = small();
  const auto version = [&] {
    return from_tflite(to_tflite(transposed_model(t))).operators[0].version;
  };
  EXPECT_EQ(version(), 3);
  t.conv.attributes.activation = FusedActivation::relu;
  EXPECT_EQ(version(), 4);
  t.conv.bias.clear();
  EXPECT_EQ(version(), 4);
  t.conv.attributes.activation = FusedActivation::none;
  EXPECT_EQ(version(), 2);
}

/// The format's own order: output_shape, weights, image, bias.
TEST(TransposeConvExport, TfliteFilesHaveTheOperandsInTheirOrder) {
  Transposed t = small();
  const auto in_file = [&] {
    const auto bytes = to_tflite(transposed_model(t));
    const RawTable graph = RawTable::root(bytes).tables(model_field::subgraphs)[0];
    return graph.tables(graph_field::operators)[0].values<std::int32_t>(operator_field::inputs);
  };
  // x, w, bias, shape are tensors 0 to 3.
  EXPECT_EQ(in_file(), (std::vector<std::int32_t>{3, 1, 0, 2}));
  t.conv.bias.clear();
  // x, w, shape.
  EXPECT_EQ(in_file(), (std::vector<std::int32_t>{2, 1, 0}));
}

/// Writes another stride into a file of one operator: field `field` of its options.
void expect_stride_refused(std::vector<std::uint8_t> bytes, int field, std::int32_t stride,
                           const std::string& part) {
  const RawTable graph = RawTable::root(bytes).tables(model_field::subgraphs)[0];
  const RawTable op = graph.tables(graph_field::operators)[0];
  std::memcpy(bytes.data() + op.table(operator_field::options).place(field), &stride,
              sizeof stride);
  expect_throws<FormatError>([&] { from_tflite(bytes); }, {part});
}

TEST(ConvolutionExport, AFileOfAnotherWindowThanItsOutputHasIsRefused) {
  // TransposeConvOptions and Conv2DOptions: padding 0, stride_w 1, stride_h 2.
  expect_stride_refused(to_tflite(transposed_model(small())), 1, 1,
                        "operator 0 (TRANSPOSE_CONV): expected an output");
  Conv c;
  c.weights.assign(4 * 3 * 3 * 3, 1);
  c.attributes.activation = FusedActivation::relu;
  for (const int field : {1, 2}) {
    for (const std::int32_t stride : {0, 2, -1}) {
      expect_stride_refused(to_tflite(model_of(c)), field, stride, "operator 0 (CONV_2D): ");
    }
  }
}

// ---- ONNX

TEST(TransposeConvExport, OnnxStyleExactRefusesByName) {
  Transposed t = small();
  t.conv.attributes = {.padding = Padding::same, .stride_h = 2, .stride_w = 3};
  t.output = {4, 6};
  const IntegerModel model = transposed_model(t);
  EXPECT_NO_THROW(to_onnx(model, {.style = OnnxStyle::standard}));
  expect_throws<InvalidArgument>([&] { to_onnx(model); },
                                 {"TRANSPOSE_CONV 'y': padding same with a stride"});
}

// ---- C

TEST(TransposeConvExport, CSourceSaysWhatItDoes) {
  const CSource source = to_c_source(transposed_model(small()), "net");
  EXPECT_NE(source.source.find("/* TRANSPOSE_CONV \"y\", 2 x 2 x 1 -> 4 x 4 x 3, filters 2 x 2, "
                               "stride 2 x 2. */"),
            std::string::npos)
      << source.source;
  EXPECT_EQ(source.macs, 2 * 2 * 4 * 3);
  EXPECT_EQ(source.accumulator_bound, 4 * 131 + 1);
}

TEST(ConvolutionExport, CSourceNamesRowsBeforeColumns) {
  Conv c;
  c.image = {1, 7, 8, 2};
  c.filter = {4, 2, 3, 1};
  c.weights.assign(4 * 2 * 3, 1);
  c.attributes = {.dilation_h = 3, .dilation_w = 2, .activation = FusedActivation::relu};
  const CSource source = to_c_source(model_of(c), "net");
  EXPECT_NE(source.source.find("/* CONV_2D \"y\", 7 x 8 x 2 -> 4 x 4 x 4, filters 2 x 3, dilation "
                               "3 x 2, 2 groups, relu. */"),
            std::string::npos)
      << source.source;
}

// ---- Warnings

TEST(TransposeConvExport, RuntimeWarningsKnowWhatRuntimesDoOtherwise) {
  Transposed t = small();
  EXPECT_TRUE(runtime_warnings(transposed_model(t)).empty());
  t.conv.out = quant(1e-7F, 0);
  const auto dead = runtime_warnings(transposed_model(t));
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_NE(dead[0].find("operator 0 (TRANSPOSE_CONV) 'y': rescale factor"), std::string::npos);
  t = small();
  t.conv.attributes.activation = FusedActivation::relu;
  IntegerModel model = transposed_model(t);
  EXPECT_TRUE(runtime_warnings(model).empty());
  model.metadata["octet.rounding"] = "double";
  const auto lost = runtime_warnings(model);
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_NE(lost[0].find("leave out the fused activation"), std::string::npos);
}

}  // namespace
}  // namespace octet::test::convolution_export_test
