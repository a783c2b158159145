#include "task.h"

#include <fmt/format.h>
#include <octet/command_line/parse.h>
#include <octet/core/error.h>
#include <octet/train/data/csv_data.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace octet::application {
namespace {

/// How many examples are looked at first.
constexpr std::size_t kGuessedBy = 100;
/// Whole numbers up to it are hardly anything but classes.
constexpr float kMostHintedClass = 20.0F;
/// The largest class of targets that are numbers.
constexpr float kMostClass = 65535.0F;

/// Labels that were read as numbers.
struct LabelForm {
  Labels labels;
  int classes = 0;
  float largest = 0.0F;
};

/// The labels of targets that are a whole number each, or rows with a single 1 among zeros; none of
/// others.
std::optional<LabelForm> labels_in(const Tensor& targets) {
  if (targets.rank() != 2) return std::nullopt;
  const auto columns = static_cast<std::size_t>(targets.dim(1));
  const std::span<const float> values = targets.span();
  LabelForm found;
  for (std::size_t row = 0; row < values.size(); row += columns) {
    const std::span<const float> own = values.subspan(row, columns);
    float label = own[0];
    if (columns > 1) {
      const auto one = std::ranges::find(own, 1.0F);
      if (one == own.end() || std::ranges::count(own, 0.0F) + 1 != std::ssize(own))
        return std::nullopt;
      label = static_cast<float>(one - own.begin());
    }
    if (!(label >= 0.0F && label <= kMostClass) || label != std::floor(label)) return std::nullopt;
    found.largest = std::max(found.largest, label);
    found.labels.push_back(static_cast<std::int32_t>(label));
  }
  found.classes = columns > 1 ? static_cast<int>(columns) : static_cast<int>(found.largest) + 1;
  return found;
}

/// The labels of examples whose targets are numbers; none of a set that is read.
std::optional<LabelForm> labels_in(const Dataset& data) {
  if (data.empty() || data.outputs() != 1 || data.has_labels() || data.is_read()) {
    return std::nullopt;
  }
  return labels_in(data.targets(0, data.size()).values());
}

/// What --task or --numbers makes of targets that are as good as the other kind.
std::string other_task_hint(const Dataset& data) {
  if (const auto found = labels_in(data); found && found->largest <= kMostHintedClass) {
    return "; each target is one of a few classes, which --task classification learns";
  }
  return numbers_hint(data);
}

/// The axes that have more than one place.
std::vector<Index> long_axes(const Shape& shape) {
  std::vector<Index> axes(shape.begin(), shape.end());
  std::erase(axes, 1);
  return axes;
}

/// What the data's targets are, and how to have other ones.
std::string targets_text(const Dataset& data) {
  if (data.outputs() > 1) return "targets of several outputs";
  if (data.has_labels()) {
    return "class labels; numbers come from --numbers of a CSV file, or from arrays";
  }
  return fmt::format("numbers of shape {}, as of {}", data.target_shape().to_string(),
                     to_string(*task_of(data)));
}

}  // namespace

std::string_view to_string(Task task) {
  return std::ranges::find(kTasks, task, [](const auto& named) { return named.second; })->first;
}

Task task_of(const Targets& targets) {
  if (targets.are_labels()) return Task::classification;
  const Tensor& values = targets.values();
  const Shape each = values.shape().without_batch();
  const bool are_shares = std::ranges::all_of(
      values.span(), [](float value) { return value == 0.0F || value == 1.0F; });
  if (!are_shares || each.size() == 1) return Task::regression;
  return each.rank() >= 2 ? Task::segmentation : Task::multi_label;
}

std::optional<Task> task_of(const Dataset& data) {
  if (data.outputs() > 1) return std::nullopt;
  if (data.has_labels()) return Task::classification;
  // Reading all of a set that has a reader takes too long.
  const std::size_t end = data.is_read() ? std::min(data.size(), kGuessedBy) : data.size();
  const Batch first = data.batch(0, std::min(end, kGuessedBy));
  if (std::ranges::equal(first.targets.values().span(), first.features.span())) {
    return Task::reconstruction;
  }
  return task_of(end == data.size() ? data.targets(0, end) : first.targets);
}

std::string task_text(const Dataset& data, std::optional<Task> given) {
  const std::optional<Task> task = given ? given : task_of(data);
  if (!task) return "several outputs, each by its own targets";
  const std::string hint = given ? "" : other_task_hint(data);
  switch (*task) {
    case Task::classification:
      return (data.classes() == 2 ? "classification of two classes" : "classification") + hint;
    case Task::multi_label:
      return "several labels at once" + hint;
    case Task::segmentation:
      return "segmentation: classes of places";
    case Task::reconstruction:
      return "reconstruction of the examples: the error tells anomalies";
    case Task::regression:
      break;
  }
  return (data.target_shape().rank() >= 2 ? "regression of fields" : "regression") + hint;
}

