#pragma once

#include <cstddef>

namespace octet {

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

}  // namespace octet
