#pragma once

#include <octet/deploy/outline_internal.h>

#include <string_view>

namespace octet::detail {

/// What an ONNX file holds, each operator marked that import_onnx() lacks; and, where `refusal`,
/// the message of import_onnx(), names a node, that one. Throws FormatError where the bytes are no
/// ONNX file.
FileOutline outline_onnx(std::span<const std::uint8_t> bytes, std::string_view refusal);

}  // namespace octet::detail
