#include <fmt/format.h>
#include <fmt/ranges.h>
#include <octet/core/error.h>
#include <octet/core/log.h>
#include <octet/core/printable.h>
#include <octet/import/weights/weight_layout.h>
#include <octet/import/weights/weight_names.h>
#include <octet/import/weights/weights.h>

#include <algorithm>
#include <utility>

namespace octet {
namespace {

using detail::NamedWeight;
using detail::WeightSlot;

/// More lines say no more.
constexpr std::size_t kMostDifferences = 20;

/// What a file has for a model, and what does not match.
struct Matches {
  std::vector<std::pair<const WeightSlot*, const NamedWeight*>> pairs;
  std::vector<WeightSlot> missing;
  std::vector<NamedWeight> unused;
  std::vector<std::string> wrong;
};

/// The layers that the file calls otherwise, checked.
void check_layers(const WeightRules& rules, const Model& model,
                  const std::vector<NamedWeight>& weights) {
  for (const auto& [prefix, layer] : rules.layers) {
    static_cast<void>(model.layer(layer));
    if (std::ranges::find(weights, prefix, &NamedWeight::prefix) == weights.end()) {
      throw InvalidArgument(fmt::format(
          "load_weights: rules.layers names \"{}\", but the file has no tensor of that layer",
          prefix));
    }
  }
}

std::string layer_of(const NamedWeight& weight, const WeightRules& rules) {
  const auto named = rules.layers.find(weight.prefix);
  return named == rules.layers.end() ? weight.prefix : named->second;
}

/// Why the tensor of the file cannot be the slot's; empty where it can.
std::string misfit(const WeightSlot& slot, const WeightTensor& tensor) {
  const std::string what = fmt::format("{}/{}", slot.layer, slot.name);
  const std::string name = printable(tensor.name);
  if (!tensor.values.defined()) {
    return fmt::format("{}: expected floating-point numbers, found \"{}\" of type {}", what, name,
                       printable(tensor.type));
  }
  if (tensor.shape == slot.layout.file_shape) return "";
  const Shape& own = slot.tensor.shape();
  const std::string of_model =
      own == slot.layout.file_shape ? "" : fmt::format(", {} in the model", own.to_string());
  return fmt::format("{}: expected shape {}{}, found \"{}\" of shape {}", what,
                     slot.layout.file_shape.to_string(), of_model, name, tensor.shape.to_string());
}

Matches match(const std::vector<WeightSlot>& slots, const std::vector<NamedWeight>& weights,
              const WeightRules& rules) {
  Matches result;
  // By layer and tensor: the first of the file that is meant for it.
  std::map<std::pair<std::string, std::string>, const NamedWeight*> sources;
  for (const NamedWeight& weight : weights) {
    const auto [at, fresh] =
        sources.emplace(std::pair(layer_of(weight, rules), weight.name), &weight);
    if (fresh) continue;
    result.wrong.push_back(fmt::format("{}/{}: found \"{}\" and \"{}\" for it", at->first.first,
                                       weight.name, printable(at->second->tensor->name),
                                       printable(weight.tensor->name)));
  }
  for (const WeightSlot& slot : slots) {
    const auto found = sources.find({slot.layer, slot.name});
    if (found == sources.end()) {
      result.missing.push_back(slot);
      continue;
    }
    const std::string problem = misfit(slot, *found->second->tensor);
    if (!problem.empty()) result.wrong.push_back(problem);
    result.pairs.emplace_back(&slot, found->second);
    sources.erase(found);
  }
  for (const auto& [key, weight] : sources) result.unused.push_back(*weight);
  return result;
}

std::string listed(std::string_view title, std::vector<std::string> lines) {
  if (lines.empty()) return "";
  const std::size_t more = lines.size() - std::min(lines.size(), kMostDifferences);
  lines.resize(lines.size() - more);
  if (more > 0) lines.push_back(fmt::format("... and {} more", more));
  return fmt::format("\n  {}:\n    {}", title, fmt::join(lines, "\n    "));
}

/// Throws where something does not match that has to.
void require_match(const Matches& matches, const WeightRules& rules, const std::string& file,
                   const Model& model) {
  std::vector<std::string> missing;
  std::vector<std::string> unused;
  if (!rules.allow_missing) {
    for (const WeightSlot& slot : matches.missing) {
      missing.push_back(
          fmt::format("{}/{} {}", slot.layer, slot.name, slot.layout.file_shape.to_string()));
    }
  }
  if (!rules.allow_unused) {
    for (const NamedWeight& weight : matches.unused) {
      unused.push_back(fmt::format("\"{}\" {}", printable(weight.tensor->name, 200),
                                   weight.tensor->shape.to_string()));
    }
  }
  if (missing.empty() && unused.empty() && matches.wrong.empty()) return;
  const std::string layers = detail::suggested_layers(matches.missing, matches.unused);
  throw FormatError(fmt::format(
      "load_weights: {} does not match model \"{}\", which is unchanged:{}{}{}{}", file,
      model.name(), listed("does not fit", matches.wrong),
      listed("wanted by the model, in the file's layout, and not in the file", std::move(missing)),
      listed("in the file, and wanted by no layer", std::move(unused)),
      layers.empty() ? ""
                     : fmt::format("\n  by their shapes, these may be the same; look it over: "
                                   "rules.layers = {}",
                                   layers)));
}

LoadedWeights result_of(const Matches& matches) {
  LoadedWeights result;
  for (const auto& [slot, weight] : matches.pairs) {
    result.loaded.push_back(fmt::format("{}/{}", slot->layer, slot->name));
  }
  for (const WeightSlot& slot : matches.missing) {
    result.missing.push_back(fmt::format("{}/{}", slot.layer, slot.name));
  }
  for (const NamedWeight& weight : matches.unused) result.unused.push_back(weight.tensor->name);
  return result;
}

}  // namespace

LoadedWeights load_weights(Model& model, const std::filesystem::path& path,
                           const WeightRules& rules) {
  const std::vector<WeightSlot> slots = detail::weight_slots(model, rules, "load_weights");
  const std::vector<WeightTensor> tensors = read_weight_file(path);
  const std::vector<NamedWeight> weights = detail::named_weights(tensors, rules.names);
  check_layers(rules, model, weights);
  const Matches matches = match(slots, weights, rules);
  require_match(matches, rules, path.string(), model);
  LoadedWeights result = result_of(matches);
  if (result.loaded.empty() && !slots.empty()) {
    const std::string layers = detail::suggested_layers(matches.missing, matches.unused);
    log_warn(fmt::format(
        "load_weights: model \"{}\" took none of the {} tensors of {} and keeps its {}{}",
        model.name(), tensors.size(), path.string(), slots.size(),
        layers.empty() ? "" : fmt::format("; by their shapes, rules.layers = {} may fit", layers)));
  }
  // All of them before the first is written, as memory may run out.
  std::vector<Tensor> values;
  values.reserve(slots.size());
  for (const auto& [slot, weight] : matches.pairs) {
    values.push_back(detail::from_file_layout(weight->tensor->values, *slot));
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    Tensor target = matches.pairs[i].first->tensor;
    const Tensor& from = values[i];
    std::ranges::copy(from.span(), target.mutable_data());
  }
  return result;
}

void save_weights(const Model& model, const std::filesystem::path& path, const WeightRules& rules) {
  std::map<std::string, std::string> prefixes;
  for (const auto& [prefix, layer] : rules.layers) {
    static_cast<void>(model.layer(layer));
    if (!prefixes.emplace(layer, prefix).second) {
      throw InvalidArgument(fmt::format(
          "save_weights: expected one name for layer \"{}\" in rules.layers, found several",
          layer));
    }
  }
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const WeightSlot& slot : detail::weight_slots(model, rules, "save_weights")) {
    const auto named = prefixes.find(slot.layer);
    const std::string& prefix = named == prefixes.end() ? slot.layer : named->second;
    tensors.emplace_back(detail::file_name(prefix, slot.name, rules.names),
                         detail::to_file_layout(slot));
  }
  write_safetensors(path, tensors);
}

}  // namespace octet
