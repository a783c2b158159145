#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <octet/core/file.h>
#include <octet/tests/sanitizers.h>
#include <octet/tests/train/data/idx_files.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace octet::test {

/// How a program ended, and what it wrote.
struct ProcessResult {
  int exit_code = -1;  ///< -1 where a signal ended it
  int signal = 0;      ///< that signal
  std::string out;
  std::string err;
  /// The most memory that it had at once, or that this process had when it started it: the kernel
  /// counts from before exec.
  long peak_mib = 0;
};

/// Fails where the program had more than that. Nothing can be told under a sanitizer, which adds
/// its own memory, nor where this process has been as large itself: run alone, as ctest does, it is
/// not.
inline void expect_peak_below(const ProcessResult& result, long mib) {
#ifndef OCTET_TEST_SANITIZED
  rusage ours{};
  ::getrusage(RUSAGE_SELF, &ours);
  if (ours.ru_maxrss / 1024 < mib) {
    EXPECT_LT(result.peak_mib, mib);
  }
#else
  static_cast<void>(result);
  static_cast<void>(mib);
#endif
}

inline std::string text_of(const std::filesystem::path& path) {
  const auto bytes = read_file(path);
  return {bytes.begin(), bytes.end()};
}

/// A running program, its output in files; killed where nobody waited for it.
class Process {
 public:
  /// An environment variable set to "" is removed.
  explicit Process(std::vector<std::string> arguments,
                   const std::map<std::string, std::string>& environment = {}) {
    std::vector<std::string> variables;
    for (char** variable = environ; *variable != nullptr; ++variable) {
      const std::string text = *variable;
      if (!environment.contains(text.substr(0, text.find('=')))) variables.push_back(text);
    }
    for (const auto& [name, value] : environment) {
      if (!value.empty()) variables.push_back(name + "=" + value);
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC;
    const std::string out = path("out");
    const std::string err = path("err");
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), kFlags, 0600);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), kFlags, 0600);
    // The caller may ignore signals, as a shell does for what runs in the background.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t signals;
    sigemptyset(&signals);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, number);
    posix_spawnattr_setsigdefault(&attributes, &signals);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    const int error = posix_spawn(&id_, arguments.front().c_str(), &actions, &attributes,
                                  pointers(arguments).data(), pointers(variables).data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) throw std::runtime_error("cannot start " + arguments.front());
  }
  ~Process() {
    if (id_ <= 0) return;
    ::kill(id_, SIGKILL);
    ::waitpid(id_, nullptr, 0);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  ::pid_t id() const { return id_; }
  void signal(int number) const { ::kill(id_, number); }

  /// Sends a signal and waits until it has arrived: two of a kind that are on their way become one.
  void deliver(int number) const {
    signal(number);
    const std::string field = "ShdPnd:";
    const std::uint64_t bit = std::uint64_t{1} << static_cast<unsigned>(number - 1);
    for (std::uint64_t pending = bit; (pending & bit) != 0;) {
      std::ifstream file("/proc/" + std::to_string(id_) + "/status");
      const std::string status(std::istreambuf_iterator<char>(file), {});
      const std::size_t at = status.find(field);
      pending =
          at == std::string::npos ? 0 : std::stoull(status.substr(at + field.size()), nullptr, 16);
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

  /// What it has written to stdout so far.
  std::string output() const { return text_of(path("out")); }
  bool has_ended() const {
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED | WNOHANG | WNOWAIT);
    return info.si_pid != 0;
  }

  /// Waits until stdout holds `text`; false where the program ended before.
  bool wait_for_output(std::string_view text) const {
    while (output().find(text) == std::string::npos) {
      if (has_ended()) return output().find(text) != std::string::npos;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }

  ProcessResult wait() {
    int status = 0;
    rusage usage{};
    ::wait4(id_, &status, 0, &usage);
    id_ = -1;
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1,
            WIFSIGNALED(status) ? WTERMSIG(status) : 0, text_of(path("out")), text_of(path("err")),
            usage.ru_maxrss / 1024};
  }

 private:
  static std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (std::string& text : texts) result.push_back(text.data());
    result.push_back(nullptr);
    return result;
  }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  ScratchDirectory folder_;
  ::pid_t id_ = -1;
};

inline ProcessResult run_process(std::vector<std::string> arguments,
                                 const std::map<std::string, std::string>& environment = {}) {
  return Process(std::move(arguments), environment).wait();
}

}  // namespace octet::test
