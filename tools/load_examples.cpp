#include "load_examples.h"

#include <fmt/format.h>
#include <octet/command_line/parse.h>
#include <octet/core/error.h>
#include <octet/core/printable.h>
#include <octet/import/weights/weight_file.h>
#include <octet/train/data/data_description.h>
#include <octet/train/data/npy.h>
#include <octet/train/data/trained_split.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "npz_data.h"

namespace octet::tools {
namespace {

/// Refuses options that say how files of other data become examples, or how two parts.
void check_options(const std::string& file, const DataOptions& options) {
  for (const std::string_view name : given_options(options)) {
    if (name == "test-data" || name == "split" || name == "split-seed") continue;
    throw command_line::UsageError(fmt::format(
        "--{}: goes with other data than the arrays of an .npz file, found {}", name, file));
  }
  if (options.split != 0 && !options.test_data.empty()) {
    throw command_line::UsageError("--split: expected it or --test-data, found both");
  }
}

/// The arrays of an .npz file, which are taken by name.
class ExampleArrays {
 public:
  explicit ExampleArrays(const std::string& file) : file_(file), arrays_(read_npz_arrays(file)) {}

  bool has(std::string_view name) const { return find(name) != arrays_.end(); }

  /// The examples of x and y, and their weights w, behind whose names `part` stands; `classes` as
  /// dataset_of() takes them.
  Dataset take(const std::string& part, int classes) {
    NpyArray x = take_array("x" + part);
    const NpyArray y = take_array("y" + part);
    Dataset data = dataset_of(std::filesystem::path(file_).stem().string(), std::move(x), y,
                              named("x" + part), named("y" + part), classes);
    const std::string weights = "w" + part;
    if (!has(weights)) return data;
    return std::move(data).with_sample_weights(
        sample_weights_of(take_array(weights), named(weights)));
  }

  void require_all_taken() const {
    if (arrays_.empty()) return;
    throw FormatError(fmt::format(
        "{}: expected x, y and w, or x_train, y_train, w_train, x_test and y_test, found {} too",
        file_, names_in(arrays_)));
  }

 private:
  NamedArrays::const_iterator find(std::string_view name) const {
    return std::ranges::find(arrays_, name, &NamedArrays::value_type::first);
  }

  std::string named(const std::string& name) const {
    return fmt::format("{}: array \"{}\"", file_, name);
  }

  NpyArray take_array(const std::string& name) {
    const auto found = find(name);
    if (found == arrays_.end()) {
      throw FormatError(
          fmt::format("{}: expected an array \"{}\", found {}; numpy.savez(\"data.npz\", x=x, y=y) "
                      "writes x and y, a row for each example",
                      file_, name, arrays_.empty() ? "none" : names_in(arrays_)));
    }
    NpyArray array = std::move(arrays_[static_cast<std::size_t>(found - arrays_.begin())].second);
    arrays_.erase(found);
    require_finite(array, named(name));
    return array;
  }

