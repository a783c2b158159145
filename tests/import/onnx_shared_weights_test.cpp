// Nodes that read the same initializers are uses of one layer.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <octet/core/random.h>
#include <octet/import/onnx/import_onnx.h>
#include <octet/layers/lower.h>
#include <octet/tests/import/onnx_file.h>
#include <octet/tests/layers/layer_testing.h>

#include <algorithm>

namespace octet::test::onnx_shared_weights_test {
namespace {

Message conv(const std::string& input, const std::string& output, const std::string& kernel,
             std::int64_t stride = 1) {
  return node("Conv", {input, kernel, "head.bias"}, output,
              {attribute("pads", std::vector<std::int64_t>{1, 1, 1, 1}),
               attribute("strides", std::vector<std::int64_t>{stride, stride})});
}

/// Two convolutions in a row, of which the second reads the kernel `second`, and a mean over the
/// image.
Model two_convolutions(const std::string& second, std::int64_t stride = 1) {
  return import_onnx(onnx_file({-1, 2, 4, 4},
                               {conv("x", "a", "head.weight"), conv("a", "b", second, stride),
                                node("GlobalAveragePool", {"b"}, "p"), node("Flatten", {"p"}, "y")},
                               {floats("head.weight", {2, 2, 3, 3}), floats("other", {2, 2, 3, 3}),
                                floats("head.bias", {2})}));
}

TEST(OnnxSharedWeights, AreTheParametersOfOneLayer) {
  const Model shared = two_convolutions("head.weight");
  const Model apart = two_convolutions("other");
  EXPECT_EQ(names_of(shared.parameters()), (std::vector<std::string>{"head/kernel", "head/bias"}));
  EXPECT_EQ(apart.parameters().size(), 4U);
  const Tensor x = Tensor::uniform({2, 4, 4, 2}, Random(3), -1.0F, 1.0F);
  EXPECT_THAT(shared.forward(x).span(), testing::ElementsAreArray(apart.forward(x).span()));
  const IntegerModel file = lower_float(shared);
  EXPECT_EQ(std::ranges::count(file.tensors, "head/kernel", &ModelTensor::name), 1);
}

TEST(OnnxSharedWeights, OfLayersThatComputeSomethingElseAreNot) {
  // The second slides by other steps.
  EXPECT_EQ(two_convolutions("head.weight", 2).parameters().size(), 4U);
}

}  // namespace
}  // namespace octet::test::onnx_shared_weights_test
