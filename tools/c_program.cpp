#include "c_program.h"

#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/file.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace octet::tools {
namespace {

/// Reads samples and writes outputs as codes of int8, which those of uint8 are when 128 is taken
/// off; with an argument, says how large they are, and the grids of both where the header has them.
constexpr std::string_view kDriver = R"(#include "@name@.h"
#include <stdio.h>

/* Whether the input, and the output, are codes of uint8. */
#define TYPES(in, out) int (*)(const in *, out *)
#define HAS_UINT8(of_input, of_output)                                                         \
  _Generic(&@name@_invoke, TYPES(int8_t, int8_t): 0, TYPES(uint8_t, int8_t): of_input,           \
           TYPES(int8_t, uint8_t): of_output, TYPES(uint8_t, uint8_t): 1)

static int8_t input[@NAME@_INPUT_SIZE];
static int8_t output[@NAME@_OUTPUT_SIZE];

static void flip(int8_t *codes, unsigned long count) {
  for (unsigned long i = 0; i < count; ++i) ((unsigned char *)codes)[i] ^= 0x80;
}

int main(int argc, char **argv) {
  const int flips_input = HAS_UINT8(1, 0);
  const int flips_output = HAS_UINT8(0, 1);
  (void)argv;
  if (argc > 1) {
    printf("%lu %lu\n", (unsigned long)sizeof input, (unsigned long)sizeof output);
#if defined(@NAME@_INPUT_ZERO_POINT) && defined(@NAME@_OUTPUT_ZERO_POINT)
    printf("%.9g %d\n", (double)@NAME@_INPUT_SCALE, @NAME@_INPUT_ZERO_POINT - 128 * flips_input);
    printf("%.9g %d\n", (double)@NAME@_OUTPUT_SCALE, @NAME@_OUTPUT_ZERO_POINT - 128 * flips_output);
#endif
    return 0;
  }
  while (fread(input, 1, sizeof input, stdin) == sizeof input) {
    if (flips_input) flip(input, sizeof input);
    if (@name@_invoke((const void *)input, (void *)output) != 0) return 3;
    if (flips_output) flip(output, sizeof output);
    if (fwrite(output, 1, sizeof output, stdout) != sizeof output) return 4;
  }
  return 0;
}
)";

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
    text.replace(at, what.size(), by);
  }
}

std::string driver_for(const std::string& name) {
  std::string upper = name;
  std::ranges::transform(upper, upper.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::string text(kDriver);
  replace_all(text, "@name@", name);
  replace_all(text, "@NAME@", upper);
  return text;
}

bool is_identifier(const std::string& name) {
  const auto fits = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
         std::ranges::all_of(name, fits);
}

/// Command lines that may start a C compiler.
std::vector<std::vector<std::string>> compilers() {
  const char* chosen = std::getenv("CC");
  if (chosen == nullptr || *chosen == '\0') return {{"cc"}, {"gcc"}, {"clang"}};
  std::istringstream words(chosen);
  std::vector<std::string> command;
  for (std::string word; words >> word;) command.push_back(word);
  return {command};
}

/// The first line with "error" in it, or the first at all.
std::string first_error(const std::string& text) {
  std::istringstream lines(text);
  std::string first;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("error") != std::string::npos) return line;
    if (first.empty()) first = line;
  }
  return first;
}

}  // namespace

CProgram::CProgram(const std::filesystem::path& source) : source_(source) {
  const std::string name = source.stem().string();
  if (!is_identifier(name)) {
    throw InvalidArgument(fmt::format(
        "'{}': expected NAME.c with the NAME of the model that its functions bear, found \"{}\"",
        source.string(), name));
  }
  for (const char* extension : {".c", ".h"}) {
    std::filesystem::path file = source;
    static_cast<void>(read_file(file.replace_extension(extension)));
  }
  compile(name);
  read_sizes();
}

void CProgram::compile(const std::string& name) {
  write_scratch("driver.c", driver_for(name));
  const std::filesystem::path absolute = std::filesystem::absolute(source_);
  for (std::vector<std::string> command : compilers()) {
    const std::string compiler = command.empty() ? "" : command[0];
    for (const std::string& argument :
         {std::string("-std=c99"), std::string("-O2"), std::string("-ffp-contract=off"),
          std::string("-I"), absolute.parent_path().string(), (folder_ / "driver.c").string(),
          absolute.string(), std::string("-o"), (folder_ / "program").string(),
          std::string("-lm")}) {
      command.push_back(argument);
    }
    const auto exit_code = run_process(command, {.in = {}, .out = {}, .err = folder_ / "errors"});
    if (!exit_code) continue;
    if (*exit_code == 0) return;
    throw FormatError(fmt::format("'{}': {} cannot compile it: {}", source_.string(), compiler,
                                  first_error(text_of("errors"))));
  }
  throw InvalidArgument(fmt::format(
      "'{}': no C compiler found to build it with: tried $CC, else cc, gcc and clang; install one",
      source_.string()));
}

/// Files that go with the folder need not outlive a crash: nothing is flushed to the disk.
void CProgram::write_scratch(const std::string& file, std::string_view bytes) const {
  std::ofstream stream(folder_ / file, std::ios::binary | std::ios::trunc);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!stream.flush()) {
    throw IoError(fmt::format("cannot write '{}'", (folder_ / file).string()));
  }
}

std::string CProgram::text_of(const std::string& file) const {
  const auto bytes = read_file(folder_ / file);
  return {bytes.begin(), bytes.end()};
}

void CProgram::read_sizes() {
  run_process({(folder_ / "program").string(), "sizes"},
              {.in = {}, .out = folder_ / "sizes", .err = {}});
  std::istringstream text(text_of("sizes"));
  if (!(text >> input_size_ >> output_size_) || input_size_ == 0 || output_size_ == 0) {
    throw FormatError(fmt::format("'{}': the program does not say its sizes", source_.string()));
  }
  CodeGrid input;
  CodeGrid output;
  if (text >> input.scale >> input.zero_point >> output.scale >> output.zero_point) {
    grids_ = {input, output};
  }
}

std::vector<std::int8_t> CProgram::run(std::span<const std::int8_t> samples) const {
  write_scratch("in", {reinterpret_cast<const char*>(samples.data()), samples.size()});
  const auto exit_code =
      run_process({(folder_ / "program").string()},
                  {.in = folder_ / "in", .out = folder_ / "out", .err = folder_ / "errors"});
  const auto bytes = read_file(folder_ / "out");
  const std::size_t expected = samples.size() / input_size_ * output_size_;
  if (exit_code != 0 || bytes.size() != expected) {
    throw IoError(fmt::format("'{}': the program ended with {} after {} of {} bytes",
                              source_.string(), exit_code.value_or(-1), bytes.size(), expected));
  }
  return {bytes.begin(), bytes.end()};
}

}  // namespace octet::tools
