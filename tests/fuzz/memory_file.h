#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "targets.h"

namespace octet::fuzz {

/// A file in memory that has a path, for readers that take one.
class MemoryFile {
 public:
  MemoryFile() : handle_(::memfd_create("octet_fuzz", 0)) {
    require(handle_ >= 0, "memfd_create works");
  }
  ~MemoryFile() { ::close(handle_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(handle_); }

  void assign(std::span<const std::uint8_t> bytes) const {
    require(::ftruncate(handle_, 0) == 0, "a file in memory can be cut");
    const auto written = ::pwrite(handle_, bytes.data(), bytes.size(), 0);
    require(written == static_cast<::ssize_t>(bytes.size()), "a file in memory can be written");
  }

 private:
  int handle_;
};

}  // namespace octet::fuzz
