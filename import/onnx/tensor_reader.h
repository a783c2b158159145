#pragma once

#include <octet/core/function_ref.h>
#include <octet/import/onnx/graph.h>

namespace octet::detail {

namespace onnx {
class ModelProto;
class NodeProto;
class TensorProto;
}  // namespace onnx

namespace onnx_import {

/// "float32", "float16": the type of that number, as numpy calls it where numpy has it.
std::string type_name(std::int32_t type);

/// Calls read(model) for the message in the bytes. Throws FormatError where they are no ONNX file,
/// and where its parts would take far more memory than the file.
void with_model(std::span<const std::uint8_t> bytes,
                FunctionRef<void(const onnx::ModelProto&)> read);

/// A node without its attributes.
Node outline_of(const onnx::NodeProto& proto);

/// Reads the tensors of a file, those in external data files among them.
class TensorReader {
 public:
  explicit TensorReader(std::optional<std::filesystem::path> folder) : folder_(std::move(folder)) {}

  /// Throws FormatError for sizes that do not match, and where external data lies outside the
  /// folder or its file; InvalidArgument for a type that a float network does not need.
  Constant read(const onnx::TensorProto& tensor);

  /// The bytes that were read from external files.
  std::size_t external_bytes() const { return external_bytes_; }

 private:
  std::vector<std::uint8_t> external(const onnx::TensorProto& tensor, std::size_t expected);

  std::optional<std::filesystem::path> folder_;
  /// By file: how many of its bytes tensors may still be. They do not overlap, so that a small file
  /// cannot name a huge model.
  std::map<std::filesystem::path, std::size_t> left_;
  std::size_t external_bytes_ = 0;
};

}  // namespace onnx_import
}  // namespace octet::detail
