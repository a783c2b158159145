#include <fmt/format.h>
#include <fmt/ranges.h>
#include <octet/core/error.h>
#include <octet/layers/model.h>
#include <octet/layers/quantize/quantizer.h>
#include <octet/train/parameter_group.h>

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

namespace octet {
namespace {

using Names = std::set<std::string, std::less<>>;

std::function<bool(std::string_view)> contains(Names names) {
  return [names = std::move(names)](std::string_view name) { return names.contains(name); };
}

}  // namespace

std::function<bool(std::string_view)> in_layers(std::vector<std::string> layers) {
  return [layers = std::move(layers)](std::string_view name) {
    return std::ranges::any_of(layers, [&](const std::string& layer) {
      return name.size() > layer.size() && name.starts_with(layer) && name[layer.size()] == '/';
    });
  };
}

std::function<bool(std::string_view)> in_layers(const Model& model,
                                                const std::vector<std::string>& layers) {
  std::vector<NamedTensor> wanted;
  for (const std::string& layer : layers) append(wanted, model.part(layer).parameters());
  Names names;
  for (const auto& [name, tensor] : model.parameters()) {
    const float* data = tensor.data();
    const auto same = [data](const NamedTensor& each) { return each.tensor.data() == data; };
    if (std::ranges::any_of(wanted, same)) names.insert(name);
  }
  return contains(std::move(names));
}

ParameterGroup learned_scales(const Model& model, float rate_factor) {
  Names names;
  for (const auto& layer : model.layers()) {
    for (const Quantizer* quantizer : layer->quantizers()) {
      for (const auto& [name, tensor] : quantizer->parameters()) {
        names.insert(layer->name() + "/" + name);
      }
    }
  }
  return {.contains = contains(std::move(names)), .rate_factor = rate_factor, .weight_decay = 0.0F};
}

std::vector<std::size_t> detail::group_of_each(std::span<const ParameterGroup> groups,
                                               const std::vector<std::string>& parameters) {
  std::vector<std::size_t> result;
  std::vector<std::size_t> sizes(groups.size() + 1);
  for (const std::string& name : parameters) {
    const auto group = std::ranges::find_if(
        groups, [&](const ParameterGroup& each) { return each.contains(name); });
    result.push_back(static_cast<std::size_t>(group - groups.begin()));
    ++sizes[result.back()];
  }
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (sizes[g] > 0 || groups[g].may_be_empty) continue;
    throw InvalidArgument(
        fmt::format("optimizer: group {} contains no parameter (an earlier group may have them); "
                    "the parameters are {}",
                    g, fmt::join(parameters, ", ")));
  }
  return result;
}

}  // namespace octet
