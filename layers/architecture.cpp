#include <fmt/format.h>
#include <octet/core/buffer.h>
#include <octet/core/description_json.h>
#include <octet/core/error.h>
#include <octet/core/json_text.h>
#include <octet/core/printable.h>
#include <octet/layers/architecture.h>
#include <octet/layers/layer_registry.h>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

namespace octet {
namespace {

using nlohmann::json;

/// 1 was a list of layers without what they read.
constexpr int kFormat = 2;
constexpr std::size_t kMostInputs = 100;
constexpr const char* kEntry = "architecture";
constexpr const char* kReason = "no architecture";
/// Bytes of an entry that an error shows.
constexpr std::size_t kMostShown = 100;
constexpr const char* kNetworkText =
    "{\"format\": 2, \"name\": \"...\", \"layers\": [{\"type\": \"...\", \"name\": \"...\", "
    "\"inputs\": [...], ...}, ...], \"outputs\": [...]}, as architecture_json() writes it";

/// What model_from_json() would refuse must not be written.
void require_at_most(std::size_t most, std::size_t found, std::string_view what) {
  if (found <= most) return;
  throw InvalidArgument(fmt::format("expected at most {} {}, found {}", most, what, found));
}

json layer_json(const Model& model, std::size_t i) {
  require_at_most(kMostInputs, model.inputs_of(i).size(), "inputs");
  json inputs = json::array();
  for (const std::size_t input : model.inputs_of(i)) {
    inputs.push_back(model.layers()[input]->name());
  }
  json entry = DescriptionAccess::json_of(describe_layer(*model.layers()[i]));
  entry["inputs"] = std::move(inputs);
  return entry;
}

/// The entry of an object of a description that was read.
const json& member(const json& object, const char* key) {
  if (!object.is_object()) {
    throw FormatError(fmt::format("architecture: expected an object with an entry \"{}\", found {}",
                                  key, printable(detail::lenient_json_text(object), kMostShown)));
  }
  const auto found = object.find(key);
  if (found == object.end()) {
    throw FormatError(
        fmt::format("architecture: expected an entry \"{}\", found none in {}; a network is {}",
                    key, printable(detail::lenient_json_text(object), kMostShown), kNetworkText));
  }
  return *found;
}

/// The name of a layer or a model.
std::string name_in(const json& value, std::string_view of) {
  if (value.is_string()) return value.get<std::string>();
  throw FormatError(fmt::format("architecture: expected a name {}, found {}", of,
                                printable(detail::lenient_json_text(value), kMostShown)));
}

/// Looks up the values named in a list.
std::vector<Value> values_of(const json& names, const std::map<std::string, Value>& values,
                             std::string_view reader) {
  if (!names.is_array() || names.size() > kMostInputs) {
    throw FormatError(
        fmt::format("architecture: {}: expected a list of at most {} layers", reader, kMostInputs));
  }
  std::vector<Value> result;
  for (const json& entry : names) {
    const std::string name = name_in(entry, fmt::format("that {} reads", reader));
    const auto found = values.find(name);
    if (found == values.end()) {
      throw FormatError(
          fmt::format("architecture: {} reads \"{}\", which is no layer in front of it; layers "
                      "stand behind what they read, without a cycle",
                      reader, name));
    }
    result.push_back(found->second);
  }
  return result;
}

/// Makes layer `i` of a network.
std::unique_ptr<Layer> layer_from(const json& entry, std::size_t i,
                                  const std::shared_ptr<const detail::ParsedJson>& parsed) {
  const auto where = [&] {
    const bool is_named = entry.is_object() && entry.contains("name") && entry["name"].is_string();
    return is_named ? fmt::format("layer {}, \"{}\"", i,
                                  printable(entry["name"].get<std::string>(), kMostShown))
                    : fmt::format("layer {}", i);
  };
  try {
    return make_layer(DescriptionAccess::of(entry, parsed));
  } catch (const FormatError& error) {
    throw FormatError(fmt::format("architecture: {}: {}", where(), error.what()));
  } catch (const InvalidArgument& error) {
    throw FormatError(fmt::format("architecture: {}: {}", where(), error.what()));
  }
}

Model graph_from(const std::shared_ptr<const detail::ParsedJson>& parsed) {
  const json& description = **parsed;
  const json& layers = member(description, "layers");
  if (!layers.is_array()) {
    throw FormatError(fmt::format("architecture: expected a list as \"layers\", found {}",
                                  printable(detail::lenient_json_text(layers), kMostShown)));
  }
  if (layers.size() > kMostLayers) {
    throw FormatError(
        fmt::format("architecture: {} layers, more than {}", layers.size(), kMostLayers));
  }
  Model model(name_in(member(description, "name"), "of the network"));
  std::map<std::string, Value> values;
  for (const json& entry : layers) {
    std::unique_ptr<Layer> layer = layer_from(entry, values.size(), parsed);
    const std::string name = layer->name();
    const auto inputs =
        values_of(member(entry, "inputs"), values, fmt::format("layer \"{}\"", name));
    values[name] = model.add(std::move(layer), inputs);
  }
  for (const Value& output :
       values_of(member(description, "outputs"), values, "the list of outputs")) {
    model.output(output);
  }
  return model;
}

/// Whether an entry of a layer says only how a float model is to be quantized, or stands in the
/// options of a QuantizeLayer, `of`, and says how kernels are, of which it has none.
bool is_mark(std::string_view of, std::string_view key) {
  if (of.empty()) return std::ranges::count(kLayerMarks, key) != 0 || key == "inputs";
  return of == "options" &&
         (key == "weight_bits" || key == "per_channel" || key == "weight_calibration");
}

/// Where two descriptions of layers differ first, in words; empty where they are the same but for
/// marks. Copies no JSON, whose destructor would need memory.
std::string first_difference(const json& expected, const json& found, const std::string& what) {
  if (expected == found) return "";
  if (!expected.is_object() || !found.is_object()) {
    return fmt::format("expected {} {}, found {}", what, expected.dump(), found.dump());
  }
  for (const auto& [key, value] : expected.items()) {
    if (is_mark(what, key)) continue;
    const std::string name = what.empty() ? key : fmt::format("{} of {}", key, what);
    if (!found.contains(key)) return fmt::format("expected {} {}, found none", name, value.dump());
    if (std::string text = first_difference(value, found[key], name); !text.empty()) return text;
  }
  for (const auto& [key, value] : found.items()) {
    if (is_mark(what, key) || expected.contains(key)) continue;
    return fmt::format("expected no {}, found {}", key, value.dump());
  }
  return "";
}

/// How layer `i` of a model differs from its description in a file.
std::string difference_of(const Model& model, std::size_t i, const json& found) {
  const Description expected = describe_layer(*model.layers()[i]);
  std::string difference = first_difference(DescriptionAccess::json_of(expected), found, "");
  if (!difference.empty()) return difference;
  std::vector<std::string> reads;
  for (const std::size_t input : model.inputs_of(i)) reads.push_back(model.layers()[input]->name());
  const auto read = found.at("inputs").get<std::vector<std::string>>();
  if (reads == read) return "";
  return fmt::format("expected inputs [{}], found [{}]", fmt::join(reads, ", "),
                     fmt::join(read, ", "));
}

/// Builds a model, whose layers allocate little more than the archive's tensors take: a broken
/// description could ask for any amount of memory. Folding and quantizing a kernel copies it some
/// times, and what is in no archive is small.
void build_as_archived(const Model& model, const Archive& archive) {
  constexpr std::size_t kCopies = 16;
  constexpr std::size_t kSmallTensors = std::size_t{1} << 20;
  model.check_graph();
  std::size_t left = kSmallTensors;
  for (const auto& [name, tensor] : archive.tensors()) {
    left += kCopies * sizeof(float) * static_cast<std::size_t>(tensor.size());
  }
  for (std::size_t i = 0; i < model.layers().size(); ++i) {
    Layer& layer = *model.layers()[i];
    AllocationLimit limit(left, fmt::format("{} \"{}\": larger than its file, which is damaged or "
                                            "has tensors of another model",
                                            layer.type(), layer.name()));
    layer.build_all(model.shapes_read_by(i), Random());
    left = limit.left();
  }
  // Finds what cannot be joined, and ties the quantizers of what is.
  static_cast<void>(model.program());
}

}  // namespace

std::string architecture_json(const Model& model) {
  try {
    require_at_most(kMostLayers, model.layers().size(), "layers");
    require_at_most(kMostInputs, model.output_layers().size(), "outputs");
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(fmt::format("model \"{}\": {}", model.name(), error.what()));
  }
  json layers = json::array();
  for (std::size_t i = 0; i < model.layers().size(); ++i) {
    try {
      layers.push_back(layer_json(model, i));
    } catch (const InvalidArgument& error) {
      throw InvalidArgument(fmt::format("layer \"{}\" of model \"{}\" cannot be described: {}",
                                        model.layers()[i]->name(), model.name(), error.what()));
    }
  }
  json outputs = json::array();
  for (const std::size_t output : model.output_layers()) {
    outputs.push_back(model.layers()[output]->name());
  }
  try {
    json all = json::object();
    all["format"] = kFormat;
    all["name"] = model.name();
    all["layers"] = std::move(layers);
    all["outputs"] = std::move(outputs);
    return all.dump();
  } catch (const json::exception& error) {
    throw InvalidArgument(
        fmt::format("architecture: names have to be UTF-8: {}", detail::fault_text(error)));
  }
}

Model model_from_json(std::string_view text) {
  try {
    const auto parsed = std::make_shared<const detail::ParsedJson>(text);
    const json& format = member(**parsed, "format");
    if (format == 1) {
      throw FormatError(
          "architecture: format 1 is a list of layers, which Octet wrote before models were graphs "
          "and no longer reads; train and save the model again");
    }
    if (format != kFormat) {
      throw FormatError(
          fmt::format("architecture: expected format {}, found {}", kFormat, format.dump()));
    }
    return graph_from(parsed);
  } catch (const json::exception& error) {
    throw FormatError(fmt::format("architecture: {}", detail::fault_text(error)));
  } catch (const InvalidArgument& error) {
    throw FormatError(fmt::format("architecture: {}", error.what()));
  }
}

void check_architecture(const Archive& archive, const Model& model) {
  if (!archive.has_text(kEntry)) return;
  try {
    const detail::ParsedJson parsed(archive.text(kEntry));
    const json& found = parsed->at("layers");
    const auto& layers = model.layers();
    for (std::size_t i = 0; i < std::max(layers.size(), found.size()); ++i) {
      const auto fail = [&](const std::string& name, const std::string& difference) {
        throw FormatError(fmt::format(
            "layer \"{}\": {}; the file was saved from another model than \"{}\". load_model() "
            "makes the model that the file describes",
            name, difference, model.name()));
      };
      if (i >= found.size()) fail(layers[i]->name(), "expected in the file, found none");
      if (i >= layers.size()) fail(found[i].at("name"), "is in the file, not in the model");
      const std::string difference = difference_of(model, i, found[i]);
      if (!difference.empty()) fail(layers[i]->name(), difference);
    }
  } catch (const json::exception& error) {
    throw FormatError(fmt::format("architecture: {}", detail::fault_text(error)));
  } catch (const InvalidArgument&) {
    // A layer that no file can name: the tensors alone have to fit.
  }
}

void add_architecture(Archive& archive, const Model& model) {
  archive.add_text(kEntry, architecture_json(model));
}

void add_architecture_or_reason(Archive& archive, const Model& model) {
  try {
    add_architecture(archive, model);
  } catch (const InvalidArgument& error) {
    archive.add_text(kReason, error.what());
  }
}

Model model_from_archive(const Archive& archive, const std::string& prefix) {
  if (archive.has_text(kReason)) {
    throw FormatError(
        fmt::format("the file holds tensors without their model: {}", archive.text(kReason)));
  }
  if (!archive.has_text(kEntry)) {
    throw FormatError(
        "the file holds tensors without their model: it was written by save_tensors(), or before "
        "files described models");
  }
  Model model = model_from_json(archive.text(kEntry));
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
