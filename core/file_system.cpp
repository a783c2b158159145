#include <dirent.h>
#include <fcntl.h>
#include <octet/core/file_system.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <memory>

namespace octet {
namespace {

FileSystem& system_itself() {
  static FileSystem instance;
  return instance;
}

std::atomic<FileSystem*> replacement{nullptr};

const char* folder_named(const char* path) { return *path == '\0' ? "." : path; }

}  // namespace

int FileSystem::create(const char* path) {
  return ::open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

int FileSystem::open_folder(const char* path) {
  return ::open(folder_named(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
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

int open_to_read(const char* path) { return ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); }

void close_unchanged(int handle) { ::close(handle); }

int read_status(int handle, FileStatus& status) {
  struct ::stat found {};
  if (::fstat(handle, &found) != 0) return -1;
  status = {S_ISREG(found.st_mode), static_cast<std::size_t>(found.st_size)};
  return 0;
}

const void* map_to_read(int handle, std::size_t bytes) {
  // All pages at once: one by one they cost more than the bytes in them.
  const void* memory = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_POPULATE, handle, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

void unmap(const void* memory, std::size_t bytes) { ::munmap(const_cast<void*>(memory), bytes); }

void for_each_name(const char* folder, FunctionRef<void(const char*)> use) {
  // Not std::filesystem::directory_iterator, which ends the program where memory runs out.
  const std::unique_ptr<::DIR, int (*)(::DIR*)> entries(::opendir(folder_named(folder)),
                                                        ::closedir);
  while (const ::dirent* entry = entries ? ::readdir(entries.get()) : nullptr) use(entry->d_name);
}

int check_writable(const char* folder) { return ::access(folder, W_OK | X_OK); }

int lock_folder(const char* folder) {
  const int handle = system_itself().open_folder(folder);
  if (handle < 0 || ::flock(handle, LOCK_EX | LOCK_NB) == 0) return handle;
  // A file system without locks.
  if (errno == EOPNOTSUPP || errno == ENOLCK || errno == ENOSYS) return handle;
  const int error = errno;
  ::close(handle);
  errno = error;
  return -1;
}

}  // namespace octet
