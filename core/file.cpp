#include <fcntl.h>
#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>
#include <utility>

namespace octet {
namespace {

[[noreturn]] void fail(std::string_view what, const std::filesystem::path& path, int error) {
  throw IoError(
      fmt::format("{} '{}': {}", what, path.string(), std::generic_category().message(error)));
}

[[noreturn]] void fail_to_create(const std::filesystem::path& path, int error) {
  const std::filesystem::path folder = path.parent_path();
  std::error_code ignored;
  if (!folder.empty() && !std::filesystem::exists(folder, ignored)) {
    throw IoError(fmt::format("cannot write '{}': there is no folder '{}'; make it first",
                              path.string(), folder.string()));
  }
  fail("cannot write", path, error);
}

/// Closes a file descriptor that nobody has closed.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int close() { return fd_ < 0 ? 0 : ::close(std::exchange(fd_, -1)); }

 private:
  int fd_;
};

/// Removes a file unless it has been renamed away.
class Temporary {
 public:
  explicit Temporary(std::filesystem::path path) : path_(std::move(path)) {}
  ~Temporary() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  void release() { path_.clear(); }

 private:
  std::filesystem::path path_;
};

std::filesystem::path temporary_name(const std::filesystem::path& path) {
  static std::atomic<unsigned> counter{0};
  return path.parent_path() /
         fmt::format(".{}.{}.{}.tmp", path.filename().string(), ::getpid(), counter++);
}

void write_all(const Descriptor& file, std::span<const std::uint8_t> bytes,
               const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ::ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      fail("cannot write", path, errno);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

/// Makes a rename in `folder` last. Some file systems cannot flush a folder: that is no failure.
void flush_folder(const std::filesystem::path& folder) {
  const Descriptor handle(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY));
  if (!handle.valid()) return;
  if (::fsync(handle.get()) != 0 && errno == EIO) fail("cannot flush folder", folder, errno);
}

}  // namespace

void write_file_atomic(const std::filesystem::path& path, std::span<const std::uint8_t> bytes) {
  std::error_code ignored;
  // A symbolic link stays: the file that it names is replaced.
  const bool link = std::filesystem::is_symlink(path, ignored);
  const std::filesystem::path target = link ? std::filesystem::weakly_canonical(path) : path;
  struct ::stat old {};
  const bool exists = ::stat(target.c_str(), &old) == 0;
  if (exists && !S_ISREG(old.st_mode)) {
    throw IoError(
        fmt::format("cannot write '{}': it exists and is no regular file", path.string()));
  }
  const std::filesystem::path name = temporary_name(target);
  Descriptor file(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file.valid()) fail_to_create(path, errno);
  Temporary temporary(name);
  if (exists) static_cast<void>(::fchmod(file.get(), old.st_mode & 07777U));
  write_all(file, bytes, path);
  if (::fsync(file.get()) != 0) fail("cannot flush", path, errno);
  if (file.close() != 0) fail("cannot close", path, errno);
  if (::rename(name.c_str(), target.c_str()) != 0) fail("cannot replace", path, errno);
  temporary.release();
  flush_folder(target.parent_path());
}

void write_file_atomic(const std::filesystem::path& path, std::string_view text) {
  write_file_atomic(path,
                    std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
}

namespace {

/// Opens a regular file of at most max_bytes, and tells its size.
Descriptor open_regular(const std::filesystem::path& path, std::size_t max_bytes,
                        std::size_t& size) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) fail("cannot read", path, errno);
  struct ::stat status {};
  if (::fstat(file.get(), &status) != 0) fail("cannot read", path, errno);
  if (!S_ISREG(status.st_mode)) {
    throw IoError(fmt::format("cannot read '{}': it is no regular file", path.string()));
  }
  size = static_cast<std::size_t>(status.st_size);
  if (size > max_bytes) {
    throw IoError(fmt::format("cannot read '{}': {} bytes, more than the {} that are allowed",
                              path.string(), size, max_bytes));
  }
  return file;
}

}  // namespace

std::vector<std::uint8_t> read_file(const std::filesystem::path& path, std::size_t max_bytes) {
  std::size_t size = 0;
  const Descriptor file = open_regular(path, max_bytes, size);
  std::vector<std::uint8_t> bytes(size);
  std::size_t done = 0;
  while (done < size) {
    const ::ssize_t got = ::read(file.get(), bytes.data() + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("cannot read", path, errno);
    if (got == 0) {
      throw IoError(fmt::format("cannot read '{}': it ended after {} of {} bytes", path.string(),
                                done, size));
    }
    done += static_cast<std::size_t>(got);
  }
  return bytes;
}

MappedFile::MappedFile(const std::filesystem::path& path, std::size_t max_bytes) {
  std::size_t size = 0;
  const Descriptor file = open_regular(path, max_bytes, size);
  if (size == 0) return;
  // All pages at once: one by one they cost more than the bytes in them.
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file.get(), 0);
  if (memory == MAP_FAILED) fail("cannot map", path, errno);
  bytes_ = {static_cast<const std::uint8_t*>(memory), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::uint8_t*>(bytes_.data()), bytes_.size());
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace octet
