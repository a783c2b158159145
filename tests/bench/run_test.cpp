// octet_bench_run as scripts/bench.sh runs it.

#include <octet/tests/cli/process.h>

#include <nlohmann/json.hpp>

namespace octet::test::run_test {
namespace {

class BenchRun : public ::testing::Test {
 protected:
  std::string file() const { return (folder_.path() / "results").string(); }

  ProcessResult run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {OCTET_BENCH_RUN, file()});
    return run_process(arguments);
  }

  ScratchDirectory folder_;
};

TEST_F(BenchRun, AppendsTheLastObjectWithNames) {
  const std::string program = "echo '{\"a\": 1}'; echo '{\"a\": 2, \"deep\": [1]}'; echo done";
  ASSERT_EQ(run({"who=x", "batch=32", "--", "/bin/sh", "-c", program}).exit_code, 0);
  ASSERT_EQ(run({"--", "/bin/echo", "{}"}).exit_code, 0);
  const std::string text = text_of(file());
  const auto line = nlohmann::json::parse(text.substr(0, text.find('\n')));
  EXPECT_EQ(line.at("a"), 2);
  EXPECT_EQ(line.at("who"), "x");
  EXPECT_EQ(line.at("batch"), 32);
  EXPECT_FALSE(line.contains("deep"));
  EXPECT_GT(line.at("run_peak_mb").get<double>(), 0.1);
  EXPECT_EQ(std::ranges::count(text, '\n'), 2);
}

TEST_F(BenchRun, SaysWhatWentWrong) {
  const auto expect = [this](const std::vector<std::string>& arguments, int exit_code,
                             const std::string& message) {
    const ProcessResult result = run(arguments);
    EXPECT_EQ(result.exit_code, exit_code);
    EXPECT_NE(result.err.find(message), std::string::npos) << result.err;
    EXPECT_FALSE(std::filesystem::exists(file()));
  };
  expect({"--", "/bin/sh", "-c", "echo no >&2; echo disk full >&2; exit 3"}, 1, "sh: disk full");
  expect({"--", "/bin/echo", "text"}, 1, "it printed no line of JSON");
  expect({"--", "/nowhere/program"}, 1, "cannot run /nowhere/program");
  expect({"name", "--", "/bin/echo", "{}"}, 1, "expected NAME=VALUE, found \"name\"");
  expect({"who=x"}, 2, "usage");
  expect({"who=x", "--"}, 2, "usage");
}

}  // namespace
}  // namespace octet::test::run_test
