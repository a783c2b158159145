// Layer normalization in ONNX files, as one operator and as exporters spell it out.

#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/core/random.h>
#include <octet/layers/layer_normalization.h>
#include <octet/tests/import/onnx_computed.h>

#include <cmath>
#include <string>
#include <vector>

namespace octet::test::onnx_normalization_test {
namespace {

using namespace onnx_computed;

constexpr Index kFeatures = 4;

/// Each row of 4 features minus its mean, over its standard deviation, with the factors and biases
/// 0.1, 0.2, ... of floats().
Tensor normalized(const Tensor& x, float epsilon, bool scales, bool shifts) {
  Tensor y = x.clone();
  for (Index row = 0; row < x.size() / kFeatures; ++row) {
    float* values = y.mutable_data() + row * kFeatures;
    double mean = 0;
    double variance = 0;
    for (Index i = 0; i < kFeatures; ++i) mean += values[i] / kFeatures;
    for (Index i = 0; i < kFeatures; ++i) variance += std::pow(values[i] - mean, 2) / kFeatures;
    for (Index i = 0; i < kFeatures; ++i) {
      const double learned = 0.1 * static_cast<double>(i + 1);
      const double one = (values[i] - mean) / std::sqrt(variance + epsilon);
      values[i] = static_cast<float>(one * (scales ? learned : 1) + (shifts ? learned : 0));
    }
  }
  return y;
}

/// `tail` behind (x - mean) / sqrt(variance + 0.1), called "n"; `square` of "d" is called "s".
Bytes spelled_out(const Integers& input, const Message& square, const std::vector<Message>& tail,
                  const Integers& axes = {-1}) {
  const std::vector<Message> over = {attribute("axes", axes)};
  std::vector<Message> nodes = {
      node("ReduceMean", {"x"}, "m", over), node("Sub", {"x", "m"}, "d"), square,
      node("ReduceMean", {"s"}, "v", over), node("Add", {"v", "e"}, "w"), node("Sqrt", {"w"}, "r"),
      node("Div", {"d", "r"}, "n")};
  nodes.insert(nodes.end(), tail.begin(), tail.end());
  return onnx_file(
      input, nodes,
      {floats("e", {1}), floats("g", {kFeatures}), floats("b", {kFeatures}), integers("two", {2})});
}

const Message kMul = node("Mul", {"d", "d"}, "s");
const Message kPow = node("Pow", {"d", "two"}, "s");

TEST(OnnxNormalization, OfEachRow) {
  struct Case {
    const char* name;
    Bytes file;
    float epsilon;
    bool scales;
    bool shifts;
  };
  const Integers rows = {-1, 3, kFeatures};
  const Message copy = node("Identity", {"n"}, "y");
  const std::vector<Case> cases = {
      {"one operator",
       onnx_file(rows, {node("LayerNormalization", {"x", "g", "b"}, "y")},
                 {floats("g", {kFeatures}), floats("b", {kFeatures})}, 17),
       1e-5F, true, true},
      {"one operator, no bias",
       onnx_file(rows,
                 {node("LayerNormalization", {"x", "g"}, "y",
                       {attribute("epsilon", 0.5F), attribute("axis", std::int64_t{2})})},
                 {floats("g", {kFeatures})}, 17),
       0.5F, true, false},
      {"spelled out", spelled_out(rows, kMul, {copy}), 0.1F, false, false},
      {"with a factor and a bias",
       spelled_out(rows, kPow, {node("Mul", {"g", "n"}, "p"), node("Add", {"p", "b"}, "y")}), 0.1F,
       true, true},
      {"with a bias", spelled_out(rows, kPow, {node("Add", {"b", "n"}, "y")}, {2}), 0.1F, false,
       true}};
  const Tensor x = Tensor::uniform({2, 3, kFeatures}, Random(1), -1.0F, 3.0F);
  for (const Case& c : cases) {
    const Model model = import_onnx(c.file);
    EXPECT_EQ(model.layers().size(), 2U) << c.name;
    EXPECT_EQ(model.layers().back()->type(), "LayerNormalization") << c.name;
    expect_same(model.forward(x), normalized(x, c.epsilon, c.scales, c.shifts), c.name);
  }
}

TEST(OnnxNormalization, OfAFlatteningIsInItsOrder) {
  const Bytes file =
      onnx_file({-1, 2, 1, 2},
                {images_first(), node("Flatten", {"i"}, "f"),
                 node("LayerNormalization", {"f", "g", "b"}, "y", {attribute("epsilon", 0.1F)})},
                {floats("g", {kFeatures}), floats("b", {kFeatures})}, 17);
  const Tensor x = Tensor::uniform({2, 2, 1, 2}, Random(2), -1.0F, 3.0F);
  expect_same(computed(file, x), normalized(x.reshape({2, 4}), 0.1F, true, true), "flattened");
}

TEST(OnnxNormalization, OfOtherAxesIsRefused) {
  const Message copy = node("Identity", {"n"}, "y");
  expect_refused(spelled_out({-1, 3, kFeatures}, kMul, {copy}, {1}),
                 "expected a normalization over the last axis of [batch, 3, 4], found axis 1");
  expect_refused(onnx_file({-1, 3}, {node("LayerNormalization", {"x", "g"}, "y")},
                           {floats("g", {kFeatures})}, 17),
                 "expected gamma of [3] as input 1, found [4]");
  // The square of another value than the centered one is no variance.
  expect_refused(spelled_out({-1, 3, kFeatures}, node("Mul", {"x", "x"}, "s"), {copy}),
                 "two computed values");
}

}  // namespace
}  // namespace octet::test::onnx_normalization_test
