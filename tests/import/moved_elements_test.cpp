// Slices, splits and transpositions of ONNX and .tflite files are the layers Slice and Permute.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/core/ops/shape_ops.h>
#include <octet/core/random.h>
#include <octet/import/onnx/import_onnx.h>
#include <octet/import/tflite/import_tflite.h>
#include <octet/layers/layers.h>
#include <octet/layers/lower.h>
#include <octet/layers/model.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/import/onnx_file.h>
#include <octet/tests/layers/layer_testing.h>
#include <octet/tests/runtime/moving_models.h>

#include <limits>

namespace octet::test::moved_elements_test {
namespace {

using Integers = std::vector<std::int64_t>;
using Bytes = std::vector<std::uint8_t>;

Message split(const Message& first, const std::vector<std::string>& others) {
  Message all = first;
  for (const std::string& name : others) all.text(2, name);
  return all;
}

TEST(OnnxSplit, OfSizesOfAnAttributeAnInputOrNone) {
  const Message axis = attribute("axis", std::int64_t{-1});
  const std::vector<Message> rest = {
      node("Concat", {"c", "a", "b"}, "y", {attribute("axis", std::int64_t{1})})};
  const auto file = [&](const Message& first, const std::vector<Message>& tensors, int opset) {
    std::vector<Message> nodes = {split(first, {"b", "c"})};
    nodes.insert(nodes.end(), rest.begin(), rest.end());
    return onnx_file({-1, 6}, nodes, tensors, opset);
  };
  const Tensor x = Tensor::arange(6).reshape({1, 6});
  for (const Bytes& unequal :
       {file(node("Split", {"x"}, "a", {axis, attribute("split", Integers{1, 2, 3})}), {}, 11),
        file(node("Split", {"x", "s"}, "a", {axis}), {integers("s", {1, 2, 3})}, 13)}) {
    expect_tensor(import_onnx(unequal).forward(x), {1, 6}, {3, 4, 5, 0, 1, 2});
  }
  for (const Bytes& equal :
       {file(node("Split", {"x"}, "a", {axis}), {}, 13),
        file(node("Split", {"x"}, "a", {axis, attribute("num_outputs", std::int64_t{3})}), {},
             18)}) {
    const Model model = import_onnx(equal);
    expect_tensor(model.forward(x), {1, 6}, {4, 5, 0, 1, 2, 3});
    EXPECT_EQ(lower_float(model).operators[0].code, OpCode::split);
  }
}

TEST(OnnxSplit, LeavesOutPartsThatNothingReads) {
  const Message axis = attribute("axis", std::int64_t{1});
  const Model model = import_onnx(onnx_file(
      {-1, 6}, {split(node("Split", {"x"}, "a", {axis}), {"b", "c"}), node("Relu", {"b"}, "y")}));
  expect_tensor(model.forward(Tensor::arange(6).reshape({1, 6})), {1, 2}, {2, 3});
}

TEST(OnnxSlice, OfChannelsOfImagesByAttributesOrInputs) {
  const Message pool = node("MaxPool", {"x"}, "p", {attribute("kernel_shape", Integers{1, 1})});
  constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
  const Tensor x = Tensor::arange(12).reshape({1, 2, 2, 3});
  for (const Bytes& file :
       {onnx_file({-1, 3, 2, 2},
                  {pool, node("Slice", {"p"}, "y",
                              {attribute("starts", Integers{0, -2}),
                               attribute("ends", Integers{kEnd, 3})})},
                  {}, 9),
        onnx_file({-1, 3, 2, 2}, {pool, node("Slice", {"p", "s", "e", "a", "k"}, "y")},
                  {integers("s", {1}), integers("e", {kEnd}), integers("a", {-3}),
                   integers("k", {1})})}) {
    expect_tensor(import_onnx(file).forward(x), {1, 2, 2, 2}, {1, 2, 4, 5, 7, 8, 10, 11});
  }
}

TEST(OnnxSlice, OfSeveralAxes) {
  const Model model = import_onnx(
      onnx_file({-1, 3, 4}, {node("Slice", {"x", "s", "e", "a"}, "y")},
                {integers("s", {1, 0}), integers("e", {3, -1}), integers("a", {1, 2})}));
  const Tensor x = Tensor::arange(12).reshape({1, 3, 4});
  expect_tensor(model.forward(x), {1, 2, 3}, {4, 5, 6, 8, 9, 10});
}

/// [.., 2] times [[0.1, 0.2], [0.3, 0.4]].
Tensor times_weights(const Tensor& x) {
  Tensor y(x.shape());
  for (Index i = 0; i < x.size() / 2; ++i) {
    const float* row = x.data() + 2 * i;
    y.mutable_data()[2 * i] = row[0] * 0.1F + row[1] * 0.3F;
    y.mutable_data()[2 * i + 1] = row[0] * 0.2F + row[1] * 0.4F;
  }
  return y;
}

void expect_near(const Tensor& found, const Tensor& expected) {
  ASSERT_EQ(found.shape(), expected.shape());
  EXPECT_THAT(found.span(), testing::Pointwise(testing::FloatNear(1e-5F), expected.span()));
}

const Message kWeights = floats("w", {2, 2});

TEST(OnnxTranspose, IsAPermuteWhereALayerReadsElementsInAnotherOrder) {
  const Model model = import_onnx(onnx_file(
      {-1, 2, 5},
      {node("Relu", {"x"}, "r"), node("Transpose", {"r"}, "t", {attribute("perm", {0, 2, 1})}),
       node("MatMul", {"t", "w"}, "y")},
      {kWeights}));
  const Tensor x = Tensor::uniform({3, 2, 5}, Random(1), 0.0F, 1.0F);
  expect_near(model.forward(x), times_weights(permute(x, {0, 2, 1})));
}

TEST(OnnxTranspose, OfPixelsToRowsIsThatOfTheModelsImages) {
  const Model model = import_onnx(
      onnx_file({-1, 2, 2, 3},
                {node("MaxPool", {"x"}, "p", {attribute("kernel_shape", Integers{1, 1})}),
                 node("Reshape", {"p", "s"}, "r"),
                 node("Transpose", {"r"}, "t", {attribute("perm", {0, 2, 1})}),
                 node("MatMul", {"t", "w"}, "y")},
                {kWeights, integers("s", {0, 2, -1})}));
  const Tensor images = Tensor::uniform({3, 2, 3, 2}, Random(1), -1.0F, 1.0F);
  expect_near(model.forward(images), times_weights(images.reshape({3, 6, 2})));
}

TEST(OnnxTranspose, OfImagesIsAPermuteOfThem) {
  const Model model = import_onnx(onnx_file(
      {-1, 2, 2, 3}, {node("MaxPool", {"x"}, "p", {attribute("kernel_shape", Integers{1, 1})}),
                      node("Transpose", {"p"}, "t", {attribute("perm", {0, 1, 3, 2})}),
                      node("MaxPool", {"t"}, "y", {attribute("kernel_shape", Integers{1, 2})})}));
  const Tensor x = Tensor::arange(12).reshape({1, 2, 3, 2});
  // The larger of the two rows, for each column and channel.
  expect_tensor(model.forward(x), {1, 3, 1, 2}, {6, 7, 8, 9, 10, 11});
}

TEST(TfliteImport, OfRandomSlicesComputesThemOrSaysThatTheyGoBackwards) {
  Draw draw(1);
  for (int i = 0; i < 200; ++i) {
    Slicing s = draw_slicing(draw, 4);
    if (i % 4 != 0) std::ranges::fill(s.strides, 1);
    s.dtype = DType::float32;
    s.params = {{}, {}, 0, 0, 0};
    const IntegerModel source = batched_slice_model(s);
    if (std::ranges::any_of(s.strides, [](std::int32_t step) { return step < 0; })) {
      expect_throws<FormatError>([&] { import_float_model(source); }, {"backwards"});
      continue;
    }
    const Model imported = import_float_model(source);
    const Tensor x = random_tensor(imported.input_shape().with_batch(1), 1);
    const std::vector<float> expected = naive_slice(s, values_of(x));
    EXPECT_THAT(imported.forward(x).span(), testing::ElementsAreArray(expected)) << i;
  }
}

TEST(TfliteImport, OfLayersThatMoveElementsComputesTheSame) {
  Model model("m");
  const Value x = model.input({4, 6}, "x");
  const std::vector<Value> parts = model.split(x, 3, -1, "part");
  const Value turned = model.add(Permute({2, 1}, "turned"), parts[2]);
  const Value some = model.add(Slice({.axis = 1, .begin = 1, .size = 2, .name = "some"}), turned);
  model.output(some);
  model.output(model.add(Add(), {parts[0], parts[1]}));
  model.build();
  const Model imported = import_float_model(lower_float(model));
  EXPECT_EQ(imported.layer("part_1").type(), "Slice");
  EXPECT_EQ(imported.layer("turned").type(), "Permute");
  const Tensor input = random_tensor({3, 4, 6}, 1);
  const std::vector<Tensor> expected = model.forward_all({&input, 1});
  const std::vector<Tensor> found = imported.forward_all({&input, 1});
  for (std::size_t i = 0; i < 2; ++i) {
    expect_tensor(found[i], expected[i].shape(), values_of(expected[i]));
  }
}

}  // namespace
}  // namespace octet::test::moved_elements_test
