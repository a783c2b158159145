#include <octet/tests/interop/variants/variants.h>

namespace octet::test::variants {
namespace {

struct Case {
  std::string name;
  std::string code;
  int gates;
  std::vector<Message> attributes{};
  int directions = 1;
  bool bias = true;
  /// Which of the results is read.
  int result = 0;
  bool batch_first = false;
  std::string refused{};
  int opset = 14;
};

constexpr std::int64_t kHidden = 3;
constexpr std::int64_t kFeatures = 4;

Variant recurrent(const Case& c) {
  std::vector<Message> attributes = c.attributes;
  attributes.push_back(number("hidden_size", static_cast<int>(kHidden)));
  if (c.directions == 2) attributes.push_back(attribute("direction", "bidirectional"));
  if (c.batch_first) attributes.push_back(number("layout", 1));
  const std::int64_t rows = c.gates * kHidden;
  std::vector<Message> tensors = {weights("w", {c.directions, rows, kFeatures}),
                                  weights("r", {c.directions, rows, kHidden})};
  Strings inputs = {c.batch_first ? "x" : "t", "w", "r"};
  if (c.bias) {
    tensors.push_back(weights("b", {c.directions, 2 * rows}));
    inputs.emplace_back("b");
  }
  std::vector<Message> nodes;
  if (!c.batch_first) nodes.push_back(node("Transpose", {"x"}, "t", {list("perm", {1, 0, 2})}));
  const bool all_steps = c.result == 0;
  nodes.push_back(op(c.code, inputs, all_steps ? Strings{"o"} : Strings{"", "o"}, attributes));
  if (c.batch_first) {
    // [batch, steps, directions, hidden], or [batch, directions, hidden].
    tensors.push_back(integers("shape", all_steps ? Integers{0, 5, c.directions * kHidden}
                                                  : Integers{0, c.directions * kHidden}));
    nodes.push_back(node("Reshape", {"o", "shape"}, "y"));
  } else if (all_steps) {
    // [steps, directions, batch, hidden].
    nodes.push_back(node("Transpose", {"o"}, "p", {list("perm", {2, 0, 1, 3})}));
    tensors.push_back(integers("shape", {0, 5, c.directions * kHidden}));
    nodes.push_back(node("Reshape", {"p", "shape"}, "y"));
  } else {
    nodes.push_back(node("Transpose", {"o"}, "p", {list("perm", {1, 0, 2})}));
    tensors.push_back(integers("shape", {0, c.directions * kHidden}));
    nodes.push_back(node("Reshape", {"p", "shape"}, "y"));
  }
  return {c.name, file_of({{-1, 5, kFeatures}, nodes, tensors, c.opset}), c.refused};
}

}  // namespace

Variants recurrences() {
  const Message before = number("linear_before_reset", 1);
  const Message reverse = attribute("direction", "reverse");
  const std::vector<Case> cases = {
      {"lstm", "LSTM", 4},
      {"lstm_opset_7", "LSTM", 4, {}, 1, true, 0, false, "", 7},
      {"lstm_opset_22", "LSTM", 4, {}, 1, true, 0, false, "", 22},
      {"lstm_no_bias", "LSTM", 4, {}, 1, false},
      {"lstm_last_state", "LSTM", 4, {}, 1, true, 1},
      {"lstm_bidirectional", "LSTM", 4, {}, 2},
      {"lstm_activations", "LSTM", 4, {of_texts("activations", {"Sigmoid", "Tanh", "Tanh"})}},
      {"lstm_forward", "LSTM", 4, {attribute("direction", "forward")}},
      {"lstm_reverse", "LSTM", 4, {reverse}},
      {"lstm_reverse_last_state", "LSTM", 4, {reverse}, 1, true, 1},
      {"gru_reverse", "GRU", 3, {before, reverse}},
      {"gru_after_reset_reverse", "GRU", 3, {reverse}},
      {"gru_reverse_last_state", "GRU", 3, {before, reverse}, 1, true, 1},
      {"rnn_reverse", "RNN", 1, {reverse}},
      {"lstm_other_activations",
       "LSTM",
       4,
       {of_texts("activations", {"Sigmoid", "Relu", "Tanh"})},
       1,
       true,
       0,
       false,
       "activations"},
      {"lstm_clip", "LSTM", 4, {attribute("clip", 0.5F)}, 1, true, 0, false, "clip"},
      {"gru_before_reset", "GRU", 3, {before}},
      {"gru_opset_7", "GRU", 3, {before}, 1, true, 0, false, "", 7},
      {"gru_last_state", "GRU", 3, {before}, 1, true, 1},
      {"gru_bidirectional", "GRU", 3, {before}, 2},
      {"gru_no_bias", "GRU", 3, {before}, 1, false},
      {"gru_after_reset", "GRU", 3},
      {"gru_after_reset_bidirectional", "GRU", 3, {}, 2},
      {"rnn", "RNN", 1},
      {"rnn_last_state", "RNN", 1, {}, 1, true, 1},
      {"rnn_bidirectional", "RNN", 1, {}, 2}};
  Variants all;
  for (const Case& c : cases) all.push_back(recurrent(c));
  return all;
}

}  // namespace octet::test::variants
