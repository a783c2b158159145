// LSTM, GRU and RNN of ONNX files against ONNX's equations, in both layouts and as exporters write
// around them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/core/random.h>
#include <octet/import/onnx/import_onnx.h>
#include <octet/layers/lower.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/import/onnx_file.h>

#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace octet::test::onnx_recurrent_test {
namespace {

using Integers = std::vector<std::int64_t>;
using Bytes = std::vector<std::uint8_t>;
using Values = std::vector<float>;

constexpr Index kSteps = 5;
constexpr Index kFeatures = 3;
constexpr Index kUnits = 2;

/// Weights between -1 and 1, and the message that a file has of them.
Values drawn(std::int64_t size, std::uint64_t seed) {
  const Tensor values = Tensor::uniform({size}, Random(seed), -1.0F, 1.0F);
  return {values.span().begin(), values.span().end()};
}

Message weights(const std::string& name, const Integers& dims, const Values& values) {
  std::string raw(values.size() * sizeof(float), '\0');
  std::memcpy(raw.data(), values.data(), raw.size());
  return tensor(name, 1, dims).text(9, raw);
}

float sigmoid(float v) { return 1.0F / (1.0F + std::exp(-v)); }

/// The states h of each step of one sequence x [steps, features], by the equations of ONNX's
/// operators, from states of 0.
struct Equations {
  std::string op;
  Index gates;
  Values w;
  Values r;
  Values b;
  /// Whether a GRU resets the product with the state, not the state itself.
  bool before_reset = true;

  /// Row `k` of W x + Wb, or of R h + Rb.
  float row(const Values& matrix, const float* x, Index count, Index k, Index bias) const {
    float sum = b[static_cast<std::size_t>(bias + k)];
    for (Index i = 0; i < count; ++i) sum += matrix[static_cast<std::size_t>(k * count + i)] * x[i];
    return sum;
  }

