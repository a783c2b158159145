#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/core/file_system.h>
#include <octet/train/run/run_folders.h>

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
    std::error_code ignored;
    for (auto path = paths_.rbegin(); path != paths_.rend(); ++path) {
      if (std::filesystem::is_directory(*path, ignored)) std::filesystem::remove(*path, ignored);
    }
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
    if (check_writable(folder.path.c_str()) != 0) refuse(folder, errno);
  }

 private:
  std::vector<std::filesystem::path> paths_;
};

/// A lock on a folder, by a handle that keeps it.
class RunFolders::Lock {
 public:
  explicit Lock(const NamedFolder& folder) : handle_(lock_folder(folder.path.c_str())) {
    if (handle_ >= 0) return;
    if (errno == EWOULDBLOCK) {
      throw IoError(fmt::format("{}: another run is writing to '{}'; give this one its own folder",
                                folder.name, folder.path.string()));
    }
    throw IoError(fmt::format("{}: cannot lock the folder '{}': {}", folder.name,
                              folder.path.string(), std::generic_category().message(errno)));
  }
  ~Lock() {
    if (handle_ >= 0) close_unchanged(handle_);
  }
  Lock(Lock&& other) noexcept : handle_(std::exchange(other.handle_, -1)) {}
  Lock& operator=(Lock&&) = delete;

 private:
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
