#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/layers/quantize/quantizer.h>
#include <octet/layers/sequential.h>

#include <algorithm>
#include <array>
#include <string>

namespace octet {
namespace {

// Keras's table: 65 columns, cells that end at these columns.
constexpr std::size_t kWidth = 65;
constexpr std::array<std::size_t, 3> kCellEnds = {29, 55, 65};

std::string row(const std::array<std::string, 3>& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    // As in Keras, a cell that is cut short gives its last column to a space.
    if (i > 0) line.back() = ' ';
    line += cells[i];
    line.resize(kCellEnds[i], ' ');
  }
  return line + "\n";
}

std::string rule(char c) { return std::string(kWidth, c) + "\n"; }

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
  const bool is_input = dynamic_cast<const InputLayer*>(&layer) != nullptr;
  return is_input ? fmt::format("[(None{})]", extents) : fmt::format("(None{})", extents);
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

/// Each state value of one layer by name, and the grid that it stands for.
std::string quantization_lines(const Layer& layer) {
  std::string text;
  for (const Quantizer* quantizer : layer.quantizers()) {
    for (const auto& [name, tensor] : quantizer->state()) {
      text += fmt::format("  {:<32} {}\n", name, value_text(tensor));
    }
    text += fmt::format("  {:<32} {}\n", quantizer->prefix() + "grid", grid_text(*quantizer));
  }
  return text;
}

}  // namespace

std::string Sequential::summary(Detail detail) const {
  require_built("summary");
  std::string text = fmt::format("Model: \"{}\"\n", name_) + rule('_') +
                     row({"Layer (type)", "Output Shape", "Param #"}) + rule('=');
  for (const auto& layer : layers_) {
    const Index count = count_elements(layer->parameters()) + count_elements(layer->state());
    text += row({fmt::format("{} ({})", layer->name(), layer->type()), shape_cell(*layer),
                 std::to_string(count)});
    if (detail == Detail::quantization) text += quantization_lines(*layer);
    text += rule(layer == layers_.back() ? '=' : '_');
  }
  const Index trainable = count_elements(parameters());
  const Index fixed = count_elements(state());
  return text +
         fmt::format("Total params: {}\nTrainable params: {}\nNon-trainable params: {}\n",
                     grouped(trainable + fixed), grouped(trainable), grouped(fixed)) +
         rule('_');
}

}  // namespace octet
