#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/core/file_system.h>
#include <octet/core/temporary_name.h>

#include <cerrno>
#include <chrono>
#include <list>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

namespace octet {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(std::string_view what, const fs::path& path, int error) {
  throw IoError(
      fmt::format("{} '{}': {}", what, path.string(), std::generic_category().message(error)));
}

/// A folder that is missing, or has been removed in the meantime, is told as such.
[[noreturn]] void fail_to_write(std::string_view what, const fs::path& path, int error) {
  const fs::path folder = path.parent_path();
  std::error_code ignored;
  if (!folder.empty() && !fs::exists(folder, ignored)) {
    throw IoError(fmt::format("cannot write '{}': there is no folder '{}'; make it first",
                              path.string(), folder.string()));
  }
  fail(what, path, error);
}

/// Closes a file descriptor that nobody has closed.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { close(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  int close() { return fd_ < 0 ? 0 : file_system().close(std::exchange(fd_, -1)); }

 private:
  int fd_;
};

/// The file that writing to `path` replaces: a symbolic link stays, and the file that it names is
/// replaced. A link that names none, such as those of /proc to what has no path, is its own target.
fs::path target_of(const fs::path& path) {
  std::error_code failure;
  if (!fs::is_symlink(path, failure)) return path;
  fs::path target = fs::weakly_canonical(path, failure);
  return failure ? path : target;
}