Dataset classifying(const Dataset& data, int classes) {
  std::optional<LabelForm> found = labels_in(data);
  if (!found) return data;
  return data.with_labels(std::move(found->labels), std::max(classes, found->classes));
}

Dataset with_classes_of_places(const Dataset& data, const Shape& output) {
  if (data.outputs() != 1 || data.has_labels() || data.is_read() || output.rank() < 2) return data;
  const Shape& target = data.target_shape();
  const auto count = static_cast<Index>(data.size());
  // An axis of one place may be missing: [h, w] is [h, w, 1].
  if (target.size() == output.size() && long_axes(target) == long_axes(output)) {
    return target == output
               ? data
               : data.with_targets(
                     data.targets(0, data.size()).values().reshape(output.with_batch(count)));
  }
  const Index classes = output.dim(-1);
  std::vector<Index> places(output.begin(), output.end() - 1);
  if (classes < 2 || long_axes(target) != long_axes(Shape(places))) return data;
  const Tensor values = data.targets(0, data.size()).values();
  Labels labels;
  for (const float value : values.span()) {
    if (!(value >= 0.0F && value < static_cast<float>(classes)) || value != std::floor(value)) {
      throw FormatError(
          fmt::format("{}: expected a class in [0, {}) for each place of targets {}, found {}; a "
                      "class for what is of no interest has to be one of the output's",
                      data.name(), classes, target.to_string(), value));
    }
    labels.push_back(static_cast<std::int32_t>(value));
  }
  return data.with_targets(one_hot(labels, classes).reshape(output.with_batch(count)));
}

Dataset reconstructing(const Dataset& data, const Shape& target) {
  if (data.inputs() != 1 || target.size() != data.example_shape().size()) {
    throw InvalidArgument(fmt::format(
        "reconstruction: expected a model of one input whose output has its {} values, found {} "
        "inputs and an output {}",
        data.example_shape().size(), data.inputs(), target.to_string()));
  }
  if (data.is_read()) {
    throw InvalidArgument(fmt::format(
        "reconstruction: expected examples that fit into memory, as they are the targets too, "
        "found "
        "'{}', whose examples are read from files; allow more by --max-data-bytes, or make them "
        "smaller",
        data.name()));
  }
  return data.with_targets(
      data.features(0, data.size()).reshape(target.with_batch(static_cast<Index>(data.size()))));
}

DataSplit with_task(DataSplit data, const Options& options) {
  if (options.file_output) {
    for (Dataset* part : {&data.train, &data.test, &data.validation}) {
      if (!part->empty()) *part = with_classes_of_places(*part, *options.file_output);
    }
  }
  if (!options.task) return data;
  if (options.task == Task::classification) {
    int classes = 0;
    for (const Dataset* part : {&data.train, &data.test, &data.validation}) {
      if (const auto found = labels_in(*part)) classes = std::max(classes, found->classes);
    }
    for (Dataset* part : {&data.train, &data.test, &data.validation}) {
      const bool are_named = part->empty() || part->has_labels();
      *part = classifying(*part, classes);
      if (options.class_names.empty() || are_named || !part->has_labels()) continue;
      *part = part->with_class_names(options.class_names);
    }
  }
  if (options.task == Task::reconstruction) {
    const Shape target = options.file_output.value_or(Shape{data.train.example_shape().size()});
    for (Dataset* part : {&data.train, &data.test, &data.validation}) {
      if (!part->empty()) *part = reconstructing(*part, target);
    }
    return data;
  }
  const std::optional<Task> found = task_of(data.train);
  // Zeros and ones are numbers, too.
  const bool are_numbers = found && *found != Task::classification;
  if (found == options.task || (options.task == Task::regression && are_numbers)) return data;
  throw command_line::UsageError(fmt::format("--task: expected the targets of a {}, found {}",
                                             to_string(*options.task), targets_text(data.train)));
}

std::pair<Index, Activation> network_end(const Dataset& data, std::optional<Task> task) {
  if (data.outputs() == 1) {
    if (data.has_labels()) return {data.classes(), Activation::softmax};
    const Shape& target = data.target_shape();
    if (target.rank() == 1) {
      if (!task) task = task_of(data);
      return {target.size(), task == Task::multi_label ? Activation::sigmoid : Activation::none};
    }
  }
  throw command_line::UsageError(
      fmt::format("--network: expected examples with a class label or a row of numbers each, found "
                  "{}; train a model of yours, FILE",
                  targets_text(data)));
}

}  // namespace octet::application
