// What `octet help` makes of the tables of options: manual pages and completion.

#include <octet/tests/cli/octet_tool.h>

#include <cstdlib>
#include <fstream>
#include <regex>
#include <set>
#include <string>

namespace octet::test::octet_help_test {
namespace {

class OctetHelp : public OctetTool {
 protected:
  std::set<std::string> words(const std::string& text, const std::string& pattern) const {
    const std::regex regex(pattern);
    std::set<std::string> found;
    for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at) {
      found.insert((*at)[1].str());
    }
    return found;
  }
  std::set<std::string> commands() const {
    const std::string all = octet("help").out;
    return words(all.substr(all.find("Subcommands:")), "\n  ([a-z]+)");
  }
  /// The words that bash proposes for the last of these.
  std::string proposed(const std::string& script, const std::string& line, int word) const {
    std::ofstream(path("complete.sh"))
        << script << "COMP_WORDS=(" << line << ") COMP_CWORD=" << word
        << "\n_octet\nprintf '%s ' \"${COMPREPLY[@]}\"\n";
    const std::string command = "bash '" + path("complete.sh") + "' > '" + path("words") + "'";
    EXPECT_EQ(std::system(command.c_str()), 0);
    return text_of(path("words"));
  }
};

TEST_F(OctetHelp, ManualPagesHaveEveryOption) {
  const std::set<std::string> all = commands();
  ASSERT_TRUE(all.contains("train") && all.contains("predict"));
  const std::string whole = octet("help --man").out;
  for (const std::string& command : all) {
    EXPECT_NE(whole.find("octet\\-" + command + " (1)"), std::string::npos) << command;
    const Result page = octet("help " + command + " --man");
    ASSERT_EQ(page.exit_code, 0) << page.err;
    EXPECT_EQ(page.out.rfind(".TH OCTET\\-", 0), 0U) << page.out;
    for (const std::string& option : words(octet("help " + command).out, "\n  --([a-z0-9-]+)")) {
      const std::string escaped = std::regex_replace("--" + option, std::regex("-"), "\\-");
      EXPECT_NE(page.out.find(escaped), std::string::npos) << command << " --" << option;
    }
    std::ofstream(path("page.1")) << page.out;
    if (std::system("command -v groff > /dev/null") != 0) continue;
    const std::string lint = "groff -man -Tascii -ww '" + path("page.1") +
                             "' 2>&1 > /dev/null | grep . > '" + path("lint") + "'";
    static_cast<void>(std::system(lint.c_str()));
    EXPECT_EQ(text_of(path("lint")), "") << command;
  }
  expect_failure("help trian --man", 2, "there is no command 'trian'; did you mean train?");
  expect_failure("help --man --bash", 2, "excludes");
}

TEST_F(OctetHelp, BashProposesCommandsOptionsAndChoices) {
  const std::string script = octet("help --bash").out;
  EXPECT_EQ(proposed(script, "octet pre", 1), "predict ");
  EXPECT_EQ(proposed(script, "octet help ev", 2), "eval ");
  EXPECT_EQ(proposed(script, "octet train --netw", 2), "--network ");
  EXPECT_EQ(proposed(script, "octet train --network res", 3), "resnet8 ");
  EXPECT_EQ(proposed(script, "octet eval --rounding d", 3), "double ");
  std::ofstream(path("model.tflite")) << "x";
  EXPECT_EQ(proposed("cd '" + path("") + "'\n" + script, "octet eval mod", 2), "model.tflite ");
}

TEST_F(OctetHelp, ZshIsToldEveryOption) {
  const std::string script = octet("help --zsh").out;
  EXPECT_EQ(script.rfind("#compdef octet\n", 0), 0U);
  EXPECT_NE(script.find("'--network["), std::string::npos);
  EXPECT_NE(script.find("'--json[Prints JSON]'"), std::string::npos);
  EXPECT_NE(script.find(":PATH:_files'"), std::string::npos);
  EXPECT_NE(script.find(":value:(fp32 single double)'"), std::string::npos)
      << script.substr(0, 2000);
  std::ofstream(path("_octet")) << script;
  if (std::system("command -v zsh > /dev/null") != 0) return;
  EXPECT_EQ(std::system(("zsh -n '" + path("_octet") + "'").c_str()), 0);
}

}  // namespace
}  // namespace octet::test::octet_help_test
