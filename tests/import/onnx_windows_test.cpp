// Resizes, transposed convolutions, flattenings and pools of ONNX files, against their
// definitions in ONNX's order.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/core/ops/activation.h>
#include <octet/core/ops/elementwise.h>
#include <octet/core/ops/shape_ops.h>
#include <octet/core/random.h>
#include <octet/import/onnx/import_onnx.h>
#include <octet/tests/import/onnx_computed.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace octet::test::onnx_windows_test {
namespace {

using namespace onnx_computed;

TEST(OnnxResize, RepeatsPixels) {
  const Tensor x = Tensor::uniform({2, 3, 2, 4}, Random(6), -1.0F, 1.0F);
  // [1, 1, 2, 3] as float32, for scales.
  std::string raw;
  for (const float scale : {1.0F, 1.0F, 2.0F, 3.0F}) {
    raw.append(reinterpret_cast<const char*>(&scale), sizeof(scale));
  }
  const Message scales = tensor("s", 1, {4}).text(9, raw);
  const Message sizes = integers("n", {2, 3, 4, 12});
  const auto resize = [](const std::vector<std::string>& inputs, const char* place,
                         const char* rounds) {
    return node("Resize", inputs, "y",
                {attribute("mode", "nearest"), attribute("nearest_mode", rounds),
                 attribute("coordinate_transformation_mode", place)});
  };
  Tensor expected({2, 3, 4, 12});
  for (Index k = 0; k < expected.size(); ++k) {
    const Index column = k % 12 / 3;
    const Index row = k / 12 % 4 / 2;
    expected.mutable_data()[k] = x.data()[(k / 48 * 2 + row) * 4 + column];
  }
  const std::vector<Bytes> files = {
      onnx_file({2, 3, 2, 4}, {node("Upsample", {"x", "s"}, "y")}, {scales}, 9),
      onnx_file({2, 3, 2, 4}, {node("Resize", {"x", "s"}, "y")}, {scales}, 10),
      onnx_file({2, 3, 2, 4}, {resize({"x", "", "s"}, "half_pixel", "round_prefer_floor")},
                {scales}),
      onnx_file({2, 3, 2, 4}, {resize({"x", "", "", "n"}, "asymmetric", "floor")}, {sizes}, 24)};
  for (std::size_t i = 0; i < files.size(); ++i) {
    expect_same(computed(files[i], x), expected, std::to_string(i));
  }
  for (const auto& [place, rounds] :
       {std::pair("align_corners", "floor"), std::pair("asymmetric", "round_prefer_floor"),
        std::pair("half_pixel", "ceil")}) {
    EXPECT_THROW(
        import_onnx(onnx_file({2, 3, 2, 4}, {resize({"x", "", "s"}, place, rounds)}, {scales})),
        InvalidArgument)
        << place << rounds;
  }
}

/// Element (n, c, y, x) as the sum of all pixels of its channel, each with the weight that falls
/// off to 0 at the next one.
Tensor interpolated(const Tensor& x, Index height, Index width, const std::string& place) {
  Tensor y = Tensor::zeros({x.dim(0), x.dim(1), height, width});
  const auto at = [&](Index o, Index in, Index out) {
    double found = double(o) * double(in) / double(out);
    if (place == "half_pixel") found = (double(o) + 0.5) * double(in) / double(out) - 0.5;
    if (place == "align_corners") found = double(o) * double(in - 1) / double(out - 1);
    return std::clamp(found, 0.0, double(in - 1));
  };
  for (Index k = 0; k < y.size(); ++k) {
    const double row = at(k / width % height, x.dim(2), height);
    const double column = at(k % width, x.dim(3), width);
    for (Index i = 0; i < x.dim(2) * x.dim(3); ++i) {
      const Index of_row = i / x.dim(3);
      const double down = std::max(0.0, 1 - std::abs(row - double(of_row)));
      const double along = std::max(0.0, 1 - std::abs(column - double(i % x.dim(3))));
      const float pixel = x.data()[k / (height * width) * x.dim(2) * x.dim(3) + i];
      y.mutable_data()[k] += static_cast<float>(down * along) * pixel;
    }
  }
  return y;
}

TEST(OnnxResize, InterpolatesBetweenPixels) {
  const Tensor x = Tensor::uniform({2, 3, 2, 4}, Random(6), -1.0F, 1.0F);
  const auto file = [](const std::string& mode, const std::string& place) {
    return onnx_file({2, 3, 2, 4},
                     {node("Resize", {"x", "", "", "n"}, "y",
                           {attribute("mode", mode.c_str()),
                            attribute("coordinate_transformation_mode", place.c_str())})},
                     {integers("n", {2, 3, 5, 3})}, 13);
  };
  for (const std::string place : {"half_pixel", "align_corners", "asymmetric"}) {
    expect_same(computed(file("linear", place), x), interpolated(x, 5, 3, place), place);
  }
  expect_same(computed(file("linear", "pytorch_half_pixel"), x),
              interpolated(x, 5, 3, "half_pixel"), "pytorch_half_pixel");
  EXPECT_THROW(import_onnx(file("linear", "tf_crop_and_resize")), InvalidArgument);
  EXPECT_THROW(import_onnx(file("cubic", "half_pixel")), InvalidArgument);
  EXPECT_THROW(import_onnx(file("nearest", "half_pixel")), InvalidArgument);
}

/// sum over the channels and taps: each input pixel adds its kernel to the result. `filters` are
/// those of a group.
Tensor scattered(const Tensor& x, Index filters, Index stride, Index cut_front, Index size,
                 Index groups, Index dilation) {
  constexpr Index kTaps = 3;
  Tensor result = Tensor::zeros({x.dim(0), filters * groups, size, size});
  for (Index n = 0; n < x.dim(0); ++n) {
    for (Index c = 0; c < x.dim(1); ++c) {
      for (Index k = 0; k < x.dim(2) * x.dim(3) * filters * kTaps * kTaps; ++k) {
        const Index v = k % kTaps;
        const Index u = k / kTaps % kTaps;
        const Index f = k / (kTaps * kTaps) % filters;
        const Index column = k / (kTaps * kTaps * filters) % x.dim(3);
        const Index row = k / (kTaps * kTaps * filters * x.dim(3));
        const Index to_row = row * stride + u * dilation - cut_front;
        const Index to_column = column * stride + v * dilation - cut_front;
        if (to_row < 0 || to_column < 0 || to_row >= size || to_column >= size) continue;
        const Index weight = ((c * filters + f) * kTaps + u) * kTaps + v;
        const Index group = c / (x.dim(1) / groups);
        result.mutable_at({n, group * filters + f, to_row, to_column}) +=
            x.at({n, c, row, column}) * 0.1F * static_cast<float>(weight + 1);
      }
    }
  }
  return result;
}

TEST(OnnxConvTranspose, AddsAKernelForEveryPixel) {
  struct Case {
    std::vector<Message> attributes;
    Index stride;
    Index cut_front;
    Index size;
    Index groups = 1;
    Index dilation = 1;
    Index channels = 3;
  };
  const Message groups = attribute("group", std::int64_t{3});
  const Message strides = attribute("strides", Integers{2, 2});
  const std::vector<Case> cases = {
      {{}, 1, 0, 6},
      {{strides}, 2, 0, 9},
      {{strides, attribute("pads", Integers{1, 1, 1, 1})}, 2, 1, 7},
      {{strides, attribute("pads", Integers{1, 1, 1, 1}),
        attribute("output_padding", Integers{1, 1})},
       2,
       1,
       8},
      {{strides, attribute("auto_pad", "SAME_UPPER")}, 2, 0, 8},
      {{strides, attribute("output_shape", Integers{7, 7})}, 2, 1, 7},
      {{strides, attribute("output_shape", Integers{2, 2, 7, 7}),
        attribute("output_padding", Integers{1, 1})},
       2,
       2,
       7},
      {{attribute("strides", Integers{5, 5})}, 5, 0, 18},
      {{strides, attribute("group", std::int64_t{2})}, 2, 0, 9, 2, 1, 4},
      {{groups, strides}, 2, 0, 9, 3},
      {{attribute("dilations", Integers{2, 2})}, 1, 0, 8, 1, 2},
      {{groups, strides, attribute("dilations", Integers{3, 3})}, 2, 0, 13, 3, 3}};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Case& c = cases[i];
    const Tensor x = Tensor::uniform({2, c.channels, 4, 4}, Random(7), -1.0F, 1.0F);
    const Bytes file =
        onnx_file({-1, c.channels, 4, 4}, {node("ConvTranspose", {"x", "w"}, "y", c.attributes)},
                  {floats("w", {c.channels, 2, 3, 3})});
    const Tensor expected = scattered(x, 2, c.stride, c.cut_front, c.size, c.groups, c.dilation);
    const Tensor found = computed(file, x);
    ASSERT_EQ(found.shape(), expected.shape()) << i;
    EXPECT_THAT(found.span(), testing::Pointwise(testing::FloatNear(1e-3F), expected.span())) << i;
  }
  // Sequences are images of one row.
  const auto of = [](const Integers& input, const Integers& kernel, const Tensor& of_values,
                     const std::vector<Message>& attributes) {
    return import_onnx(onnx_file(input, {node("ConvTranspose", {"x", "w"}, "y", attributes)},
                                 {floats("w", kernel)}))
        .forward(of_values);
  };
  const Tensor row = Tensor::uniform({2, 1, 5, 3}, Random(8), -1.0F, 1.0F);
  const Tensor of_row =
      of({-1, 3, 1, 5}, {3, 2, 1, 3}, row,
         {attribute("strides", Integers{1, 2}), attribute("pads", Integers{0, 1, 0, 0})});
  const Tensor of_steps =
      of({-1, 3, 5}, {3, 2, 3}, row.reshape({2, 5, 3}),
         {attribute("strides", Integers{2}), attribute("pads", Integers{1, 0})});
  expect_same(of_steps, of_row.reshape({2, 10, 2}), "sequences");
  EXPECT_THROW(import_onnx(onnx_file({-1, 3, 4, 4},
                                     {node("ConvTranspose", {"x", "w"}, "y",
                                           {attribute("output_padding", Integers{1, 1})})},
                                     {floats("w", {3, 2, 3, 3})})),
               InvalidArgument);
}