void write_all(const Descriptor& file, std::span<const std::uint8_t> bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const std::ptrdiff_t written = file_system().write(file.get(), bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      fail("cannot write", path, errno);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

/// Makes renames in a file's folder last. Some file systems cannot flush a folder, and one that may
/// be written to but not read cannot be opened: those are no failures.
void flush_folder_of(const fs::path& path) {
  const Descriptor handle(file_system().open_folder(path.parent_path().c_str()));
  if (!handle.valid() && errno == EACCES) return;
  if (!handle.valid()) fail_to_write("cannot flush the folder of", path, errno);
  if (file_system().flush(handle.get()) == 0 || errno == EINVAL || errno == ENOTSUP) return;
  fail_to_write("cannot flush the folder of", path, errno);
}

bool has_no_links(int error) {
  return error == EPERM || error == ENOTSUP || error == ENOSYS || error == EMLINK;
}

}  // namespace

namespace detail {

/// New contents of a file: under a temporary name, until commit().
class StagedFile {
 public:
  explicit StagedFile(const fs::path& path) : path_(path), target_(target_of(path)) {
    std::error_code failure;
    const fs::file_status old = fs::status(target_, failure);
    exists_ = fs::exists(old);
    if (old.type() == fs::file_type::none) fail_to_write("cannot write", path, failure.value());
    if (exists_ && !fs::is_regular_file(old)) {
      throw IoError(
          fmt::format("cannot write '{}': it exists and is no regular file", path.string()));
    }
    remove_temporaries_left_behind(target_.parent_path());
    temporary_ = temporary_name(target_);
    file_ = Descriptor(file_system().create(temporary_.c_str()));
    if (!file_.valid()) fail_to_write("cannot write", path, errno);
    // Not the bits that let others run it as its owner: those were meant for the old contents.
    if (exists_) fs::permissions(temporary_, old.permissions() & fs::perms::all, failure);
  }
  StagedFile(const fs::path& path, std::span<const std::uint8_t> bytes) : StagedFile(path) {
    write(bytes);
    stage();
  }
  ~StagedFile() { discard(); }
  StagedFile(const StagedFile&) = delete;
  StagedFile& operator=(const StagedFile&) = delete;

  void write(std::span<const std::uint8_t> bytes) { write_all(file_, bytes, path_); }

  /// Puts all that was written on the disk.
  void stage() {
    if (file_system().flush(file_.get()) != 0) fail_to_write("cannot flush", path_, errno);
    if (file_.close() != 0) fail_to_write("cannot close", path_, errno);
  }

  /// Takes the old file's place, once staged.
  void commit() {
    if (file_system().rename(temporary_.c_str(), target_.c_str()) != 0) {
      fail_to_write("cannot replace", path_, errno);
    }
    temporary_.clear();
    flush_folder_of(target_);
  }

  /// Gives the old file a second name before it loses the first, so that there is always one.
  void keep_previous() const {
    if (!exists_) return;
    const fs::path previous = previous_file(target_);
    const fs::path name = temporary_name(target_);
    if (file_system().link(target_.c_str(), name.c_str()) == 0) {
      if (file_system().rename(name.c_str(), previous.c_str()) == 0) {
        // A rename of two names of one file does nothing.
        file_system().remove(name.c_str());
        return;
      }
      const int error = errno;
      file_system().remove(name.c_str());
      fail_to_write("cannot keep the previous", path_, error);
    }
    if (!has_no_links(errno) || file_system().rename(target_.c_str(), previous.c_str()) != 0) {
      fail_to_write("cannot keep the previous", path_, errno);
    }
  }

 private:
  void discard() {
    file_.close();
    if (!temporary_.empty()) file_system().remove(temporary_.c_str());
    temporary_.clear();
  }

  fs::path path_;
  fs::path target_;
  fs::path temporary_;
  Descriptor file_{-1};
  bool exists_ = false;
};

}  // namespace detail

namespace {

using detail::StagedFile;

std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

/// Whether nobody has written to a file for a day.
bool is_old(const fs::path& path) {
  std::error_code failure;
  const auto written = fs::last_write_time(path, failure);
  return !failure && fs::file_time_type::clock::now() - written > std::chrono::hours(24);
}

}  // namespace

void write_file_atomic(const fs::path& path, std::span<const std::uint8_t> bytes) {
  StagedFile(path, bytes).commit();
}

void write_file_atomic(const fs::path& path, std::string_view text) {
  write_file_atomic(path, bytes_of(text));
}

void write_files_atomic(std::initializer_list<std::pair<fs::path, std::string_view>> files) {
  std::list<StagedFile> staged;
  for (const auto& [path, text] : files) staged.emplace_back(path, bytes_of(text));
  for (StagedFile& file : staged) file.commit();
}

void write_file_keeping_previous(const fs::path& path, std::span<const std::uint8_t> bytes) {
  StagedFile file(path, bytes);
  file.keep_previous();
  file.commit();
}

FileWriter::FileWriter(const fs::path& path) : staged_(std::make_unique<StagedFile>(path)) {}
FileWriter::~FileWriter() = default;
FileWriter::FileWriter(FileWriter&& other) noexcept = default;
FileWriter& FileWriter::operator=(FileWriter&& other) noexcept = default;

void FileWriter::write(std::span<const std::uint8_t> bytes) { staged_->write(bytes); }

void FileWriter::commit() {
  staged_->stage();
  staged_->commit();
}

fs::path previous_file(const fs::path& path) {
  fs::path previous = target_of(path);
  return previous += ".1";
}

void move_file(const fs::path& from, const fs::path& to) {
  if (file_system().rename(from.c_str(), to.c_str()) != 0) {
    throw IoError(fmt::format("cannot rename '{}' to '{}': {}", from.string(), to.string(),
                              std::generic_category().message(errno)));
  }
  flush_folder_of(to);
  if (from.parent_path() != to.parent_path()) flush_folder_of(from);
}

std::size_t remove_temporaries_left_behind(const fs::path& folder) {
  std::size_t removed = 0;
  for_each_name(folder.c_str(), [&](const char* name) {
    const TemporaryOf writer = temporary_of(name);
    const fs::path path = folder / name;
    const bool dead =
        writer == TemporaryOf::dead || (writer == TemporaryOf::elsewhere && is_old(path));
    if (dead && file_system().remove(path.c_str()) == 0) ++removed;
  });
  return removed;
}

FileReader::FileReader(const fs::path& path, std::size_t max_bytes) : path_(path) {
  Descriptor file(open_to_read(path.c_str()));
  if (!file.valid()) fail("cannot read", path, errno);
  FileStatus status;
  if (read_status(file.get(), status) != 0) fail("cannot read", path, errno);
  if (!status.is_regular) {
    throw IoError(fmt::format("cannot read '{}': it is no regular file", path.string()));
  }
  size_ = status.bytes;
  if (size_ > max_bytes) {
    throw IoError(fmt::format("cannot read '{}': {} bytes, more than the {} that are allowed",
                              path.string(), size_, max_bytes));
  }
  handle_ = file.release();
}

FileReader::~FileReader() {
  if (handle_ >= 0) close_unchanged(handle_);
}

FileReader::FileReader(FileReader&& other) noexcept
    : path_(std::move(other.path_)),
      handle_(std::exchange(other.handle_, -1)),
      size_(other.size_),
      done_(other.done_) {}

void FileReader::read(std::span<std::uint8_t> out) {
  while (!out.empty()) {
    const std::ptrdiff_t got = file_system().read(handle_, out.data(), out.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("cannot read", path_, errno);
    if (got == 0) {
      throw IoError(fmt::format("cannot read '{}': it ended after {} of {} bytes", path_.string(),
                                done_, size_));
    }
    done_ += static_cast<std::size_t>(got);
    out = out.subspan(static_cast<std::size_t>(got));
  }
}

std::vector<std::uint8_t> read_file(const fs::path& path, std::size_t max_bytes) {
  FileReader file(path, max_bytes);
  std::vector<std::uint8_t> bytes(file.size());
  file.read(bytes);
  return bytes;
}

bool file_begins_with(const fs::path& path, std::string_view bytes) {
  FileReader file(path);
  if (file.size() < bytes.size()) return false;
  std::string first(bytes.size(), '\0');
  file.read({reinterpret_cast<std::uint8_t*>(first.data()), first.size()});
  return first == bytes;
}

MappedFile::MappedFile(const fs::path& path, std::size_t max_bytes) {
  const FileReader file(path, max_bytes);
  if (file.size() == 0) return;
  const void* memory = map_to_read(file.handle_, file.size());
  if (memory == nullptr) fail("cannot map", path, errno);
  bytes_ = {static_cast<const std::uint8_t*>(memory), file.size()};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) unmap(bytes_.data(), bytes_.size());
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace octet