  std::string file_;
  NamedArrays arrays_;
};

/// The test part of another file, or all of it.
Dataset test_examples(const std::string& file, int classes) {
  if (!is_npz(file)) {
    throw command_line::UsageError(
        fmt::format("--test-data: expected an .npz file, as the training data is, found {}", file));
  }
  ExampleArrays arrays(file);
  return arrays.take(arrays.has("x_test") ? "_test" : "", classes);
}

/// Makes both parts of the examples in `data.train`, as divide() does or all in each, and returns
/// what divided them.
TrainedSplit divide_or_repeat(DataSplit& data, const DataOptions& options) {
  try {
    std::optional<Division> division = divide(data.train, {}, options);
    if (!division) {
      data.test = data.train;
      return {};
    }
    data = std::move(division->parts);
    return division->split;
  } catch (const InvalidArgument& error) {
    throw command_line::UsageError(error.what());
  }
}

/// The examples with a description by which arrays of .npy files become further ones.
Dataset described(Dataset train, const TrainedSplit& split) {
  DataDescription description{.format = "NumPy", .shape = train.example_shape()};
  description.options.trained_split = split;
  return std::move(train).with_description(
      std::make_shared<const DataDescription>(std::move(description)));
}

/// The options for load_for(): those of the model's training, as far as the path takes them.
DataOptions options_at(const std::string& file, const IntegerModel& model, const std::string& path,
                       const DataOptions& options, application::TakenOver what) {
  if (!is_npz(path)) return application::options_for(file, model, path, options, what);
  DataOptions how = options;
  const auto description =
      application::in_file(file, [&] { return application::description_in(model); });
  if (description) how.trained_split = description->options.trained_split;
  return how;
}

/// The named arrays of a file for training and of DataOptions::test_data for scoring, or of the
/// first one for both; with DataOptions::split, or a training's, the parts that divide() makes of
/// it. Throws FormatError where an output has class labels in one file and tensors in the other.
DataSplit read_npz_split(const std::string& train, const DataOptions& options,
                         const IntegerModel& model) {
  check_options(train, options);
  const std::string test = options.test_data.string();
  DataSplit data;
  data.train = read_npz_data(train, model);
  if (test.empty()) {
    const TrainedSplit split = divide_or_repeat(data, options);
    if (split.share != 0) data.train = described(std::move(data.train), split);
    return data;
  }
  data.test = read_npz_data(test, model);
  for (std::size_t k = 0; k < model.outputs.size(); ++k) {
    if (data.train.has_labels(k) == data.test.has_labels(k)) continue;
    const auto kind = [k](const Dataset& set) {
      return set.has_labels(k) ? "class labels" : "tensors";
    };
    throw FormatError(fmt::format(
        "{}: array \"{}\": expected {} as in {}, found {}; labels are integers of one axis", test,
        printable(model.tensors[static_cast<std::size_t>(model.outputs[k])].name), kind(data.train),
        train, kind(data.test)));
  }
  return data;
}

/// The examples of a path with the options of options_at().
DataSplit load_as(const IntegerModel& model, const std::string& path, const DataOptions& how) {
  return has_named_arrays(path, model) ? read_npz_split(path, how, model)
                                       : load_examples_at(path, how);
}

}  // namespace

DataSplit load_examples_at(const std::string& path, const DataOptions& options) {
  if (!is_npz(path)) return application::load(path, options);
  check_options(path, options);
  ExampleArrays arrays(path);
  const bool has_parts = arrays.has("x_train");
  const std::string test = options.test_data.string();
  if (has_parts && (options.split != 0 || !test.empty())) {
    throw command_line::UsageError(
        fmt::format("--{}: expected data without a test part, found x_test in {}",
                    options.split != 0 ? "split" : "test-data", path));
  }
  DataSplit data;
  data.train = arrays.take(has_parts ? "_train" : "", 0);
  const int classes = data.train.classes();
  if (has_parts) data.test = arrays.take("_test", classes);
  arrays.require_all_taken();
  TrainedSplit split;
  if (!has_parts && test.empty()) {
    split = divide_or_repeat(data, options);
  } else if (!has_parts) {
    data.test = test_examples(test, classes);
  }
  data.train = described(std::move(data.train), split);
  if (data.train.example_shape() == data.test.example_shape()) return data;
  throw FormatError(fmt::format("{}: expected test examples {} as those for training, found {}",
                                test.empty() ? path : test, data.train.example_shape().to_string(),
                                data.test.example_shape().to_string()));
}

DataSplit load_for(const std::string& file, const IntegerModel& model, const std::string& path,
                   const DataOptions& options, application::TakenOver what) {
  return load_as(model, path, options_at(file, model, path, options, what));
}

application::TestData load_test_for(const std::string& file, const IntegerModel& model,
                                    const std::string& path, const DataOptions& options) {
  const DataOptions how = options_at(file, model, path, options, application::TakenOver::all);
  if (!is_npz(path)) return application::load_test(path, how);
  return application::test_of(load_as(model, path, how), how);
}

void require_one_input(const Model& model, const std::string& file, const std::string& data) {
  const std::size_t inputs = model.input_layers().size();
  const std::size_t outputs = model.output_layers().size();
  if ((inputs == 1 && outputs == 1) || is_npz(data)) return;
  throw command_line::UsageError(fmt::format(
      "--data: expected an .npz file with an array for each input and output of {}, which has {} "
      "and {}, found {}; numpy.savez(\"data.npz\", NAME=array, ...) writes one",
      file, inputs, outputs, data));
}

}  // namespace octet::tools