// Flattened images are put back in order where anything but a Dense reads them.
TEST(OnnxFlattening, IsInOrderAsAResultAndForWhatReadsIt) {
  const Tensor x = Tensor::uniform({2, 3, 4, 5}, Random(8), -1.0F, 1.0F);
  const Tensor flat = x.reshape({2, 60});
  const std::vector<Message> front = {images_first(), node("Flatten", {"i"}, "f")};
  const auto file = [&](const Message& last, const std::vector<Message>& tensors = {}) {
    std::vector<Message> nodes = front;
    nodes.push_back(last);
    return onnx_file({-1, 3, 4, 5}, nodes, tensors);
  };
  expect_same(computed(file(node("Relu", {"f"}, "y")), x), relu(flat), "result");
  expect_same(computed(file(node("Slice", {"f", "b", "e", "a"}, "y"),
                            {integers("b", {7}), integers("e", {31}), integers("a", {1})}),
                       x),
              slice(flat, {{0, 2}, {7, 31}}), "Slice");
  expect_same(
      computed(file(node("Concat", {"f", "f"}, "y", {attribute("axis", std::int64_t{1})})), x),
      concatenate({flat, flat}, 1), "Concat");
  expect_same(computed(file(node("Reshape", {"f", "s"}, "y"), {integers("s", {0, 10, 6})}), x),
              flat.reshape({2, 10, 6}), "Reshape");
}

