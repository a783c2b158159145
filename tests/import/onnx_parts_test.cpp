// Pads, slices and other parts of values of ONNX files, against their definitions in ONNX's order.

#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/core/ops/activation.h>
#include <octet/core/ops/shape_ops.h>
#include <octet/core/random.h>
#include <octet/import/onnx/import_onnx.h>
#include <octet/tests/import/onnx_computed.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace octet::test::onnx_parts_test {
namespace {

using namespace onnx_computed;

TEST(OnnxPad, OfChannelsAndByConcatOfZeros) {
  const Tensor x = Tensor::uniform({2, 3, 2, 4}, Random(11), -1.0F, 1.0F);
  const Tensor channel = Tensor::zeros({2, 1, 2, 4});
  const auto joined = [](const char* front, const char* behind, std::int64_t axis) {
    return node("Concat", {front, behind}, "y", {attribute("axis", axis)});
  };
  const auto file = [&](const Message& last, const Integers& zeros) {
    return onnx_file({-1, 3, 2, 4}, {images_first(), node("ConstantOfShape", {"s"}, "z"), last},
                     {integers("s", zeros)});
  };
  expect_same(computed(file(joined("i", "z", 1), {1, 1, 2, 4}), x), concatenate({x, channel}, 1),
              "behind");
  expect_same(computed(file(joined("z", "i", -3), {1, 1, 2, 4}), x), concatenate({channel, x}, 1),
              "front");
  expect_same(computed(file(joined("z", "i", 2), {1, 3, 1, 4}), x),
              concatenate({Tensor::zeros({2, 3, 1, 4}), x}, 2), "rows");
  expect_same(
      computed(
          file(node("Pad", {"i"}, "y", {attribute("pads", Integers{0, 0, 0, 1, 0, 1, 0, 0})}), {1}),
          x),
      concatenate({concatenate({Tensor::zeros({2, 3, 2, 1}), x}, 3), Tensor::zeros({2, 1, 2, 5})},
                  1),
      "Pad");
  for (const Integers& other : {Integers{1, 1, 2, 3}, Integers{2, 1, 2, 4}, Integers{2, 4}}) {
    EXPECT_THROW(import_onnx(file(joined("i", "z", 1), other)), InvalidArgument);
  }
  EXPECT_THROW(import_onnx(onnx_file({-1, 3, 2, 4}, {images_first(), joined("i", "z", 1)},
                                     {floats("z", {1, 1, 2, 4})})),
               InvalidArgument);
}

/// x with `front` zeros in front of and `behind` behind each axis; pads below 0 cut.
Tensor with_zeros(const Tensor& x, const Integers& front, const Integers& behind) {
  std::vector<Index> extents;
  for (Index i = 0; i < x.rank(); ++i) {
    const auto axis = static_cast<std::size_t>(i);
    extents.push_back(x.dim(i) + front[axis] + behind[axis]);
  }
  Tensor y = Tensor::zeros(Shape(std::move(extents)));
  for (Index k = 0; k < x.size(); ++k) {
    Index rest = k;
    Index place = 0;
    Index step = 1;
    bool inside = true;
    for (Index i = x.rank(); i-- > 0;) {
      const Index at = rest % x.dim(i) + front[static_cast<std::size_t>(i)];
      inside = inside && at >= 0 && at < y.dim(i);
      place += at * step;
      step *= y.dim(i);
      rest /= x.dim(i);
    }
    if (inside) y.mutable_data()[place] = x.data()[k];
  }
  return y;
}

TEST(OnnxPad, OfAnyAxesAndRank) {
  struct Case {
    Shape examples;
    Integers front;
    Integers behind;
    /// Whether the pads are of what an image operator gives: the model has its axes, as those of
    /// sequences, in another order.
    bool moved = false;
  };
  for (const auto& [examples, front, behind, moved] :
       std::vector<Case>{{{4}, {0, 2}, {0, 1}},
                         {{4, 3}, {0, 2, 0}, {0, 1, 0}, true},
                         {{4, 3}, {0, 0, 1}, {0, 1, 2}, true},
                         {{2, 3, 2}, {0, 1, 0, 2}, {0, 0, 1, 0}, true},
                         {{2, 3, 2}, {0, 0, -1, 1}, {0, 0, 0, -1}, true},
                         {{1, 3, 2}, {0, 1, 0, 0}, {0, 1, 0, 0}, true},
                         {{2, 1, 3, 2}, {0, 1, 1, 0, 2}, {0, 0, 0, 1, 0}}}) {
    const Tensor x = Tensor::uniform(examples.with_batch(2), Random(11), -1.0F, 1.0F);
    Integers pads = front;
    pads.insert(pads.end(), behind.begin(), behind.end());
    const bool images = moved && examples.rank() == 3;
    std::vector<Message> nodes;
    if (images) nodes.push_back(images_first());
    nodes.push_back(node("Pad", {images ? "i" : "x", "p"}, "y"));
    Integers input(examples.begin(), examples.end());
    input.insert(input.begin(), -1);
    const Tensor y = import_onnx(onnx_file(input, nodes, {integers("p", pads)}))
                         .forward(images  ? permute(x, {0, 2, 3, 1})
                                  : moved ? permute(x, {0, 2, 1})
                                          : x);
    expect_same(images  ? permute(y, {0, 3, 1, 2})
                : moved ? permute(y, {0, 2, 1})
                        : y,
                with_zeros(x, front, behind), examples.to_string());
  }
  const Message some = node("Pad", {"x", "p", "", "a"}, "y");
  const Tensor x = Tensor::uniform({2, 4}, Random(11), -1.0F, 1.0F);
  expect_same(
      import_onnx(onnx_file({-1, 4}, {some}, {integers("p", {1, 2}), integers("a", {-1})}, 18))
          .forward(x),
      with_zeros(x, {0, 1}, {0, 2}), "axes");
  expect_refused(onnx_file({-1, 4}, {some}, {integers("p", {1, 2}), integers("a", {0})}, 18),
                 "expected no pads of the batch");
  expect_refused(onnx_file({-1, 4}, {some}, {integers("p", {1}), integers("a", {1})}, 18),
                 "expected two pads for each of 1 axes, found 1");
}

TEST(OnnxResults, OfMoreThanThreeAxesHaveTheOrderOfTheFile) {
  const Tensor x = Tensor::uniform({2, 2, 3, 4, 5}, Random(12), -1.0F, 1.0F);
  const Message turned =
      node("Transpose", {"x"}, "y", {attribute("perm", Integers{0, 4, 1, 3, 2})});
  expect_same(import_onnx(onnx_file({-1, 2, 3, 4, 5}, {turned}, {})).forward(x),
              permute(x, {0, 4, 1, 3, 2}), "Transpose");
  const Message along = node("Softmax", {"x"}, "y", {attribute("axis", std::int64_t{2})});
  expect_same(import_onnx(onnx_file({-1, 2, 3, 4, 5}, {along}, {})).forward(x),
              permute(softmax(permute(x, {0, 1, 3, 4, 2})), {0, 1, 4, 2, 3}), "Softmax");
}

TEST(OnnxSlice, LeavesTheBatchAsItIs) {
  const auto file = [](const Integers& starts, const Integers& ends, const Integers& steps) {
    return onnx_file(
        {4, 6}, {node("Slice", {"x", "b", "e", "a", "s"}, "y")},
        {integers("b", starts), integers("e", ends), integers("a", {0}), integers("s", steps)});
  };
  constexpr std::int64_t kEnd = INT64_MAX;
  const Tensor x = Tensor::uniform({4, 6}, Random(13), -1.0F, 1.0F);
  expect_same(import_onnx(file({0}, {kEnd}, {1})).forward(x), x, "whole");
  expect_refused(file({0}, {kEnd}, {2}), "expected an axis of examples, found 0");
  expect_refused(file({1}, {kEnd}, {1}), "expected an axis of examples, found 0");
}

TEST(OnnxGather, DoesNotTakeTheBatchForFeatures) {
  const std::vector<Message> nodes = {
      images_first(), node("Flatten", {"i"}, "f"),
      node("Transpose", {"f"}, "t", {attribute("perm", Integers{1, 0})}),
      node("Gather", {"t", "n"}, "y", {attribute("axis", std::int64_t{1})})};
  expect_refused(onnx_file({3, 2, 3, 4}, nodes, {integers("n", {0, 1, 2})}),
                 "expected an axis of examples, found 1");
}

TEST(OnnxSimplified, ValuesGetNamesThatTheFileDoesNotHave) {
  // A constant "m/count" of the file is no number of operands.
  const Tensor x = Tensor::uniform({2, 4}, Random(14), -1.0F, 1.0F);
  const Tensor y = import_onnx(onnx_file({-1, 4},
                                         {node("Relu", {"x"}, "r"), node("Mean", {"r", "x"}, "m"),
                                          node("Mul", {"m", "m/count"}, "y")},
                                         {real("m/count", 5.0F)}))
                       .forward(x);
  for (Index i = 0; i < x.size(); ++i) {
    const float value = x.data()[i];
    EXPECT_NEAR(y.data()[i], 5.0F * (std::max(value, 0.0F) + value) / 2.0F, 1e-6F);
  }
}

TEST(OnnxShapes, AreComputedInFloatsToo) {
  // The sizes of a Resize: both sides of images twice as large.
  const std::vector<Message> nodes = {
      node("Shape", {"x"}, "all"),
      node("Slice", {"all", "two", "four"}, "sides"),
      node("Cast", {"sides"}, "floats", {attribute("to", std::int64_t{1})}),
      node("Mul", {"floats", "by"}, "larger"),
      node("Cast", {"larger"}, "whole", {attribute("to", std::int64_t{7})}),
      node("Slice", {"all", "zero", "two"}, "front"),
      node("Concat", {"front", "whole"}, "sizes", {attribute("axis", std::int64_t{0})}),
      node("Resize", {"x", "", "", "sizes"}, "y",
           {attribute("mode", "nearest"), attribute("nearest_mode", "floor"),
            attribute("coordinate_transformation_mode", "asymmetric")})};
  const Model model = import_onnx(onnx_file(
      {-1, 3, 2, 4}, nodes,
      {integers("zero", {0}), integers("two", {2}), integers("four", {4}), real("by", 2.0F)}));
  EXPECT_EQ(model.output_shape(), (Shape{4, 8, 3}));
}

TEST(OnnxLayers, OfMoreLayersThanAModelHasIsRefused) {
  std::vector<Message> nodes;
  std::string last = "x";
  for (int i = 0; i < 5001; ++i) {
    const std::string next = i == 5000 ? "y" : "t" + std::to_string(i);
    nodes.push_back(node("Abs", {last}, next));
    last = next;
  }
  expect_refused(onnx_file({-1, 2}, nodes), "more than the 10000 layers");
}

}  // namespace
}  // namespace octet::test::onnx_parts_test
