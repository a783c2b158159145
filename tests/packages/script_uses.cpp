// Which programs the shell scripts run. What stands where a command stands is a builtin, a
// function, a script or program of ours, or a program of the system; anything else is unknown, and
// said to be.

#include <fmt/core.h>
#include <octet/tests/packages/debian.h>
#include <octet/tests/packages/shell_script.h>
#include <octet/tests/packages/uses.h>

#include <map>
#include <set>
#include <span>
#include <sstream>

namespace octet::test {
namespace {

namespace fs = std::filesystem;

/// What runs the command that follows its options, the values of some of them, and `operands`
/// words.
struct Runner {
  Names options_with_value;
  std::size_t operands = 0;
};
const std::map<std::string, Runner>& runners() {
  static const std::map<std::string, Runner> known = {
      {"chroot", {{}, 1}},
      {"command", {{}, 0}},
      {"env", {{"-u"}, 0}},
      {"exec", {{}, 0}},
      {"nice", {{"-n"}, 0}},
      {"sudo", {{}, 0}},
      {"timeout", {{"-k", "-s"}, 1}},
      {"unshare", {{}, 0}},
      {"xargs", {{"-I", "-P", "-n", "-d", "-a"}, 0}},
  };
  return known;
}

/// Commands that a variable or a name made of one holds, by what stands in the script, and why they
/// are no programs of the system.
const std::map<std::string, std::string>& known_variables() {
  static const std::map<std::string, std::string> known = {
      {"$list", "scripts/common.sh: the name of a function"},
      {"job_$job", "scripts/checks.sh: the name of a function"},
      {"$command", "scripts/fresh.sh: our two scripts"},
      {"$preprocess", "scripts/checks.sh: clang++, with what compile_commands.json has"},
      {"$program", "scripts/mnist.sh: mnist_qat"},
      {"$script", "tests/cli/get_mnist_test.sh: scripts/get_mnist.sh"},
      {"$cmake", "tests/rooms/headers.sh: CMAKE_COMMAND"},
      {"$compiler", "tests/rooms/headers.sh: CMAKE_CXX_COMPILER"},
      {"$nm", "tests/core/kernels/shares_no_code.sh: CMAKE_NM, which the compiler brings"},
      {"$digits", "tests/docs/prepare.sh: write_digits"},
      {"$reader", "tests/docs/own_data.sh: read_npy_files"},
      {"$work/classify", "tests/docs: what the script has compiled"},
      {"$readelf", "tests/rooms/hardened.sh: CMAKE_READELF, which the compiler brings"},
  };
  return known;
}

using Words = std::span<const ShellWord>;

bool has(const std::string& text, std::string_view what) {
  return text.find(what) != std::string::npos;
}

class ScriptReader {
 public:
  ScriptReader(fs::path source, Uses& uses) : source_(std::move(source)), uses_(uses) {
    std::istringstream names(output_of("bash -c 'compgen -b'"));
    for (std::string name; names >> name;) builtins_.insert(name);
  }

  void read(const fs::path& file) {
    const std::string name = fs::relative(file, source_).string();
    ShellScript script;
    try {
      script = parse_shell(text_of(file));
      take_sourced(script, script.commands);
    } catch (const std::runtime_error& error) {
      uses_.add_unknown(name, error.what());
      return;
    }
    script_ = &script;
    commands_of(script, name);
    script_ = nullptr;
  }

  /// After all scripts: variables that none of them has.
  void expect_variables_used() {
    for (const auto& [word, why] : known_variables()) {
      if (!seen_variables_.contains(word)) {
        uses_.add_unknown("script_uses.cpp",
                          fmt::format("no script has the command {}: {}", word, why));
      }
    }
  }

 private:
  // Functions and arrays of what a script reads by "." or "source".
  void take_sourced(ShellScript& script, const std::vector<ShellCommand>& commands) {
    for (const ShellCommand& command : std::vector<ShellCommand>(commands)) {
      const std::string& name = command.words[0].text;
      if ((name != "." && name != "source") || command.words.size() < 2) continue;
      ShellScript sourced = parse_shell(text_of(source_ / command.words[1].text));
      script.functions.merge(sourced.functions);
      script.arrays.merge(sourced.arrays);
    }
  }

  void commands_of(const ShellScript& script, const std::string& name) {
    for (const ShellCommand& command : script.commands) {
      where_ = fmt::format("{}:{}", name, command.line);
      this->command(command.words);
      arguments(command.words);
    }
  }

  // A program may be run by one that is not among the runners: an argument that is the name of a
  // program is looked at where it is installed. Builtins run none, functions of ours only by words
  // that are looked at where they stand, and the words of these programs are verbs of their own.
  void arguments(Words words) {
    static const Names with_verbs = {"apt-get", "cmake", "ctest", "git", "mount", "npm"};
    const std::string& program = words[0].text;
    if (builtins_.contains(program) && !runners().contains(program)) return;
    if (script_->functions.contains(program) || with_verbs.contains(program)) return;
    for (const ShellWord& word : words.subspan(1)) {
      const bool name = word.plain && word.literal && !word.text.empty() && word.text[0] != '-' &&
                        !has(word.text, "/") && !has(word.text, "=");
      if (name) uses_.add_program(word.text, where_, Use::Kind::argument);
    }
  }

