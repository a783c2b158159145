#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/layers/folded_batch_norm.h>
#include <octet/layers/input.h>
#include <octet/layers/model.h>
#include <octet/layers/quantize/quantizer.h>
#include <octet/layers/quantize/weight_storage.h>

#include <algorithm>
#include <string>
#include <vector>

namespace octet {
namespace {

/// Keras's tables: where the cells of a row end. A graph has one column more.
using CellEnds = std::vector<std::size_t>;
const CellEnds& cell_ends(bool is_chain) {
  static const CellEnds chain = {29, 55, 65};
  static const CellEnds graph = {32, 53, 65, 98};
  return is_chain ? chain : graph;
}

std::string row(const CellEnds& ends, const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    // As in Keras, a cell that is cut short gives its last column to a space.
    if (i > 0) line.back() = ' ';
    line += cells[i];
    line.resize(ends[i], ' ');
  }
  return line + "\n";
}

std::string rule(const CellEnds& ends, char c) { return std::string(ends.back(), c) + "\n"; }

/// 235164 -> "235,164".
std::string grouped(Index number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string shape_cell(const Layer& layer) {
  std::string extents;
  for (const Index extent : layer.output_shape()) extents += fmt::format(", {}", extent);
  // Python writes a tuple of one with a comma.
  if (extents.empty()) extents += ',';
  return is_input(layer) ? fmt::format("[(None{})]", extents) : fmt::format("(None{})", extents);
}

std::string value_text(const Tensor& tensor) {
  if (tensor.size() == 1) return fmt::format("{:.9g}", tensor.data()[0]);
  const auto [low, high] = std::ranges::minmax(tensor.span());
  return fmt::format("{:.6g} to {:.6g} ({} values)", low, high, tensor.size());
}

/// The grid of one quantizer in words.
std::string grid_text(const Quantizer& quantizer) {
  if (!quantizer.has_range()) return "no range observed yet";
  const QuantParams params = quantizer.params();
  if (!params.per_channel()) {
    return fmt::format("scale {:.9g}, zero point {}", params.scale(), params.zero_point());
  }
  const auto [low, high] = std::ranges::minmax(params.scales);
  const auto [first, last] = std::ranges::minmax(params.zero_points);
  const std::string zero_points = first == last ? fmt::format("zero point {}", first)
                                                : fmt::format("zero points {} to {}", first, last);
  return fmt::format("scales {:.6g} to {:.6g} ({}), {}", low, high, params.channels(), zero_points);
}

/// How one layer is quantized: its batch normalization, each state value by name, and the grid that
/// it stands for.
std::string quantization_lines(Layer& layer) {
  std::string text;
  if (const FoldedBatchNorm* norm = folded_batch_norm(layer)) {
    text += fmt::format("  {:<32} {}{}\n", "batch_norm", to_string(norm->mode()),
                        norm->mode() == BatchNormMode::folded ? ""
                        : norm->frozen()                      ? ", frozen"
                                                              : ", of each batch");
    for (const auto& [name, tensor] : norm->batch_norm().state()) {
      text += fmt::format("  {:<32} {}\n", name, value_text(tensor));
    }
  }
  if (const auto storage = weight_storage(layer)) {
    text += fmt::format("  {:<32} {}\n", "kernel_storage", storage->text());
    if (!storage->obstacle.empty()) text += fmt::format("  {:<32} {}\n", "", storage->obstacle);
  }
  for (const Quantizer* quantizer : layer.quantizers()) {
    for (const auto& [name, tensor] : quantizer->state()) {
      text += fmt::format("  {:<32} {}\n", name, value_text(tensor));
    }
    text +=
        fmt::format("  {:<32} {}\n", quantizer->prefix() + "quant_params", grid_text(*quantizer));
  }
  return text;
}

}  // namespace

std::string Model::layer_rows(std::size_t i, Detail detail) const {
  const CellEnds& ends = cell_ends(is_chain());
  Layer& layer = *layers_[i];
  const Index count = count_elements(layer.parameters()) + count_elements(layer.state());
  const auto read = [&](std::size_t n) {
    return n < edges_[i].size() ? layers_[edges_[i][n]]->name() : std::string();
  };
  std::string text = row(ends, {fmt::format("{} ({})", layer.name(), layer.type()),
                                shape_cell(layer), std::to_string(count), read(0)});
  for (std::size_t n = 1; !is_chain() && n < edges_[i].size(); ++n) {
    text += row(ends, {"", "", "", read(n)});
  }
  return detail == Detail::quantization ? text + quantization_lines(layer) : text;
}

std::string Model::summary(Detail detail) const {
  require_built("summary");
  if (detail != Detail::layers && detail != Detail::quantization) {
    throw InvalidArgument("summary: a Detail outside the enumeration");
  }
  const CellEnds& ends = cell_ends(is_chain());
  std::string text = fmt::format("Model: \"{}\"\n", name_) + rule(ends, '_') +
                     row(ends, {"Layer (type)", "Output Shape", "Param #", "Connected to"}) +
                     rule(ends, '=');
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    text += layer_rows(i, detail) + rule(ends, i + 1 == layers_.size() ? '=' : '_');
  }
  std::vector<NamedTensor> trained = parameters();
  const Index total = count_elements(trained) + count_elements(state());
  std::erase_if(trained, [](const NamedTensor& each) { return !each.tensor.requires_grad(); });
  const Index trainable = count_elements(trained);
  return text +
         fmt::format("Total params: {}\nTrainable params: {}\nNon-trainable params: {}\n",
                     grouped(total), grouped(trainable), grouped(total - trainable)) +
         rule(ends, '_');
}

}  // namespace octet
