// Axes are attributes of older operators and inputs of newer ones: the same networks either way.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <octet/core/random.h>
#include <octet/import/onnx/import_onnx.h>
#include <octet/tests/import/onnx_file.h>

#include <cstdint>
#include <vector>

namespace octet::test::onnx_opsets_test {
namespace {

const std::vector<std::int64_t> kImages = {-1, 3, 4, 5};

/// An operator of images, which says in which order the channels of "x" lie.
Message image_operator() {
  return node("MaxPool", {"x"}, "i", {attribute("kernel_shape", std::vector<std::int64_t>{1, 1})});
}

std::vector<std::uint8_t> with_attribute(const char* op, const std::vector<std::int64_t>& axes,
                                         std::int64_t keep, std::int64_t opset) {
  return onnx_file(kImages,
                   {image_operator(),
                    node(op, {"i"}, "m", {attribute("axes", axes), attribute("keepdims", keep)}),
                    node("Relu", {"m"}, "y")},
                   {}, opset);
}
std::vector<std::uint8_t> with_input(const char* op, const std::vector<std::int64_t>& axes,
                                     std::int64_t keep, std::int64_t opset) {
  return onnx_file(kImages,
                   {image_operator(), node(op, {"i", "axes"}, "m", {attribute("keepdims", keep)}),
                    node("Relu", {"m"}, "y")},
                   {integers("axes", axes)}, opset);
}

/// The mean of every channel of images [height, width, channels], by a loop.
Tensor means(const Tensor& x) {
  Tensor result({x.dim(0), x.dim(3)});
  const Index pixels = x.dim(1) * x.dim(2);
  for (Index i = 0; i < x.dim(0); ++i) {
    for (Index c = 0; c < x.dim(3); ++c) {
      double sum = 0.0;
      for (Index p = 0; p < pixels; ++p) sum += x.data()[(i * pixels + p) * x.dim(3) + c];
      result.mutable_at({i, c}) = static_cast<float>(sum / static_cast<double>(pixels));
    }
  }
  return result;
}

TEST(OnnxOpsets, MeansOverTheAxesOfAnInputOrAnAttribute) {
  const Tensor x = Tensor::uniform({2, 4, 5, 3}, Random(3), 0.0F, 1.0F);
  const Tensor expected = means(x);
  for (const std::int64_t keep : {0, 1}) {
    for (const auto& file : {with_attribute("ReduceMean", {2, 3}, keep, 9),
                             with_attribute("ReduceMean", {-1, -2}, keep, 17),
                             with_input("ReduceMean", {2, 3}, keep, 18),
                             with_input("ReduceMean", {-2, -1}, keep, 18)}) {
      const Tensor found = import_onnx(file).forward(x);
      ASSERT_EQ(found.size(), expected.size());
      EXPECT_THAT(found.span(), testing::Pointwise(testing::FloatNear(1e-6F), expected.span()));
    }
  }
}

/// One more window than fits would begin at pixel 3, right behind the image.
TEST(OnnxOpsets, AWindowThatBeginsBehindTheImageIsLeftOutOfCeilMode) {
  const auto file =
      onnx_file({-1, 2, 3, 3}, {node("MaxPool", {"x"}, "y",
                                     {attribute("kernel_shape", std::vector<std::int64_t>{2, 2}),
                                      attribute("strides", std::vector<std::int64_t>{3, 3}),
                                      attribute("ceil_mode", std::int64_t{1})})});
  EXPECT_EQ(import_onnx(file).output_shape(), (Shape{1, 1, 2}));
}

TEST(OnnxOpsets, SqueezedAxesOfAnInputOrAnAttribute) {
  const Tensor x = Tensor::uniform({2, 4, 5, 3}, Random(4), -1.0F, 1.0F);
  const std::vector<Message> pool = {node("GlobalAveragePool", {"x"}, "g")};
  std::vector<Message> older = pool;
  older.push_back(
      node("Squeeze", {"g"}, "y", {attribute("axes", std::vector<std::int64_t>{2, 3})}));
  std::vector<Message> newer = pool;
  newer.push_back(node("Squeeze", {"g", "axes"}, "y"));
  const Tensor expected = means(x);
  for (const auto& file : {onnx_file(kImages, older, {}, 11),
                           onnx_file(kImages, newer, {integers("axes", {-1, 2})}, 18)}) {
    const Tensor found = import_onnx(file).forward(x);
    ASSERT_EQ(found.size(), expected.size());
    EXPECT_THAT(found.span(), testing::Pointwise(testing::FloatNear(1e-6F), expected.span()));
  }
}

/// x [.., 2] by the matrix [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]], plus 0.1, 0.2 and 0.3.
Tensor affine(const Tensor& x) {
  Tensor result(x.shape().with_dim(-1, 3));
  for (Index i = 0; i < result.size(); ++i) {
    const float* row = x.data() + i / 3 * 2;
    const auto unit = static_cast<float>(i % 3);
    result.mutable_data()[i] =
        row[0] * (0.1F + 0.1F * unit) + row[1] * (0.4F + 0.1F * unit) + 0.1F + 0.1F * unit;
  }
  return result;
}

// PyTorch writes a Linear over time so; behind images the channels have to be brought last, where
// the model has them.
TEST(OnnxOpsets, MatMulContractsTheLastAxis) {
  const std::vector<Message> tensors = {floats("w", {2, 3}), floats("b", {3})};
  const std::vector<Message> dense = {node("MatMul", {"t", "w"}, "m"),
                                      node("Add", {"b", "m"}, "y")};
  std::vector<Message> direct = {node("Identity", {"x"}, "t")};
  direct.insert(direct.end(), dense.begin(), dense.end());
  std::vector<Message> of_channels = {
      node("MaxPool", {"x"}, "i", {attribute("kernel_shape", std::vector<std::int64_t>{1, 1})}),
      node("Transpose", {"i"}, "t", {attribute("perm", std::vector<std::int64_t>{0, 2, 3, 1})})};
  of_channels.insert(of_channels.end(), dense.begin(), dense.end());
  const Tensor x = Tensor::uniform({4, 5, 2}, Random(5), -1.0F, 1.0F);
  const Tensor images = x.reshape({4, 5, 1, 2});
  for (const auto& [file, input] :
       {std::pair(onnx_file({-1, 5, 2}, direct, tensors), x),
        std::pair(onnx_file({-1, 5, 1, 2}, direct, tensors), images),
        std::pair(onnx_file({-1, 2, 5, 1}, of_channels, tensors), images)}) {
    const Model model = import_onnx(file);
    EXPECT_EQ(model.layers().back()->type(), "Dense");
    const Tensor found = model.forward(input);
    const Tensor expected = affine(input);
    ASSERT_EQ(found.shape(), expected.shape());
    EXPECT_THAT(found.span(), testing::Pointwise(testing::FloatNear(1e-6F), expected.span()));
  }
}

// The constant that Reshape's attribute becomes has a name that the file does not have.
TEST(OnnxOpsets, WhatIsMadeOfAnAttributeTakesNoNameOfTheFile) {
  const auto file = onnx_file(
      {-1, 4, 5, 3},
      {node("Reshape", {"x"}, "r", {attribute("shape", std::vector<std::int64_t>{-1, 60})}),
       node("Mul", {"r", "r/renewed"}, "y", {attribute("broadcast", std::int64_t{1})})},
      {floats("r/renewed", {60})}, 4);
  EXPECT_EQ(import_onnx(file).output_shape(), (Shape{60}));
}

}  // namespace
}  // namespace octet::test::onnx_opsets_test
