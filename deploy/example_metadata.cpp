#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/json_text.h>
#include <octet/deploy/example_metadata.h>

#include <cmath>
#include <nlohmann/json.hpp>

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
    throw FormatError(fmt::format("metadata '{}': {}", key, error.what()));
  }
}

float number_for(const std::vector<float>& list, std::size_t channel, float otherwise) {
  if (list.empty()) return otherwise;
  return list[list.size() > 1 ? channel : 0];
}

}  // namespace

float Normalization::mean_of(std::size_t channel) const { return number_for(mean, channel, 0.0F); }

float Normalization::deviation_of(std::size_t channel) const {
  return number_for(deviation, channel, 1.0F);
}

void Normalization::apply(std::span<float> values, std::size_t channels) const {
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

std::vector<std::string> class_names_of(const IntegerModel& model) {
  return read_metadata<std::vector<std::string>>(
      model, kClassesKey,
      [](const nlohmann::json& list) { return list.get<std::vector<std::string>>(); });
}

Normalization normalization_of(const IntegerModel& model) {
  const auto read = [](const nlohmann::json& object) {
    Normalization result{object.at("mean").get<std::vector<float>>(),
                         object.at("deviation").get<std::vector<float>>()};
    for (const float mean : result.mean) {
      if (!std::isfinite(mean)) {
        throw FormatError(
            fmt::format("metadata '{}': expected finite means, found {}", kNormalizationKey, mean));
      }
    }
    for (const float deviation : result.deviation) {
      if (!std::isfinite(deviation) || deviation <= 0.0F) {
        throw FormatError(fmt::format("metadata '{}': expected deviations above 0, found {}",
                                      kNormalizationKey, deviation));
      }
    }
    return result;
  };
  return read_metadata<Normalization>(model, kNormalizationKey, read);
}

}  // namespace octet