/// sum or maximum over windows of `size` steps behind one another by `stride`, `front` in front of
/// the first step; of sequences [batch, channels, steps].
Tensor pooled(const Tensor& x, Index size, Index stride, Index front, Index windows, bool largest) {
  Tensor result = Tensor::zeros({x.dim(0), x.dim(1), windows});
  for (Index k = 0; k < result.size(); ++k) {
    const float* const row = x.data() + k / windows * x.dim(2);
    float value = largest ? -1e9F : 0.0F;
    for (Index i = 0; i < size; ++i) {
      const Index step = k % windows * stride - front + i;
      const float v = step < 0 || step >= x.dim(2) ? 0.0F : row[step];
      value = largest ? std::max(value, v) : value + v / static_cast<float>(size);
    }
    result.mutable_data()[k] = value;
  }
  return result;
}

// MaxPool1d, AvgPool1d and Conv1d of PyTorch.
TEST(OnnxSequences, ArePooledAndPadded) {
  const Tensor x = Tensor::uniform({2, 3, 8}, Random(14), 0.0F, 1.0F);
  const auto file = [](const std::vector<Message>& nodes,
                       const std::vector<Message>& tensors = {}) {
    return onnx_file({-1, 3, 8}, nodes, tensors);
  };
  /// Reads [batch, steps, channels], gives sequences in that order; vectors as they are.
  const auto computed_of = [&](const Bytes& bytes) {
    const Tensor y = import_onnx(bytes).forward(permute(x, {0, 2, 1}));
    return y.rank() == 3 ? permute(y, {0, 2, 1}) : y;
  };
  const auto pool = [](const char* op, const Integers& size, const Integers& strides,
                       const Integers& pads) {
    return node(op, {"r"}, "y",
                {attribute("kernel_shape", size), attribute("strides", strides),
                 attribute("pads", pads), attribute("count_include_pad", std::int64_t{1})});
  };
  const Message first = node("MaxPool", {"x"}, "m", {attribute("kernel_shape", Integers{1})});
  const Message relu = node("Relu", {"m"}, "r");
  expect_same(computed_of(file({first, relu, pool("MaxPool", {3}, {2}, {0, 0})})),
              pooled(x, 3, 2, 0, 3, true), "MaxPool");
  expect_same(computed_of(file({first, relu, pool("MaxPool", {3}, {3}, {1, 1})})),
              pooled(x, 3, 3, 1, 3, true), "padded MaxPool");
  expect_same(computed_of(file({first, relu, pool("AveragePool", {4}, {2}, {2, 1})})),
              pooled(x, 4, 2, 2, 4, false), "AveragePool");
  const Tensor mean = pooled(x, 8, 1, 0, 1, false).reshape({2, 3});
  const Tensor most = pooled(x, 8, 1, 0, 1, true).reshape({2, 3});
  const Message flat = node("Flatten", {"g"}, "y");
  expect_same(computed_of(file({first, node("GlobalAveragePool", {"m"}, "g"), flat})), mean,
              "mean");
  expect_same(computed_of(file({first, node("GlobalMaxPool", {"m"}, "g"), flat})), most, "most");
  expect_same(computed_of(file({first, node("ReduceMean", {"m"}, "y",
                                            {attribute("axes", Integers{-1}),
                                             attribute("keepdims", std::int64_t{0})})})),
              mean, "ReduceMean");
  // Weights of one: a convolution is the sum of what its window reads.
  const std::vector<Message> ones = {node("ConstantOfShape", {"s"}, "w", {}),
                                     node("Add", {"w", "one"}, "k")};
  struct Case {
    Integers pads;
    const char* last;
  };
  for (const auto& [pads, type] : {Case{{4, 0}, "Conv1D"}, Case{{3, 1}, "Conv1D"}}) {
    const Model model = import_onnx(onnx_file(
        {-1, 1, 8},
        {ones[0], ones[1],
         node("Conv", {"x", "k"}, "y",
              {attribute("pads", pads), attribute("dilations", Integers{2})})},
        {integers("s", {1, 1, 3}), tensor("one", 1, {}).text(9, std::string("\0\0\x80\x3f", 4))}));
    EXPECT_EQ(model.layers().back()->type(), type);
    EXPECT_EQ(model.layers().size(), pads[1] == 0 ? 2U : 3U);
    const Tensor one = slice(x, {{0, 2}, {0, 1}, {0, 8}});
    const Tensor y = model.forward(permute(one, {0, 2, 1}));
    for (Index n = 0; n < 2; ++n) {
      for (Index t = 0; t < 8; ++t) {
        float sum = 0.0F;
        for (Index i = 0; i < 3; ++i) {
          const Index step = t - pads[0] + 2 * i;
          if (step >= 0 && step < 8) sum += one.at({n, 0, step});
        }
        EXPECT_NEAR(y.at({n, t, 0}), sum, 1e-5F) << pads[0] << " " << n << " " << t;
      }
    }
  }
}

