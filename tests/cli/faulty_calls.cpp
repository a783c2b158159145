// Loaded into a program by LD_PRELOAD: the OCTET_FAULT_AT-th call that writes, flushes or renames a
// file that Octet saves fails with errno OCTET_FAULT_ERROR, or where that is 0 the program is
// killed on the spot, a write half done.

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>

namespace {

std::atomic<long> calls{0};
/// Which descriptors are of temporary files and of folders, and which of them are still empty.
std::array<std::atomic<bool>, 1024> ours;
std::array<std::atomic<bool>, 1024> fresh;

long number(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? 0 : std::strtol(text, nullptr, 10);
}

bool is_ours(int handle) {
  return handle >= 0 && handle < static_cast<int>(ours.size()) &&
         ours[static_cast<std::size_t>(handle)];
}

/// Whether this call has to fail; errno is then set.
bool fails() {
  static const long at = number("OCTET_FAULT_AT");
  static const long error = number("OCTET_FAULT_ERROR");
  if (++calls != at) return false;
  if (error == 0) ::kill(::getpid(), SIGKILL);
  errno = static_cast<int>(error);
  return true;
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  static const auto real = next<int (*)(const char*, int, ...)>("open");
  std::va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  const bool saves = std::strstr(path, "/.octet-") != nullptr;
  if (saves && fails()) return -1;
  const int handle = real(path, flags, mode);
  if (handle >= 0 && handle < static_cast<int>(ours.size())) {
    ours[static_cast<std::size_t>(handle)] = saves || (flags & O_DIRECTORY) != 0;
    fresh[static_cast<std::size_t>(handle)] = saves;
  }
  return handle;
}

ssize_t write(int handle, const void* bytes, size_t count) {
  static const auto real = next<ssize_t (*)(int, const void*, size_t)>("write");
  if (is_ours(handle)) {
    // Half of it first: what fails, or is killed, leaves a torn file.
    if (fresh[static_cast<std::size_t>(handle)].exchange(false) && count > 1) {
      return real(handle, bytes, count / 2);
    }
    if (fails()) return -1;
  }
  return real(handle, bytes, count);
}

int fsync(int handle) {
  static const auto real = next<int (*)(int)>("fsync");
  return is_ours(handle) && fails() ? -1 : real(handle);
}

int rename(const char* from, const char* to) {
  static const auto real = next<int (*)(const char*, const char*)>("rename");
  return fails() ? -1 : real(from, to);
}

int link(const char* from, const char* to) {
  static const auto real = next<int (*)(const char*, const char*)>("link");
  return fails() ? -1 : real(from, to);
}

}  // extern "C"
