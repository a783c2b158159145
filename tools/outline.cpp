#include "outline.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "show.h"

namespace octet::tools {
namespace {

using detail::FileOutline;
using detail::OutlinedGraph;
using detail::OutlinedOperator;
using detail::OutlinedTensor;
using nlohmann::ordered_json;

std::string outlined_shape(const OutlinedTensor& tensor) {
  if (!tensor.shape) return "?";
  const std::string extents = fmt::format("{}", fmt::join(*tensor.shape, ", "));
  return fmt::format("[{}]", extents);
}

std::string outlined_grid(const OutlinedTensor& tensor) {
  const auto& scales = tensor.scales;
  if (scales.empty()) return "";
  if (scales.size() == 1) {
    return fmt::format("scale {}, zero point {}", double{scales[0]},
                       tensor.zero_points.empty() ? 0 : tensor.zero_points[0]);
  }
  const auto [least, most] = std::minmax_element(scales.begin(), scales.end());
  return fmt::format("{} scales along axis {}, {} to {}", scales.size(), tensor.quantized_dimension,
                     double{*least}, double{*most});
}

/// Shape and type of what an operator gives first.
std::string result_text(const OutlinedGraph& graph, const OutlinedOperator& op) {
  if (op.outputs.empty() || op.outputs[0] < 0) return "?";
  const OutlinedTensor& tensor = graph.tensors[static_cast<std::size_t>(op.outputs[0])];
  return fmt::format("{} {}", tensor.type.empty() ? "?" : tensor.type, outlined_shape(tensor));
}

void show_ends(const OutlinedGraph& graph, std::string_view what,
               const std::vector<std::int32_t>& ends) {
  for (const std::int32_t i : ends) {
    if (i < 0) continue;
    const OutlinedTensor& tensor = graph.tensors[static_cast<std::size_t>(i)];
    show("{}: tensor {} '{}', {} {}\n", what, i, tensor.name, tensor.type, outlined_shape(tensor));
  }
}

void show_graph(const OutlinedGraph& graph) {
  show("\ngraph '{}'\n", graph.name);
  show_ends(graph, "input", graph.inputs);
  show_ends(graph, "output", graph.outputs);
  const auto refused = std::ranges::count_if(
      graph.operators, [](const OutlinedOperator& op) { return !op.refusal.empty(); });
  show("{} operators, {} of which Octet does not take (marked by !)\n\n", graph.operators.size(),
       refused);
  show("  {:>5}  {:<24} {:>7}  {:<16} {:<10} {}\n", "#", "operator", "version", "inputs", "outputs",
       "result");
  for (std::size_t i = 0; i < graph.operators.size(); ++i) {
    const OutlinedOperator& op = graph.operators[i];
    show("{} {:>5}  {:<24} {:>7}  {:<16} {:<10} {}\n", op.refusal.empty() ? ' ' : '!', i, op.name,
         op.version > 0 ? std::to_string(op.version) : "-",
         fmt::format("{}", fmt::join(op.inputs, ", ")),
         fmt::format("{}", fmt::join(op.outputs, ", ")), result_text(graph, op));
    if (!op.refusal.empty()) show("         {}\n", printable(op.refusal, kMostOfWarning));
  }
  show("\n  {:>5}  {:<32} {:<8} {:<16} {:>9}  {}\n", "#", "tensor", "type", "shape", "constant",
       "quantization");
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const OutlinedTensor& tensor = graph.tensors[i];
    show("  {:>5}  {:<32} {:<8} {:<16} {:>9}  {}\n", i, tensor.name, tensor.type,
         outlined_shape(tensor),
         tensor.constant_bytes == 0 ? "-" : std::to_string(tensor.constant_bytes),
         outlined_grid(tensor));
  }
}

ordered_json to_json(const OutlinedGraph& graph) {
  ordered_json json{{"name", graph.name},
                    {"inputs", graph.inputs},
                    {"outputs", graph.outputs},
                    {"operators", ordered_json::array()},
                    {"tensors", ordered_json::array()}};
  for (std::size_t i = 0; i < graph.operators.size(); ++i) {
    const OutlinedOperator& op = graph.operators[i];
    json["operators"].push_back({{"index", i},
                                 {"operator", op.name},
                                 {"version", op.version},
                                 {"inputs", op.inputs},
                                 {"outputs", op.outputs},
                                 {"refusal", op.refusal}});
  }
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const OutlinedTensor& tensor = graph.tensors[i];
    json["tensors"].push_back(
        {{"name", tensor.name},
         {"index", i},
         {"shape", tensor.shape ? ordered_json(*tensor.shape) : ordered_json()},
         {"dtype", tensor.type},
         {"quantization_parameters",
          {{"scales", tensor.scales},
           {"zero_points", tensor.zero_points},
           {"quantized_dimension", tensor.quantized_dimension}}},
         {"data_bytes", tensor.constant_bytes}});
  }
  return json;
}

}  // namespace

void show_outline(const InspectOptions& options, const FileOutline& outline,
                  std::string_view refusal) {
  const std::uintmax_t bytes = std::filesystem::file_size(options.file);
  if (options.json) {
    ordered_json json{{"file", options.file},
                      {"bytes", bytes},
                      {"description", outline.description},
                      {"refusal", refusal},
                      {"graphs", ordered_json::array()}};
    for (const OutlinedGraph& graph : outline.graphs) json["graphs"].push_back(to_json(graph));
    show_json(json);
    return;
  }
  show("{}: {} bytes\n{}\n", options.file, bytes, outline.description);
  if (!refusal.empty()) show("refused: {}\n", printable(refusal, kMostOfWarning));
  for (const OutlinedGraph& graph : outline.graphs) show_graph(graph);
}

}  // namespace octet::tools
