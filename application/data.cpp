#include "data.h"

#include <fmt/format.h>
#include <octet/command_line/parse.h>
#include <octet/core/error.h>
#include <octet/frontend/log_mel.h>
#include <octet/train/data/fingerprint.h>
#include <octet/train/data/load_data.h>

#include <algorithm>
#include <initializer_list>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "task.h"

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

/// Whether examples have one input and a class label.
bool are_labelled(const Dataset& data) {
  return data.inputs() == 1 && data.outputs() == 1 && data.has_labels();
}

void require_labelled_for_options(const Dataset& data, const Options& options) {
  if (are_labelled(data)) return;
  const bool one_output = data.outputs() == 1 && data.has_labels();
  const bool one_of_each = data.inputs() == 1 && data.outputs() == 1;
  const std::string scaled = "scale the arrays";
  const std::string left_out = "leave it out";
  // Whole numbers become labels later.
  const bool may_name = one_output || options.task == Task::classification;
  for (const auto& [name, is_wrong, cure] :
       {std::tuple{"--mean", !one_of_each && !options.mean.empty(), scaled},
        std::tuple{"--std", !one_of_each && !options.deviation.empty(), scaled},
        std::tuple{"--normalize", !one_of_each && options.normalize, scaled},
        std::tuple{"--shift", options.shift > 0, left_out},
        std::tuple{"--augment", !one_of_each && options.augmentation != Augmentation{}, left_out},
        std::tuple{"--class-names", !may_name && !options.class_names.empty(), left_out},
        std::tuple{"--max-drop", !one_output && options.max_drop, std::string("use --flash")}}) {
    if (!is_wrong) continue;
    throw command_line::UsageError(fmt::format(
        "{}: expected examples of one input and one output with class labels, found '{}' with {} "
        "and {}{}; {}",
        name, data.name(), data.inputs(), data.outputs(),
        data.outputs() == 1 && !data.has_labels() ? ", whose targets are no labels" : "", cure));
  }
}

/// Refuses options that change the feature that says which steps are a sequence's.
void require_mask_stays(const Dataset& train,
                        std::initializer_list<std::pair<std::string, bool>> options) {
  if (!has_step_mask(train)) return;
  for (const auto& [name, changes] : options) {
    if (!changes) continue;
    throw command_line::UsageError(
        fmt::format("{}: expected data without --padding mask, whose last feature says which steps "
                    "are a sequence's and has to stay, found '{}'; leave it out, or "
                    "take another --padding",
                    name, train.name()));
  }
}

/// The normalization in a file. It has to fit the examples that the file says it takes, or those
/// given where it does not say.
Normalization normalization_in(const std::string& file, const IntegerModel& model,
                               const Shape& otherwise) {
  return in_file(file, [&] {
    const std::optional<DataDescription> description = description_in(model);
    return normalization_of(model, description ? description->shape : otherwise);
  });
}

/// Whether the test examples are those for training.
bool scores_on_training(const DataSplit& data) {
  return data.train.size() == data.test.size() && fingerprint(data.train) == fingerprint(data.test);
}

}  // namespace

DataSplit load(const std::string& path, const DataOptions& options) {
  return as_options([&] { return load_data(path, options); });
}

TestData load_test(const std::string& path, const DataOptions& options) {
  if (options.trained_split.share == 0) {
    return {as_options([&] { return load_test_data(path, options); })};
  }
  return test_of(load(path, options), options);
}

TestData test_of(DataSplit data, const DataOptions& options) {
  const TrainedSplit& trained = options.trained_split;
  if (trained.share == 0) return {std::move(data.test)};
  const bool are_all = !data.is_trained_split && scores_on_training(data);
  TestData test{std::move(data.test), data.is_trained_split};
  const std::string how = fmt::format("--split {} --split-seed {}", trained.share, trained.seed);
  if (test.is_trained_split) {
    test.text = fmt::format("test examples: those that training kept for the test by {}\n", how);
  } else if (are_all) {
    test.text = fmt::format(
        "test examples: all, since these are not the data that training divided by {}; examples "
        "that it learned make the scores too good\n",
        how);
  }
  return test;
}

