#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/json_text.h>
#include <octet/core/printable.h>
#include <octet/deploy/example_metadata.h>
#include <octet/frontend/log_mel.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

namespace octet {
namespace {

/// Calls read(json) for the entry, where there is one.
template <class Result, class Read>
Result read_metadata(const IntegerModel& model, const char* key, const Read& read) {
  const auto entry = model.metadata.find(key);
  if (entry == model.metadata.end()) return {};
  try {
    const detail::ParsedJson parsed(entry->second);
    return read(*parsed);
  } catch (const nlohmann::json::exception& error) {
    throw FormatError(fmt::format("metadata '{}': {}", key, detail::fault_text(error)));
  } catch (const FormatError& error) {
    throw FormatError(fmt::format("metadata '{}': {}", key, error.what()));
  }
}

std::vector<std::string> read_names(const IntegerModel& model, const char* key) {
  return read_metadata<std::vector<std::string>>(
      model, key, [](const nlohmann::json& list) { return list.get<std::vector<std::string>>(); });
}

/// Channels, or classes, are on the last axis.
Index last_extent(const Shape& example) { return example.rank() == 0 ? 1 : example.dim(-1); }

float number_for(const std::vector<float>& list, std::size_t channel, float otherwise) {
  if (list.empty()) return otherwise;
  return list[list.size() > 1 ? channel : 0];
}

}  // namespace

float Normalization::mean_of(std::size_t channel) const { return number_for(mean, channel, 0.0F); }

float Normalization::deviation_of(std::size_t channel) const {
  return number_for(deviation, channel, 1.0F);
}

void Normalization::require_fit(const Shape& example, std::string_view mean_name,
                                std::string_view deviation_name) const {
  const auto channels = static_cast<std::size_t>(last_extent(example));
  for (const auto& [name, list] :
       {std::pair{mean_name, &mean}, std::pair{deviation_name, &deviation}}) {
    if (list->size() <= 1 || list->size() == channels) continue;
    throw InvalidArgument(
        fmt::format("{}: expected one number, or one for each of the {} channels of "
                    "examples {}, found {}",
                    name, channels, example.to_string(), list->size()));
  }
}

void Normalization::apply(std::span<float> values, const Shape& example) const {
  require_fit(example);
  const auto channels = static_cast<std::size_t>(last_extent(example));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t channel = i % channels;
    values[i] = (values[i] - mean_of(channel)) / deviation_of(channel);
  }
}

std::string metadata_text(const std::vector<std::string>& class_names) {
  return detail::lenient_json_text(nlohmann::json(class_names));
}

std::string metadata_text(const Normalization& normalization) {
  return detail::lenient_json_text(
      {{"mean", normalization.mean}, {"deviation", normalization.deviation}});
}

std::string metadata_text(float anomaly_threshold) { return fmt::format("{}", anomaly_threshold); }

std::vector<std::string> normal_classes_of(const IntegerModel& model) {
  return read_names(model, kNormalClassesKey);
}

std::optional<float> anomaly_threshold_of(const IntegerModel& model) {
  return read_metadata<std::optional<float>>(
      model, kAnomalyThresholdKey, [](const nlohmann::json& number) -> std::optional<float> {
        const auto threshold = number.get<float>();
        if (threshold >= 0.0F && std::isfinite(threshold)) return threshold;
        throw FormatError(fmt::format("expected a number of 0 or more, found {}", threshold));
      });
}

std::vector<std::string> class_names_of(const IntegerModel& model) {
  std::vector<std::string> names = read_names(model, kClassesKey);
  if (names.empty() || model.outputs.size() != 1) return names;
  const Index width =
      last_extent(model.tensors[static_cast<std::size_t>(model.outputs[0])].example_shape());
  const auto classes = static_cast<std::size_t>(width == 1 ? 2 : width);
  if (names.size() == classes) return names;
  throw FormatError(
      fmt::format("metadata '{}': expected a name for each of the {} classes of the "
                  "output, found {}",
                  kClassesKey, classes, names.size()));
}

Normalization normalization_of(const IntegerModel& model) {
  const auto read = [](const nlohmann::json& object) {
    Normalization result{object.at("mean").get<std::vector<float>>(),
                         object.at("deviation").get<std::vector<float>>()};
    for (const float mean : result.mean) {
      if (!std::isfinite(mean)) {
        throw FormatError(fmt::format("expected finite means, found {}", mean));
      }
    }
    for (const float deviation : result.deviation) {
      if (!std::isfinite(deviation) || deviation <= 0.0F) {
        throw FormatError(fmt::format("expected deviations above 0, found {}", deviation));
      }
    }
    return result;
  };
  auto found = read_metadata<Normalization>(model, kNormalizationKey, read);
  if (!found.empty() && model.metadata.contains(kFrontEndKey)) {
    throw FormatError(
        fmt::format("metadata '{}': expected none beside '{}', whose features are bytes that "
                    "firmware computes",
                    kNormalizationKey, kFrontEndKey));
  }
  return found;
}

Shape example_shape_of(const IntegerModel& model) {
  const ModelTensor& tensor = model.tensors[static_cast<std::size_t>(model.inputs[0])];
  Shape input = tensor.shape.empty() ? Shape() : tensor.example_shape();
  const auto said =
      read_metadata<std::vector<Index>>(model, kDataKey, [](const nlohmann::json& object) {
        std::vector<Index> extents;
        for (const nlohmann::json& extent : object.at("shape")) {
          extents.push_back(detail::whole_number<Index>(extent));
        }
        return extents;
      });
  // Extents of damaged files may be of any size.
  Index left = input.size();
  for (const Index extent : said) {
    if (extent <= 0 || left % extent != 0) return input;
    left /= extent;
  }
  return said.empty() || left != 1 ? input : Shape(said);
}

bool reconstructs(const IntegerModel& model) {
  const auto entry = model.metadata.find(kTaskKey);
  if (entry == model.metadata.end()) return false;
  if (entry->second == kReconstruction) return true;
  if (entry->second == kClassification) return false;
  throw FormatError(fmt::format("metadata '{}': expected {} or {}, found {}", kTaskKey,
                                kReconstruction, kClassification, printable(entry->second)));
}

bool classifies(const IntegerModel& model) {
  const auto entry = model.metadata.find(kTaskKey);
  return entry != model.metadata.end() && entry->second == kClassification;
}

Normalization normalization_of(const IntegerModel& model, const Shape& example) {
  Normalization found = normalization_of(model);
  try {
    found.require_fit(example);
  } catch (const InvalidArgument& error) {
    throw FormatError(
        fmt::format("metadata '{}': {}; is it of another model?", kNormalizationKey, error.what()));
  }
  return found;
}

}  // namespace octet
