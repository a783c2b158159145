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
      result.at({i, c}) = static_cast<float>(sum / static_cast<double>(pixels));
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

}  // namespace
}  // namespace octet::test::onnx_opsets_test
