#include <fmt/format.h>
#include <fmt/ranges.h>
#include <octet/core/error.h>
#include <octet/core/half.h>
#include <octet/core/printable.h>
#include <octet/train/data/array_file.h>
#include <octet/train/data/npy.h>
#include <octet/train/data/npy_header.h>
#include <octet/train/data/npy_reader.h>
#include <octet/train/data/set_name.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace octet {
namespace {

static_assert(std::endian::native == std::endian::little,
              "values are read as they lie in the file");

constexpr std::array<std::uint8_t, 6> kMagic = {0x93, 'N', 'U', 'M', 'P', 'Y'};
/// What NumPy itself reads at most; headers of plain arrays have 118 bytes.
constexpr std::uint64_t kMostHeaderBytes = 10000;

template <std::size_t n>
std::array<std::uint8_t, n> read_bytes(ByteSource& source, const std::string& file) {
  std::array<std::uint8_t, n> bytes{};
  if (source.read(bytes) != n) {
    throw FormatError(fmt::format("{}: too short for an .npy header", file));
  }
  return bytes;
}

/// The text of the header, and how many bytes of the file lie before the values.
std::pair<std::string, std::uint64_t> read_header_text(ByteSource& source,
                                                       const std::string& file) {
  const auto magic = read_bytes<kMagic.size()>(source, file);
  if (magic != kMagic) {
    throw FormatError(fmt::format(
        "{}: expected an .npy file (first bytes {:02x}), found {:02x}; is it another format (.npz "
        "is a zip of .npy files: unpack it)?",
        file, fmt::join(kMagic, " "), fmt::join(magic, " ")));
  }
  const auto [major, minor] = read_bytes<2>(source, file);
  if (major < 1 || major > 3 || minor != 0) {
    throw FormatError(
        fmt::format("{}: expected .npy version 1.0, 2.0 or 3.0, found {}.{}", file, major, minor));
  }
  std::uint64_t size = 0;
  std::uint64_t before = kMagic.size() + 2;
  const auto add_length = [&](const auto& bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) size |= std::uint64_t{bytes[i]} << (8 * i);
    before += bytes.size();
  };
  if (major == 1) {
    add_length(read_bytes<2>(source, file));
  } else {
    add_length(read_bytes<4>(source, file));
  }
  if (size > kMostHeaderBytes) {
    throw FormatError(fmt::format("{}: expected an .npy header of at most {} bytes, found {}", file,
                                  kMostHeaderBytes, size));
  }
  std::vector<std::uint8_t> text(size);
  if (source.read(text) != size) {
    throw FormatError(fmt::format("{}: the .npy header of {} bytes is cut short", file, size));
  }
  return {std::string(text.begin(), text.end()), before + size};
}

template <class T>
T with_bytes_turned(T value) {
  auto bytes = std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
  std::ranges::reverse(bytes);
  return std::bit_cast<T>(bytes);
}

/// The values of an array whose first axis is the fastest, in the order in which the last one is.
template <class T>
std::vector<T> row_major(const std::vector<T>& from, const Shape& shape) {
  std::vector<std::size_t> steps;
  std::size_t step = 1;
  for (const Index extent : shape) {
    steps.push_back(step);
    step *= static_cast<std::size_t>(extent);
  }
  std::vector<Index> index(steps.size());
  std::vector<T> to;
  to.reserve(from.size());
  for (std::size_t at = 0; to.size() < from.size();) {
    to.push_back(from[at]);
    for (std::size_t axis = steps.size(); axis-- > 0;) {
      const Index extent = shape[static_cast<Index>(axis)];
      at += steps[axis];
      if (++index[axis] < extent) break;
      at -= steps[axis] * static_cast<std::size_t>(extent);
      index[axis] = 0;
    }
  }
  return to;
}

using Values = decltype(NpyArray::values);

/// Reads the values, which are of type From in the file; uint16 that become floats are float16.
template <class From, class To = From>
Values read_values(ByteSource& source, const NpyHeader& header, std::uint64_t before,
                   const std::string& file) {
  const std::uint64_t count = check_promise(source, header.shape, sizeof(From), before, file);
  std::vector<From> values = read_promised<From>(source, count, file);
  if (header.descr.starts_with('>'))
    std::ranges::transform(values, values.begin(), with_bytes_turned<From>);
  if (header.fortran_order && header.shape.rank() > 1) values = row_major(values, header.shape);
  if constexpr (std::is_same_v<From, To>) {
    return values;
  } else {
    std::vector<To> result;
    result.reserve(values.size());
    for (const From value : values) {
      if constexpr (std::is_same_v<From, std::uint16_t> && std::is_same_v<To, float>) {
        result.push_back(detail::float_of_half(value));
      } else {
        result.push_back(static_cast<To>(value));
      }
    }
    return result;
  }
}

