#pragma once

#include <octet/core/tensor.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace octet {

/// Tensors and texts by name, in one file with a checksum: what weights and checkpoints are saved
/// as. Layout, little-endian: "OCTETARC", u32 version, u32 CRC-32 of all that follows, u64 bytes of
/// the header, the header (JSON: texts, and name, shape and offset of each tensor), float32 data.
class Archive {
 public:
  /// Throws InvalidArgument for a name that the archive holds a tensor of.
  void add(const std::string& name, const Tensor& tensor);
  /// Replaces what the archive holds under that name.
  void add_text(const std::string& name, std::string text) { texts_[name] = std::move(text); }

  bool has(const std::string& name) const { return tensors_.contains(name); }
  bool has_text(const std::string& name) const { return texts_.contains(name); }
  /// Throw FormatError that names what is missing.
  const Tensor& tensor(const std::string& name) const;
  const std::string& text(const std::string& name) const;
  /// Throws FormatError where the tensor of that name is missing or has another shape.
  void check_shape(const std::string& name, const Shape& shape) const;
  /// Copies the tensor of that name over `target`. Throws as check_shape().
  void copy_to(const std::string& name, Tensor target) const;

  const std::map<std::string, Tensor>& tensors() const { return tensors_; }

  std::vector<std::uint8_t> to_bytes() const;
  /// Throws FormatError for anything but a whole archive with the right checksum.
  static Archive from_bytes(const std::vector<std::uint8_t>& bytes, const std::string& origin);

  /// Replaces `path` as a whole or not at all (IoError).
  void write(const std::filesystem::path& path) const;
  static Archive read(const std::filesystem::path& path);

 private:
  std::map<std::string, Tensor> tensors_;
  std::map<std::string, std::string> texts_;
};

}  // namespace octet
