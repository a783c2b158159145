#include <fmt/core.h>
#include <octet/import/onnx/graph.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace octet::detail::onnx_import {
namespace {

/// The constants among what a node reads; null for others.
std::vector<const Constant*> constants_of(const Graph& graph, const Node& node) {
  std::vector<const Constant*> result;
  for (const std::string& name : node.inputs) result.push_back(graph.constant(name));
  return result;
}

bool is_constant(const Graph& graph, const Node& node) {
  if (node.op == "Constant") return true;
  return !node.inputs.empty() && std::ranges::all_of(node.inputs, [&](const std::string& name) {
    return name.empty() || graph.constant(name) != nullptr;
  });
}

/// Whether the node passes its first input on.
bool passes_on(const Graph& graph, const Node& node) {
  if (node.op == "Identity" || (node.op == "Sum" && node.inputs.size() == 1)) return true;
  if (node.op != "Dropout") return false;
  if (!node.has(2)) return true;
  const Constant* training = graph.constant(node.inputs[2]);
  if (training == nullptr || training->size() != 1 || training->integers()[0] != 0) {
    refuse("it drops when it runs: export the model in eval mode");
  }
  return true;
}

/// Whether the node becomes several of two values.
bool takes_any(const Node& node) {
  if (node.op == "Sum" || node.op == "Mean") return !node.inputs.empty();
  return (node.op == "Max" || node.op == "Min") && node.inputs.size() > 2;
}

/// A node of n values as n - 1 of two, and what a Mean divides by.
std::vector<Node> pairs_of(const Node& node, Graph& graph) {
  std::vector<Node> pairs;
  graph.spend(node.inputs.size());
  const bool is_mean = node.op == "Mean";
  const auto append = [&](std::string op, std::string a, std::string b, std::string result) {
    pairs.push_back({.op = std::move(op),
                     .name = node.name,
                     .inputs = {std::move(a), std::move(b)},
                     .outputs = {std::move(result)},
                     .attributes = {}});
  };
  std::string last = node.inputs[0];
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    const bool ends = i + 1 == node.inputs.size() && !is_mean;
    std::string result =
        ends ? node.output() : graph.new_name(fmt::format("{}/{}", node.output(), i));
    append(is_mean || node.op == "Sum" ? "Add" : node.op, last, node.inputs[i], result);
    last = std::move(result);
  }
  if (is_mean) {
    const auto count = static_cast<float>(node.inputs.size());
    append("Div", last, graph.add(node.output() + "/count", Constant{{}, std::vector{count}}),
           node.output());
  }
  return pairs;
}

/// What follows from constants becomes one; what passes its input on goes.
void fold(Graph& graph) {
  std::map<std::string, std::string, std::less<>> instead;
  const auto replace = [&](std::string& name) {
    const auto found = instead.find(name);
    if (found != instead.end()) name = found->second;
  };
  std::vector<Node> nodes;
  for (Node& node : graph.nodes) {
    for (std::string& name : node.inputs) replace(name);
    if (is_constant(graph, node)) {
      const auto inputs = constants_of(graph, node);
      if (auto value = in_node(node, [&] { return evaluate(node, inputs, graph); })) {
        graph.define(node.output(), std::move(*value));
        ++graph.report.folded;
        continue;
      }
    }
    if (node.has(0) && in_node(node, [&] { return passes_on(graph, node); })) {
      instead.emplace(node.output(), node.inputs[0]);
      ++graph.report.passed_on;
      continue;
    }
    if (takes_any(node)) {
      for (Node& pair : pairs_of(node, graph)) nodes.push_back(std::move(pair));
      continue;
    }
    nodes.push_back(std::move(node));
  }
  graph.nodes = std::move(nodes);
  for (std::string& name : graph.outputs) replace(name);
}

}  // namespace

std::set<std::string, std::less<>> read_values(const Graph& graph) {
  std::set<std::string, std::less<>> read(graph.outputs.begin(), graph.outputs.end());
  for (const Node& node : graph.nodes) read.insert(node.inputs.begin(), node.inputs.end());
  read.erase("");  // Operands that are left out.
  return read;
}

void drop_unread(Graph& graph) {
  std::set<std::string, std::less<>> read(graph.outputs.begin(), graph.outputs.end());
  std::vector<Node> kept;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    const auto is_read = [&](const std::string& name) { return read.contains(name); };
    if (std::ranges::none_of(node->outputs, is_read)) continue;
    read.insert(node->inputs.begin(), node->inputs.end());
    kept.push_back(std::move(*node));
  }
  std::ranges::reverse(kept);
  graph.nodes = std::move(kept);
}

void simplify(Graph& graph) {
  fold(graph);
  merge(graph);
  drop_unread(graph);
}

}  // namespace octet::detail::onnx_import
