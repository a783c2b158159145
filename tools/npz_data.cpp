#include "npz_data.h"

#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/core/printable.h>
#include <octet/import/weights/weight_file.h>
#include <octet/train/data/npy.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <numeric>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace octet::tools {
namespace {

/// The array with the weights of examples in training, by Keras' name.
constexpr std::string_view kWeights = "sample_weight";

std::string names_of(const IntegerModel& model, const std::vector<std::int32_t>& tensors) {
  std::vector<std::string> names;
  names.reserve(tensors.size());
  for (const std::int32_t index : tensors) {
    names.push_back(printable(model.tensors[static_cast<std::size_t>(index)].name));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Takes the array of that name from `arrays`.
NpyArray take(NamedArrays& arrays, const std::string& name, const std::string& role,
              const std::string& file, const IntegerModel& model) {
  const auto found =
      std::ranges::find_if(arrays, [&](const auto& named) { return named.first == name; });
  if (found == arrays.end()) {
    throw FormatError(fmt::format(
        "{}: expected an array \"{}\" for the {} of that name, found {}; name arrays as the model "
        "names its inputs, {}, and outputs, {}",
        file, printable(name), role, arrays.empty() ? "none" : names_in(arrays),
        names_of(model, model.inputs), names_of(model, model.outputs)));
  }
  NpyArray array = std::move(found->second);
  arrays.erase(found);
  if (array.shape.rank() > 0 && array.shape.size() > 0) {
    require_finite(array, fmt::format("{}: array \"{}\"", file, printable(name)));
    return array;
  }
  throw FormatError(fmt::format("{}: array \"{}\": expected [n, ...] with n of 1 or more, found {}",
                                file, printable(name), array.shape.to_string()));
}

Tensor features_of(const NpyArray& array) {
  Tensor values = array.to_tensor();
  if (std::holds_alternative<std::vector<std::uint8_t>>(array.values)) {
    for (float& value : values.mutable_span()) value /= 255.0F;
  }
  return values;
}

/// The axes behind the first that have more than one place.
std::vector<Index> long_axes(std::vector<Index> shape) {
  if (!shape.empty()) shape.erase(shape.begin());
  std::erase(shape, 1);
  return shape;
}

/// Refuses another number of values than the model has, and as many in another order: images whose
/// channels come first, say.
void check_shape(const Shape& found, const ModelTensor& expected, const std::string& file) {
  const std::vector<Index> axes = long_axes({found.begin(), found.end()});
  const std::vector<Index> wanted = long_axes({expected.shape.begin(), expected.shape.end()});
  const auto size = [](const std::vector<Index>& extents) {
    return std::accumulate(extents.begin(), extents.end(), Index{1}, std::multiplies<>());
  };
  const bool is_transposed = axes != wanted && std::ranges::is_permutation(axes, wanted);
  if (size(axes) == size(wanted) && !is_transposed) return;
  throw FormatError(fmt::format(
      "{}: array \"{}\": expected examples for [{}], a batch of the model, found {}{}", file,
      printable(expected.name), fmt::join(expected.shape, ", "), found.to_string(),
      is_transposed ? "; transpose it: channels are the last axis" : ""));
}

/// Refuses labels of classes that an output [n, classes] does not have; of one value it has two.
void check_labels(const Labels& labels, const ModelTensor& output, const std::string& file) {
  if (output.shape.size() != 2 || labels.empty()) return;
  const std::int32_t classes = std::max(2, output.shape[1]);
  const std::int32_t largest = *std::ranges::max_element(labels);
  if (largest < classes) return;
  throw FormatError(
      fmt::format("{}: array \"{}\": expected labels below {}, the classes of the output, found {}",
                  file, printable(output.name), classes, largest));
}

/// Whether an array of whole numbers has one for each place of an output, whose last axis is
/// classes.
bool are_classes_of_places(const Shape& array, const ModelTensor& output) {
  if (array.rank() < 2 || output.shape.size() < 3 || output.shape.back() < 2) return false;
  std::vector<Index> places(output.shape.begin(), output.shape.end() - 1);
  return long_axes({array.begin(), array.end()}) == long_axes(places);
}

/// Rows of 0 and 1 for the classes of all places.
Tensor one_hot_places(const Shape& shape, const Labels& labels, const ModelTensor& output,
                      const std::string& file) {
  const auto classes = static_cast<Index>(output.shape.back());
  const auto wrong = std::ranges::find_if(
      labels, [&](std::int32_t label) { return label < 0 || label >= classes; });
  if (wrong != labels.end()) {
    throw FormatError(fmt::format(
        "{}: array \"{}\": expected a class in [0, {}) for each place, found {}; a class for what "
        "is of no interest has to be one of the output's",
        file, printable(output.name), classes, *wrong));
  }
  std::vector<Index> extents(shape.begin(), shape.end());
  extents.push_back(classes);
  return one_hot(labels, classes).reshape(Shape(extents));
}

Targets targets_of(const NpyArray& array, const ModelTensor& output, const std::string& file) {
  const auto labels_of = [&](const auto& from) {
    Labels labels;
    for (const auto label : from) {
      if (!std::in_range<std::int32_t>(label)) {
        throw FormatError(
            fmt::format("{}: array \"{}\": {} is no label", file, printable(output.name), label));
      }
      labels.push_back(static_cast<std::int32_t>(label));
    }
    return labels;
  };
  const bool are_places = are_classes_of_places(array.shape, output);
  if (array.shape.rank() == 1 || are_places) {
    const std::optional<Labels> labels = std::visit(
        [&](const auto& from) -> std::optional<Labels> {
          using T = typename std::remove_cvref_t<decltype(from)>::value_type;
          if constexpr (std::is_integral_v<T>) return labels_of(from);
          return std::nullopt;
        },
        array.values);
    if (labels && are_places) return one_hot_places(array.shape, *labels, output, file);
    if (labels) {
      check_labels(*labels, output, file);
      return *labels;
    }
  }
  Tensor values = array.to_tensor();
  if (array.shape.rank() == 1) values = values.reshape({array.shape[0], 1});
  check_shape(values.shape(), output, file);
  return values;
}

}  // namespace

std::string names_in(const NamedArrays& arrays) {
  std::vector<std::string> names;
  for (const auto& [name, array] : arrays) names.push_back(printable(name));
  return fmt::format("{}", fmt::join(names, ", "));
}

bool is_npz(const std::string& file) {
  return std::filesystem::is_regular_file(file) && file_begins_with(file, "PK");
}

NpyArray read_npz_features(const std::string& file, const IntegerModel& model) {
  NamedArrays arrays = read_npz_arrays(file);
  if (arrays.size() == 1) return std::move(arrays.front().second);
  const std::string& name = model.tensors[static_cast<std::size_t>(model.inputs.front())].name;
  const auto found = std::ranges::find(arrays, name, &NamedArrays::value_type::first);
  if (found != arrays.end()) return std::move(found->second);
  throw FormatError(
      fmt::format("{}: expected one array, or one that is named \"{}\" as the model's input, found "
                  "{}",
                  file, printable(name), arrays.empty() ? "none" : names_in(arrays)));
}

Dataset read_npz_data(const std::string& file, const IntegerModel& model) {
  NamedArrays arrays = read_npz_arrays(file);
  std::vector<Tensor> features;
  for (const std::int32_t index : model.inputs) {
    const ModelTensor& input = model.tensors[static_cast<std::size_t>(index)];
    features.push_back(features_of(take(arrays, input.name, "input", file, model)));
    check_shape(features.back().shape(), input, file);
  }
  std::vector<Targets> targets;
  for (const std::int32_t index : model.outputs) {
    const ModelTensor& output = model.tensors[static_cast<std::size_t>(index)];
    targets.push_back(targets_of(take(arrays, output.name, "output", file, model), output, file));
  }
  const auto weights =
      std::ranges::find(arrays, std::string(kWeights), &NamedArrays::value_type::first);
  std::optional<std::vector<float>> sample_weights;
  if (weights != arrays.end()) {
    sample_weights = sample_weights_of(weights->second, fmt::format("{}: \"{}\"", file, kWeights));
    arrays.erase(weights);
  }
  if (!arrays.empty()) {
    throw FormatError(
        fmt::format("{}: expected arrays named after inputs and outputs of the model, and \"{}\", "
                    "found {} too",
                    file, kWeights, names_in(arrays)));
  }
  Dataset data =
      Dataset::from_tensors(std::filesystem::path(file).stem().string(), features, targets);
  if (!sample_weights) return data;
  return std::move(data).with_sample_weights(*std::move(sample_weights));
}

bool has_named_arrays(const std::string& file, const IntegerModel& model) {
  if (!is_npz(file)) return false;
  if (model.inputs.size() != 1 || model.outputs.size() != 1) return true;
  const std::vector<std::string> names = npz_array_names(file);
  const auto holds = [&](std::string_view name) {
    return std::ranges::find(names, name) != names.end();
  };
  const auto holds_all = [&](const std::vector<std::int32_t>& tensors) {
    return std::ranges::all_of(tensors, [&](std::int32_t index) {
      return holds(model.tensors[static_cast<std::size_t>(index)].name);
    });
  };
  const bool are_examples = (holds("x") && holds("y")) || holds("x_train");
  return !are_examples || (holds_all(model.inputs) && holds_all(model.outputs));
}

}  // namespace octet::tools