Normalization normalization_for(const DataSplit& data, const Options& options) {
  const bool is_given = !options.mean.empty() || !options.deviation.empty();
  if (!is_given && !options.normalize) return {};
  const Dataset& train = data.train;
  if (!train.front_end().empty()) {
    throw command_line::UsageError(fmt::format(
        "{}: expected data without a --front-end, whose features are bytes that firmware computes; "
        "leave it out",
        is_given ? "--mean and --std" : "--normalize"));
  }
  if (options.normalize) return as_options([&] { return measure_normalization(train); });
  Normalization given{options.mean, options.deviation};
  as_options([&] { given.require_fit(train.example_shape(), "--mean", "--std"); });
  if (!has_step_mask(train)) return given;
  const auto last = static_cast<std::size_t>(train.example_shape().dim(-1) - 1);
  const std::string source =
      options.file.empty() ? "" : fmt::format(", given or of {}", options.file);
  require_mask_stays(train, {{"--mean" + source, given.mean_of(last) != 0.0F},
                             {"--std" + source, given.deviation_of(last) != 1.0F}});
  return given;
}

DataSplit prepared(DataSplit data, const Options& options, const Normalization& normalization) {
  for (Dataset* part : {&data.train, &data.test, &data.validation}) {
    if (part->empty()) continue;
    if (!normalization.empty()) *part = normalized(*part, normalization);
    if (options.class_names.empty() || !part->has_labels()) continue;
    *part = part->with_class_names(options.class_names);
  }
  return data;
}

DataSplit suitable(DataSplit data, const Options& options) {
  require_labelled_for_options(data.train, options);
  require_mask_stays(data.train, {{"--shift", options.shift > 0},
                                  {"--augment", options.augmentation != Augmentation{}}});
  const Augmentation all = all_augmentation(options);
  as_options([&] { require_suitable(all, example_kind(data.train), data.train.example_shape()); });
  if (!data.train.sample_weights().empty() && options.augmentation.mixup > 0.0F) {
    throw command_line::UsageError(
        "--augment: expected no mixup with weights of examples, found some: it makes one of "
        "two");
  }
  if (options.task == Task::reconstruction) {
    as_options([&] { require_unmoved_targets(all, data.train.example_shape()); });
  } else if (data.train.outputs() == 1 && !data.train.has_labels()) {
    as_options([&] { require_unmoved_targets(all, data.train.target_shape()); });
  }
  return data;
}

std::map<std::string, std::string> example_metadata(const DataSplit& data,
                                                    const Normalization& normalization,
                                                    const Model& network) {
  std::map<std::string, std::string> entries;
  const Dataset& train = data.train;
  std::vector<std::string> names = train.class_names();
  if (!names.empty()) {
    // One output value tells two classes apart.
    const Index classes = std::max<Index>(network.output_shape().dim(-1), 2);
    while (std::ssize(names) < classes) names.push_back(std::to_string(names.size()));
  }
  if (!train.front_end().empty()) entries[kFrontEndKey] = train.front_end();
  if (task_of(train) == Task::reconstruction) entries[kTaskKey] = kReconstruction;
  if (!names.empty()) entries[kClassesKey] = metadata_text(names);
  if (train.description()) entries[kDataKey] = to_text(*train.description());
  if (!normalization.empty()) entries[kNormalizationKey] = metadata_text(normalization);
  return entries;
}

std::optional<DataDescription> description_in(const IntegerModel& model) {
  const auto entry = model.metadata.find(kDataKey);
  if (entry == model.metadata.end()) return std::nullopt;
  return parse_data_description(entry->second);
}

