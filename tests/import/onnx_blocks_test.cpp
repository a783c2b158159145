// DepthToSpace, SpaceToDepth, and what opsets before 7 say in other words.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/core/random.h>
#include <octet/import/onnx/import_onnx.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/import/onnx_file.h>

#include <functional>

namespace octet::test::onnx_blocks_test {
namespace {

/// Where channel c of pixel (y, x) of the result comes from.
struct Place {
  Index y;
  Index x;
  Index c;
};

struct Blocks {
  const char* op;
  std::vector<Message> attributes;
  /// The extents of images, in the order of ONNX with the batch in front.
  std::vector<std::int64_t> from;
  Shape to;
  std::function<Place(const Place&)> place;
};

std::vector<Blocks> blocks() {
  const Message size = attribute("blocksize", std::int64_t{2});
  return {{"DepthToSpace",
           {size},
           {-1, 12, 2, 3},
           {4, 6, 3},
           [](const Place& p) {
             return Place{p.y / 2, p.x / 2, (p.y % 2 * 2 + p.x % 2) * 3 + p.c};
           }},
          {"DepthToSpace",
           {size, attribute("mode", "CRD")},
           {-1, 12, 2, 3},
           {4, 6, 3},
           [](const Place& p) {
             return Place{p.y / 2, p.x / 2, p.c * 4 + p.y % 2 * 2 + p.x % 2};
           }},
          {"SpaceToDepth", {size}, {-1, 3, 4, 6}, {2, 3, 12}, [](const Place& p) {
             return Place{2 * p.y + p.c / 3 / 2, 2 * p.x + p.c / 3 % 2, p.c % 3};
           }}};
}

TEST(OnnxBlocks, MoveBetweenChannelsAndPixels) {
  for (const Blocks& row : blocks()) {
    SCOPED_TRACE(row.op);
    const Model model =
        import_onnx(onnx_file(row.from, {node(row.op, {"x"}, "y", row.attributes)}));
    ASSERT_EQ(model.output_shape(), row.to);
    const Shape from{row.from[2], row.from[3], row.from[1]};
    const Tensor x = Tensor::uniform(from.with_batch(2), Random(1));
    const Tensor y = model.forward(x);
    for (Index n = 0; n < 2; ++n) {
      for (Index i = 0; i < row.to.size(); ++i) {
        const Place to{i / row.to[2] / row.to[1], i / row.to[2] % row.to[1], i % row.to[2]};
        const Place at = row.place(to);
        ASSERT_EQ(y.at({n, to.y, to.x, to.c}), x.at({n, at.y, at.x, at.c})) << i;
      }
    }
  }
}

TEST(OnnxBlocks, AreWhole) {
  const Message size = attribute("blocksize", std::int64_t{2});
  const std::vector<std::pair<Message, const char*>> faults = {
      {node("DepthToSpace", {"x"}, "y", {size}), "whole blocks, found [batch, 6, 3, 4]"},
      {node("SpaceToDepth", {"x"}, "y", {size}), "a blocksize of 2"},
      {node("DepthToSpace", {"x"}, "y"), "a blocksize of 0"},
      {node("DepthToSpace", {"x"}, "y",
            {attribute("blocksize", std::int64_t{1}), attribute("mode", "DRC")}),
       "expected mode DCR or CRD, found DRC"}};
  for (const auto& [of, says] : faults) {
    const auto file = onnx_file({-1, 6, 3, 4}, {of});
    expect_throws<InvalidArgument>([&] { import_onnx(file); }, {says});
  }
}

const std::vector<std::int64_t> kImages = {-1, 2, 3, 3};

/// A convolution, a bias for each filter, and all of it as a vector.
std::vector<std::uint8_t> network(std::int64_t opset) {
  const Message conv = node("Conv", {"x", "w"}, "c");
  const auto tensors = [&](const std::vector<std::int64_t>& bias) {
    return std::vector<Message>{floats("w", {4, 2, 3, 3}), floats("b", bias)};
  };
  if (opset >= 7) {
    std::vector<Message> given = tensors({4, 1, 1});
    given.push_back(integers("s", {-1, 4}));
    return onnx_file(kImages,
                     {conv, node("Add", {"c", "b"}, "a"), node("Reshape", {"a", "s"}, "y")}, given,
                     opset);
  }
  return onnx_file(
      kImages,
      {conv,
       node("Add", {"c", "b"}, "a",
            {attribute("broadcast", std::int64_t{1}), attribute("axis", std::int64_t{1})}),
       node("Reshape", {"a"}, "y", {attribute("shape", std::vector<std::int64_t>{-1, 4})})},
      tensors({4}), opset);
}

/// Opset 0: a file of IR version 1, which states none.
TEST(OnnxOldOpsets, SayTheSameInOtherWords) {
  const Tensor x = Tensor::uniform({2, 3, 3, 2}, Random(1));
  const Tensor expected = import_onnx(network(7)).forward(x);
  for (const std::int64_t opset : {0, 1, 4, 6}) {
    const Tensor found = import_onnx(network(opset)).forward(x);
    EXPECT_THAT(found.span(), testing::ElementsAreArray(expected.span())) << opset;
  }
}

TEST(OnnxOldOpsets, OperatorsThatHaveChangedAreRefused) {
  const auto file = onnx_file({-1, 4}, {node("Gemm", {"x", "w"}, "y")}, {floats("w", {4, 2})}, 6);
  expect_throws<InvalidArgument>(
      [&] { import_onnx(file); },
      {"node \"node y\" (Gemm)", "opset 6 has it in another way than opset 7"});
}

}  // namespace
}  // namespace octet::test::onnx_blocks_test
