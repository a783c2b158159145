#pragma once

#include <gtest/gtest.h>
#include <octet/tests/train/data/idx_files.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace octet::test {

inline Bytes text(std::string_view of) { return {of.begin(), of.end()}; }

/// Writes files below a folder of its own.
class DataFolder : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, const Bytes& bytes) const {
    std::filesystem::create_directories((scratch_.path() / name).parent_path());
    return scratch_.write(name, bytes);
  }
  std::filesystem::path folder(const std::string& name) const { return scratch_.path() / name; }

  const ScratchDirectory scratch_;
};

}  // namespace octet::test