  /// `cell_state`, where given, gets the c of an LSTM behind the last step.
  Values states(const float* x, Values* cell_state = nullptr) const {
    Values h(kUnits, 0.0F);
    Values c(kUnits, 0.0F);
    Values all;
    for (Index t = 0; t < kSteps; ++t) {
      const Values before = h;
      const auto of_x = [&](Index gate, Index k) {
        return row(w, x + t * kFeatures, kFeatures, gate * kUnits + k, 0);
      };
      const auto of_h = [&](Index gate, Index k) {
        return row(r, before.data(), kUnits, gate * kUnits + k, gates * kUnits);
      };
      for (Index k = 0; k < kUnits; ++k) {
        const auto sum = [&](Index gate) { return of_x(gate, k) + of_h(gate, k); };
        float& state = h[static_cast<std::size_t>(k)];
        float& cell = c[static_cast<std::size_t>(k)];
        if (op == "LSTM") {  // iofc
          cell = sigmoid(sum(2)) * cell + sigmoid(sum(0)) * std::tanh(sum(3));
          state = sigmoid(sum(1)) * std::tanh(cell);
        } else if (op == "GRU") {  // zrh
          Values reset = before;
          for (Index i = 0; i < kUnits; ++i) {
            reset[static_cast<std::size_t>(i)] *= sigmoid(of_x(1, i) + of_h(1, i));
          }
          const float u = before_reset
                              ? sigmoid(sum(1)) * of_h(2, k)
                              : row(r, reset.data(), kUnits, 2 * kUnits + k, gates * kUnits);
          const float n = std::tanh(of_x(2, k) + u);
          state =
              (1.0F - sigmoid(sum(0))) * n + sigmoid(sum(0)) * before[static_cast<std::size_t>(k)];
        } else {
          state = std::tanh(sum(0));
        }
      }
      all.insert(all.end(), h.begin(), h.end());
    }
    if (cell_state != nullptr) *cell_state = c;
    return all;
  }
};

Equations equations_of(const std::string& op) {
  const Index gates = op == "LSTM" ? 4 : op == "GRU" ? 3 : 1;
  return {op, gates, drawn(gates * kUnits * kFeatures, 1), drawn(gates * kUnits * kUnits, 2),
          drawn(2 * gates * kUnits, 3)};
}

std::vector<Message> tensors_of(const Equations& of) {
  const std::int64_t rows = of.gates * kUnits;
  return {weights("W", {1, rows, kFeatures}, of.w),
          weights("R", {1, rows, kUnits}, of.r),
          weights("B", {1, 2 * rows}, of.b),
          integers("one", {1}),
          integers("zero", {0}),
          weights("h0", {1, 1, kUnits}, Values(kUnits, 0.0F))};
}

/// The operator, its results Y and H.
Message recurrent(const Equations& of, const std::string& x, const std::string& y,
                  const std::string& h, std::vector<Message> attributes = {}) {
  attributes.push_back(attribute("hidden_size", std::int64_t{kUnits}));
  if (of.before_reset) attributes.push_back(attribute("linear_before_reset", std::int64_t{1}));
  std::vector<std::string> inputs = {x, "W", "R", "B", "", "h0"};
  if (of.op == "LSTM") inputs.emplace_back("h0");
  return node(of.op, inputs, y, attributes).text(2, h);
}

Message swapped(const std::string& from, const std::string& to) {
  return node("Transpose", {from}, to, {attribute("perm", Integers{1, 0, 2})});
}

/// Operators, and whether linear_before_reset is set.
constexpr std::array<std::pair<const char*, bool>, 4> kKinds = {
    {{"LSTM", true}, {"GRU", true}, {"GRU", false}, {"RNN", true}}};

TEST(OnnxRecurrent, ComputesTheEquationsInBothLayouts) {
  const Tensor x = Tensor::uniform({2, kSteps, kFeatures}, Random(4), -1.0F, 1.0F);
  const std::vector<Message> first = {attribute("layout", std::int64_t{1})};
  for (const auto& [op, before_reset] : kKinds) {
    Equations of = equations_of(op);
    of.before_reset = before_reset;
    Values all;
    Values last;
    for (Index n = 0; n < 2; ++n) {
      const Values states = of.states(x.data() + n * kSteps * kFeatures);
      all.insert(all.end(), states.begin(), states.end());
      last.insert(last.end(), states.end() - kUnits, states.end());
    }
    struct Case {
      std::vector<Message> nodes;
      const Values& expected;
    };
    const std::vector<Case> cases = {
        // PyTorch's batch_first: all steps, the last by an index, and the last state.
        {{swapped("x", "t"), recurrent(of, "t", "Y", ""), node("Squeeze", {"Y", "one"}, "s"),
          swapped("s", "y")},
         all},
        {{swapped("x", "t"), recurrent(of, "t", "Y", ""), node("Squeeze", {"Y", "one"}, "s"),
          swapped("s", "b"), node("Slice", {"b", "m", "e", "one"}, "l"),
          node("Squeeze", {"l", "one"}, "y")},
         last},
        {{swapped("x", "t"), recurrent(of, "t", "", "H"), node("Squeeze", {"H", "zero"}, "y")},
         last},
        {{recurrent(of, "x", "Y", "", first), node("Squeeze", {"Y", "two"}, "y")}, all},
        {{recurrent(of, "x", "", "H", first), node("Squeeze", {"H", "one"}, "y")}, last},
        // Both results are read.
        {{swapped("x", "t"), recurrent(of, "t", "Y", "H"), node("Squeeze", {"H", "zero"}, "h"),
          node("Squeeze", {"Y", "one"}, "s"), swapped("s", "b"), node("Flatten", {"b"}, "f"),
          node("Concat", {"h", "f"}, "j", {attribute("axis", std::int64_t{1})}),
          node("Slice", {"j", "zero", "two", "one"}, "y")},
         last}};
    for (std::size_t i = 0; i < cases.size(); ++i) {
      std::vector<Message> tensors = tensors_of(of);
      tensors.push_back(integers("two", {2}));
      tensors.push_back(integers("m", {-1}));
      tensors.push_back(integers("e", {INT64_MAX}));
      const Model model =
          import_onnx(onnx_file({-1, kSteps, kFeatures}, cases[i].nodes, tensors, 14));
      const Tensor found = model.forward(x);
      EXPECT_THAT(found.span(), testing::Pointwise(testing::FloatNear(1e-5F), cases[i].expected))
          << op << " " << i;
    }
  }
}

// A network that streams gives all of its states.
TEST(OnnxRecurrent, GivesTheCellOfAnLSTM) {
  const Equations of = equations_of("LSTM");
  const Tensor x = Tensor::uniform({1, kSteps, kFeatures}, Random(6), -1.0F, 1.0F);
  Values cell;
  const Values states = of.states(x.data(), &cell);
  const Values last(states.end() - kUnits, states.end());
  Values expected = last;
  expected.insert(expected.end(), cell.begin(), cell.end());
  const std::vector<Message> of_last = {node("Squeeze", {"H", "zero"}, "h")};
  const std::vector<Message> of_all = {node("Squeeze", {"Y", "one"}, "s"), swapped("s", "b"),
                                       node("Slice", {"b", "m", "e", "one"}, "l"),
                                       node("Squeeze", {"l", "one"}, "h")};
  for (const bool reads_all : {false, true}) {
    std::vector<Message> nodes = {
        swapped("x", "t"),
        recurrent(of, "t", reads_all ? "Y" : "", reads_all ? "" : "H").text(2, "C")};
    const std::vector<Message>& way = reads_all ? of_all : of_last;
    nodes.insert(nodes.end(), way.begin(), way.end());
    nodes.push_back(node("Squeeze", {"C", "zero"}, "c"));
    nodes.push_back(node("Concat", {"h", "c"}, "y", {attribute("axis", std::int64_t{1})}));
    std::vector<Message> tensors = tensors_of(of);
    tensors.push_back(integers("m", {-1}));
    tensors.push_back(integers("e", {INT64_MAX}));
    const Model model = import_onnx(onnx_file({-1, kSteps, kFeatures}, nodes, tensors));
    EXPECT_THAT(model.forward(x).span(), testing::Pointwise(testing::FloatNear(1e-5F), expected))
        << reads_all;
    Model quantized = quantize_model(model);
    quantized.forward(x, {.mode = ForwardContext::Mode::calibration});
    EXPECT_EQ(lower(quantized).outputs.size(), 1U);
  }
}

/// The steps of one sequence, each of `width` values, from the last to the first.
Values turned_around(const float* sequence, Index width) {
  Values turned;
  for (Index t = kSteps; t-- > 0;) {
    turned.insert(turned.end(), sequence + t * width, sequence + (t + 1) * width);
  }
  return turned;
}

// The last state is the one at the first step; both results are read at once, too.
TEST(OnnxRecurrent, GoesBackwards) {
  const Tensor x = Tensor::uniform({2, kSteps, kFeatures}, Random(7), -1.0F, 1.0F);
  const Message reverse = attribute("direction", "reverse");
  for (const auto& [op, before_reset] : kKinds) {
    Equations of = equations_of(op);
    of.before_reset = before_reset;
    Values all;
    Values last;
    for (Index n = 0; n < 2; ++n) {
      const Values turned = turned_around(x.data() + n * kSteps * kFeatures, kFeatures);
      const Values states = turned_around(of.states(turned.data()).data(), kUnits);
      all.insert(all.end(), states.begin(), states.end());
      last.insert(last.end(), states.begin(), states.begin() + kUnits);
    }
    std::vector<Message> tensors = tensors_of(of);
    tensors.push_back(integers("two", {2}));
    const auto expect = [&, name = of.op](const std::vector<Message>& nodes,
                                          const Values& expected) {
      const Model model = import_onnx(onnx_file({-1, kSteps, kFeatures}, nodes, tensors, 14));
      EXPECT_THAT(model.forward(x).span(), testing::Pointwise(testing::FloatNear(1e-5F), expected))
          << name;
    };
    expect({swapped("x", "t"), recurrent(of, "t", "Y", "", {reverse}),
            node("Squeeze", {"Y", "one"}, "s"), swapped("s", "y")},
           all);
    expect({swapped("x", "t"), recurrent(of, "t", "", "H", {reverse}),
            node("Squeeze", {"H", "zero"}, "y")},
           last);
    expect({swapped("x", "t"), recurrent(of, "t", "Y", "H", {reverse}),
            node("Squeeze", {"H", "zero"}, "h"), node("Squeeze", {"Y", "one"}, "s"),
            swapped("s", "b"), node("Flatten", {"b"}, "f"),
            node("Concat", {"h", "f"}, "j", {attribute("axis", std::int64_t{1})}),
            node("Slice", {"j", "zero", "two", "one"}, "y")},
           last);
  }
}

/// Both halves of the weights of one direction: those of the other are twice as large.
Values with_twice(Values values) {
  const std::size_t size = values.size();
  for (std::size_t i = 0; i < size; ++i) values.push_back(2.0F * values[i]);
  return values;
}

// PyTorch puts the directions side by side by a Transpose and a Reshape.
TEST(OnnxRecurrent, GoesBothWays) {
  const Tensor x = Tensor::uniform({2, kSteps, kFeatures}, Random(5), -1.0F, 1.0F);
  const Message both = attribute("direction", "bidirectional");
  for (const char* const op : {"LSTM", "GRU", "RNN"}) {
    const Equations forward = equations_of(op);
    Equations backward = forward;
    for (Values* values : {&backward.w, &backward.r, &backward.b}) {
      for (float& v : *values) v *= 2.0F;
    }
    const std::int64_t rows = forward.gates * kUnits;
    const std::vector<Message> tensors = {weights("W", {2, rows, kFeatures}, with_twice(forward.w)),
                                          weights("R", {2, rows, kUnits}, with_twice(forward.r)),
                                          weights("B", {2, 2 * rows}, with_twice(forward.b)),
                                          weights("h0", {2, 1, kUnits}, Values(2 * kUnits, 0.0F)),
                                          integers("to", {0, 0, -1}),
                                          integers("rows", {0, 2 * kUnits})};
    Values all;
    Values last;
    for (Index n = 0; n < 2; ++n) {
      const float* const sequence = x.data() + n * kSteps * kFeatures;
      const Values turned = turned_around(sequence, kFeatures);
      const Values a = forward.states(sequence);
      const Values b = turned_around(backward.states(turned.data()).data(), kUnits);
      for (Index t = 0; t < kSteps; ++t) {
        all.insert(all.end(), a.begin() + t * kUnits, a.begin() + (t + 1) * kUnits);
        all.insert(all.end(), b.begin() + t * kUnits, b.begin() + (t + 1) * kUnits);
      }
      last.insert(last.end(), a.end() - kUnits, a.end());
      last.insert(last.end(), b.begin(), b.begin() + kUnits);
    }
    const auto imported = [&](const std::vector<Message>& nodes) {
      return import_onnx(onnx_file({-1, kSteps, kFeatures}, nodes, tensors, 14)).forward(x);
    };
    EXPECT_THAT(imported({swapped("x", "t"), recurrent(forward, "t", "Y", "", {both}),
                          node("Transpose", {"Y"}, "p", {attribute("perm", Integers{0, 2, 1, 3})}),
                          node("Reshape", {"p", "to"}, "q"), swapped("q", "y")})
                    .span(),
                testing::Pointwise(testing::FloatNear(1e-5F), all))
        << op;
    EXPECT_THAT(imported({swapped("x", "t"), recurrent(forward, "t", "", "H", {both}),
                          swapped("H", "b"), node("Reshape", {"b", "rows"}, "y")})
                    .span(),
                testing::Pointwise(testing::FloatNear(1e-5F), last))
        << op;
  }
}

TEST(OnnxRecurrent, RefusesWhatTheLayersAreNot) {
  const auto refuse = [](const Message& node, const std::string& says) {
    const Equations of = equations_of("GRU");
    expect_throws<InvalidArgument>(
        [&] {
          import_onnx(
              onnx_file({-1, kSteps, kFeatures}, {swapped("x", "t"), node}, tensors_of(of)));
        },
        {says});
  };
  const auto gru = [](const std::vector<std::string>& inputs, const std::vector<Message>& with) {
    return node("GRU", inputs, "y", with);
  };
  const Message plain = attribute("linear_before_reset", std::int64_t{1});
  refuse(gru({"x", "W", "R"}, {plain}), "batch_first=True");
  refuse(gru({"t", "W", "R"}, {plain, attribute("direction", "sideways")}),
         "direction forward, reverse or bidirectional, found sideways");
  refuse(gru({"t", "W", "R"}, {plain, attribute("clip", 1.0F)}), "no clip");
  refuse(gru({"t", "R", "W"}, {plain}), "expected weights of [1, ");
  refuse(gru({"t", "W", "R", "R"}, {plain}), "expected biases of [1, 12]");
  refuse(gru({"t", "W", "R", "", "one"}, {plain}), "sequence_lens");
  refuse(gru({"t", "W", "R", "", "", "B"}, {plain}), "first states of 0");
  refuse(
      gru({"t", "W", "R"},
          {plain, Message().text(1, "activations").text(9, "Relu").text(9, "Tanh").number(20, 8)}),
      "expected activations Sigmoid,Tanh, found Relu,Tanh");
  refuse(gru({"t", "W", "R"}, {plain}), "the batch to stay in front");
}

}  // namespace
}  // namespace octet::test::onnx_recurrent_test
