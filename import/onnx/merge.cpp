#include <fmt/core.h>
#include <octet/import/onnx/graph.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace octet::detail::onnx_import {
namespace {

/// How often each value is read, by nodes and as a result.
std::map<std::string, int, std::less<>> count_readers(const Graph& graph) {
  std::map<std::string, int, std::less<>> readers;
  for (const Node& node : graph.nodes) {
    for (const std::string& name : node.inputs) ++readers[name];
  }
  for (const std::string& name : graph.outputs) ++readers[name];
  return readers;
}

/// Makes one node of two that are one layer. Nodes that are left over are read by nobody.
class Merger {
 public:
  explicit Merger(Graph& graph) : graph_(graph), readers_(count_readers(graph)) {
    for (Node& node : graph.nodes) producers_.emplace(node.output(), &node);
  }

  void run() {
    for (Node& node : graph_.nodes) {
      if (node.op == "Add") merge_bias(node);
      if (node.op == "Conv") merge_pad(node);
      if (node.op == "Mul") merge_hard_swish(node);
      if (node.op == "Mul") merge_gelu(node);
      if (node.op == "Clip") merge_relu(node);
      if (node.op == "Max") merge_leaky_relu(node);
      if (node.op == "Div") merge_layer_normalization(node);
      if (node.op == "Mul" || node.op == "Add") merge_learned(node);
    }
  }

 private:
  /// The node that gives `name`, where only one other reads it and it reads something itself.
  Node* only_read(const std::string& name) {
    const auto found = producers_.find(name);
    const bool fits =
        found != producers_.end() && readers_[name] == 1 && !found->second->inputs.empty();
    return fits ? found->second : nullptr;
  }

  /// MatMul, or a Conv without bias, + a constant.
  void merge_bias(Node& add) {
    if (add.inputs.size() != 2) return;
    for (const auto& [x, constant] : {std::pair(0U, 1U), std::pair(1U, 0U)}) {
      const Constant* bias = graph_.constant(add.inputs[constant]);
      Node* linear = only_read(add.inputs[x]);
      if (bias == nullptr || linear == nullptr || linear->inputs.size() != 2) continue;
      const Constant* weights = graph_.constant(linear->inputs[1]);
      if (weights == nullptr || !bias->is_float()) continue;
      const bool dense = linear->op == "MatMul" && weights->shape.rank() == 2 &&
                         is_along(*bias, weights->shape[1], 0);
      const bool conv = linear->op == "Conv" && weights->shape.rank() > 2 &&
                        is_along(*bias, weights->shape[0], weights->shape.rank() - 2);
      if (!dense && !conv) continue;
      graph_.spend(bias->size());
      const std::string name = graph_.add(add.inputs[constant] + "/bias of " + add.output(),
                                          Constant{{static_cast<Index>(bias->size())}, bias->data});
      const std::string output = add.output();
      add = *linear;
      add.outputs = {output};
      add.inputs.push_back(name);
      return;
    }
  }

  /// Whether `bias` has an element for each of `units`, with `behind` axes of extent 1 behind them.
  static bool is_along(const Constant& bias, Index units, Index behind) {
    const Index axis = bias.shape.rank() - 1 - behind;
    return axis >= 0 && static_cast<Index>(bias.size()) == units && bias.shape[axis] == units;
  }

  /// Zeros around an image in front of a Conv are its own padding.
  void merge_pad(Node& conv) {
    Node* pad = conv.has(0) ? only_read(conv.inputs[0]) : nullptr;
    if (pad == nullptr || pad->op != "Pad" || conv.text("auto_pad", "NOTSET") != "NOTSET") return;
    const auto pads = zeros_around(*pad);
    const std::size_t axes = pads.size() / 2;
    if (axes < 3 || pads[0] != 0 || pads[1] != 0 || pads[axes] != 0 || pads[axes + 1] != 0) return;
    const auto is_padding = [](std::int64_t n) { return n >= 0 && n < (1 << 29); };
    std::vector<std::int64_t> sum = conv.integers("pads");
    sum.resize(2 * (axes - 2));
    if (!std::ranges::all_of(sum, is_padding)) return;
    for (std::size_t i = 0; i < axes - 2; ++i) {
      sum[i] += pads[i + 2];
      sum[axes - 2 + i] += pads[axes + i + 2];
    }
    conv.attributes.insert_or_assign("pads", std::move(sum));
    conv.inputs[0] = pad->inputs[0];
  }

