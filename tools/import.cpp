#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/printable.h>
#include <octet/layers/input.h>
#include <octet/layers/quantize/result_rule.h>

#include <algorithm>
#include <charconv>

#include "commands.h"
#include "float_model.h"
#include "show.h"

namespace octet::tools {

namespace {

/// "NAME=1,16000" as a name and extents. Throws InvalidArgument for anything else.
std::pair<std::string, std::vector<Index>> named_shape(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  std::vector<Index> extents;
  const char* next = text.data() + std::min(equals, text.size() - 1) + 1;
  const char* const end = text.data() + text.size();
  while (next != end) {
    Index extent = 0;
    const auto [stopped, error] = std::from_chars(next, end, extent);
    const bool fits = error == std::errc() && extent > 0 && (stopped == end || *stopped == ',') &&
                      (stopped == end || stopped + 1 != end);
    if (!fits) break;
    extents.push_back(extent);
    next = stopped == end ? end : stopped + 1;
  }
  if (equals == std::string::npos || equals == 0 || extents.empty() || next != end) {
    throw InvalidArgument(fmt::format(
        "--shape: expected the name of an input and its extents, as x=1,16000, found \"{}\"",
        printable(text)));
  }
  return {text.substr(0, equals), std::move(extents)};
}

/// Prints what became of the file's nodes, and what of the model stays real when it is quantized.
void show_report(const Model& model, const ImportReport& report) {
  show("{} nodes: {} folded into constants, {} passed on, {} of {} transpositions removed\n",
       report.nodes, report.folded, report.passed_on, report.transposes_removed, report.transposes);
  for (const auto& [op, name, layers] : report.made) {
    show("  {} '{}': {}\n", printable(op), printable(name),
         layers.empty() ? "no layer" : fmt::format("{}", fmt::join(layers, ", ")));
  }
  for (std::size_t i = 0; i < model.layers().size(); ++i) {
    const Layer& layer = *model.layers()[i];
    const std::size_t used = model.used_layer(i);
    if (used != i) {
      show("weights shared: {} has those of {}\n", layer.name(), model.layers()[used]->name());
    } else if (!is_input(layer) && layer.type() != BatchNorm::kType &&
               result_rule(layer, Rounding::fp32) == ResultRule::unknown) {
      show("in float: {} has no integers to be quantized to\n", layer.name());
    }
  }
}

}  // namespace

void import_model(const ImportCommand& options) {
  ImportOptions asked{.shapes = {}, .from = options.from, .to = options.to};
  if (options.layout == "nchw") asked.layout = InputLayout::channels_first;
  if (options.layout == "nhwc") asked.layout = InputLayout::as_given;
  for (const std::string& shape : options.shapes) asked.shapes.insert(named_shape(shape));
  ImportReport report;
  asked.report = &report;
  const Model model = read_float_model(options.file, asked);
  model.save(options.out);
  // Names of layers come from the file; they have letters, digits, '.', '-' and '_' alone.
  show("{}", model.summary());
  if (report.nodes > 0) show_report(model, report);
}

}  // namespace octet::tools
