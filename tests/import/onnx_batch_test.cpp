// Values of ONNX files whose batch is not in front, or is one axis with another.

#include <octet/core/error.h>
#include <octet/core/random.h>
#include <octet/tests/import/onnx_computed.h>

#include <string>
#include <vector>

namespace octet::test::onnx_batch_test {
namespace {

using namespace onnx_computed;

using Nodes = std::vector<Message>;

constexpr Index kSteps = 3;
constexpr Index kFeatures = 4;

Message transposed(const std::string& from, const std::string& to, const Integers& perm) {
  return node("Transpose", {from}, to, {attribute("perm", perm)});
}

Message axis(std::int64_t value) { return attribute("axis", value); }

Bytes file_of(const Nodes& nodes, std::int64_t batch) {
  return onnx_file(
      {batch, kSteps, kFeatures}, nodes,
      {floats("row", {kFeatures}), floats("number", {}), floats("weights", {kFeatures, kFeatures}),
       integers("0", {0}), integers("1", {1}), integers("2", {2}), integers("3", {3}),
       integers("4", {4}), integers("-1", {-1}), integers("rows", {-1, kFeatures}),
       integers("in front", {-1, kSteps, kFeatures}), integers("behind", {kSteps, -1, kFeatures}),
       integers("heads", {-1, kSteps, 2, 2}), integers("mixed", {2, 0, 6}),
       integers("halves", {3, 8})});
}

Tensor forward(const Nodes& nodes, std::int64_t batch = -1) {
  const Index examples = batch < 0 ? 3 : batch;
  const Tensor x = Tensor::uniform({examples, kSteps, kFeatures}, Random(1), 0.1F, 1.0F);
  return import_onnx(file_of(nodes, batch)).forward(x);
}

/// [steps, batch, features], as PyTorch's recurrent and attention layers have sequences.
TEST(OnnxBatch, IsReadBehindTheSteps) {
  struct Row {
    const char* name;
    /// Makes "b" of "a", which is [batch, steps, features], and [steps, batch, features].
    Message in_front;
    Message behind;
  };
  const auto same = [](const char* name, const Message& message) {
    return Row{name, message, message};
  };
  const auto mean = [](std::int64_t over) {
    return node("ReduceMean", {"a"}, "b", {attribute("axes", Integers{over})});
  };
  const std::vector<Row> rows = {
      same("Relu", node("Relu", {"a"}, "b")),
      same("Softmax", node("Softmax", {"a"}, "b", {axis(-1)})),
      same("LayerNormalization", node("LayerNormalization", {"a", "row"}, "b")),
      same("Mul by features", node("Mul", {"a", "row"}, "b")),
      same("Max", node("Max", {"a", "number"}, "b")),
      same("Clip", node("Clip", {"a", "number"}, "b")),
      same("Mul", node("Mul", {"a", "a"}, "b")),
      same("MatMul", node("MatMul", {"a", "weights"}, "b")),
      {"Softmax of steps", node("Softmax", {"a"}, "b", {axis(1)}),
       node("Softmax", {"a"}, "b", {axis(0)})},
      {"Concat", node("Concat", {"a", "a"}, "b", {axis(1)}),
       node("Concat", {"a", "a"}, "b", {axis(0)})},
      {"Slice", node("Slice", {"a", "0", "2", "1"}, "b"), node("Slice", {"a", "0", "2", "0"}, "b")},
      {"ReduceMean", mean(1), mean(0)}};
  for (const Row& row : rows) {
    const Tensor expected =
        forward({node("Abs", {"x"}, "a"), row.in_front, node("Abs", {"b"}, "y")});
    const Tensor found = forward({transposed("x", "a", {1, 0, 2}), row.behind,
                                  node("Abs", {"b"}, "c"), transposed("c", "y", {1, 0, 2})});
    expect_same(found, expected, row.name);
  }
}

TEST(OnnxBatch, IsInFrontAgainWhereTheStepsAreReduced) {
  const auto mean = [](const std::string& from, std::int64_t over) {
    return node("ReduceMean", {from}, "y",
                {attribute("axes", Integers{over}), attribute("keepdims", std::int64_t{0})});
  };
  expect_same(forward({transposed("x", "a", {1, 0, 2}), mean("a", 0)}), forward({mean("x", 1)}),
              "mean");
}

/// Rows of all steps of all examples, in either order: what comes of each is as of a step.
TEST(OnnxBatch, IsOneAxisWithTheSteps) {
  const Nodes rows = {node("Gemm", {"a", "weights"}, "b"), node("Tanh", {"b"}, "c"),
                      node("Mul", {"c", "row"}, "d")};
  const auto around = [&](Nodes nodes, const Nodes& behind) {
    nodes.insert(nodes.end(), rows.begin(), rows.end());
    nodes.insert(nodes.end(), behind.begin(), behind.end());
    return nodes;
  };
  const Nodes in_front =
      around({node("Reshape", {"x", "rows"}, "a")}, {node("Reshape", {"d", "in front"}, "y")});
  const Nodes behind =
      around({transposed("x", "t", {1, 0, 2}), node("Reshape", {"t", "rows"}, "a")},
             {node("Reshape", {"d", "behind"}, "u"), transposed("u", "y", {1, 0, 2})});
  for (const std::int64_t batch : {-1, 1, 2}) {
    const Tensor expected = forward({node("MatMul", {"x", "weights"}, "a"),
                                     node("Tanh", {"a"}, "b"), node("Mul", {"b", "row"}, "y")},
                                    batch);
    expect_same(forward(in_front, batch), expected, "in front");
    expect_same(forward(behind, batch), expected, "behind");
  }
}

/// Attention as PyTorch 2 exports it: heads are joined with the batch and parted from it by shapes
/// that the file computes, and so is the scale.
TEST(OnnxBatch, IsOneAxisWithTheHeadsOfAttention) {
  const Nodes plain = {
      node("Reshape", {"x", "heads"}, "h"),    transposed("h", "q", {0, 2, 1, 3}),
      transposed("h", "k", {0, 2, 3, 1}),      node("MatMul", {"q", "k"}, "s"),
      node("Mul", {"s", "scale"}, "t"),        node("Softmax", {"t"}, "p", {axis(-1)}),
      node("MatMul", {"p", "q"}, "c"),         transposed("c", "d", {0, 2, 1, 3}),
      node("Reshape", {"d", "in front"}, "e"), node("MatMul", {"e", "weights"}, "y")};
  const auto scaled = [&] {
    Nodes nodes = plain;
    // 1 / sqrt(2), the width of a head.
    nodes.insert(nodes.begin(), {node("Cast", {"2"}, "two", {attribute("to", std::int64_t{1})}),
                                 node("Sqrt", {"two"}, "root"), node("Div", {"two", "two"}, "one"),
                                 node("Div", {"one", "root"}, "scale")});
    return nodes;
  };
  const Nodes exported = {transposed("x", "t", {1, 0, 2}),
                          node("Shape", {"t"}, "shape"),
                          node("Gather", {"shape", "1"}, "n"),
                          node("Mul", {"n", "2"}, "all heads"),
                          node("Concat", {"3", "all heads", "2"}, "joined", {axis(0)}),
                          node("Reshape", {"t", "joined"}, "j"),
                          transposed("j", "h", {1, 0, 2}),
                          node("Shape", {"h"}, "shape of heads"),
                          node("Gather", {"shape of heads", "0"}, "heads of all"),
                          node("Div", {"heads of all", "2"}, "examples"),
                          node("Concat", {"examples", "2", "3", "2"}, "parted", {axis(0)}),
                          node("Reshape", {"h", "parted"}, "q"),
                          node("Shape", {"q"}, "shape of q"),
                          node("Slice", {"shape of q", "3", "4"}, "width"),
                          node("Cast", {"width"}, "real width", {attribute("to", std::int64_t{1})}),
                          node("Sqrt", {"real width"}, "root"),
                          node("Div", {"real width", "real width"}, "one"),
                          node("Div", {"one", "root"}, "scale"),
                          node("Sqrt", {"scale"}, "root of scale"),
                          transposed("q", "k", {0, 1, 3, 2}),
                          node("Mul", {"q", "root of scale"}, "scaled q"),
                          node("Mul", {"k", "root of scale"}, "scaled k"),
                          node("MatMul", {"scaled q", "scaled k"}, "s"),
                          node("Softmax", {"s"}, "p", {axis(-1)}),
                          node("MatMul", {"p", "q"}, "c"),
                          transposed("c", "d", {2, 0, 1, 3}),
                          node("Mul", {"n", "3"}, "all steps"),
                          node("Concat", {"all steps", "4"}, "rows of all", {axis(0)}),
                          node("Reshape", {"d", "rows of all"}, "e"),
                          node("Gemm", {"e", "weights"}, "f"),
                          node("Concat", {"3", "n", "4"}, "sequences", {axis(0)}),
                          node("Reshape", {"f", "sequences"}, "g"),
                          transposed("g", "y", {1, 0, 2})};
  for (const std::int64_t batch : {-1, 1, 2}) {
    expect_same(forward(exported, batch), forward(scaled(), batch), "attention");
  }
}

TEST(OnnxBatch, RefusesWhatWouldMixExamples) {
  struct Row {
    Nodes nodes;
    const char* says;
    std::int64_t batch = -1;
  };
  const Message steps_first = transposed("x", "t", {1, 0, 2});
  const Message joined = node("Reshape", {"x", "rows"}, "a");
  const Message shape = node("Shape", {"a"}, "s");
  const Message count = node("Gather", {"s", "0"}, "n");
  const std::vector<Row> rows = {
      {{steps_first, node("Reshape", {"t", "mixed"}, "y")},
       "keeps examples apart, found [3, batch, 4] to become [2, 0, 6]"},
      {{node("Reshape", {"x", "halves"}, "y")}, "[batch, 3, 4] to become [3, 8]", 2},
      {{node("Reshape", {"x", "halves"}, "y")}, "[batch, 3, 4] cannot become [3, 8]"},
      {{node("Reshape", {"x", "2"}, "y")}, "nothing but the batch"},
      {{node("Reshape", {"x", "rows"}, "y")}, "stay in front, found [3 * batch, 4]"},
      {{joined, node("Slice", {"a", "0", "2", "1"}, "y")},
       "the batch as an axis of its own, found [3 * batch, 4]"},
      {{joined, node("Softmax", {"a"}, "y", {axis(0)})},
       "expected an axis of examples, found 0 of [3 * batch, 4]"},
      {{joined, node("MatMul", {"a", "a"}, "y")}, "expected matrices [batch, .., n, k]"},
      {{joined, node("Add", {"a", "x"}, "y")}, "[3 * batch, 4] and [batch, 3, 4]"},
      {{joined, transposed("a", "b", {1, 0}), node("Gemm", {"b", "weights"}, "y")},
       "expected an axis of examples, found 1 of [4, 3 * batch]"},
      {{joined, shape, count, node("Mul", {"n", "n"}, "m"), node("Reshape", {"x", "m"}, "y")},
       "computes with the number of examples"},
      {{joined, shape, count, node("Div", {"n", "2"}, "m"), node("Reshape", {"x", "m"}, "y")},
       "computes with the number of examples"},
      {{joined, shape, node("Cast", {"s"}, "f", {attribute("to", std::int64_t{1})}),
        node("Mul", {"x", "f"}, "y")},
       "computes with the number of examples"}};
  for (const Row& row : rows) expect_refused(file_of(row.nodes, row.batch), row.says);
}

}  // namespace
}  // namespace octet::test::onnx_batch_test
