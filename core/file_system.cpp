#include <fcntl.h>
#include <octet/core/file_system.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>

namespace octet {
namespace {

FileSystem& system_itself() {
  static FileSystem instance;
  return instance;
}

std::atomic<FileSystem*> replacement{nullptr};

}  // namespace

int FileSystem::create(const char* path) {
  return ::open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

int FileSystem::open_folder(const char* path) {
  return ::open(*path == '\0' ? "." : path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

std::ptrdiff_t FileSystem::write(int handle, const void* bytes, std::size_t count) {
  return ::write(handle, bytes, count);
}

std::ptrdiff_t FileSystem::read(int handle, void* bytes, std::size_t count) {
  return ::read(handle, bytes, count);
}

int FileSystem::flush(int handle) { return ::fsync(handle); }
int FileSystem::close(int handle) { return ::close(handle); }
int FileSystem::rename(const char* from, const char* to) { return std::rename(from, to); }
int FileSystem::link(const char* from, const char* to) { return ::link(from, to); }
int FileSystem::remove(const char* path) { return ::unlink(path); }

FileSystem& file_system() {
  FileSystem* other = replacement;
  return other != nullptr ? *other : system_itself();
}

void replace_file_system(FileSystem* other) { replacement = other; }

}  // namespace octet
