#include <octet/core/error.h>
#include <octet/train/data/cifar10.h>
#include <octet/train/data/csv.h>
#include <octet/train/data/csv_data.h>
#include <octet/train/data/npy.h>
#include <octet/train/data/ts.h>

#include <algorithm>
#include <cmath>
#include <variant>

#include "draw_bytes.h"
#include "memory_file.h"
#include "targets.h"

namespace octet::fuzz {

void npy(Data input) {
  static const MemoryFile file;
  file.assign(input);
  try {
    const NpyArray array = read_npy(file.path());
    const auto count = std::visit([](const auto& values) { return values.size(); }, array.values);
    require(array.shape.size() == static_cast<Index>(count),
            "an .npy array has the values of its shape");
    require(array.to_tensor().shape() == array.shape, "an .npy array becomes a tensor");
  } catch (const FormatError&) {
    return;
  }
}

void cifar10(Data input) {
  static const MemoryFile file;
  file.assign(input);
  try {
    const Dataset data = read_cifar10(file.path());
    require(data.bytes().size() == 3072 * data.size(), "every pixel is there");
  } catch (const FormatError&) {
    return;
  }
}

void csv(Data input) {
  static const MemoryFile file;
  DrawBytes draw(input);
  CsvOptions options;
  options.header = draw.flag();
  options.separator = draw.flag() ? ',' : ';';
  options.targets = static_cast<CsvTargets>(draw.between(0, 2));
  options.target_column = Index{draw.between(0, 3)} - 2;
  if (draw.flag() && options.targets == CsvTargets::labels) options.class_names = {"a", "b c"};
  file.assign(draw.rest());
  try {
    const Dataset data = load_csv(file.path(), options);
    const Tensor features = data.features(0, data.size());
    require(features.shape()[0] == static_cast<Index>(data.size()), "every record is there");
    require(std::ranges::all_of(features.span(), [](float x) { return std::isfinite(x); }),
            "every value is finite");
  } catch (const FormatError&) {
    return;
  } catch (const InvalidArgument&) {
    // Columns that the file does not have.
    return;
  }
}

/// A CSV file for load_data(), whole or as windows.
void csv_data(Data input) {
  static const MemoryFile file;
  DrawBytes draw(input);
  DataOptions options;
  options.window = static_cast<std::size_t>(draw.between(0, 3));
  options.hop = options.window > 0 ? static_cast<std::size_t>(draw.between(0, 3)) : 0;
  options.numbers = draw.flag();
  if (draw.flag()) options.group_column = "g";
  if (draw.flag()) options.weight_column = "w";
  options.skip_bad = static_cast<std::size_t>(draw.between(0, 2));
  options.max_bytes = std::size_t{1} << 20U;
  file.assign(draw.rest());
  try {
    const LoadedData data = load_csv_data(file.path(), options);
    require(data.groups.empty() || data.groups.size() == data.train.size(),
            "every example has a group where any has");
    const Tensor features = data.train.features(0, data.train.size());
    require(std::ranges::all_of(features.span(), [](float x) { return std::isfinite(x); }),
            "every value is finite");
  } catch (const FormatError&) {
    return;
  } catch (const InvalidArgument&) {
    // No column is a feature, or more bytes than the options allow.
    return;
  }
}

void ts(Data input) {
  static const MemoryFile file;
  DrawBytes draw(input);
  DataOptions options;
  options.length = static_cast<std::size_t>(draw.between(0, 3));
  options.padding = kPaddings[draw.between(0, 2)];
  options.skip_bad = static_cast<std::size_t>(draw.between(0, 2));
  options.max_bytes = std::size_t{1} << 20U;
  file.assign(draw.rest());
  try {
    const Dataset data = load_ts(file.path(), options);
    const Tensor features = data.features(0, data.size());
    require(std::ranges::all_of(features.span(), [](float x) { return std::isfinite(x); }),
            "every value is finite");
    require(options.length == 0 || features.dim(1) == static_cast<Index>(options.length),
            "every series has the length that was asked for");
  } catch (const FormatError&) {
    return;
  } catch (const InvalidArgument&) {
    // More bytes than the options allow.
    return;
  }
}

}  // namespace octet::fuzz