  /// The pads of a Pad with zeros; none of any other, nor where they are more than a value has
  /// sides: nodes may share them.
  std::vector<std::int64_t> zeros_around(const Node& pad) const {
    if (pad.text("mode", "constant") != "constant" || pad.has(3)) return {};
    const auto is_padding = [](std::int64_t n) { return n >= 0 && n < (1 << 29); };
    std::vector<std::int64_t> pads = pad.integers("pads");
    float value = pad.real("value", 0);
    if (pad.has(1)) {
      const Constant* given = graph_.constant(pad.inputs[1]);
      if (given == nullptr || given->is_float() || given->size() > at(2 * kMostRank)) return {};
      pads = given->integers();
    }
    if (pad.has(2)) {
      const Constant* given = graph_.constant(pad.inputs[2]);
      if (given == nullptr || !given->is_float() || given->size() != 1) return {};
      value = given->real();
    }
    if (value != 0 || !std::ranges::all_of(pads, is_padding)) return {};
    return pads;
  }

  /// x * HardSigmoid(x), as exporters wrote hard swish before opset 14.
  void merge_hard_swish(Node& mul) {
    if (mul.inputs.size() != 2) return;
    for (const auto& [x, gate] : {std::pair(0U, 1U), std::pair(1U, 0U)}) {
      const Node* sigmoid = only_read(mul.inputs[gate]);
      if (sigmoid == nullptr || sigmoid->op != "HardSigmoid" ||
          sigmoid->inputs != std::vector{mul.inputs[x]} ||
          std::abs(sigmoid->real("alpha", 0.2F) - 1.0F / 6) > 1e-6F ||
          sigmoid->real("beta", 0.5F) != 0.5F) {
        continue;
      }
      mul.op = "HardSwish";
      mul.inputs = {std::string(mul.inputs[x])};
      return;
    }
  }

  /// x (1 + erf(x / sqrt(2))) / 2, its half in front of the sum or behind it.
  void merge_gelu(Node& mul) {
    float factor = 1.0F;
    const Node* product = &mul;
    if (const auto scaled = with_number(mul)) {
      factor = scaled->second;
      product = producer(scaled->first, "Mul");
    }
    if (product == nullptr || product->inputs.size() != 2) return;
    for (const auto& [value, other] : {std::pair(0U, 1U), std::pair(1U, 0U)}) {
      const Node* sum = producer(product->inputs[other], "Add");
      const auto one = sum == nullptr ? std::nullopt : with_number(*sum);
      const Node* erf = one && one->second == 1.0F ? producer(one->first, "Erf") : nullptr;
      const auto x = erf == nullptr ? std::nullopt : by_root_of_two(erf->inputs.at(0));
      if (!x.has_value()) continue;
      float all = factor;
      std::string read = product->inputs[value];
      if (const Node* half = producer(read, "Mul"); half != nullptr && read != *x) {
        const auto scaled = with_number(*half);
        if (!scaled.has_value()) continue;
        all *= scaled->second;
        read = scaled->first;
      }
      if (read != *x || std::abs(all - 0.5F) > 1e-6F) continue;
      mul.op = "Gelu";
      mul.inputs = {*x};
      mul.attributes.clear();
      return;
    }
  }

