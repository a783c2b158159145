#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/core/json_text.h>
#include <octet/core/printable.h>
#include <octet/import/weights/float_values.h>
#include <octet/import/weights/weight_file.h>
#include <octet/train/data/array_file.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace octet {
namespace {

using detail::FloatType;
using nlohmann::json;

constexpr std::size_t kLengthBytes = 8;
/// For a hundred thousand tensors; JSON takes a multiple of its text.
constexpr std::uint64_t kMostHeaderBytes = std::uint64_t{16} << 20U;
constexpr std::string_view kMetadata = "__metadata__";

struct ElementType {
  std::string_view name;
  std::uint64_t bytes;
  std::optional<FloatType> floats{};
};

constexpr std::array kTypes = {
    ElementType{"F32", 4, FloatType::f32},
    ElementType{"F16", 2, FloatType::f16},
    ElementType{"BF16", 2, FloatType::bf16},
    ElementType{"F64", 8, FloatType::f64},
    ElementType{"BOOL", 1},
    ElementType{"U8", 1},
    ElementType{"I8", 1},
    ElementType{"F8_E5M2", 1},
    ElementType{"F8_E4M3", 1},
    ElementType{"U16", 2},
    ElementType{"I16", 2},
    ElementType{"U32", 4},
    ElementType{"I32", 4},
    ElementType{"U64", 8},
    ElementType{"I64", 8},
};

/// A tensor as the header describes it, [begin, end) bytes after it.
struct Entry {
  std::string name;
  ElementType type;
  Shape shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

std::uint64_t header_length(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < kLengthBytes) {
    throw FormatError(
        fmt::format("expected a safetensors file, which begins with the {} bytes of a length, "
                    "found {} bytes",
                    kLengthBytes, bytes.size()));
  }
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) length |= std::uint64_t{bytes[i]} << (8 * i);
  const std::uint64_t most = std::min<std::uint64_t>(kMostHeaderBytes, bytes.size() - kLengthBytes);
  if (length > most) {
    throw FormatError(fmt::format(
        "expected a safetensors header of at most {} bytes, found a length of {}; is the file cut "
        "short or of another format?",
        most, length));
  }
  return length;
}

ElementType element_type(const json& entry) {
  const auto& name = entry.get_ref<const std::string&>();
  const auto* known = std::ranges::find(kTypes, name, &ElementType::name);
  if (known == kTypes.end()) {
    throw FormatError(fmt::format("expected a dtype such as F32, F16, BF16 or F64, found \"{}\"",
                                  printable(name)));
  }
  return *known;
}

Shape shape_of(const json& entry) {
  if (!entry.is_array() || entry.size() > static_cast<std::size_t>(kMaxFileRank)) {
    throw FormatError(fmt::format("expected a shape of at most {} extents, found {}", kMaxFileRank,
                                  printable(entry.dump())));
  }
  std::vector<Index> dims;
  for (const json& extent : entry) {
    const auto value = detail::whole_number<Index>(extent);
    if (value < 0) throw FormatError(fmt::format("expected extents from 0, found {}", value));
    dims.push_back(value);
  }
  return Shape(std::move(dims));
}

/// Throws unless a tensor of `shape` has exactly `bytes` bytes. By division, as the product of the
/// extents may be more than 64 bits hold.
void check_size(const Shape& shape, std::uint64_t value_bytes, std::uint64_t bytes) {
  const auto refuse = [&] {
    throw FormatError(
        fmt::format("shape {} of {} bytes each does not come to the {} bytes that "
                    "data_offsets gives it",
                    shape.to_string(), value_bytes, bytes));
  };
  if (bytes % value_bytes != 0) refuse();
  std::uint64_t left = bytes / value_bytes;
  const bool empty = std::ranges::find(shape, 0) != shape.end();
  if (empty && left == 0) {
    static_cast<void>(shape.size());
    return;
  }
  if (empty) refuse();
  for (const Index extent : shape) {
    const auto by = static_cast<std::uint64_t>(extent);
    if (left == 0 || left % by != 0) refuse();
    left /= by;
  }
  if (left != 1) refuse();
}

Entry entry_of(const std::string& name, const json& value, std::uint64_t data_bytes) {
  if (!value.is_object() || value.size() != 3) {
    throw FormatError("expected an object of dtype, shape and data_offsets");
  }
  Entry entry{name, element_type(value.at("dtype")), shape_of(value.at("shape"))};
  const json& offsets = value.at("data_offsets");
  if (!offsets.is_array() || offsets.size() != 2) {
    throw FormatError("expected data_offsets of a begin and an end");
  }
  entry.begin = detail::whole_number<std::uint64_t>(offsets[0]);
  entry.end = detail::whole_number<std::uint64_t>(offsets[1]);
  if (entry.begin > entry.end || entry.end > data_bytes) {
    throw FormatError(
        fmt::format("expected data_offsets within the {} bytes after the header, found [{}, {}); "
                    "is the file cut short?",
                    data_bytes, entry.begin, entry.end));
  }
  check_size(entry.shape, entry.type.bytes, entry.end - entry.begin);
  return entry;
}

