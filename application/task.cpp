#include "task.h"

#include <fmt/format.h>
#include <octet/command_line/parse.h>
#include <octet/core/error.h>

#include <algorithm>
#include <span>

namespace octet::application {
namespace {

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
  const auto some = static_cast<std::size_t>(std::min<Index>(values.dim(0), 100) * each.size());
  const bool are_shares = std::ranges::all_of(
      values.span().first(some), [](float value) { return value == 0.0F || value == 1.0F; });
  if (!are_shares || each.size() == 1) return Task::regression;
  return each.rank() >= 2 ? Task::segmentation : Task::multi_label;
}

std::optional<Task> task_of(const Dataset& data) {
  if (data.outputs() > 1) return std::nullopt;
  if (data.has_labels()) return Task::classification;
  const Batch some = data.batch(0, std::min<std::size_t>(data.size(), 100));
  if (std::ranges::equal(some.targets.values().span(), some.features.span())) {
    return Task::reconstruction;
  }
  return task_of(some.targets);
}

std::string task_text(const Dataset& data) {
  const std::optional<Task> task = task_of(data);
  if (!task) return "several outputs, each by its own targets";
  switch (*task) {
    case Task::classification:
      return data.classes() == 2 ? "classification of two classes" : "classification";
    case Task::multi_label:
      return "several labels at once";
    case Task::segmentation:
      return "segmentation: classes of places";
    case Task::reconstruction:
      return "reconstruction of the examples: the error tells anomalies";
    case Task::regression:
      break;
  }
  return data.target_shape().rank() >= 2 ? "regression of fields" : "regression";
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
  if (!options.task) return data;
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

std::pair<Index, Activation> network_end(const Dataset& data) {
  if (data.outputs() == 1) {
    if (data.has_labels()) return {data.classes(), Activation::softmax};
    const Shape& target = data.target_shape();
    if (target.rank() == 1) {
      return {target.size(),
              task_of(data) == Task::multi_label ? Activation::sigmoid : Activation::none};
    }
  }
  throw command_line::UsageError(
      fmt::format("--network: expected examples with a class label or a row of numbers each, found "
                  "{}; train a model of yours, FILE",
                  targets_text(data)));
}

}  // namespace octet::application