struct NpyType {
  /// As NumPy writes it, behind the order of bytes.
  std::string_view name;
  Values (*read)(ByteSource&, const NpyHeader&, std::uint64_t before, const std::string& file);
};

constexpr NpyType kTypes[] = {{"f2", read_values<std::uint16_t, float>},
                              {"f4", read_values<float>},
                              {"f8", read_values<double>},
                              {"u1", read_values<std::uint8_t>},
                              {"u2", read_values<std::uint16_t, std::int32_t>},
                              {"u4", read_values<std::uint32_t, std::int64_t>},
                              {"i1", read_values<std::int8_t>},
                              {"i2", read_values<std::int16_t, std::int32_t>},
                              {"i4", read_values<std::int32_t>},
                              {"i8", read_values<std::int64_t>},
                              {"b1", read_values<std::int8_t>}};

const NpyType& type_of(std::string_view descr, const std::string& file) {
  std::string names;
  for (const NpyType& type : kTypes) {
    const std::string_view orders = type.name.ends_with('1') ? "|" : "<>";
    if (descr.size() == 3 && descr.ends_with(type.name) &&
        orders.find(descr[0]) != std::string_view::npos) {
      return type;
    }
    names += fmt::format("{}{}", names.empty() ? "" : ", ", type.name);
  }
  throw FormatError(fmt::format(
      "{}: expected values of one of the types {}, found '{}'{}", file, names, printable(descr),
      descr.find('O') != std::string_view::npos ? "; pickled objects are never read"
                                                : "; save array.astype('<f4')"));
}

Dataset labelled(std::string name, NpyArray&& features, Labels labels, int classes) {
  Shape example = features.shape.without_batch();
  if (auto* bytes = std::get_if<std::vector<std::uint8_t>>(&features.values)) {
    return Dataset::from_bytes(std::move(name), std::move(example), std::move(*bytes),
                               std::move(labels), classes);
  }
  if (auto* floats = std::get_if<std::vector<float>>(&features.values)) {
    return Dataset::from_floats(std::move(name), std::move(example), std::move(*floats),
                                std::move(labels), classes);
  }
  const Tensor values = features.to_tensor();
  return Dataset::from_floats(std::move(name), std::move(example),
                              {values.span().begin(), values.span().end()}, std::move(labels),
                              classes);
}

/// The labels that `targets` holds; none where it holds numbers.
std::optional<Labels> labels_of(const NpyArray& targets, int classes, const std::string& file) {
  return std::visit(
      [&](const auto& values) -> std::optional<Labels> {
        using T = typename std::remove_cvref_t<decltype(values)>::value_type;
        if constexpr (std::is_integral_v<T>) {
          if (targets.shape.rank() != 1) return std::nullopt;
          const std::int64_t end =
              classes > 0 ? classes : std::int64_t{std::numeric_limits<std::int32_t>::max()};
          Labels labels;
          labels.reserve(values.size());
          for (std::size_t i = 0; i < values.size(); ++i) {
            const std::int64_t label = values[i];
            if (label < 0 || label >= end) {
              throw FormatError(fmt::format(
                  "{}: expected labels in [0, {}), found {} in row {}; are labels counted from 1?",
                  file, end, label, i));
            }
            labels.push_back(static_cast<std::int32_t>(label));
          }
          return labels;
        } else {
          return std::nullopt;
        }
      },
      targets.values);
}

void check_pair(const Shape& features, const Shape& targets, const std::string& features_file,
                const std::string& targets_file) {
  if (features.rank() < 2 || features.size() == 0) {
    throw FormatError(
        fmt::format("{}: expected features of shape [n, ...] with at least one value, found {}{}",
                    features_file, features.to_string(),
                    features.rank() == 1 ? "; one number per example has shape [n, 1]" : ""));
  }
  if (targets.rank() < 1 || targets.size() == 0) {
    throw FormatError(
        fmt::format("{}: expected targets of shape [n] or [n, ...] with at least one value, found "
                    "{}",
                    targets_file, targets.to_string()));
  }
  if (features[0] != targets[0]) {
    throw FormatError(
        fmt::format("{} holds {} examples, but {} holds {} targets; are they of the same set?",
                    features_file, features[0], targets_file, targets[0]));
  }
}

/// The classes that were given, or those up to the largest label. Labels that number other things,
/// such as articles, would make as many outputs.
int classes_in(const Labels& labels, int classes, const std::string& file) {
  if (classes > 0) return classes;
  constexpr std::size_t kFewClasses = 1000;
  const std::int32_t largest = *std::ranges::max_element(labels);
  if (static_cast<std::size_t>(largest) >= std::max(labels.size(), kFewClasses)) {
    throw FormatError(fmt::format(
        "{}: expected labels that count the classes from 0, found {} in {} examples, whose labels "
        "are {} different ones; number those, or save numbers to predict as float32",
        file, largest, labels.size(), std::set(labels.begin(), labels.end()).size()));
  }
  return 1 + largest;
}

