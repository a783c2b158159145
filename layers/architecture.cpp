#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/json_text.h>
#include <octet/layers/architecture.h>
#include <octet/layers/dense.h>
#include <octet/layers/dropout.h>
#include <octet/layers/quantize/annotated_layer.h>
#include <octet/layers/quantize/quantize_layer.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/layers/quantize/quantize_output_wrapper.h>
#include <octet/layers/quantize/quantize_wrapper.h>
#include <octet/layers/quantize/quantizer_json.h>
#include <octet/layers/reshape.h>

#include <functional>
#include <map>
#include <typeinfo>

namespace octet {
namespace {

using detail::fixed_config;
using detail::options_from;
using detail::options_json;
using detail::quantizer_from;
using detail::quantizer_json;
using detail::whole_number;
using nlohmann::json;
using LayerPtr = std::unique_ptr<Layer>;

constexpr int kFormat = 1;
/// Every layer is compared with those before it: more would take long.
constexpr std::size_t kMostLayers = 10000;
constexpr const char* kEntry = "architecture";
constexpr const char* kReason = "no architecture";

/// `layer` where it is a T and nothing derived from it: a subclass computes something else.
template <class T>
const T* exactly(const Layer& layer) {
  return typeid(layer) == typeid(T) ? static_cast<const T*>(&layer) : nullptr;
}

json shape_json(const Shape& shape) { return std::vector<Index>(shape.begin(), shape.end()); }
Shape shape_from(const json& extents) {
  std::vector<Index> dims;
  for (const json& extent : extents) dims.push_back(whole_number<Index>(extent));
  return Shape(std::move(dims));
}

/// A layer that is not quantized; null for a class of the program's own.
json plain_json(const Layer& layer) {
  if (const auto* input = exactly<InputLayer>(layer)) {
    return {{"type", "Input"}, {"shape", shape_json(input->example_shape())}};
  }
  if (const auto* dense = exactly<Dense>(layer)) {
    return {{"type", "Dense"},
            {"units", dense->units()},
            {"activation", to_string(dense->activation())},
            {"use_bias", dense->use_bias()}};
  }
  if (const auto* activation = exactly<ActivationLayer>(layer)) {
    return {{"type", "Activation"}, {"activation", to_string(activation->activation())}};
  }
  if (exactly<ReLU>(layer)) return {{"type", "ReLU"}};
  if (exactly<ReLU6>(layer)) return {{"type", "ReLU6"}};
  if (exactly<Softmax>(layer)) return {{"type", "Softmax"}};
  if (const auto* dropout = exactly<Dropout>(layer)) {
    return {{"type", "Dropout"}, {"rate", dropout->rate()}};
  }
  if (const auto* reshape = exactly<Reshape>(layer)) {
    return {{"type", "Reshape"}, {"target", shape_json(reshape->target())}};
  }
  if (exactly<Flatten>(layer)) return {{"type", "Flatten"}};
  return nullptr;
}

json named(json description, const Layer& layer) {
  if (description.is_null()) {
    throw InvalidArgument(
        fmt::format("{} is no layer of Octet's own, so a file cannot make it anew", layer.type()));
  }
  description["name"] = layer.name();
  return description;
}

json layer_json(const Layer& layer) {
  if (const auto* quantize = exactly<QuantizeLayer>(layer)) {
    return {{"type", "Quantize"},
            {"options", options_json(quantize->options())},
            {"quantizer", quantizer_json(&quantize->quantizer())}};
  }
  if (const auto* dense = exactly<QuantizeWrapper>(layer)) {
    return {{"type", "QuantizeDense"},
            {"layer", named(plain_json(dense->wrapped()), dense->wrapped())},
            {"options", options_json(dense->config().options())},
            {"kernel", quantizer_json(dense->kernel_quantizer())},
            {"activation", quantizer_json(dense->activation_quantizer())}};
  }
  if (const auto* other = exactly<QuantizeOutputWrapper>(layer)) {
    return {{"type", "QuantizeOutput"},
            {"layer", named(plain_json(other->wrapped()), other->wrapped())},
            {"options", options_json(other->config().options())},
            {"output", quantizer_json(other->output_quantizer())}};
  }
  if (const auto* marked = exactly<AnnotatedLayer>(layer)) {
    if (marked->config()) throw InvalidArgument("its mark holds a QuantizeConfig");
    return {{"type", "Annotated"}, {"layer", named(plain_json(marked->wrapped()), layer)}};
  }
  return plain_json(layer);
}

LayerPtr plain_from(const json& entry) {
  const auto name = entry.at("name").get<std::string>();
  const auto type = entry.at("type").get<std::string>();
  const std::map<std::string, std::function<LayerPtr()>> makers = {
      {"Input", [&] { return std::make_unique<InputLayer>(shape_from(entry.at("shape")), name); }},
      {"Dense",
       [&] {
         return std::make_unique<Dense>(
             whole_number<Index>(entry.at("units")),
             parse_activation(entry.at("activation").get<std::string>()),
             DenseOptions{.use_bias = entry.at("use_bias"), .name = name});
       }},
      {"Activation",
       [&] {
         return std::make_unique<ActivationLayer>(
             parse_activation(entry.at("activation").get<std::string>()), name);
       }},
      {"ReLU", [&] { return std::make_unique<ReLU>(name); }},
      {"ReLU6", [&] { return std::make_unique<ReLU6>(name); }},
      {"Softmax", [&] { return std::make_unique<Softmax>(name); }},
      {"Dropout", [&] { return std::make_unique<Dropout>(entry.at("rate").get<float>(), name); }},
      {"Reshape", [&] { return std::make_unique<Reshape>(shape_from(entry.at("target")), name); }},
      {"Flatten", [&] { return std::make_unique<Flatten>(name); }}};
  const auto maker = makers.find(type);
  if (maker == makers.end()) {
    throw FormatError(
        fmt::format("architecture: layer \"{}\" is of unknown type \"{}\"", name, type));
  }
  return maker->second();
}

LayerPtr layer_from(const json& entry) {
  const auto type = entry.at("type").get<std::string>();
  if (type == "Quantize") {
    auto quantizer = quantizer_from(entry.at("quantizer"));
    if (quantizer == nullptr) throw FormatError("architecture: an input without a quantizer");
    return std::make_unique<QuantizeLayer>(std::move(quantizer), options_from(entry.at("options")));
  }
  if (type == "QuantizeDense") {
    LayerPtr layer = plain_from(entry.at("layer"));
    auto* dense = dynamic_cast<Dense*>(layer.get());
    if (dense == nullptr) throw FormatError("architecture: expected a Dense to quantize");
    static_cast<void>(layer.release());
    std::unique_ptr<Dense> owned(dense);
    return std::make_unique<QuantizeWrapper>(
        std::move(owned),
        fixed_config(options_from(entry.at("options")), quantizer_from(entry.at("kernel")),
                     quantizer_from(entry.at("activation")), nullptr));
  }
  if (type == "QuantizeOutput") {
    return std::make_unique<QuantizeOutputWrapper>(
        plain_from(entry.at("layer")), fixed_config(options_from(entry.at("options")), nullptr,
                                                    nullptr, quantizer_from(entry.at("output"))));
  }
  if (type == "Annotated") return quantize_annotate_layer(plain_from(entry.at("layer")));
  return plain_from(entry);
}

/// The Dense layer that `layer` is or holds; null for none.
const Dense* dense_in(const Layer& layer) {
  const Layer* plain = &layer;
  if (const auto* marked = dynamic_cast<const AnnotatedLayer*>(plain)) plain = &marked->wrapped();
  if (const auto* wrapper = dynamic_cast<const QuantizeWrapper*>(plain)) return &wrapper->wrapped();
  return dynamic_cast<const Dense*>(plain);
}

/// As Sequential::build(), but makes no kernel before the archive is known to hold one of its size:
/// a broken description could ask for any amount of memory.
void build_as_archived(const Sequential& model, const Archive& archive) {
  const auto* input = model.layers().empty()
                          ? nullptr
                          : dynamic_cast<const InputLayer*>(model.layers().front().get());
  if (input == nullptr) throw FormatError("architecture: expected an Input as the first layer");
  Shape shape = input->example_shape();
  for (const auto& layer : model.layers()) {
    const Dense* dense = dense_in(*layer);
    if (dense != nullptr && shape.rank() == 1) {
      archive.check_shape(layer->name() + "/kernel", {shape[0], dense->units()});
    }
    layer->build(shape, Random());
    shape = layer->output_shape();
  }
}

}  // namespace

std::string architecture_json(const Sequential& model) {
  json layers = json::array();
  for (const auto& layer : model.layers()) {
    try {
      layers.push_back(named(layer_json(*layer), *layer));
    } catch (const InvalidArgument& error) {
      throw InvalidArgument(fmt::format("layer \"{}\" of model \"{}\" cannot be described: {}",
                                        layer->name(), model.name(), error.what()));
    }
  }
  try {
    return json{{"format", kFormat}, {"name", model.name()}, {"layers", layers}}.dump();
  } catch (const json::exception& error) {
    throw InvalidArgument(fmt::format("architecture: names have to be UTF-8: {}", error.what()));
  }
}

Sequential model_from_json(std::string_view text) {
  try {
    const detail::ParsedJson parsed(text);
    const json& description = *parsed;
    if (description.at("format") != kFormat) {
      throw FormatError(fmt::format("architecture: expected format {}, found {}", kFormat,
                                    description.at("format").dump()));
    }
    const json& layers = description.at("layers");
    if (layers.size() > kMostLayers) {
      throw FormatError(
          fmt::format("architecture: {} layers, more than {}", layers.size(), kMostLayers));
    }
    Sequential model(description.at("name").get<std::string>());
    for (const json& entry : layers) {
      LayerPtr layer = layer_from(entry);
      layer->set_name(entry.at("name").get<std::string>());
      model.add(std::move(layer));
    }
    return model;
  } catch (const json::exception& error) {
    throw FormatError(fmt::format("architecture: {}", error.what()));
  } catch (const InvalidArgument& error) {
    throw FormatError(fmt::format("architecture: {}", error.what()));
  }
}

void add_architecture(Archive& archive, const Sequential& model) {
  try {
    archive.add_text(kEntry, architecture_json(model));
  } catch (const InvalidArgument& error) {
    archive.add_text(kReason, error.what());
  }
}

Sequential model_from_archive(const Archive& archive, const std::string& prefix) {
  if (archive.has_text(kReason)) {
    throw FormatError(
        fmt::format("the file holds tensors without their model: {}", archive.text(kReason)));
  }
  if (!archive.has_text(kEntry)) {
    throw FormatError(
        "the file holds tensors without their model: it was written before files described it");
  }
  Sequential model = model_from_json(archive.text(kEntry));
  Archive tensors;
  for (const auto& [name, tensor] : archive.tensors()) {
    if (name.starts_with(prefix)) tensors.add(name.substr(prefix.size()), tensor);
  }
  try {
    build_as_archived(model, tensors);
  } catch (const InvalidArgument& error) {
    throw FormatError(fmt::format("architecture: {}", error.what()));
  }
  model.restore(tensors);
  return model;
}

}  // namespace octet
