// Versions, nodes and C source of MUL, ADD, SUB, PRELU, HARD_SWISH, RESIZE_NEAREST_NEIGHBOR,
// SQUEEZE, STRIDED_SLICE, TRANSPOSE and BATCH_MATMUL. What they compute is in
// operator_export_test.cpp.

#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/deploy/c/writer.h>
#include <octet/deploy/onnx/writer.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/deploy/onnx_model.h>
#include <octet/tests/runtime/elementwise_models.h>
#include <octet/tests/runtime/matmul_models.h>
#include <octet/tests/runtime/moving_models.h>

namespace octet::test::elementwise_export_test {
namespace {

// ---- .tflite

TEST(ElementwiseExport, TfliteVersionsAreTheLowestThatSuffice) {
  const auto version_of = [](const IntegerModel& model) {
    return from_tflite(to_tflite(model)).operators[0].version;
  };
  Pair p;
  EXPECT_EQ(version_of(model_of(p)), 2);
  p.grids[2] = quant(p.grids[0].scale() * p.grids[1].scale(), 0);
  EXPECT_EQ(version_of(model_of(p)), 3);
  for (const OpCode code : {OpCode::add, OpCode::sub}) {
    p.code = code;
    EXPECT_EQ(version_of(model_of(p)), 2);
  }
  p.code = OpCode::prelu;
  EXPECT_EQ(version_of(model_of(p)), 1);
  EXPECT_EQ(version_of(squeeze_model({2, 1}, {1})), 1);
  EXPECT_EQ(version_of(hard_swish_model(quant(0.1F, 0), quant(0.1F, 0))), 1);
  Slicing slicing;
  EXPECT_EQ(version_of(slice_model(slicing)), 2);
  slicing.dtype = DType::int16;
  slicing.params = quant(0.01F, 0, DType::int16);
  EXPECT_EQ(version_of(slice_model(slicing)), 1);
  slicing.shape = {2, 3, 4, 1, 1};
  EXPECT_EQ(version_of(slice_model(slicing)), 4);
  Transposition transposition;
  EXPECT_EQ(version_of(transpose_model(transposition)), 2);
  transposition.dtype = DType::int16;
  transposition.params = quant(0.01F, 0, DType::int16);
  EXPECT_EQ(version_of(transpose_model(transposition)), 5);
  transposition = {.shape = {2, 3, 4, 1, 1}, .axes = {0, 2, 1, 4, 3}};
  EXPECT_EQ(version_of(transpose_model(transposition)), 4);
  Matmul product;
  EXPECT_EQ(version_of(matmul_model(product)), 2);
  product.dtype = DType::float32;
  EXPECT_EQ(version_of(matmul_model(product)), 1);
  product.dtype = DType::int16;
  product.params.fill(quant(0.01F, 0, DType::int16));
  EXPECT_EQ(version_of(matmul_model(product)), 3);
  Resize r;
  EXPECT_EQ(version_of(model_of(r)), 2);
  EXPECT_EQ(version_of(model_of(r, DType::float32)), 1);
  r.attributes.half_pixel_centers = true;
  EXPECT_EQ(version_of(model_of(r)), 3);
  r.attributes = {.align_corners = true};
  EXPECT_EQ(version_of(model_of(r, DType::float32)), 3);
}

// ---- ONNX

TEST(ElementwiseExport, OnnxNodesOfStyleStandard) {
  const auto makers_of = [](const IntegerModel& model) {
    const OnnxFile file(to_onnx(model, {.style = OnnxStyle::standard, .float_io = false}));
    const OnnxNode& last = file.producer_of("y");
    return last.op == "QuantizeLinear" ? file.producer_of(last.inputs.at(0)).op : last.op;
  };
  Pair p;
  p.constant.assign(6, 1);
  EXPECT_EQ(makers_of(model_of(p)), "Mul");
  p.code = OpCode::sub;
  EXPECT_EQ(makers_of(model_of(p)), "Sub");
  p.code = OpCode::prelu;
  EXPECT_EQ(makers_of(model_of(p)), "PRelu");
  EXPECT_EQ(makers_of(squeeze_model({2, 1}, {1})), "Reshape");
  EXPECT_EQ(makers_of(model_of(Resize{})), "Resize");
  EXPECT_EQ(makers_of(model_of(Resize{.code = OpCode::resize_bilinear})), "Transpose");
  EXPECT_EQ(makers_of(slice_model({})), "Slice");
  EXPECT_EQ(makers_of(matmul_model({})), "MatMul");
  EXPECT_EQ(makers_of(transpose_model({})), "Transpose");
  EXPECT_EQ(makers_of(hard_swish_model(quant(0.1F, 0), quant(0.1F, 0))), "Mul");
}

TEST(ElementwiseExport, OnnxStyleExactRefusesProductsThatFloatsDoNotHold) {
  const auto refuse = [](const Matmul& m, const std::string& part) {
    const IntegerModel model = matmul_model(m);
    EXPECT_NO_THROW(to_onnx(model, {.style = OnnxStyle::standard}));
    expect_throws<InvalidArgument>([&] { to_onnx(model); }, {"BATCH_MATMUL", part});
  };
  Matmul m;
  m.params[1] = quant(0.03F, 5);
  refuse(m, "expected a second operand of zero point 0, found 5");
  refuse({.first = {2, 3, 1000}, .second = {1000, 4}}, "found 1000 products");
}

// ---- C

TEST(ElementwiseExport, CSourceSaysWhatItDoes) {
  const CSource resize = to_c_source(model_of(Resize{}), "net");
  EXPECT_NE(resize.source.find("/* RESIZE_NEAREST_NEIGHBOR \"y\", 2 x 3 x 2 -> 4 x 6. */"),
            std::string::npos)
      << resize.source;
  EXPECT_NE(resize.source.find("input + (row / 4 * 2 + y / 2) * 6"), std::string::npos);
  Pair p;
  p.first = {1, 4, 4, 8};
  p.second = {1, 1, 1, 8};
  p.constant.assign(8, 1);
  const CSource mul = to_c_source(model_of(p), "net");
  EXPECT_NE(mul.source.find("(first[i0 * 8 + i1] - 3) * (second[i1] - (-5))"), std::string::npos)
      << mul.source;
}

}  // namespace
}  // namespace octet::test::elementwise_export_test
