#pragma once

#include <gtest/gtest.h>
#include <octet/tests/cli/process.h>
#include <octet_test_paths.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <string>

namespace octet::test {

/// A test with a folder of its own that runs the `octet` tool.
class OctetTool : public ::testing::Test {
 protected:
  struct Result {
    int exit_code = -1;
    std::string out;
    std::string err;
  };

  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ("octet_tool_test_" + std::to_string(::getpid()) + "_" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  Result octet(const std::string& arguments) const {
    const std::string command = "'" OCTET_TOOL "' " + arguments + " 2>'" + path("stderr") + "'";
    Result result;
    std::FILE* pipe = ::popen(command.c_str(), "r");
    std::array<char, 4096> chunk{};
    for (std::size_t n = 1; n > 0;) {
      n = std::fread(chunk.data(), 1, chunk.size(), pipe);
      result.out.append(chunk.data(), n);
    }
    const int status = ::pclose(pipe);
    result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    result.err = text_of(folder_ / "stderr");
    return result;
  }

  void expect_failure(const std::string& arguments, int exit_code, const std::string& message) {
    const Result result = octet(arguments);
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_NE(result.err.find(message), std::string::npos) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }

  std::filesystem::path folder_;
};

}  // namespace octet::test
