#include <fmt/format.h>
#include <octet/core/archive.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/core/json_text.h>
#include <zlib.h>

#include <bit>
#include <cstring>
#include <string_view>
#include <utility>

namespace octet {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "archives are written as memory holds");

constexpr std::string_view kMagic = "OCTETARC";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kChecksumOffset = kMagic.size() + sizeof(kVersion);
constexpr std::size_t kBodyOffset = kChecksumOffset + sizeof(std::uint32_t);
constexpr std::size_t kHeaderOffset = kBodyOffset + sizeof(std::uint64_t);

template <class T>
void put(std::vector<std::uint8_t>& out, const T& value) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof(T));
}

template <class T>
T get(const std::vector<std::uint8_t>& in, std::size_t offset) {
  T value;
  std::memcpy(&value, in.data() + offset, sizeof(T));
  return value;
}

std::uint32_t checksum(const std::vector<std::uint8_t>& bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(0, bytes.data() + kBodyOffset, bytes.size() - kBodyOffset));
}

[[noreturn]] void broken(const std::string& origin, std::string_view what) {
  throw FormatError(
      fmt::format("{}: expected an octet archive (weights or a checkpoint): {}", origin, what));
}

Shape shape_from(const json& extents) {
  std::vector<Index> dims;
  for (const json& extent : extents) dims.push_back(detail::whole_number<Index>(extent));
  return Shape(std::move(dims));
}

/// The tensors of an archive, each with bytes of its own: where they could share some, a small file
/// could ask for any amount of memory.
class TensorReader {
 public:
  explicit TensorReader(std::span<const std::uint8_t> data) : data_(data), left_(data.size()) {}

  Tensor read(const json& entry) {
    const Shape shape = shape_from(entry.at("shape"));
    const auto offset = detail::whole_number<std::uint64_t>(entry.at("offset"));
    const auto count = static_cast<std::uint64_t>(shape.size());
    if (count > data_.size() / sizeof(float) || offset > data_.size() - count * sizeof(float)) {
      throw InvalidArgument(
          fmt::format("tensor of shape {} reaches past the end", shape.to_string()));
    }
    if (count * sizeof(float) > left_) throw InvalidArgument("tensors share bytes");
    left_ -= count * sizeof(float);
    Tensor tensor(shape);
    if (count > 0) std::memcpy(tensor.mutable_data(), data_.data() + offset, count * sizeof(float));
    return tensor;
  }

 private:
  std::span<const std::uint8_t> data_;
  std::uint64_t left_;
};

}  // namespace

void Archive::add(const std::string& name, const Tensor& tensor) {
  if (!tensors_.try_emplace(name, tensor).second) {
    throw InvalidArgument(
        fmt::format("archive: expected tensors of different names, found \"{}\" twice; give one of "
                    "the layers another name",
                    name));
  }
}

const Tensor& Archive::tensor(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    throw FormatError(
        fmt::format("archive: expected a tensor \"{}\", found none; was it saved "
                    "from a model of other layers?",
                    name));
  }
  return found->second;
}

const std::string& Archive::text(const std::string& name) const {
  const auto found = texts_.find(name);
  if (found == texts_.end()) {
    throw FormatError(fmt::format("archive: expected an entry \"{}\", found none", name));
  }
  return found->second;
}

void Archive::check_shape(const std::string& name, const Shape& shape) const {
  const Tensor& found = tensor(name);
  if (found.shape() != shape) {
    throw FormatError(fmt::format("archive: tensor \"{}\": expected shape {}, found {}", name,
                                  shape.to_string(), found.shape().to_string()));
  }
}

void Archive::copy_to(const std::string& name, Tensor target) const {
  check_shape(name, target.shape());
  std::ranges::copy(tensor(name).span(), target.mutable_data());
}

std::vector<std::uint8_t> Archive::to_bytes() const {
  // Text by text: an object of nlohmann's leaks where memory runs out.
  const auto quoted = [](const std::string& text) {
    return detail::json_text(text, "archive: names and texts");
  };
  std::uint64_t offset = 0;
  std::string text = R"({"tensors":{)";
  for (const auto& [name, tensor] : tensors_) {
    text += fmt::format(R"({}{}:{{"offset":{},"shape":[{}]}})", text.back() == '{' ? "" : ",",
                        quoted(name), offset, fmt::join(tensor.shape(), ","));
    offset += static_cast<std::uint64_t>(tensor.size()) * sizeof(float);
  }
  text += R"(},"texts":{)";
  for (const auto& [name, value] : texts_) {
    text += fmt::format("{}{}:{}", text.back() == '{' ? "" : ",", quoted(name), quoted(value));
  }
  text += "}}";
  std::vector<std::uint8_t> bytes(kMagic.begin(), kMagic.end());
  bytes.reserve(kHeaderOffset + text.size() + offset);
  put(bytes, kVersion);
  put(bytes, std::uint32_t{0});
  put(bytes, static_cast<std::uint64_t>(text.size()));
  bytes.insert(bytes.end(), text.begin(), text.end());
  for (const auto& [name, tensor] : tensors_) {
    const auto* data = reinterpret_cast<const std::uint8_t*>(tensor.data());
    bytes.insert(bytes.end(), data, data + tensor.span().size_bytes());
  }
  const std::uint32_t sum = checksum(bytes);
  std::memcpy(bytes.data() + kChecksumOffset, &sum, sizeof(sum));
  return bytes;
}

Archive Archive::from_bytes(const std::vector<std::uint8_t>& bytes, const std::string& origin) {
  if (bytes.size() < kHeaderOffset || !std::equal(kMagic.begin(), kMagic.end(), bytes.begin())) {
    broken(origin, "its first bytes are others");
  }
  if (const auto version = get<std::uint32_t>(bytes, kMagic.size()); version != kVersion) {
    broken(origin, fmt::format("version {} is not {}", version, kVersion));
  }
  if (get<std::uint32_t>(bytes, kChecksumOffset) != checksum(bytes)) {
    broken(origin, "the checksum differs; the file is damaged or cut short");
  }
  const auto header_bytes = get<std::uint64_t>(bytes, kBodyOffset);
  if (header_bytes > bytes.size() - kHeaderOffset) broken(origin, "the header is cut short");
  const auto rest = std::span(bytes).subspan(kHeaderOffset);
  try {
    const detail::ParsedJson header(
        {reinterpret_cast<const char*>(rest.data()), static_cast<std::size_t>(header_bytes)});
    Archive archive;
    archive.texts_ = header->at("texts").get<std::map<std::string, std::string>>();
    TensorReader tensors(rest.subspan(static_cast<std::size_t>(header_bytes)));
    for (const auto& [name, entry] : header->at("tensors").items()) {
      archive.add(name, tensors.read(entry));
    }
    return archive;
  } catch (const json::exception& error) {
    broken(origin, detail::fault_text(error));
  } catch (const Error& error) {
    broken(origin, error.what());
  }
}

void Archive::write(const std::filesystem::path& path) const {
  write_file_atomic(path, to_bytes());
}

Archive Archive::read(const std::filesystem::path& path) {
  return from_bytes(read_file(path), path.string());
}

}  // namespace octet
