#include <fmt/format.h>
#include <octet/core/printable.h>
#include <octet/import/onnx/builder.h>
#include <octet/layers/sequence_shapes.h>

#include <algorithm>
#include <array>
#include <utility>

namespace octet::detail::onnx_import {
namespace {

/// What keeps the order of what it reads.
constexpr std::array<std::string_view, 18> kKeepOrder = {
    "Relu", "Clip", "LeakyRelu", "PRelu", "Sigmoid", "Tanh", "HardSwish", "HardSigmoid", "Elu",
    "Gelu", "Max",  "Min",       "Add",   "Sub",     "Mul",  "Div",       "Slice",       "Split"};
/// What reads images or sequences with their channels in front.
constexpr std::array<std::string_view, 12> kOfImages = {
    "Conv",        "ConvTranspose",     "BatchNormalization", "MaxPool",
    "AveragePool", "GlobalAveragePool", "GlobalMaxPool",      "Pad",
    "Resize",      "Upsample",          "DepthToSpace",       "SpaceToDepth"};

bool is_one_of(std::string_view op, std::span<const std::string_view> list) {
  return std::ranges::find(list, op) != list.end();
}

/// The nodes that Octet has no operator for. What computes with shapes alone needs none.
std::vector<const Node*> unknown_nodes(const Graph& graph) {
  std::vector<const Node*> result;
  std::set<std::string, std::less<>> shapes;
  for (const Node& node : graph.nodes) {
    const auto is_shape = [&](const std::string& name) {
      return name.empty() || shapes.contains(name) || graph.constant(name) != nullptr;
    };
    if (node.op == "Shape" ||
        (!node.inputs.empty() && std::ranges::all_of(node.inputs, is_shape))) {
      shapes.insert(node.outputs.begin(), node.outputs.end());
    } else if (find_operator(node.op) == nullptr) {
      result.push_back(&node);
    }
  }
  return result;
}

/// Throws for the first node of an operator that Octet lacks, of whose nodes `names` gets the
/// names.
void require_known(const Graph& graph, std::set<std::string>& names) {
  const std::vector<const Node*> unknown = unknown_nodes(graph);
  if (unknown.empty()) return;
  std::set<std::string> kinds;
  for (const Node* node : unknown) {
    kinds.insert(printable(node->op));
    names.insert(node->name);
  }
  const Node& first = *unknown.front();
  const auto is_end = [&](const std::string& name) {
    return std::ranges::count(graph.outputs, name) > 0;
  };
  const bool ends_in_it = first.op == "ArgMax" && std::ranges::any_of(first.outputs, is_end);
  refuse(
      "import_onnx: {}: {}; the other {} of {} nodes are of operators that would import (missing: "
      "{})",
      describe(first),
      ends_in_it ? "nothing trains through it; the largest output is the same"
                 : "Octet has no such operator",
      graph.nodes.size() - unknown.size(), graph.nodes.size(), fmt::join(kinds, ", "));
}

}  // namespace

const Operator* find_operator(std::string_view name) {
  for (const auto operators :
       {activation_operators(), arithmetic_operators(), convolution_operators(), dense_operators(),
        merge_operators(), normalization_operators(), part_operators(), pooling_operators(),
        recurrent_operators(), resizing_operators(), shape_operators()}) {
    const auto found = std::ranges::find(operators, name, &Operator::name);
    if (found != operators.end()) return &*found;
  }
  return nullptr;
}

Model Builder::build() {
  require_known(graph_, refused_);
  add_inputs();
  for (const Node& node : graph_.nodes) {
    const std::size_t before = model_.layers().size();
    try {
      in_node(node, [&] { import(node); });
      report(node, before);
    } catch (const InvalidArgument& error) {
      refused_.insert(node.name);
      refuse("{}; the other {} of {} nodes are of operators that would import", error.what(),
             graph_.nodes.size() - 1, graph_.nodes.size());
    }
  }
  add_outputs();
  model_.build();
  set_weights();
  return std::move(model_);
}

bool Builder::is_image_input(const std::string& name, const std::vector<Index>& extents) const {
  if (extents.size() != 3 && extents.size() != 4) return false;
  if (graph_.layout != InputLayout::of_readers) return graph_.layout == InputLayout::channels_first;
  // Through what keeps the order, to the first node that does not.
  std::set<std::string, std::less<>> same = {name};
  for (const Node& node : graph_.nodes) {
    const auto is_same = [&](const std::string& input) { return same.contains(input); };
    if (std::ranges::none_of(node.inputs, is_same)) continue;
    if (is_one_of(node.op, kKeepOrder)) {
      same.insert(node.outputs.begin(), node.outputs.end());
    } else if (is_one_of(node.op, kOfImages)) {
      return true;
    } else if (node.op == "Flatten" || node.op == "Reshape") {
      // One or three channels in front tell of an image.
      const auto is_colors = [](Index n) { return n == 1 || n == 3; };
      return extents.size() == 4 && is_colors(extents[1]) && !is_colors(extents[3]);
    } else {
      return false;
    }
  }
  return false;
}

void Builder::add_inputs() {
  for (const GraphInput& input : graph_.inputs) {
    const std::vector<Index>& extents = input.extents;
    if (input.type != "float32") {
      refuse("import_onnx: input \"{}\": expected float32, found {}", printable(input.name),
             input.type);
    }
    if (extents.size() > at(kMostRank)) {
      refuse("import_onnx: input \"{}\": expected at most {} axes, found {}", printable(input.name),
             kMostRank, extents.size());
    }
    const bool known =
        extents.size() > 1 && std::all_of(extents.begin() + 1, extents.end(),
                                          [](Index n) { return n > 0 && n < (Index{1} << 31); });
    if (!known) {
      refuse(
          "import_onnx: input \"{}\": expected a batch of examples whose extents are known, "
          "found [{}] (-1: unknown): give them by --shape {}=1,..., or export the model with fixed "
          "extents but for the batch",
          printable(input.name), fmt::join(extents, ", "), printable(input.name));
    }
    if (batch_ < 0) batch_ = extents[0];
    Imported value;
    value.logical = Shape(std::vector<Index>(extents.begin() + 1, extents.end()));
    for (Index i = 0; i < value.logical.rank(); ++i) value.axes.push_back(i);
    if (is_image_input(input.name, extents)) {
      value.axes = value.logical.rank() == 3 ? kImageAxes : kSequenceAxes;
    }
    std::vector<Index> physical;
    for (const Index axis : value.axes) physical.push_back(value.logical[axis]);
    value.physical = Shape(std::move(physical));
    static_cast<void>(value.physical.size());
    Node node;
    node.name = input.name;
    value.value = model_.input(value.physical, unique_name(node));
    values_.emplace(input.name, std::move(value));
  }
}

void Builder::import(const Node& node) {
  const bool is_constant = !node.inputs.empty() && std::ranges::all_of(node.inputs, [&](auto& x) {
    return x.empty() || graph_.constant(x) != nullptr;
  });
  std::optional<Constant> value;
  if (is_constant) {
    std::vector<const Constant*> inputs;
    for (const std::string& name : node.inputs) inputs.push_back(graph_.constant(name));
    value = evaluate(node, inputs, graph_);
  } else if (node.op == "Shape") {
    if (!node.attributes.empty()) refuse("expected the whole shape to be read");
    std::vector<std::int64_t> extents = this->value(node, 0).onnx_extents();
    value = Constant{{static_cast<Index>(extents.size())}, std::move(extents)};
  }
  if (value.has_value()) {
    graph_.define(node.output(), std::move(*value));
  } else {
    const Operator* op = find_operator(node.op);
    if (op == nullptr) refuse("Octet does not compute it of shapes");
    Imported result = op->import(*this, node);
    require_rank(result.logical);
    values_.insert_or_assign(node.output(), std::move(result));
  }
  for (std::size_t i = 1; i < node.outputs.size(); ++i) {
    if (is_read(node.outputs[i]) && !values_.contains(node.outputs[i])) {
      refuse("expected its first result alone to be read, found \"{}\"",
             printable(node.outputs[i]));
    }
  }
}

void Builder::set_result(const Node& node, std::size_t i, Imported value) {
  values_.insert_or_assign(node.outputs[i], std::move(value));
}

void Builder::add_outputs() {
  for (const std::string& name : graph_.outputs) {
    const auto found = values_.find(name);
    if (found == values_.end()) {
      refuse(
          "import_onnx: output \"{}\": expected a value that depends on an input, found a "
          "constant",
          printable(name));
    }
    Node node;
    node.op = "output";
    const Imported value = with_batch_at(ordered(node, found->second), 0);
    if (value.batch != BatchPlace{}) {
      refuse("import_onnx: output \"{}\": expected the batch to stay in front, found {}",
             printable(name), written(value.onnx_extents()));
    }
    model_.output(as_result(node, value).value);
  }
}

Imported Builder::input(const Node& node, std::size_t i) const {
  Imported found = with_batch_at(value(node, i), 0);
  if (found.batch != BatchPlace{}) {
    refuse("expected the batch to stay in front, found {}", written(found.onnx_extents()));
  }
  return found;
}

const Imported& Builder::unjoined(const Node& node, std::size_t i) const {
  const Imported& found = value(node, i);
  if (found.batch.joins()) {
    refuse("expected the batch as an axis of its own, found {}", written(found.onnx_extents()));
  }
  return found;
}

const Imported& Builder::value(const Node& node, std::size_t i) const {
  if (!node.has(i)) refuse("expected input {}, found none", i);
  const auto found = values_.find(node.inputs[i]);
  if (found == values_.end()) {
    refuse("expected input {} to be computed, found the constant \"{}\"", i,
           printable(node.inputs[i]));
  }
  return found->second;
}

const Constant* Builder::constant(const Node& node, std::size_t i) const {
  if (!node.has(i)) return nullptr;
  const Constant* value = graph_.constant(node.inputs[i]);
  if (value == nullptr) {
    refuse("expected input {}, \"{}\", to be a constant, found a computed value", i,
           printable(node.inputs[i]));
  }
  return value;
}

const Constant& Builder::required_constant(const Node& node, std::size_t i) const {
  const Constant* value = constant(node, i);
  if (value == nullptr) refuse("expected input {}, found none", i);
  return *value;
}

/// Records the layers that `node` has added behind the first `before`.
void Builder::report(const Node& node, std::size_t before) {
  ImportReport& report = graph_.report;
  if (graph_.constant(node.output()) != nullptr) {
    ++report.folded;
    return;
  }
  ImportReport::Made made{node.op, node.name, {}};
  for (std::size_t i = before; i < model_.layers().size(); ++i) {
    made.layers.push_back(model_.layers()[i]->name());
  }
  if (node.op == "Transpose") {
    ++report.transposes;
    if (made.layers.empty()) ++report.transposes_removed;
  }
  report.made.push_back(std::move(made));
}

}  // namespace octet::detail::onnx_import
