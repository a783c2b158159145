#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace octet {

/// Replaces `path` by a file of these bytes: at every moment, also after a crash or a full disk,
/// `path` holds either what it held before or all of `bytes`. Writes a temporary file of a unique
/// name in the same folder, flushes it to the disk, renames it and flushes the folder; on failure
/// the temporary file is removed. Throws IoError that names the file and the cause.
void write_file_atomic(const std::filesystem::path& path, std::span<const std::uint8_t> bytes);

/// The same for text.
void write_file_atomic(const std::filesystem::path& path, std::string_view text);

/// The file's bytes. Throws IoError where it cannot be read, is no regular file, or is larger than
/// `max_bytes`.
std::vector<std::uint8_t> read_file(const std::filesystem::path& path,
                                    std::size_t max_bytes = std::size_t{1} << 31U);

/// A file's bytes, mapped into memory instead of read: the pages come as they are touched. Others
/// may replace the file meanwhile (write_file_atomic), but not change or shorten it in its place.
class MappedFile {
 public:
  /// Throws as read_file.
  explicit MappedFile(const std::filesystem::path& path,
                      std::size_t max_bytes = std::size_t{1} << 31U);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  /// Aligned to a page.
  std::span<const std::uint8_t> bytes() const { return bytes_; }

 private:
  std::span<const std::uint8_t> bytes_;
};

}  // namespace octet
