#include <octet/core/file.h>
#include <octet/core/half.h>
#include <octet/core/parse_number.h>
#include <octet/core/printable.h>
#include <octet/core/text.h>
#include <octet/import/onnx/tensor_reader.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "octet_onnx.pb.h"

namespace octet::detail::onnx_import {
namespace {

using onnx::TensorProto;

/// The values of `bytes`, which ONNX writes little-endian, as `To`.
template <class From, class To>
std::vector<To> values_in(std::span<const std::uint8_t> bytes) {
  std::vector<To> values(bytes.size() / sizeof(From));
  for (std::size_t i = 0; i < values.size(); ++i) {
    From value{};
    std::memcpy(&value, bytes.data() + i * sizeof(From), sizeof(From));
    values[i] = static_cast<To>(value);
  }
  return values;
}

std::size_t bytes_of(const TensorProto& tensor) {
  switch (tensor.data_type()) {
    case TensorProto::FLOAT:
    case TensorProto::INT32:
      return 4;
    case TensorProto::DOUBLE:
    case TensorProto::INT64:
      return 8;
    case TensorProto::BOOL:
      return 1;
    case TensorProto::FLOAT16:
      return 2;
    default:
      refuse(
          "import_onnx: tensor \"{}\": expected a float network, whose constants are float, "
          "double, float16, int32, int64 or bool; found {}: export the float32 model",
          printable(tensor.name()), type_name(tensor.data_type()));
  }
}

template <class Halves>
Constant of_halves(Shape shape, const Halves& halves) {
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(halves.size()));
  for (const auto half : halves) values.push_back(float_of_half(static_cast<std::uint16_t>(half)));
  return {std::move(shape), std::move(values)};
}

Constant from_bytes(Shape shape, const TensorProto& tensor, std::span<const std::uint8_t> bytes) {
  switch (tensor.data_type()) {
    case TensorProto::FLOAT:
      return {std::move(shape), values_in<float, float>(bytes)};
    case TensorProto::DOUBLE:
      return {std::move(shape), values_in<double, float>(bytes)};
    case TensorProto::FLOAT16:
      return of_halves(std::move(shape), values_in<std::uint16_t, std::uint16_t>(bytes));
    case TensorProto::INT32:
      return {std::move(shape), values_in<std::int32_t, std::int64_t>(bytes)};
    case TensorProto::INT64:
      return {std::move(shape), values_in<std::int64_t, std::int64_t>(bytes)};
    default:
      return {std::move(shape), values_in<std::uint8_t, std::int64_t>(bytes)};
  }
}

template <class To, class Field>
Constant from_field(Shape shape, const Field& field) {
  std::vector<To> values;
  values.reserve(static_cast<std::size_t>(field.size()));
  for (const auto value : field) values.push_back(static_cast<To>(value));
  return {std::move(shape), std::move(values)};
}

Constant from_fields(Shape shape, const TensorProto& tensor) {
  switch (tensor.data_type()) {
    case TensorProto::FLOAT:
      return from_field<float>(std::move(shape), tensor.float_data());
    case TensorProto::DOUBLE:
      return from_field<float>(std::move(shape), tensor.double_data());
    case TensorProto::INT64:
      return from_field<std::int64_t>(std::move(shape), tensor.int64_data());
    case TensorProto::FLOAT16:
      return of_halves(std::move(shape), tensor.int32_data());
    default:
      return from_field<std::int64_t>(std::move(shape), tensor.int32_data());
  }
}

Shape shape_of(const TensorProto& tensor) {
  Shape shape(std::vector<Index>(tensor.dims().begin(), tensor.dims().end()));
  try {
    require_rank(shape);
    static_cast<void>(shape.size());
  } catch (const InvalidArgument& error) {
    fail_format("tensor \"{}\": {}", printable(tensor.name()), error.what());
  }
  return shape;
}

std::size_t number_in(const std::string& text, std::string_view key) {
  std::size_t number = 0;
  if (parse_number(text, number) != std::errc()) {
    fail_format("expected a number for \"{}\" of external data, found \"{}\"", key,
                printable(text));
  }
  return number;
}

}  // namespace

