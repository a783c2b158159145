#pragma once

#include <octet/import/onnx/graph.h>

namespace octet::detail {

namespace onnx {
class TensorProto;
}  // namespace onnx

namespace onnx_import {

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
