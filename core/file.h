#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace octet {

namespace detail {
class StagedFile;
}  // namespace detail

// Every file that is to last is written here. At every moment, also after a crash, a loss of power
// or on a full disk, its path holds either what it held before or all of the new bytes: they go to
// a temporary file of a unique name in the same folder, which is flushed to the disk and renamed,
// and then the folder is flushed. On failure the temporary file is removed; what a process that
// died has left is removed by the next write to that folder. A file that is replaced keeps its
// permissions to read, write and execute; set-user-ID, set-group-ID and sticky bits go.

/// Replaces `path` by a file of these bytes. Throws IoError that names the file and the cause.
void write_file_atomic(const std::filesystem::path& path, std::span<const std::uint8_t> bytes);

/// Replaces `path` by a file of this text. Throws IoError that names the file and the cause.
void write_file_atomic(const std::filesystem::path& path, std::string_view text);

/// Replaces several files that belong together: all texts are on the disk before the first file is
/// replaced. Throws IoError that names the file and the cause.
void write_files_atomic(
    std::initializer_list<std::pair<std::filesystem::path, std::string_view>> files);

/// Replaces `path` by a file of these bytes, and keeps what it held before as previous_file(path).
/// Throws IoError that names the file and the cause.
void write_file_keeping_previous(const std::filesystem::path& path,
                                 std::span<const std::uint8_t> bytes);

/// A file that is written piece by piece, for what need not be in memory as a whole. Nothing
/// happens to `path` before commit(), or without it.
class FileWriter {
 public:
  /// Throws IoError that names the file and the cause, as all members do.
  explicit FileWriter(const std::filesystem::path& path);
  ~FileWriter();
  FileWriter(FileWriter&& other) noexcept;
  FileWriter& operator=(FileWriter&& other) noexcept;

  /// Appends to the new contents.
  void write(std::span<const std::uint8_t> bytes);
  /// Replaces `path` as write_file_atomic() does. Nothing may be written afterwards.
  void commit();

 private:
  std::unique_ptr<detail::StagedFile> staged_;
};

/// `path` + ".1"; where `path` is a symbolic link, beside the file that it names.
std::filesystem::path previous_file(const std::filesystem::path& path);

/// Gives a file another name, in the same file system, and flushes both folders. An existing file
/// of that name is replaced. Throws IoError.
void move_file(const std::filesystem::path& from, const std::filesystem::path& to);

/// Removes the temporary files in `folder` whose writers died, and those of other machines that
/// nobody has written to for a day. Returns how many; never throws: what cannot be read or removed
/// stays.
std::size_t remove_temporaries_left_behind(const std::filesystem::path& folder);

/// A regular file that is read piece by piece.
class FileReader {
 public:
  /// Throws IoError where it cannot be read, is no regular file, or is larger than `max_bytes`.
  explicit FileReader(const std::filesystem::path& path, std::size_t max_bytes = SIZE_MAX);
  ~FileReader();
  FileReader(FileReader&& other) noexcept;
  FileReader& operator=(FileReader&&) = delete;

  /// In bytes, when it was opened.
  std::size_t size() const { return size_; }
  /// Fills `out` with the bytes that come next. Throws IoError where the file ends before.
  void read(std::span<std::uint8_t> out);

 private:
  friend class MappedFile;

  std::filesystem::path path_;
  int handle_ = -1;
  std::size_t size_ = 0;
  std::size_t done_ = 0;
};

/// The file's bytes. Throws IoError where it cannot be read, is no regular file, or is larger than
/// `max_bytes`.
std::vector<std::uint8_t> read_file(const std::filesystem::path& path,
                                    std::size_t max_bytes = std::size_t{1} << 31U);

/// Whether the file begins with these bytes. Throws IoError where it cannot be read or is no
/// regular file.
bool file_begins_with(const std::filesystem::path& path, std::string_view bytes);

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