std::string type_name(std::int32_t type) {
  if (type == TensorProto::FLOAT) return "float32";
  if (type == TensorProto::DOUBLE) return "float64";
  if (!TensorProto::DataType_IsValid(type))
    return "a type that this version of Octet does not know";
  return lower_case(TensorProto::DataType_Name(static_cast<TensorProto::DataType>(type)));
}

std::vector<std::uint8_t> TensorReader::external(const TensorProto& tensor, std::size_t expected) {
  const std::string name = printable(tensor.name());
  std::string location;
  std::size_t offset = 0;
  std::size_t length = expected;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = number_in(entry.value(), "offset");
    if (entry.key() == "length") length = number_in(entry.value(), "length");
  }
  if (!folder_.has_value()) {
    refuse(
        "import_onnx: tensor \"{}\" is in the external file \"{}\": import the .onnx file by "
        "its path, so that its folder is known",
        name, printable(location));
  }
  const std::filesystem::path file(location);
  const bool leaves = std::ranges::any_of(file, [](const auto& part) { return part == ".."; });
  if (location.empty() || location.find('\0') != std::string::npos || leaves ||
      file.is_absolute()) {
    fail_format("tensor \"{}\": expected external data in the folder of the file, found \"{}\"",
                name, printable(location));
  }
  const std::filesystem::path path = *folder_ / file;
  // A link could lead anywhere that the file may not name.
  std::filesystem::path at = *folder_;
  for (const auto& part : file) {
    at /= part;
    std::error_code ignored;
    if (std::filesystem::is_symlink(at, ignored)) {
      fail_format("tensor \"{}\": expected external data in a file, found the symbolic link \"{}\"",
                  name, printable(at.string()));
    }
  }
  const MappedFile mapped(path, SIZE_MAX);
  const std::span<const std::uint8_t> bytes = mapped.bytes();
  if (length != expected || offset > bytes.size() || length > bytes.size() - offset) {
    fail_format("tensor \"{}\": expected {} bytes at {} of {}, found {} of the file's {}", name,
                expected, offset, printable(location), length, bytes.size());
  }
  std::size_t& left = left_.try_emplace(path.lexically_normal(), bytes.size()).first->second;
  if (length > left) {
    fail_format("tensor \"{}\": the tensors in {} add up to more than the file", name,
                printable(location));
  }
  left -= length;
  external_bytes_ += length;
  const auto part = bytes.subspan(offset, length);
  return {part.begin(), part.end()};
}

Constant TensorReader::read(const TensorProto& tensor) {
  Shape shape = shape_of(tensor);
  const auto elements = static_cast<std::size_t>(shape.size());
  const std::size_t each = bytes_of(tensor);
  if (elements > SIZE_MAX / each) {
    fail_format("tensor \"{}\" of {} is too large", printable(tensor.name()), shape.to_string());
  }
  if (tensor.data_location() == TensorProto::EXTERNAL) {
    return from_bytes(std::move(shape), tensor, external(tensor, elements * each));
  }
  if (tensor.has_raw_data()) {
    const std::string& raw = tensor.raw_data();
    if (raw.size() != elements * each) {
      fail_format("tensor \"{}\" of {}: expected {} bytes, found {}", printable(tensor.name()),
                  shape.to_string(), elements * each, raw.size());
    }
    return from_bytes(std::move(shape), tensor,
                      {reinterpret_cast<const std::uint8_t*>(raw.data()), raw.size()});
  }
  Constant constant = from_fields(shape, tensor);
  if (constant.size() != elements) {
    fail_format("tensor \"{}\" of {}: expected {} numbers, found {}", printable(tensor.name()),
                shape.to_string(), elements, constant.size());
  }
  return constant;
}

}  // namespace octet::detail::onnx_import
