#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <octet/tests/packages/debian.h>
#include <octet/tests/packages/shell_script.h>

#include <stdexcept>

namespace octet::test::shell_script_test {
namespace {

/// The first words of the commands, in the order in which they end.
std::vector<std::string> names(std::string_view script) {
  std::vector<std::string> found;
  for (const ShellCommand& command : parse_shell(script).commands) {
    found.push_back(command.words[0].text);
  }
  return found;
}
using Found = std::vector<std::string>;

TEST(ShellScript, CommandsStandAfterOperatorsAndKeywords) {
  EXPECT_EQ(names("a b; c && d || ! e | f & g\nh"), (Found{"a", "c", "d", "e", "f", "g", "h"}));
  EXPECT_EQ(names("if a; then b; elif c; then d; else e; fi"), (Found{"a", "b", "c", "d", "e"}));
  EXPECT_EQ(names("while a; do b; done <file; until c; do d; done"), (Found{"a", "b", "c", "d"}));
  EXPECT_EQ(names("for x in if a b; do c $x; done; for ((i = 0; i < 3; ++i)); do d; done"),
            (Found{"c", "d"}));
  EXPECT_EQ(names("{ a; } >x; (b; c) 2>&1; time d \\\n e"), (Found{"a", "b", "c", "d"}));
}

TEST(ShellScript, CasesAndFunctions) {
  const ShellScript script = parse_shell(
      "f() { a; }\nfunction g { b; }\n"
      "case $x in y | \"z\") c ;; (*) d ;;& e) esac\nh");
  EXPECT_EQ(script.functions, (std::set<std::string>{"f", "g"}));
  EXPECT_EQ(script.commands.size(), 5U);
  EXPECT_EQ(names("case $x in a) case $y in b) c ;; esac; d ;; esac"), (Found{"c", "d"}));
}

TEST(ShellScript, SubstitutionsHoldCommandsWhereverTheyStand) {
  EXPECT_EQ(names("a \"$(b \"$(c)\")\" `d` <(e) >\"$(f)\""), (Found{"c", "b", "d", "e", "f", "a"}));
  EXPECT_EQ(names("x=$(a) y[1]=2 b; [[ $(c) == d && e < f ]] && g"), (Found{"a", "b", "c", "g"}));
  EXPECT_EQ(names("echo ${x:-$(a)} ${y#'}'} ${z//\"}\"/$'\\n'} $((1 + $(b))) ${#x}"),
            (Found{"a", "b", "echo"}));
  EXPECT_EQ(names("a=(\"$(b)\" c # comment )\n d); local e=(f); g"), (Found{"b", "local", "g"}));
}

TEST(ShellScript, NothingInQuotesCommentsAndHereDocumentsButSubstitutions) {
  EXPECT_EQ(names("a 'b; $(c)' \"d; e\" # f; $(g)\nh#i"), (Found{"a", "h#i"}));
  EXPECT_EQ(names("a <<'X'\n$(b)\nX\nc"), (Found{"a", "c"}));
  EXPECT_EQ(names("a <<X; c\n$(b) it's\nX\nd"), (Found{"a", "c", "b", "d"}));
  EXPECT_EQ(names("a <<-X\n\tb\n\tX\nc <<<\"d $(e)\""), (Found{"a", "e", "c"}));
}

TEST(ShellScript, WordsKnowWhatTheyAreMadeOf) {
  const ShellScript script = parse_shell("a \"b\"c $d 'e f' g\\ h; x=(1 \"$y\"); x+=(2)");
  ASSERT_EQ(script.commands.size(), 1U);
  const auto& words = script.commands[0].words;
  ASSERT_EQ(words.size(), 5U);
  EXPECT_TRUE(words[0].literal && words[0].plain);
  EXPECT_EQ(words[1].text, "bc");
  EXPECT_TRUE(words[1].literal && !words[1].plain);
  EXPECT_EQ(words[2].text, "$d");
  EXPECT_FALSE(words[2].literal);
  EXPECT_EQ(words[3].text, "e f");
  EXPECT_EQ(words[4].text, "g h");
  EXPECT_EQ(script.arrays.at("x").size(), 2U);
  EXPECT_EQ(script.arrays.at("x")[0][1].text, "$y");
}

TEST(ShellScript, WhatIsNotUnderstoodIsAnErrorWithItsLine) {
  for (const char* script : {"a\n$(b", "a\n'b", "a\nb (", "a\ncase b", "a\n<<X\nb", "a\n${b"}) {
    try {
      parse_shell(script);
      FAIL() << script;
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string(error.what()).find("expected"), std::string::npos) << script;
    }
  }
}

// What scripts/checks.sh says where LLVM's OpenMP library finds no shared memory, and only there.
TEST(ShellScript, LogsOfAMachineWithoutSharedMemoryAreExplained) {
  const auto explained = [](const std::string& log) {
    return output_of("bash -c '. \"$1\"; octet_explain <(printf \"$2\")' _ '" OCTET_SOURCE_DIR
                     "/scripts/common.sh' '" +
                     log + "'");
  };
  EXPECT_NE(explained("OMP: Error #179: Function Can\\x27t open SHM2 failed:\\n").find("/dev/shm"),
            std::string::npos);
  EXPECT_EQ(explained("a test failed\\n"), "");
}

}  // namespace
}  // namespace octet::test::shell_script_test
