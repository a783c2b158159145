#include "data.h"

#include <fmt/format.h>
#include <octet/command_line/parse.h>
#include <octet/core/error.h>
#include <octet/train/data/fingerprint.h>
#include <octet/train/data/load_data.h>

#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace octet::application {
namespace {

/// Calls read(), whose arguments are those of a command line.
template <class Read>
auto as_options(const Read& read) {
  try {
    return read();
  } catch (const InvalidArgument& error) {
    throw command_line::UsageError(error.what());
  }
}

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
  Dataset set = Dataset::from_floats(data.name(), data.example_shape(), std::move(values),
                                     {labels.begin(), labels.end()}, data.classes());
  return data.class_names().empty() ? set : set.with_class_names(data.class_names());
}

/// Whether examples have one input and a class label.
bool are_labelled(const Dataset& data) {
  return data.inputs() == 1 && data.outputs() == 1 && data.has_labels();
}

void require_labelled_for_options(const Dataset& data, const Options& options) {
  if (are_labelled(data)) return;
  const bool one_output = data.outputs() == 1 && data.has_labels();
  const std::string scaled = "scale the arrays";
  const std::string left_out = "leave it out";
  for (const auto& [name, is_wrong, cure] :
       {std::tuple{"--mean", !options.mean.empty(), scaled},
        std::tuple{"--std", !options.deviation.empty(), scaled},
        std::tuple{"--shift", options.shift > 0, left_out},
        std::tuple{"--class-names", !one_output && !options.class_names.empty(), left_out},
        std::tuple{"--max-drop", !one_output && options.max_drop, std::string("use --flash")}}) {
    if (!is_wrong) continue;
    throw command_line::UsageError(fmt::format(
        "{}: expected examples of one input and one output with class labels, found '{}' with {} "
        "and {}{}; {}",
        name, data.name(), data.inputs(), data.outputs(),
        data.outputs() == 1 && !data.has_labels() ? ", whose targets are no labels" : "", cure));
  }
}

}  // namespace

DataSplit load(const std::string& path, const DataOptions& options) {
  return as_options([&] { return load_data(path, options); });
}

Dataset load_test(const std::string& path, const DataOptions& options) {
  return as_options([&] { return load_test_data(path, options); });
}

DataSplit prepared(DataSplit data, const Options& options) {
  require_labelled_for_options(data.train, options);
  if (!options.mean.empty() || !options.deviation.empty()) {
    if (!data.train.front_end().empty()) {
      throw command_line::UsageError(
          "--mean and --std: expected data without a --front-end, whose features are bytes that "
          "firmware computes; leave them out");
    }
    data.train = normalized(data.train, options);
    data.test = normalized(data.test, options);
  }
  if (!options.class_names.empty()) data.test = data.test.with_class_names(options.class_names);
  return data;
}

std::string text_of(const DataSplit& data) {
  const Dataset& train = data.train;
  std::string text = fmt::format("data: {}, {} training and {} test ", train.name(), train.size(),
                                 data.test.size());
  if (are_labelled(train)) {
    text += fmt::format("images of {}, {} classes\n", train.example_shape().to_string(),
                        train.classes());
  } else {
    const Batch one = train.batch(0, 1);
    std::vector<std::string> shapes;
    for (const Tensor& input : one.inputs()) {
      shapes.push_back(input.shape().without_batch().to_string());
    }
    std::vector<std::string> kinds;
    for (const Targets& targets : one.all_targets()) {
      kinds.push_back(targets.are_labels() ? "labels"
                                           : targets.values().shape().without_batch().to_string());
    }
    text += fmt::format("examples of {}, targets {}\n", fmt::join(shapes, " and "),
                        fmt::join(kinds, " and "));
  }
  if (train.size() == data.test.size() && fingerprint(train) == fingerprint(data.test)) {
    text += "accuracy is that on the training examples; --test-data names others\n";
  }
  return text;
}

}  // namespace octet::application
