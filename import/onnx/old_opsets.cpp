#include <octet/import/onnx/graph.h>

#include <algorithm>
#include <array>

// Opsets before 7, in which arithmetic says along which axes it broadcasts, and Reshape has its
// shape as an attribute.

namespace octet::detail::onnx_import {
namespace {

constexpr std::int64_t kOldestTaken = 7;

/// Operators that opset 7 defines as those before it, and whose result has the axes of input 0.
constexpr std::array<std::string_view, 12> kAlike = {
    "AveragePool", "Conv", "GlobalAveragePool", "Identity", "LRN",      "LeakyRelu", "MaxPool",
    "Sigmoid",     "Relu", "Softmax",           "Tanh",     "Transpose"};
constexpr std::array<std::string_view, 4> kBroadcasting = {"Add", "Sub", "Mul", "Div"};

class Renewal {
 public:
  explicit Renewal(Graph& graph) : graph_(graph) {
    for (const GraphInput& input : graph.inputs) ranks_[input.name] = std::ssize(input.extents);
  }

  void renew(Node& node) {
    node.attributes.erase("consumed_inputs");
    if (std::ranges::find(kBroadcasting, node.op) != kBroadcasting.end()) {
      align(node);
    } else if (node.op == "Reshape" && node.inputs.size() == 1) {
      const std::vector<std::int64_t> shape = node.integers("shape");
      node.inputs.push_back(add({{std::ssize(shape)}, shape}, node));
      ranks_[node.output()] = std::ssize(shape);
      return;
    } else if (node.op == "Flatten") {
      ranks_[node.output()] = 2;
      return;
    } else if (std::ranges::find(kAlike, node.op) == kAlike.end()) {
      refuse(
          "opset {} has it in another way than opset {}: export the model again with "
          "opset_version=17",
          graph_.opset, kOldestTaken);
    }
    if (node.has(0) && ranks_.contains(node.inputs[0])) {
      ranks_[node.output()] = ranks_[node.inputs[0]];
    }
  }

 private:
  std::string add(Constant constant, const Node& node) {
    graph_.spend(constant.size());
    return graph_.add(node.output() + "/renewed", std::move(constant));
  }

  /// Gives a constant the axes of extent 1 behind it that stand for those from `axis` on.
  void align(Node& node) {
    if (node.integer("broadcast", 0) == 0 || !node.attributes.contains("axis")) return;
    const Constant* given = node.has(1) ? graph_.constant(node.inputs[1]) : nullptr;
    const auto rank = node.has(0) ? ranks_.find(node.inputs[0]) : ranks_.end();
    if (given == nullptr || rank == ranks_.end()) {
      refuse("expected a constant along an axis of a value whose number of axes is known");
    }
    const Index axis = node.integer("axis", 0);
    const Index behind = rank->second - axis - given->shape.rank();
    if (axis < 0 || behind < 0) {
      refuse("expected a constant along axis {} of {} axes, found {}", axis, rank->second,
             given->shape.to_string());
    }
    std::vector<Index> extents(given->shape.begin(), given->shape.end());
    extents.resize(extents.size() + at(behind), 1);
    Constant aligned = *given;
    aligned.shape = Shape(std::move(extents));
    require_rank(aligned.shape);
    node.inputs[1] = add(std::move(aligned), node);
  }

  Graph& graph_;
  /// Axes of values, with the batch.
  std::map<std::string, Index, std::less<>> ranks_;
};

}  // namespace

void renew(Graph& graph) {
  if (graph.opset >= kOldestTaken) return;
  Renewal renewal(graph);
  for (Node& node : graph.nodes) in_node(node, [&] { renewal.renew(node); });
  graph.opset = kOldestTaken;
}

}  // namespace octet::detail::onnx_import
