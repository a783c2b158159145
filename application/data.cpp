#include "data.h"

#include <fmt/core.h>
#include <octet/command_line/parse.h>

#include <span>
#include <utility>
#include <vector>

namespace octet::application {
namespace {

/// (x - mean) / deviation of every value, with one pair for all or one for each of the last axis.
Dataset normalized(const Dataset& data, const Options& options) {
  const std::vector<float> mean = options.mean.empty() ? std::vector{0.0F} : options.mean;
  const std::vector<float> deviation =
      options.deviation.empty() ? std::vector{1.0F} : options.deviation;
  const auto channels = static_cast<std::size_t>(data.example_shape().dim(-1));
  for (const auto& [name, list] : {std::pair{"--mean", &mean}, std::pair{"--std", &deviation}}) {
    if (list->size() == 1 || list->size() == channels) continue;
    throw command_line::UsageError(
        fmt::format("{}: expected one number, or one for each of the {} channels of "
                    "images {}, found {}",
                    name, channels, data.example_shape().to_string(), list->size()));
  }
  const Tensor features = data.features(0, data.size());
  std::vector<float> values(features.span().begin(), features.span().end());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t channel = i % channels;
    values[i] = (values[i] - mean[mean.size() > 1 ? channel : 0]) /
                deviation[deviation.size() > 1 ? channel : 0];
  }
  const std::span<const std::int32_t> labels = data.labels();
  return Dataset::from_floats(data.name(), data.example_shape(), std::move(values),
                              {labels.begin(), labels.end()}, data.classes());
}

}  // namespace

DataSplit prepared(DataSplit data, const Options& options) {
  if (!options.mean.empty() || !options.deviation.empty()) {
    data = {normalized(data.train, options), normalized(data.test, options)};
  }
  if (!options.class_names.empty()) data.test = data.test.with_class_names(options.class_names);
  return data;
}

}  // namespace octet::application