DataOptions options_for(const std::string& file, const IntegerModel& model, const std::string& path,
                        const DataOptions& given, TakenOver what) {
  std::optional<DataDescription> description = in_file(file, [&] { return description_in(model); });
  DataOptions plain = given;
  plain.more_test_classes |= in_file(file, [&] { return reconstructs(model); });
  if (!description || data_format_at(path) != description->format) return plain;
  if (what == TakenOver::features) {
    description->options.class_names = given.class_names;
    description->options.target_column = given.target_column;
    description->options.group_column = given.group_column;
    description->options.weight_column = given.weight_column;
    description->options.numbers = given.numbers;
  }
  return as_options([&] { return with_description(plain, *description); });
}

Dataset prepared_for(const std::string& file, const IntegerModel& model, Dataset data) {
  const Normalization normalization = normalization_in(file, model, data.example_shape());
  if (!normalization.empty()) data = normalized(data, normalization);
  if (model.outputs.size() != 1) return data;
  const Shape output = model.tensors[static_cast<std::size_t>(model.outputs[0])].example_shape();
  if (in_file(file, [&] { return reconstructs(model); })) return reconstructing(data, output);
  return classifies(model) ? classifying(data, static_cast<int>(output.size()))
                           : with_classes_of_places(data, output);
}

void take_preparation(const IntegerModel& model, const Model& network, Options& options) {
  const auto end_of = [&](const std::vector<std::size_t>& ends) {
    return network.layers()[ends.front()]->output_shape();
  };
  const Shape input = end_of(network.input_layers());
  if (!options.fine_tunes) options.file_output = end_of(network.output_layers());
  const bool has_task = in_file(options.file, [&] { return reconstructs(model); });
  if (has_task && !options.fine_tunes) {
    if (options.task.value_or(Task::reconstruction) != Task::reconstruction) {
      throw command_line::UsageError(
          fmt::format("--task: expected {}, which {} was trained for, found {}; leave it out",
                      to_string(Task::reconstruction), options.file, to_string(*options.task)));
    }
    options.task = Task::reconstruction;
    const auto normal = in_file(options.file, [&] { return normal_classes_of(model); });
    if (options.normal.empty()) options.normal = normal;
  }
  const Normalization of_file = normalization_in(options.file, model, input);
  const Normalization given{options.mean, options.deviation};
  if (options.normalize || !given.empty()) {
    // A file that says nothing of its examples leaves it open.
    const bool says_nothing = of_file.empty() && !model.metadata.contains(kDataKey);
    if (says_nothing || (!options.normalize && given == of_file)) return;
    throw command_line::UsageError(fmt::format(
        "{}: expected the normalization that {} was trained with, found another one; leave it out "
        "to take it from there",
        options.normalize       ? "--normalize"
        : !options.mean.empty() ? "--mean"
                                : "--std",
        options.file));
  }
  options.mean = of_file.mean;
  options.deviation = of_file.deviation;
}

std::string text_of(const DataSplit& data, std::optional<Task> task) {
  const Dataset& train = data.train;
  std::string text = fmt::format("data: {}, {} training and {} test examples of ", train.name(),
                                 train.size(), data.test.size());
  if (are_labelled(train)) {
    text += fmt::format("{}, {} classes\n", train.example_shape().to_string(), train.classes());
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
    text += fmt::format("{}, targets {}\n", fmt::join(shapes, " and "), fmt::join(kinds, " and "));
  }
  if (train.is_read()) {
    text +=
        "examples are read from their files whenever they are needed: they take more than "
        "--max-data-bytes\n";
  }
  text += fmt::format("task: {}\n", task_text(train, task));
  if (data.is_trained_split) {
    text += "test examples: those that the training of the given model kept for the test\n";
  }
  if (!data.skipped.empty()) {
    text += fmt::format("left out: {} examples that cannot be read\n", data.skipped.size());
  }
  if (!data.validation.empty()) {
    text += fmt::format(
        "epochs are scored on {} validation examples, which training may end by; the test examples "
        "are kept for the end\n",
        data.validation.size());
  }
  if (scores_on_training(data)) {
    text += "accuracy is that on the training examples; --test-data names others\n";
  }
  return text;
}

}  // namespace octet::application
