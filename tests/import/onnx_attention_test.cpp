// What attention of ONNX files is made of: products of two values, constant steps and positions.

#include <octet/core/error.h>
#include <octet/core/random.h>
#include <octet/tests/import/onnx_computed.h>

#include <string>

namespace octet::test::onnx_attention_test {
namespace {

using namespace onnx_computed;

constexpr Index kSteps = 3;
constexpr Index kHeads = 2;
constexpr Index kColumns = 2;

Message transposed(const std::string& from, const std::string& to, const Integers& perm) {
  return node("Transpose", {from}, to, {attribute("perm", perm)});
}

/// Element [n, step, head, column] of x [n, steps, heads * columns].
float element(const Tensor& x, Index n, Index step, Index head, Index column) {
  return x.data()[((n * kSteps + step) * kHeads + head) * kColumns + column];
}

// Of [steps, 4] as 2 heads of [steps, 2]: x x^T by head, [heads, steps, steps], then times x.
TEST(OnnxAttention, MultipliesTwoValuesByHead) {
  const std::vector<Message> nodes = {
      node("Reshape", {"x", "apart"}, "a"), transposed("a", "query", {0, 2, 1, 3}),
      transposed("a", "key", {0, 2, 3, 1}), node("MatMul", {"query", "key"}, "s"),
      node("MatMul", {"s", "query"}, "c"),  transposed("c", "d", {0, 2, 1, 3}),
      node("Reshape", {"d", "joined"}, "y")};
  const Bytes file = onnx_file({-1, kSteps, kHeads * kColumns}, nodes,
                               {integers("apart", {-1, kSteps, kHeads, kColumns}),
                                integers("joined", {-1, kSteps, kHeads * kColumns})});
  const Tensor x = Tensor::uniform({2, kSteps, kHeads * kColumns}, Random(1), -1.0F, 1.0F);
  Tensor expected = Tensor::zeros(x.shape());
  float* to = expected.mutable_data();
  for (Index n = 0; n < 2; ++n) {
    for (Index step = 0; step < kSteps; ++step) {
      for (Index head = 0; head < kHeads; ++head) {
        for (Index column = 0; column < kColumns; ++column, ++to) {
          for (Index other = 0; other < kSteps; ++other) {
            float score = 0;
            for (Index k = 0; k < kColumns; ++k) {
              score += element(x, n, step, head, k) * element(x, n, other, head, k);
            }
            *to += score * element(x, n, other, head, column);
          }
        }
      }
    }
  }
  expect_same(import_onnx(file).forward(x), expected, "attention");
}

TEST(OnnxAttention, ConstantStepsAndPositions) {
  const Tensor x = Tensor::uniform({2, kSteps, 2}, Random(2), -1.0F, 1.0F);
  for (const bool front : {true, false}) {
    const std::vector<std::string> parts =
        front ? std::vector<std::string>{"c", "x"} : std::vector<std::string>{"x", "c"};
    const Bytes file = onnx_file({-1, kSteps, 2},
                                 {node("Concat", parts, "j", {attribute("axis", std::int64_t{1})}),
                                  node("Add", {"j", "p"}, "y")},
                                 {floats("c", {1, 1, 2}), floats("p", {1, kSteps + 1, 2})});
    Tensor expected({2, kSteps + 1, 2});
    for (Index i = 0; i < expected.size(); ++i) {
      const Index n = i / 8;
      const Index step = i / 2 % 4;
      const bool is_constant = step == (front ? 0 : kSteps);
      const Index from = (n * kSteps + step - (front ? 1 : 0)) * 2 + i % 2;
      const float position = 0.1F * static_cast<float>(i % 8 + 1);
      expected.mutable_data()[i] =
          position + (is_constant ? 0.1F * static_cast<float>(i % 2 + 1) : x.data()[from]);
    }
    expect_same(import_onnx(file).forward(x), expected, front ? "in front" : "behind");
  }
}

TEST(OnnxAttention, RefusesWhatDoesNotFit) {
  expect_refused(onnx_file({-1, 3}, {node("MatMul", {"x", "x"}, "y")}),
                 "expected matrices [batch, .., n, k], found [batch, 3]");
  expect_refused(onnx_file({-1, 3, 2}, {node("MatMul", {"x", "x"}, "y")}),
                 "[.., n, k] and [.., k, m], with the same axes in front, found [3, 2] and [3, 2]");
  expect_refused(
      onnx_file({-1, 3, 2}, {node("Concat", {"c", "x"}, "y", {attribute("axis", std::int64_t{1})})},
                {floats("c", {1, 1, 4})}),
      "expected constant steps [1, steps, 2] beside sequences along axis 1, found [1, 1, 4]");
}

}  // namespace
}  // namespace octet::test::onnx_attention_test