/// The rows of a file that take more than `most_bytes` and have labels; none of others.
std::optional<Dataset> rows_of_file(const std::filesystem::path& features,
                                    const std::filesystem::path& targets, int classes,
                                    std::size_t most_bytes) {
  std::optional<NpyRows> rows = find_npy_rows(features);
  if (!rows || rows->size_in_bytes() <= most_bytes) return std::nullopt;
  const NpyArray y = read_npy(targets);
  check_pair(rows->shape, y.shape, features.string(), targets.string());
  std::optional<Labels> labels = labels_of(y, classes, targets.string());
  if (!labels) return std::nullopt;
  const int count = classes_in(*labels, classes, targets.string());
  return Dataset::from_reader(
      set_name(features),
      std::make_shared<NpyReader>(features, *std::move(rows), *std::move(labels), count));
}

}  // namespace

Tensor NpyArray::to_tensor() const {
  Tensor result(shape);
  std::visit(
      [&](const auto& from) {
        std::ranges::transform(from, result.mutable_data(),
                               [](auto value) { return static_cast<float>(value); });
      },
      values);
  return result;
}

NpyArray read_npy(const std::filesystem::path& path) {
  ByteSource source(path);
  return read_npy(source, path.string());
}

std::pair<NpyHeader, std::uint64_t> read_npy_header(ByteSource& source, const std::string& file) {
  const auto [text, size] = read_header_text(source, file);
  return {parse_npy_header(text, file), size};
}

NpyArray read_npy(ByteSource& source, const std::string& file) {
  const auto [header, before] = read_npy_header(source, file);
  NpyArray result{header.shape, {}};
  result.values = type_of(header.descr, file).read(source, header, before, file);
  return result;
}

Dataset load_npy(const std::filesystem::path& features, const std::filesystem::path& targets,
                 int classes, std::size_t most_bytes) {
  if (most_bytes < std::numeric_limits<std::size_t>::max()) {
    if (std::optional<Dataset> set = rows_of_file(features, targets, classes, most_bytes)) {
      return *std::move(set);
    }
  }
  return dataset_of(set_name(features), read_npy(features), read_npy(targets), features.string(),
                    targets.string(), classes);
}

Dataset dataset_of(std::string name, NpyArray x, const NpyArray& y,
                   const std::string& features_file, const std::string& targets_file, int classes) {
  if (classes < 0) {
    throw InvalidArgument(
        fmt::format("load_npy: expected a number of classes, or 0, found {}", classes));
  }
  check_pair(x.shape, y.shape, features_file, targets_file);
  const std::optional<Labels> labels = labels_of(y, classes, targets_file);
  if (labels) {
    return labelled(std::move(name), std::move(x), *labels,
                    classes_in(*labels, classes, targets_file));
  }
  const Tensor values = y.to_tensor();
  const Tensor rows = y.shape.rank() == 1 ? values.reshape({y.shape[0], 1}) : values;
  const Labels none(static_cast<std::size_t>(x.shape[0]), 0);
  return labelled(std::move(name), std::move(x), none, 1).with_targets(rows);
}

void require_finite(const NpyArray& array, const std::string& name) {
  const auto check = [&](const auto& values) {
    using T = typename std::remove_cvref_t<decltype(values)>::value_type;
    if constexpr (std::is_floating_point_v<T>) {
      const auto wrong = std::ranges::find_if(
          values, [](T value) { return !std::isfinite(static_cast<float>(value)); });
      if (wrong == values.end()) return;
      const std::ptrdiff_t each = array.shape.rank() == 0 ? 1 : std::ssize(values) / array.shape[0];
      throw FormatError(fmt::format("{}: expected finite numbers, found {} in row {}", name, *wrong,
                                    (wrong - values.begin()) / each));
    }
  };
  std::visit(check, array.values);
}

void require_finite_row(std::span<const float> row, const std::string& name, std::size_t number) {
  const auto wrong = std::ranges::find_if(row, [](float value) { return !std::isfinite(value); });
  if (wrong == row.end()) return;
  throw FormatError(
      fmt::format("{}: expected finite numbers, found {} in row {}", name, *wrong, number));
}

std::vector<float> sample_weights_of(const NpyArray& array, const std::string& name) {
  if (array.shape.rank() != 1) {
    throw FormatError(fmt::format("{}: expected the weights of examples [n], found {}", name,
                                  array.shape.to_string()));
  }
  const Tensor values = array.to_tensor();
  return {values.span().begin(), values.span().end()};
}

}  // namespace octet
