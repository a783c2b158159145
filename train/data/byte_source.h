#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

namespace octet {

/// The bytes of a file in order, inflated on the way where the file is gzipped (RFC 1952, any
/// number of members), as its first two bytes tell.
class ByteSource {
 public:
  /// Throws IoError where `path` is no readable regular file.
  explicit ByteSource(const std::filesystem::path& path);
  /// Bytes in memory, as they are, which outlive the source.
  explicit ByteSource(std::span<const std::uint8_t> bytes);
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  /// Fills `out` as far as bytes are left and returns how many it wrote; fewer than asked only at
  /// the end. At the end of a gzipped file its checksum and length have been verified.
  /// Throws FormatError for a damaged or cut gzip stream or for bytes after it.
  std::size_t read(std::span<std::uint8_t> out);

  bool gzipped() const { return inflater_ != nullptr; }
  /// The size on disk or in memory, in bytes.
  std::uint64_t file_size() const;

 private:
  class File;
  class Inflater;

  /// The bytes of a source in memory that are left.
  std::span<const std::uint8_t> memory_;
  std::uint64_t memory_size_ = 0;
  /// Null where the bytes are in memory.
  std::unique_ptr<File> file_;
  std::unique_ptr<Inflater> inflater_;
};

}  // namespace octet