/// The tensors of a header in the order of their bytes.
std::vector<Entry> entries_of(std::string_view header, std::uint64_t data_bytes) {
  if (!header.starts_with('{')) {
    throw FormatError("expected a safetensors header that begins with '{'");
  }
  const detail::ParsedJson parsed(header);
  std::vector<Entry> entries;
  for (const auto& [name, value] : parsed->items()) {
    if (name == kMetadata) continue;
    try {
      entries.push_back(entry_of(name, value, data_bytes));
    } catch (const Error& error) {
      throw FormatError(fmt::format("tensor \"{}\": {}", printable(name), error.what()));
    } catch (const json::exception& error) {
      throw FormatError(fmt::format("tensor \"{}\": {}", printable(name),
                                    printable(detail::fault_text(error), 200)));
    }
  }
  std::ranges::sort(entries, {}, [](const Entry& e) { return std::pair(e.begin, e.end); });
  return entries;
}

/// Every byte belongs to one tensor: nothing hides in the file, and its size is what it holds.
void check_no_gaps(const std::vector<Entry>& entries, std::uint64_t data_bytes) {
  std::uint64_t done = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != done) {
      throw FormatError(
          fmt::format("tensor \"{}\" begins at byte {} of the data, where byte {} "
                      "was expected: tensors overlap or leave a gap",
                      printable(entry.name), entry.begin, done));
    }
    done = entry.end;
  }
  if (done != data_bytes) {
    throw FormatError(
        fmt::format("the tensors come to {} bytes, but {} follow the header", done, data_bytes));
  }
}

std::vector<WeightTensor> parse_safetensors(std::span<const std::uint8_t> bytes) {
  const std::uint64_t length = header_length(bytes);
  const std::string_view header(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes, length);
  const auto data = bytes.subspan(kLengthBytes + length);
  const std::vector<Entry> entries = entries_of(header, data.size());
  check_no_gaps(entries, data.size());
  std::vector<WeightTensor> tensors;
  tensors.reserve(entries.size());
  for (const Entry& entry : entries) {
    Tensor values;
    if (entry.type.floats) {
      values = detail::float_tensor(*entry.type.floats, entry.shape,
                                    data.subspan(entry.begin, entry.end - entry.begin));
    }
    tensors.push_back({entry.name, std::string(entry.type.name), entry.shape, values});
  }
  return tensors;
}

}  // namespace

std::vector<WeightTensor> read_safetensors(const std::filesystem::path& path) {
  const MappedFile file(path);
  try {
    return parse_safetensors(file.bytes());
  } catch (const FormatError& error) {
    throw FormatError(fmt::format("{}: {}", path.string(), error.what()));
  } catch (const json::exception& error) {
    throw FormatError(fmt::format("{}: the safetensors header is no JSON: {}", path.string(),
                                  printable(detail::fault_text(error), 200)));
  }
}

void write_safetensors(const std::filesystem::path& path,
                       const std::vector<std::pair<std::string, Tensor>>& tensors) {
  // Text and not a json object, which would sort by name: tensors lie in the order of the caller.
  std::string header = "{";
  std::set<std::string_view> names;
  std::uint64_t end = 0;
  for (const auto& [name, tensor] : tensors) {
    if (!tensor.defined() || name == kMetadata || !names.insert(name).second) {
      throw InvalidArgument(fmt::format(
          "write_safetensors: expected defined tensors of different names, none of which is {}, "
          "found {} \"{}\"",
          kMetadata, tensor.defined() ? "again" : "an undefined", printable(name)));
    }
    const std::uint64_t begin = end;
    end += sizeof(float) * static_cast<std::uint64_t>(tensor.size());
    const std::string key = detail::json_text(name, "write_safetensors: names of tensors");
    header +=
        fmt::format(R"({}{}:{{"data_offsets":[{},{}],"dtype":"F32","shape":[{}]}})",
                    header.size() > 1 ? "," : "", key, begin, end, fmt::join(tensor.shape(), ","));
  }
  header += "}";
  // Spaces, so that the numbers are aligned to 8 bytes, as the format asks for.
  header.append((kLengthBytes - header.size() % kLengthBytes) % kLengthBytes, ' ');
  if (header.size() > kMostHeaderBytes) {
    throw InvalidArgument(
        fmt::format("write_safetensors: expected a header of at most {} bytes, found {}",
                    kMostHeaderBytes, header.size()));
  }
  FileWriter file(path);
  std::array<std::uint8_t, kLengthBytes> length{};
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    length.at(i) = static_cast<std::uint8_t>(header.size() >> (8 * i));
  }
  file.write(length);
  file.write({reinterpret_cast<const std::uint8_t*>(header.data()), header.size()});
  for (const auto& [name, tensor] : tensors) {
    const auto bytes = std::as_bytes(tensor.span());
    file.write({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  }
  file.commit();
}

}  // namespace octet
