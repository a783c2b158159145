#include "process.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <octet/core/error.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace octet::tools {
namespace {

constexpr int kSignalExit = 128;

/// What a child finds behind its standard streams.
class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;

  void open(int descriptor, const std::filesystem::path& path, int flags) {
    const char* name = path.empty() ? "/dev/null" : path.c_str();
    posix_spawn_file_actions_addopen(&actions_, descriptor, name, flags, S_IRUSR | S_IWUSR);
  }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "octet_XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    throw IoError(fmt::format("cannot make the folder '{}': {}", name, std::strerror(errno)));
  }
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::optional<int> run_process(std::vector<std::string> arguments, const ProcessFiles& files) {
  FileActions actions;
  actions.open(STDIN_FILENO, files.in, O_RDONLY);
  actions.open(STDOUT_FILENO, files.out, O_WRONLY | O_CREAT | O_TRUNC);
  actions.open(STDERR_FILENO, files.err, O_WRONLY | O_CREAT | O_TRUNC);
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  pid_t id = -1;
  const int error =
      posix_spawnp(&id, pointers[0], actions.get(), nullptr, pointers.data(), environ);
  if (error == ENOENT) return std::nullopt;
  if (error != 0) {
    throw IoError(fmt::format("cannot start '{}': {}", arguments[0], std::strerror(error)));
  }
  int status = 0;
  while (waitpid(id, &status, 0) == -1) {
    if (errno != EINTR) {
      throw IoError(fmt::format("cannot wait for '{}': {}", arguments[0], std::strerror(errno)));
    }
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : kSignalExit + WTERMSIG(status);
}

}  // namespace octet::tools
