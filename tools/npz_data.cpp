#include "npz_data.h"

#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/core/printable.h>
#include <octet/import/weights/weight_file.h>

#include <algorithm>
#include <filesystem>
#include <type_traits>
#include <utility>
#include <vector>

namespace octet::tools {
namespace {

using NamedArrays = std::vector<std::pair<std::string, NpyArray>>;

std::string names_in(const NamedArrays& arrays) {
  std::vector<std::string> names;
  for (const auto& [name, array] : arrays) names.push_back(printable(name));
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Takes the array of that name from `arrays`.
NpyArray take(NamedArrays& arrays, const std::string& name, const std::string& role,
              const std::string& file) {
  const auto found =
      std::ranges::find_if(arrays, [&](const auto& named) { return named.first == name; });
  if (found == arrays.end()) {
    throw FormatError(fmt::format(
        "{}: expected an array \"{}\" for the {} of that name, found {}; name arrays as "
        "octet inspect names inputs and outputs",
        file, printable(name), role, arrays.empty() ? "none" : names_in(arrays)));
  }
  NpyArray array = std::move(found->second);
  arrays.erase(found);
  if (array.shape.rank() > 0 && array.shape.size() > 0) return array;
  throw FormatError(fmt::format("{}: array \"{}\": expected [n, ...] with n of 1 or more, found {}",
                                file, printable(name), array.shape.to_string()));
}

Tensor features_of(const NpyArray& array) {
  Tensor values = array.to_tensor();
  if (std::holds_alternative<std::vector<std::uint8_t>>(array.values)) {
    for (float& value : values.span()) value /= 255.0F;
  }
  return values;
}

Targets targets_of(const NpyArray& array, const std::string& name, const std::string& file) {
  const Tensor values = array.to_tensor();
  if (array.shape.rank() != 1) return values;
  return std::visit(
      [&](const auto& from) -> Targets {
        using T = typename std::remove_cvref_t<decltype(from)>::value_type;
        if constexpr (std::is_integral_v<T>) {
          Labels labels;
          for (const T label : from) {
            if (!std::in_range<std::int32_t>(label)) {
              throw FormatError(
                  fmt::format("{}: array \"{}\": {} is no label", file, printable(name), label));
            }
            labels.push_back(static_cast<std::int32_t>(label));
          }
          return labels;
        } else {
          return values.reshape({array.shape[0], 1});
        }
      },
      array.values);
}

}  // namespace

bool is_npz(const std::string& file) {
  return !std::filesystem::is_directory(file) && file_begins_with(file, "PK");
}

Dataset read_npz_data(const std::string& file, const Interpreter& interpreter) {
  NamedArrays arrays = read_npz_arrays(file);
  std::vector<Tensor> features;
  for (const TensorDetails& input : interpreter.get_input_details()) {
    features.push_back(features_of(take(arrays, input.name, "input", file)));
  }
  std::vector<Targets> targets;
  for (const TensorDetails& output : interpreter.get_output_details()) {
    targets.push_back(targets_of(take(arrays, output.name, "output", file), output.name, file));
  }
  if (!arrays.empty()) {
    throw FormatError(
        fmt::format("{}: expected arrays named after inputs and outputs of the model, found {} too",
                    file, names_in(arrays)));
  }
  return Dataset::from_tensors(std::filesystem::path(file).stem().string(), features, targets);
}

}  // namespace octet::tools