TEST(OnnxAxes, MayComeInFrontOfTheBatchAndGo) {
  const Tensor x = Tensor::uniform({2, 3}, Random(16), -1.0F, 1.0F);
  const auto file = [](const std::vector<Message>& nodes) {
    return onnx_file({-1, 3}, nodes, {integers("zero", {0})});
  };
  const Message unsqueeze = node("Unsqueeze", {"x", "zero"}, "u");
  expect_same(computed(file({unsqueeze, node("Squeeze", {"u", "zero"}, "y")}), x), x, "Squeeze");
  // [1, batch, 3] is no result.
  EXPECT_THROW(import_onnx(file({unsqueeze, node("Identity", {"u"}, "y")})), InvalidArgument);
}

TEST(OnnxGather, TakesElementsRowByRow) {
  const Tensor x = Tensor::uniform({2, 6, 4}, Random(9), -1.0F, 1.0F);
  const auto file = [](const Message& indices, std::int64_t axis) {
    return onnx_file({-1, 6, 4}, {node("Gather", {"x", "k"}, "y", {attribute("axis", axis)})},
                     {indices});
  };
  std::string minus_two(8, '\xff');
  minus_two[0] = '\xfe';
  expect_same(computed(file(tensor("k", 7, {}).text(9, minus_two), 1), x),
              slice(x, {{0, 2}, {4, 5}, {0, 4}}).reshape({2, 4}), "one");
  expect_same(computed(file(integers("k", {1, 2}), -1), x), slice(x, {{0, 2}, {0, 6}, {1, 3}}),
              "two");
  expect_same(computed(file(integers("k", {3, -3, 4, 1}), 1), x),
              concatenate({slice(x, {{0, 2}, {3, 4}, {0, 4}}), slice(x, {{0, 2}, {3, 5}, {0, 4}}),
                           slice(x, {{0, 2}, {1, 2}, {0, 4}})},
                          1),
              "in any order");
  const Integers many(17, 2);
  for (const Message& bad : {integers("k", many), integers("k", {6}), integers("k", {-7})}) {
    EXPECT_THROW(import_onnx(file(bad, 1)), InvalidArgument);
  }
}