  void command(Words words) {
    if (words.empty()) return;
    const ShellWord& first = words[0];
    const std::string& name = first.text;
    if (!first.literal) return variable(words);
    if (has(name, "/")) return by_path(words);
    if (script_->functions.contains(name)) return function(words);
    const auto runner = runners().find(name);
    if (!builtins_.contains(name)) uses_.add_program(name, where_);
    // Whether there is a program whose name only a variable knows: it is not run here.
    if (name == "command" && words.size() == 3 && words[1].text == "-v" && !words[2].literal)
      return;
    if (name == "trap" && words.size() > 2) return inner_script(words[1]);
    if (name == "eval") return uses_.add_unknown(where_, "eval: what it runs cannot be told");
    if (name == "sh" || name == "bash") return shell(words.subspan(1));
    if (runner != runners().end()) command(after_options(words.subspan(1), runner->second));
  }

  // The command that a runner runs: behind options, NAME=value and operands.
  Words after_options(Words words, const Runner& runner) {
    while (!words.empty()) {
      const std::string& text = words[0].text;
      const bool option = text.starts_with('-') && text.size() > 1;
      if (!option && !has(text, "=")) break;
      const bool with_value = runner.options_with_value.contains(text);
      words = words.subspan(with_value && words.size() > 1 ? 2 : 1);
    }
    return words.subspan(std::min(runner.operands, words.size()));
  }

  void shell(Words words) {
    if (words.size() > 1 && words[0].text == "-c") return inner_script(words[1]);
    if (!words.empty() && has(words[0].text, ".sh")) return;
    uses_.add_unknown(where_, "a shell without -c and without a script of ours");
  }

  void inner_script(const ShellWord& word) {
    try {
      const ShellScript inner = parse_shell(word.text);
      const std::string where = where_;
      for (const ShellCommand& command : inner.commands) this->command(command.words);
      where_ = where;
    } catch (const std::runtime_error& error) {
      uses_.add_unknown(where_, fmt::format("'{}': {}", word.text, error.what()));
    }
  }

  void by_path(Words words) {
    const std::string& name = words[0].text;
    if (name.starts_with('/')) {
      uses_.add_program(name, where_);
    } else if (!name.starts_with("build/") && !fs::exists(source_ / name)) {
      uses_.add_unknown(where_, fmt::format("'{}' is no file of ours", name));
    }
  }

  void function(Words words) {
    const std::string& name = words[0].text;
    const bool named = words.size() > 1 && words[1].literal;
    if (name == "octet_llvm" && named) {
      uses_.found.push_back({Use::Kind::llvm_program, words[1].text, "", where_});
    } else if (name == "octet_llvm_library" && named) {
      uses_.found.push_back({Use::Kind::llvm_library, words[1].text, "", where_});
    }
    // Behind "--" a function of ours is given a command.
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (words[i].text == "--" && words[i].plain) return command(words.subspan(i + 1));
    }
  }

  // A word that the shell makes of a variable.
  void variable(Words words) {
    const std::string& text = words[0].text;
    if (text.ends_with("[@]}") && text.starts_with("${")) return array(words);
    // What octet_llvm finds; its own call is a command of the script too.
    if (text.starts_with("$(octet_llvm ") && text.ends_with(')')) return;
    if (has(text, "/bin/") || text.starts_with("$bin/")) return;  // a build folder's
    seen_variables_.insert(text);
    if (known_variables().contains(text)) return;
    uses_.add_unknown(where_, fmt::format("'{}': no table says what this command is", text));
  }

  // "${name[@]}": each of what it is set to, the words that follow behind it.
  void array(Words words) {
    const std::string name = words[0].text.substr(2, words[0].text.size() - 6);
    const auto found = script_->arrays.find(name);
    if (found == script_->arrays.end()) {
      return uses_.add_unknown(where_, fmt::format("the array {} is set nowhere", name));
    }
    for (std::vector<ShellWord> value : found->second) {
      if (!value.empty() && has(value[0].text, "=")) continue;
      value.insert(value.end(), words.begin() + 1, words.end());
      command(value);
    }
  }

  fs::path source_;
  Uses& uses_;
  Names builtins_;
  const ShellScript* script_ = nullptr;
  std::string where_;
  Names seen_variables_;
};

bool is_script(const fs::path& file) {
  if (file.extension() == ".sh") return true;
  if (file.has_extension()) return false;
  const std::string text = text_of(file);
  const std::string first = text.substr(0, text.find('\n'));
  return first.starts_with("#!") && first.ends_with("sh");
}

}  // namespace

void add_script_uses(const fs::path& source, Uses& uses) {
  ScriptReader reader(source, uses);
  for (const fs::path& file : our_files(source, is_script)) reader.read(file);
  reader.expect_variables_used();
}

}  // namespace octet::test
