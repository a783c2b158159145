#include <octet/core/log.h>
#include <octet/tests/core/ops/op_testing.h>

#include <string>
#include <utility>
#include <vector>

namespace octet::test::log_test {
namespace {

using namespace testing;

std::vector<std::pair<LogLevel, std::string>> caught;

class LogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    caught.clear();
    set_log_sink([](LogLevel level, std::string_view message) {
      caught.emplace_back(level, std::string(message));
    });
  }
  void TearDown() override {
    set_log_sink(nullptr);
    set_log_level(LogLevel::info);
  }
};

TEST_F(LogTest, InformsByDefaultAndNoMore) {
  EXPECT_EQ(log_level(), LogLevel::info);
  log_debug("debug");
  log_info("info");
  log_warn("warn {}");
  ASSERT_EQ(caught.size(), 2U);
  EXPECT_EQ(caught[0], std::pair(LogLevel::info, std::string("info")));
  EXPECT_EQ(caught[1], std::pair(LogLevel::warn, std::string("warn {}")));
}

TEST_F(LogTest, LevelDecides) {
  set_log_level(LogLevel::debug);
  log_message(LogLevel::trace, "trace");
  log_debug("debug");
  log_info("info");
  EXPECT_EQ(caught.size(), 2U);
  set_log_level(LogLevel::off);
  log_message(LogLevel::error, "error");
  log_message(LogLevel::off, "off");
  EXPECT_EQ(caught.size(), 2U);
}

TEST_F(LogTest, WarningsAreCollectedAtAnyLevel) {
  std::vector<std::string> outer;
  std::vector<std::string> inner;
  set_log_level(LogLevel::off);
  {
    const CollectWarnings collect(outer);
    log_warn("one");
    {
      const CollectWarnings collect_inside(inner);
      log_warn("two");
    }
    log_message(LogLevel::error, "no warning");
  }
  log_warn("three");
  EXPECT_EQ(outer, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(inner, std::vector<std::string>{"two"});
  EXPECT_TRUE(caught.empty());
}

TEST_F(LogTest, WithoutASinkGoesToStderrNeverToStdout) {
  set_log_sink(nullptr);
  ::testing::internal::CaptureStderr();
  ::testing::internal::CaptureStdout();
  log_warn("look {here}");
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "[octet] [warning] look {here}\n");
}

TEST_F(LogTest, LevelNames) {
  const std::vector<std::pair<std::string, LogLevel>> names = {
      {"trace", LogLevel::trace}, {"debug", LogLevel::debug}, {"info", LogLevel::info},
      {"warn", LogLevel::warn},   {"error", LogLevel::error}, {"off", LogLevel::off}};
  for (const auto& [name, level] : names) EXPECT_EQ(parse_log_level(name), level);
  expect_error([] { parse_log_level("loud"); },
               "log level: expected trace, debug, info, warn, error or off, found \"loud\"");
}

}  // namespace
}  // namespace octet::test::log_test