TEST(OnnxConstants, OfOneNumberMayBeWeights) {
  const std::vector<Message> nodes = {node("ConstantOfShape", {"s"}, "w"),
                                      node("Gemm", {"x", "w"}, "y")};
  const Model model = import_onnx(onnx_file({-1, 1000}, nodes, {integers("s", {1000, 500})}));
  EXPECT_EQ(model.layers().back()->parameters()[0].tensor.size(), 500000);
  EXPECT_THROW(import_onnx(onnx_file({-1, 100000}, nodes, {integers("s", {100000, 1000})})),
               FormatError);
}

TEST(OnnxFlattening, MayHaveAxesOfExtent1InFront) {
  const Tensor x = Tensor::uniform({1, 1, 6}, Random(10), -1.0F, 1.0F);
  for (const std::int64_t axis : {0, 1, 2, -1}) {
    const Bytes file =
        onnx_file({1, 1, 6}, {node("Flatten", {"x"}, "y", {attribute("axis", axis)})});
    expect_same(computed(file, x), x.reshape({1, 6}), std::to_string(axis));
  }
  EXPECT_THROW(import_onnx(onnx_file({-1, 2, 6}, {node("Flatten", {"x"}, "y",
                                                       {attribute("axis", std::int64_t{2})})})),
               InvalidArgument);
}

}  // namespace
}  // namespace octet::test::onnx_windows_test
