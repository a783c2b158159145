#pragma once

#include <octet/core/function_ref.h>

#include <cstddef>

namespace octet {

// Every call of POSIX for files and folders stands in file_system.cpp.

/// The calls that change files, and the one that reads them, as the system offers them: all that
/// Octet writes goes through the one object of this class. Each returns what the system call of
/// that name returns, and sets errno. A test derives from it to make the k-th call fail.
class FileSystem {
 public:
  FileSystem() = default;
  virtual ~FileSystem() = default;
  FileSystem(const FileSystem&) = delete;
  FileSystem& operator=(const FileSystem&) = delete;

  /// Makes a file that must not exist yet, to be written.
  virtual int create(const char* path);
  /// A handle to flush a folder by; "" is the working directory.
  virtual int open_folder(const char* path);
  virtual std::ptrdiff_t write(int handle, const void* bytes, std::size_t count);
  virtual std::ptrdiff_t read(int handle, void* bytes, std::size_t count);
  virtual int flush(int handle);
  virtual int close(int handle);
  virtual int rename(const char* from, const char* to);
  /// A second name for a file.
  virtual int link(const char* from, const char* to);
  virtual int remove(const char* path);
};

/// The object that is in use.
FileSystem& file_system();

/// Puts another in its place, nullptr: the system's own; for tests. Nothing may be written at that
/// moment, and `other` must outlive its use.
void replace_file_system(FileSystem* other);

// The calls below change no file, and no test makes them fail. They set errno where they fail.

/// A handle to read a file by; does not wait for who writes to a pipe. -1: failed.
int open_to_read(const char* path);
/// Closes a handle of open_to_read() or lock_folder().
void close_unchanged(int handle);

struct FileStatus {
  bool is_regular = false;
  std::size_t bytes = 0;
};

/// Tells what is behind a handle. Returns 0, or -1: failed.
int read_status(int handle, FileStatus& status);
/// The first `bytes` bytes of a file as memory to read; nullptr: failed.
const void* map_to_read(int handle, std::size_t bytes);
void unmap(const void* memory, std::size_t bytes);
/// Calls `use` for the name of each entry of a folder; for none where it cannot be read. "" is the
/// working directory.
void for_each_name(const char* folder, FunctionRef<void(const char*)> use);
/// Whether files can be made in a folder: 0, or -1.
int check_writable(const char* folder);
/// A handle that keeps others from locking a folder until it is closed; of a file system without
/// locks, one that does not. -1: failed, with EWOULDBLOCK where another has locked it.
int lock_folder(const char* folder);

}  // namespace octet
