#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/printable.h>
#include <octet/layers/architecture.h>
#include <octet/layers/dense.h>
#include <octet/layers/quantize/float_model.h>
#include <octet/train/fine_tune.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace octet {
namespace {

bool has_tensors(const Layer& layer) {
  return !layer.parameters().empty() || !layer.state().empty();
}

/// The position of the Dense layer that the output comes from.
std::size_t head_of(const Model& model) {
  if (model.output_layers().size() != 1) {
    throw InvalidArgument(fmt::format("with_new_head: expected a model of one output, found {}",
                                      model.output_layers().size()));
  }
  std::size_t at = model.output_layers().front();
  while (model.layers()[at]->type() != Dense::kType) {
    const Layer& layer = *model.layers()[at];
    if (model.inputs_of(at).size() != 1 || has_tensors(layer)) {
      throw InvalidArgument(fmt::format(
          "with_new_head: expected a model that ends in a Dense layer, with nothing but layers "
          "without weights behind it, found \"{}\" of type {}",
          layer.name(), layer.type()));
    }
    at = model.inputs_of(at).front();
  }
  if (model.used_layer(at) == at && !model.is_reused(at)) return at;
  throw InvalidArgument(
      fmt::format("with_new_head: expected a last layer that is used once, found \"{}\"",
                  model.layers()[at]->name()));
}

/// Whether `name`, or its beginning in front of *, is that of the layer.
bool is_meant(std::string_view name, std::string_view layer) {
  return name.ends_with('*') ? layer.starts_with(name.substr(0, name.size() - 1)) : layer == name;
}

}  // namespace

FineTuned with_new_head(const Model& trained, Index units, std::uint64_t seed) {
  require_float_model(trained, "with_new_head");
  if (units < 1) {
    throw InvalidArgument(
        fmt::format("with_new_head: expected a number of units of at least 1, found {}", units));
  }
  const std::size_t head = head_of(trained);
  nlohmann::json description = nlohmann::json::parse(architecture_json(trained));
  description.at("layers").at(head)["units"] = units;
  FineTuned result{model_from_json(description.dump()), trained.layers()[head]->name(), {}};
  result.model.build(seed);
  const std::vector<NamedTensor> before = trained.saved_tensors();
  for (const auto& [name, tensor] : result.model.saved_tensors()) {
    if (name.starts_with(result.head + "/")) continue;
    const auto own = std::ranges::find(before, name, &NamedTensor::name);
    if (own == before.end() || own->tensor.shape() != tensor.shape()) {
      throw InvalidArgument(fmt::format(
          "with_new_head: expected layers of the model alone to depend on its head, found \"{}\"",
          name));
    }
    std::ranges::copy(own->tensor.span(), Tensor(tensor).mutable_span().begin());
  }
  for (std::size_t i = 0; i < result.model.layers().size(); ++i) {
    const Layer& layer = *result.model.layers()[i];
    if (i != head && has_tensors(layer)) result.loaded.push_back(layer.name());
  }
  return result;
}

std::vector<std::string> freeze_layers(Model& model, const std::vector<std::string>& names,
                                       std::string_view head) {
  std::vector<std::string> frozen;
  for (const std::string& name : names) {
    if (!head.empty() && name == head) {
      throw InvalidArgument(fmt::format(
          "freeze_layers: expected layers with trained weights, found '{}', the new last layer",
          printable(name)));
    }
    const std::size_t before = frozen.size();
    for (const auto& layer : model.layers()) {
      if (!is_meant(name, layer->name()) || layer->name() == head) continue;
      if (layer->parameters().empty()) continue;
      layer->set_trainable(false);
      frozen.push_back(layer->name());
    }
    if (frozen.size() > before) continue;
    throw InvalidArgument(fmt::format(
        "freeze_layers: expected the name of a layer with weights, or its beginning and *, found "
        "'{}'",
        printable(name)));
  }
  const bool any_left = std::ranges::any_of(model.layers(), [](const auto& layer) {
    return !layer->parameters().empty() && layer->trainable();
  });
  if (!any_left) {
    throw InvalidArgument("freeze_layers: expected layers that are left to be trained, found none");
  }
  return frozen;
}

}  // namespace octet
