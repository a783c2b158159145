#include <fcntl.h>
#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/train/run/run_folders.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace octet {
namespace {

/// Why a folder cannot be made or written to, and what is likely to be wrong.
[[noreturn]] void refuse(const NamedFolder& folder, int error) {
  throw IoError(fmt::format("{}: cannot write to the folder '{}': {}; {}", folder.name,
                            folder.path.string(), std::generic_category().message(error),
                            error == ENOTDIR || error == EEXIST
                                ? "a file of that name is in the way"
                                : "choose a folder that you may write to"));
}

}  // namespace

/// The folders that it has made, which it removes where nothing is in them.
class RunFolders::Made {
 public:
  Made() = default;
  ~Made() {
    // Folders inside of others were made after them. A folder that holds a file stays.
    for (auto path = paths_.rbegin(); path != paths_.rend(); ++path) ::rmdir(path->c_str());
  }
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;

  void make(const NamedFolder& folder) {
    std::filesystem::path path;
    for (const std::filesystem::path& part : std::filesystem::absolute(folder.path)) {
      path /= part;
      std::error_code failure;
      // A file system may refuse to make what it has.
      if (std::filesystem::is_directory(path, failure)) continue;
      if (std::filesystem::create_directory(path, failure)) paths_.push_back(path);
      if (failure) refuse(folder, failure.value());
    }
    if (::access(folder.path.c_str(), W_OK | X_OK) != 0) refuse(folder, errno);
  }

 private:
  std::vector<std::filesystem::path> paths_;
};

/// A lock on a folder, by a handle that keeps it.
class RunFolders::Lock {
 public:
  explicit Lock(const NamedFolder& folder)
      : handle_(::open(folder.path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (handle_ < 0) fail(folder, errno);
    if (::flock(handle_, LOCK_EX | LOCK_NB) == 0) return;
    const int error = errno;
    // A file system without locks.
    if (error == EOPNOTSUPP || error == ENOLCK || error == ENOSYS) return;
    ::close(handle_);
    if (error != EWOULDBLOCK) fail(folder, error);
    throw IoError(fmt::format("{}: another run is writing to '{}'; give this one its own folder",
                              folder.name, folder.path.string()));
  }
  ~Lock() {
    if (handle_ >= 0) ::close(handle_);
  }
  Lock(Lock&& other) noexcept : handle_(std::exchange(other.handle_, -1)) {}
  Lock& operator=(Lock&&) = delete;

 private:
  [[noreturn]] static void fail(const NamedFolder& folder, int error) {
    throw IoError(fmt::format("{}: cannot lock the folder '{}': {}", folder.name,
                              folder.path.string(), std::generic_category().message(error)));
  }

  int handle_;
};

RunFolders::RunFolders(const std::vector<NamedFolder>& folders) : made_(std::make_unique<Made>()) {
  for (const NamedFolder& folder : folders) made_->make(folder);
  for (auto folder = folders.begin(); folder != folders.end(); ++folder) {
    const bool locked = std::any_of(folders.begin(), folder, [&](const NamedFolder& other) {
      return std::filesystem::equivalent(folder->path, other.path);
    });
    if (!locked) locks_.emplace_back(*folder);
  }
  for (const NamedFolder& folder : folders) remove_temporaries_left_behind(folder.path);
}

RunFolders::~RunFolders() = default;

}  // namespace octet
