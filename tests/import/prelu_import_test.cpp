// PRELU of .tflite files and PRelu of ONNX files are the layer PReLU.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/core/random.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/import/onnx/import_onnx.h>
#include <octet/import/tflite/import_tflite.h>
#include <octet/layers/layers.h>
#include <octet/layers/lower.h>
#include <octet/tests/import/onnx_file.h>
#include <octet/tests/layers/layer_testing.h>
#include <octet/tests/train/data/idx_files.h>

namespace octet::test::prelu_import_test {
namespace {

TEST(PReluImport, OfTfliteComputesTheSame) {
  Sequential model("m", Input({3, 4, 2}), Conv2D(5, {2, 2}), PReLU(), Flatten(), Dense(3), PReLU());
  model.build(/*seed=*/1);
  for (auto& [name, tensor] : model.parameters()) {
    if (!name.ends_with("alpha")) continue;
    for (std::size_t i = 0; i < tensor.span().size(); ++i) {
      tensor.mutable_span()[i] = 0.5F - 0.3F * static_cast<float>(i);
    }
  }
  const ScratchDirectory scratch;
  write_tflite(lower_float(model), scratch.path() / "a.tflite");
  const Model imported = import_tflite(scratch.path() / "a.tflite");
  const Tensor x = Tensor::uniform({4, 3, 4, 2}, Random(2), -1.0F, 1.0F);
  EXPECT_THAT(imported.forward(x).span(), testing::ElementsAreArray(model.forward(x).span()));
}

Model onnx_with(const Message& slope) {
  return import_onnx(onnx_file({-1, 2, 3, 3},
                               {node("PRelu", {"x", "slope"}, "a"),
                                node("GlobalAveragePool", {"a"}, "p"), node("Flatten", {"p"}, "y")},
                               {slope}));
}

TEST(PReluImport, OfOnnxHasASlopeForEachChannelOrOne) {
  // Two channels of -1, of slopes 0.1 and 0.2.
  const Tensor x = Tensor::full({1, 3, 3, 2}, -1.0F);
  EXPECT_THAT(onnx_with(floats("slope", {2, 1, 1})).forward(x).span(),
              testing::Pointwise(testing::FloatEq(), {-0.1F, -0.2F}));
  EXPECT_THAT(onnx_with(floats("slope", {1})).forward(x).span(),
              testing::Pointwise(testing::FloatEq(), {-0.1F, -0.1F}));
  EXPECT_THROW(onnx_with(floats("slope", {4})), InvalidArgument);
  EXPECT_THROW(onnx_with(floats("slope", {2, 3, 3})), InvalidArgument);
}

}  // namespace
}  // namespace octet::test::prelu_import_test
