#pragma once

#include <octet/core/parallel.h>

namespace octet::test {

/// Puts the number of threads back at the end of a test.
class KeepThreads {
 public:
  KeepThreads() = default;
  ~KeepThreads() { set_num_threads(before_); }
  KeepThreads(const KeepThreads&) = delete;
  KeepThreads& operator=(const KeepThreads&) = delete;

 private:
  int before_ = num_threads();
};

}  // namespace octet::test