  /// x, of which `name` is x / sqrt(2).
  std::optional<std::string> by_root_of_two(const std::string& name) const {
    constexpr float kRoot = 1.41421356F;
    constexpr float kNear = 1e-5F;
    for (const auto& [op, number] : {std::pair("Div", kRoot), std::pair("Mul", 1.0F / kRoot)}) {
      const Node* node = producer(name, op);
      const auto scaled = node == nullptr ? std::nullopt : with_number(*node);
      const bool divides_x = node != nullptr && scaled && scaled->first == node->inputs[0];
      if (scaled && std::abs(scaled->second - number) < kNear &&
          (divides_x || std::string_view(op) == "Mul")) {
        return scaled->first;
      }
    }
    return std::nullopt;
  }

  /// max(x, alpha x), which is a leaky ReLU for alpha between 0 and 1.
  void merge_leaky_relu(Node& max) {
    if (max.inputs.size() != 2) return;
    for (const auto& [x, scaled] : {std::pair(0U, 1U), std::pair(1U, 0U)}) {
      const Node* mul = only_read(max.inputs[scaled]);
      if (mul == nullptr || mul->op != "Mul" || mul->inputs.size() != 2) continue;
      for (const auto& [value, factor] : {std::pair(0U, 1U), std::pair(1U, 0U)}) {
        const Constant* alpha = graph_.constant(mul->inputs[factor]);
        const bool fits = alpha != nullptr && alpha->is_float() && alpha->size() == 1 &&
                          alpha->real() >= 0.0F && alpha->real() <= 1.0F;
        if (!fits || mul->inputs[value] != max.inputs[x]) continue;
        max.op = "LeakyRelu";
        max.attributes.insert_or_assign("alpha", alpha->real());
        max.inputs = {std::string(mul->inputs[value])};
        return;
      }
    }
  }

  /// The node of kind `op` that gives `name` of what it reads; null where another does.
  const Node* producer(const std::string& name, std::string_view op) const {
    const auto found = producers_.find(name);
    const bool fits =
        found != producers_.end() && found->second->op == op && !found->second->inputs.empty();
    return fits ? found->second : nullptr;
  }

  /// The operand beside a constant of one number, and that number.
  std::optional<std::pair<std::string, float>> with_number(const Node& node) const {
    if (node.inputs.size() != 2) return std::nullopt;
    for (const auto& [x, constant] : {std::pair(0U, 1U), std::pair(1U, 0U)}) {
      const Constant* number = graph_.constant(node.inputs[constant]);
      if (number != nullptr && number->is_float() && number->size() == 1) {
        return std::pair(node.inputs[x], number->real());
      }
    }
    return std::nullopt;
  }

  /// The axis over which `mean` is one that keeps it; none for several.
  std::optional<std::int64_t> axis_of_mean(const Node* mean) const {
    if (mean == nullptr || mean->integer("keepdims", 1) != 1) return std::nullopt;
    if (mean->has(1) && graph_.constant(mean->inputs[1]) == nullptr) return std::nullopt;
    const auto axes = axes_of(*mean, 1, mean->has(1) ? graph_.constant(mean->inputs[1]) : nullptr);
    return axes.has_value() && axes->size() == 1 ? std::optional(axes->front()) : std::nullopt;
  }

  /// The value that `square`, a name, is the square of: by Pow, or by Mul with itself.
  std::optional<std::string> root_of(const std::string& square) const {
    if (const Node* mul = producer(square, "Mul")) {
      const bool same = mul->inputs.size() == 2 && mul->inputs[0] == mul->inputs[1];
      return same ? std::optional(mul->inputs[0]) : std::nullopt;
    }
    const Node* pow = producer(square, "Pow");
    if (pow == nullptr || pow->inputs.size() != 2) return std::nullopt;
    const Constant* exponent = graph_.constant(pow->inputs[1]);
    const bool is_two =
        exponent != nullptr && exponent->size() == 1 &&
        (exponent->is_float() ? exponent->real() == 2.0F : exponent->integers().front() == 2);
    return is_two ? std::optional(pow->inputs[0]) : std::nullopt;
  }

