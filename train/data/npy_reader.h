#pragma once

#include <octet/core/file.h>
#include <octet/core/shape.h>
#include <octet/train/data/dataset.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

namespace octet {

/// Where the rows of an .npy file lie.
struct NpyRows {
  Shape shape{};
  /// The bytes of the header in front of them.
  std::uint64_t begin = 0;
  /// uint8, else float32.
  bool are_bytes = false;

  std::uint64_t size_in_bytes() const;
};

/// The rows of a file that NpyReader reads: of uint8 or little-endian float32 in C order, not
/// gzipped; none of another. Throws as read_npy() for its header and its size.
std::optional<NpyRows> find_npy_rows(const std::filesystem::path& path);

/// Reads rows from where they lie in the file, which is mapped into memory, whenever they are asked
/// for: uint8 as byte / 255. Their labels are kept.
class NpyReader : public DatasetReader {
 public:
  /// Throws as MappedFile.
  NpyReader(const std::filesystem::path& path, NpyRows rows, Labels labels, int classes);

  std::size_t size() const override { return labels_.size(); }
  Shape example_shape() const override { return rows_.shape.without_batch(); }
  int classes() const override { return classes_; }
  std::span<const std::int32_t> labels() const override { return labels_; }
  Batch read(std::span<const std::uint32_t> rows) override;

 private:
  MappedFile file_;
  NpyRows rows_;
  Labels labels_;
  int classes_;
};

}  // namespace octet
