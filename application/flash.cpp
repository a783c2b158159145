#include "flash.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <octet/command_line/parse.h>
#include <octet/core/file.h>
#include <octet/core/printable.h>
#include <octet/core/text.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "losses.h"

namespace octet::application {
namespace {

BitSearchOptions search_options(const QuantizeOptions& quantize) {
  BitSearchOptions result;
  result.quantize = quantize;
  return result;
}

}  // namespace

Model with_layer_bits(const Options& options, Model model) {
  std::vector<std::string> names;
  for (const auto& layer : model.layers()) {
    if (!layer->parameters().empty()) names.push_back(layer->name());
  }
  for (const LayerBits& one : options.layer_bits) {
    if (std::ranges::find(names, one.layer) != names.end()) continue;
    throw command_line::UsageError(fmt::format(
        "--layer-bits: expected a layer with weights, {}, found '{}'",
        printable(fmt::format("{}", fmt::join(names, ", ")), 300), printable(one.layer)));
  }
  set_weight_bits(model, options.layer_bits);
  return model;
}

void check_flash(const Options& options, const Model& model, const QuantizeOptions& quantize) {
  if (!options.flash) return;
  const std::int64_t least = least_flash(model, search_options(quantize));
  if (*options.flash >= least) return;
  throw InvalidArgument(fmt::format(
      "--flash: the network takes {} bytes at least, with 2 bits in every layer, found {}; try {}",
      least, *options.flash,
      options.file.empty() ? "a smaller --hidden or --network" : "a smaller model"));
}

BitSearch search_bits(const Options& options, const Model& model, std::vector<OutputLoss> losses,
                      const Dataset& train, const QuantizeOptions& quantize, ProcessGroup& group) {
  BitSearchOptions how = search_options(quantize);
  how.group = &group;
  set_losses(how, std::move(losses));
  BitSearch found = options.flash
                        ? octet::search_bits(model, train, *options.flash, how)
                        : search_bits_for_drop(model, train, options.max_drop.value(), how);
  if (!group.is_root()) return found;
  const std::string title = fmt::format("{}: accuracy over flash", model_name(options));
  const std::string csv = bit_curve_csv(found);
  const std::string svg = bit_curve_svg(found, title);
  write_files_atomic({{options.out / "bits.csv", csv}, {options.out / "bits.svg", svg}});
  return found;
}

std::string search_report(const Options& options, const BitSearch& search) {
  const BitAssignment& chosen = search.chosen;
  std::string text = fmt::format("bits:");
  for (const auto& [layer, bits] : search.chosen_bits()) text += fmt::format(" {} {}", layer, bits);
  const ModelScore& integers = *chosen.measured;
  const ModelScore& in_float = search.in_float;
  text +=
      integers.accuracy
          ? fmt::format("; {} bytes, {} of the training images looked at (float {})", chosen.bytes,
                        percent_text(*integers.accuracy), percent_text(in_float.accuracy.value()))
          : fmt::format(
                "; {} bytes, loss {:.4g} on the training examples looked at (float "
                "{:.4g})",
                chosen.bytes, integers.loss, in_float.loss);
  return text + fmt::format(" before any step with quantization\ncurve: {}, bits.svg\n",
                            (options.out / "bits.csv").string());
}

std::int64_t bytes_of(const std::vector<LayerFlash>& layers) {
  std::int64_t bytes = 0;
  for (const LayerFlash& layer : layers) bytes += layer.bytes;
  return bytes;
}

std::string flash_table(const Options& options, const std::vector<LayerFlash>& layers) {
  std::string text = fmt::format("\n{:<22} {:>6} {:>12}\n", "layer", "bits", "bytes");
  for (const auto& [layer, bits, bytes] : layers) {
    text += fmt::format("{:<22} {:>6} {:>12}\n", layer, bits, bytes);
  }
  text += fmt::format("{:<22} {:>6} {:>12}", "weights, biases, scales", "", bytes_of(layers));
  return text + (options.flash ? fmt::format(" of {}\n", *options.flash) : "\n");
}

}  // namespace octet::application
