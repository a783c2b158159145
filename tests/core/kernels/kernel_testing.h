#pragma once

#include <gtest/gtest.h>
#include <octet/core/kernels/isa.h>
#include <octet/tests/core/keep_threads.h>

#include <string>

namespace octet::test {

/// While it lives, kernels() is `table` and loops run on `threads` threads.
class Forced {
 public:
  explicit Forced(const KernelTable* table, int threads = 1) {
    force_kernels(table);
    set_num_threads(threads);
  }
  ~Forced() { force_kernels(nullptr); }
  Forced(const Forced&) = delete;
  Forced& operator=(const Forced&) = delete;

 private:
  test::KeepThreads keep_;
};

/// Tests that run once per code path of this processor.
class KernelTest : public ::testing::TestWithParam<const KernelTable*> {};

inline std::string isa_name(const ::testing::TestParamInfo<const KernelTable*>& info) {
  return std::string(to_string(info.param->isa));
}

}  // namespace octet::test