  /// x - mean(x), by the name of the difference: x, and the axis of the mean.
  std::optional<std::pair<std::string, std::int64_t>> centered(const std::string& name) const {
    const Node* sub = producer(name, "Sub");
    if (sub == nullptr || sub->inputs.size() != 2) return std::nullopt;
    const Node* mean = producer(sub->inputs[1], "ReduceMean");
    const auto axis = axis_of_mean(mean);
    if (!axis.has_value() || mean->inputs[0] != sub->inputs[0]) return std::nullopt;
    return std::pair(sub->inputs[0], *axis);
  }

  /// (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon), as exporters wrote layer normalization
  /// before opset 17. Its factors and biases, which come behind it, are merge_learned()'s.
  void merge_layer_normalization(Node& div) {
    if (div.inputs.size() != 2) return;
    const Node* root = producer(div.inputs[1], "Sqrt");
    const Node* sum = root == nullptr ? nullptr : producer(root->inputs.at(0), "Add");
    const auto variance = sum == nullptr ? std::nullopt : with_number(*sum);
    if (!variance.has_value()) return;
    const Node* mean = producer(variance->first, "ReduceMean");
    const auto axis = axis_of_mean(mean);
    const auto squared = axis.has_value() ? root_of(mean->inputs[0]) : std::nullopt;
    const auto x = centered(div.inputs[0]);
    if (!squared.has_value() || !x.has_value() || x->second != *axis || centered(*squared) != x) {
      return;
    }
    div.op = "LayerNormalization";
    div.inputs = {x->first};
    div.attributes.insert_or_assign("axis", x->second);
    div.attributes.insert_or_assign("epsilon", variance->second);
  }

  /// A factor, then a bias, of each feature behind a LayerNormalization that has none yet.
  void merge_learned(Node& node) {
    const std::size_t input = node.op == "Mul" ? 1 : 2;
    if (node.inputs.size() != 2) return;
    for (const auto& [x, constant] : {std::pair(0U, 1U), std::pair(1U, 0U)}) {
      const Constant* values = graph_.constant(node.inputs[constant]);
      const Node* normalization = only_read(node.inputs[x]);
      if (values == nullptr || !values->is_float() || values->shape.rank() != 1 ||
          values->size() < 2 || normalization == nullptr ||
          normalization->op != "LayerNormalization" || normalization->outputs.size() != 1 ||
          normalization->inputs.size() > input) {
        continue;
      }
      Node merged = *normalization;
      merged.inputs.resize(input);
      merged.inputs.push_back(node.inputs[constant]);
      merged.outputs = node.outputs;
      node = std::move(merged);
      return;
    }
  }

  /// PyTorch writes ReLU6 as a Relu and a Clip: one clamp.
  void merge_relu(Node& clip) {
    const Node* relu = clip.has(0) ? only_read(clip.inputs[0]) : nullptr;
    if (relu == nullptr || relu->op != "Relu" || !relu->has(0)) return;
    constexpr float kMost = std::numeric_limits<float>::max();
    const auto lo = bound_of(clip, 1, "min", -kMost);
    const auto hi = bound_of(clip, 2, "max", kMost);
    if (!lo.has_value() || !hi.has_value() || *lo > 0) return;
    clip.inputs = {std::string(relu->inputs[0])};
    clip.attributes.insert_or_assign("min", 0.0F);
    clip.attributes.insert_or_assign("max", *hi);
  }

  /// A bound of Clip: an attribute up to opset 10, an input since.
  std::optional<float> bound_of(const Node& clip, std::size_t i, std::string_view key,
                                float otherwise) const {
    if (!clip.has(i)) return clip.real(key, otherwise);
    const Constant* given = graph_.constant(clip.inputs[i]);
    if (given == nullptr || !given->is_float() || given->size() != 1) return std::nullopt;
    return given->real();
  }

  Graph& graph_;
  std::map<std::string, int, std::less<>> readers_;
  std::map<std::string, Node*, std::less<>> producers_;
};

}  // namespace

void merge(Graph& graph) { Merger(graph).run(); }

}  // namespace octet::detail::onnx_import
