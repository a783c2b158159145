#include <fmt/format.h>
#include <octet/core/printable.h>
#include <octet/import/onnx/cut.h>

#include <algorithm>

namespace octet::detail::onnx_import {
namespace {

/// The node and the position among its results that give `value`; the node is null where an input
/// or a constant does.
std::pair<Node*, std::size_t> giver_of(Graph& graph, const std::string& value) {
  for (Node& node : graph.nodes) {
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == value) return {&node, i};
    }
  }
  return {nullptr, 0};
}

[[noreturn]] void refuse_value(const Graph& graph, std::string_view option,
                               const std::string& value) {
  const auto named = std::ranges::find(graph.nodes, value, &Node::name);
  if (named == graph.nodes.end()) {
    refuse("import_onnx: --{}: the file has no value \"{}\": octet inspect lists them", option,
           printable(value));
  }
  refuse("import_onnx: --{}: expected a value, found the node \"{}\", which gives \"{}\"", option,
         printable(value), printable(named->output()));
}

GraphInput* input_of(Graph& graph, const std::string& name) {
  const auto found = std::ranges::find(graph.inputs, name, &GraphInput::name);
  return found == graph.inputs.end() ? nullptr : &*found;
}

/// Makes each of `from` an input, and what gives it a node that is read by none.
void begin_at(Graph& graph, const std::vector<std::string>& from) {
  for (const std::string& value : from) {
    if (input_of(graph, value) != nullptr) continue;
    const auto [giver, i] = giver_of(graph, value);
    if (giver == nullptr) refuse_value(graph, "from", value);
    giver->outputs[i] = value + "/given";
    const auto known = graph.extents.find(value);
    graph.inputs.push_back(
        {value, known == graph.extents.end() ? std::vector<Index>() : known->second});
  }
}

/// The values of those names, of which long ones may be as octet inspect prints them.
std::vector<std::string> resolved(const Graph& graph, std::vector<std::string> names) {
  std::vector<std::string> values;
  for (const GraphInput& input : graph.inputs) values.push_back(input.name);
  for (const Node& node : graph.nodes) {
    values.insert(values.end(), node.outputs.begin(), node.outputs.end());
  }
  for (std::string& name : names) {
    if (std::ranges::find(values, name) != values.end()) continue;
    const auto is_printed = [&](const std::string& value) { return printable(value) == name; };
    const auto first = std::ranges::find_if(values, is_printed);
    if (first == values.end()) continue;
    if (std::any_of(first + 1, values.end(), is_printed)) {
      refuse("import_onnx: expected the name of one value, found \"{}\", with which several begin",
             printable(name));
    }
    name = *first;
  }
  return names;
}

void give_shapes(Graph& graph, const ImportOptions& options) {
  for (const auto& [given, extents] : options.shapes) {
    const std::string name = resolved(graph, {given}).front();
    GraphInput* input = input_of(graph, name);
    if (input == nullptr) {
      std::vector<std::string> names;
      for (const GraphInput& one : graph.inputs) names.push_back(printable(one.name));
      refuse("import_onnx: --shape: expected an input, one of {}, found \"{}\"",
             fmt::join(names, ", "), printable(name));
    }
    bool fits = input->extents.empty() || input->extents.size() == extents.size();
    for (std::size_t i = 0; fits && i < input->extents.size(); ++i) {
      fits = input->extents[i] == -1 || input->extents[i] == extents[i];
    }
    if (!fits) {
      refuse("import_onnx: --shape: input \"{}\": expected [{}] (-1: any), found [{}]",
             printable(name), fmt::join(input->extents, ", "), fmt::join(extents, ", "));
    }
    input->extents = extents;
  }
}

}  // namespace

void cut(Graph& graph, ImportOptions options) {
  options.from = resolved(graph, std::move(options.from));
  options.to = resolved(graph, std::move(options.to));
  graph.layout = options.layout;
  begin_at(graph, options.from);
  if (!options.to.empty()) {
    for (const std::string& value : options.to) {
      if (giver_of(graph, value).first == nullptr) refuse_value(graph, "to", value);
    }
    graph.outputs = options.to;
  }
  if (!options.from.empty() || !options.to.empty()) {
    drop_unread(graph);
    const std::set<std::string, std::less<>> read = read_values(graph);
    std::erase_if(graph.inputs, [&](const GraphInput& input) {
      const bool asked = std::ranges::find(options.from, input.name) != options.from.end();
      return !asked && !read.contains(input.name);
    });
  }
  if (!options.from.empty()) {
    for (const GraphInput& input : graph.inputs) {
      if (std::ranges::find(options.from, input.name) != options.from.end()) continue;
      refuse("import_onnx: --from: the nodes behind it read the input \"{}\", too: name it as well",
             printable(input.name));
    }
  }
  give_shapes(graph, options);
}

std::vector<std::string> ends_in_front_of(const Graph& graph,
                                          const std::set<std::string>& refused) {
  // By what is in front: constants and what follows from shapes, and what follows from an input.
  std::set<std::string, std::less<>> fixed = {""};
  std::set<std::string, std::less<>> computed;
  std::set<std::string, std::less<>> inputs;
  for (const auto& [name, constant] : graph.constants) fixed.insert(name);
  for (const GraphInput& input : graph.inputs) inputs.insert(input.name);
  std::set<std::string, std::less<>> wanted(graph.outputs.begin(), graph.outputs.end());
  for (const Node& node : graph.nodes) {
    const auto is_fixed = [&](const std::string& name) { return fixed.contains(name); };
    const auto is_given = [&](const std::string& name) {
      return is_fixed(name) || computed.contains(name) || inputs.contains(name);
    };
    if (refused.contains(node.name) || !std::ranges::all_of(node.inputs, is_given)) {
      wanted.insert(node.inputs.begin(), node.inputs.end());
    } else if (node.op == "Shape" || std::ranges::all_of(node.inputs, is_fixed)) {
      fixed.insert(node.outputs.begin(), node.outputs.end());
    } else {
      computed.insert(node.outputs.begin(), node.outputs.end());
    }
  }
  std::vector<std::string> ends;
  std::ranges::copy_if(computed, std::back_inserter(ends),
                       [&](const std::string& name) { return wanted.contains(name); });
  constexpr std::size_t kMostEnds = 4;
  return ends.size() > kMostEnds ? std::vector<std::string>() : ends;
}

std::string proposal(const std::vector<std::string>& ends) {
  std::string options;
  for (const std::string& end : ends) options += fmt::format(" --to '{}'", printable(end));
  return fmt::format("; octet import{} imports the nodes in front of it", options);
}

}  // namespace octet::detail::onnx_import
