#include <fmt/format.h>
#include <octet/import/onnx/builder.h>
#include <octet/import/zero_layers.h>
#include <octet/layers/layer_registry.h>
#include <octet/layers/reused_layer.h>
#include <octet/layers/zero_padding2d.h>

#include <algorithm>
#include <cctype>
#include <utility>

// How the importer adds layers: their names, and weights that several nodes read.

namespace octet::detail::onnx_import {
namespace {

/// Letters, digits, '.', '-' and '_' of a name: others in a row become one '_'.
std::string cleaned(std::string_view name) {
  std::string result;
  for (const char c : name) {
    const bool fine = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-';
    if (fine) {
      result += c;
    } else if (!result.empty() && result.back() != '_') {
      result += '_';
    }
  }
  while (!result.empty() && result.back() == '_') result.pop_back();
  constexpr std::size_t kMost = 100;
  return result.substr(0, kMost);
}

/// "conv1" of "conv1.weight"; empty where the name has no such end or the exporter made it up.
std::string stem_of(std::string_view weights) {
  for (const std::string_view end :
       {".weight", "/kernel", "/Conv2D/ReadVariableOp", "/MatMul/ReadVariableOp", "/kernel:0"}) {
    if (weights.ends_with(end)) return cleaned(weights.substr(0, weights.size() - end.size()));
  }
  return "";
}

bool same_weights(const Weights& a, const Weights& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.shape() == y.second.shape() &&
           std::ranges::equal(x.second.span(), y.second.span());
  });
}

}  // namespace

Builder::Builder(Graph& graph)
    : graph_(graph), model_(cleaned(graph.name).empty() ? "onnx" : cleaned(graph.name)) {
  read_ = read_values(graph);
}

std::string Builder::unique_name(const Node& node) {
  std::string name = node.inputs.size() > 1 ? stem_of(node.inputs[1]) : "";
  if (name.empty()) name = cleaned(node.name);
  if (name.empty()) name = cleaned(node.op);
  if (name.empty()) name = "layer";
  return names_.take(std::move(name));
}

Imported Builder::add(const Node& node, std::unique_ptr<Layer> layer,
                      const std::vector<Imported>& inputs, std::vector<Index> axes,
                      Weights weights) {
  // A node may become many layers, and nodes may share weights: a small file must not make a huge
  // model.
  if (model_.layers().size() >= kMostLayers + graph_.inputs.size()) {
    refuse("makes more than the {} layers that a model has at most", kMostLayers);
  }
  for (const auto& [key, tensor] : weights) {
    graph_.spend(static_cast<std::size_t>(tensor.size()));
  }
  std::vector<Shape> shapes;
  std::vector<Value> values;
  for (const Imported& input : inputs) {
    shapes.push_back(input.physical);
    values.push_back(input.value);
  }
  const std::string description = describe_layer(*layer).to_json();
  layer->set_name(unique_name(node));
  layer->build_all(shapes, Random(0));
  Imported result;
  result.physical = layer->output_shape();
  result.axes = std::move(axes);
  Index rank = 0;
  for (const Index axis : result.axes) rank = std::max(rank, axis + 1);
  std::vector<Index> logical(static_cast<std::size_t>(rank), 1);
  for (std::size_t i = 0; i < result.axes.size(); ++i) {
    if (result.axes[i] >= 0) {
      logical[static_cast<std::size_t>(result.axes[i])] = result.physical[static_cast<Index>(i)];
    }
  }
  result.logical = Shape(std::move(logical));
  if (weights.empty()) {
    result.value = model_.add(std::move(layer), values);
    return result;
  }
  // Nodes that read the same initializers are one layer, as the program was that exported them.
  const std::span constants = std::span(node.inputs).subspan(1);
  for (const LayerOfFile& earlier : weights_) {
    const Layer& first = *model_.layers()[earlier.layer];
    if (std::ranges::equal(earlier.constants, constants) && earlier.description == description &&
        first.input_shapes() == shapes && same_weights(earlier.weights, weights)) {
      result.value = model_.add(std::make_unique<ReusedLayer>(first.name(), layer->name()), values);
      return result;
    }
  }
  weights_.push_back({model_.layers().size(),
                      {constants.begin(), constants.end()},
                      description,
                      std::move(weights)});
  result.value = model_.add(std::move(layer), values);
  return result;
}

Imported Builder::padded(const Node& node, const Imported& x, const Padding2D& padding) {
  Node pad;
  pad.name = node.name + "/pad";
  std::unique_ptr<Layer> layer = std::make_unique<ZeroPadding2D>(padding);
  if (x.logical.rank() == 2) {
    layer = std::make_unique<ZeroPadding1D>(padding.left, padding.right);
  }
  Imported result = add(pad, std::move(layer), {x}, x.axes);
  result.not_negative = x.not_negative;
  return result;
}

Imported Builder::with_zeros(const Node& node, const Imported& x, Index axis, Index front,
                             Index behind) {
  Imported result = x;
  Node part;
  part.name = node.name + "/zeros";
  const Index place = std::ranges::find(x.axes, axis) - x.axes.begin();
  // Layers between have axes of their own.
  for (auto& layer : zero_layers(x.physical, place, front, behind)) {
    result = add(part, std::move(layer), {result}, {});
  }
  result.axes = x.axes;
  result.logical = x.logical.with_dim(axis, x.logical[axis] + front + behind);
  result.not_negative = x.not_negative;
  return result;
}

void Builder::set_weights() {
  for (const LayerOfFile& made : weights_) {
    const Layer& layer = *model_.layers()[made.layer];
    std::vector<NamedTensor> tensors = layer.parameters();
    append(tensors, layer.state());
    for (const auto& [key, given] : made.weights) {
      const auto found = std::ranges::find(tensors, key, &NamedTensor::name);
      if (found == tensors.end() || found->tensor.shape() != given.shape()) {
        refuse("import_onnx: layer \"{}\": expected \"{}\" of another shape than {}", layer.name(),
               key, given.shape().to_string());
      }
      std::ranges::copy(given.span(), found->tensor.mutable_span().begin());
    }
  }
}

}  // namespace octet::detail::onnx_import
