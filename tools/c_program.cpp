#include "c_program.h"

#include <fmt/core.h>
#include <octet/command_line/text.h>
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
/// off; with an argument, says of every input and then of every output how large it is, and which
/// scale and zero point it has where the header has them.
constexpr std::string_view kDriver = R"(#include "@name@.h"
#include <stdio.h>

static void flip(int8_t *codes, unsigned long count) {
  for (unsigned long i = 0; i < count; ++i) ((unsigned char *)codes)[i] ^= 0x80;
}

/* Whether an end holds codes of uint8: of one input and output, the types say so. */
#define TYPES(in, out) int (*)(const in *, out *)
#define HAS_UINT8(of_input, of_output)                                                         \
  _Generic(&@name@_invoke, TYPES(int8_t, int8_t): 0, TYPES(uint8_t, int8_t): of_input,           \
           TYPES(int8_t, uint8_t): of_output, TYPES(uint8_t, uint8_t): 1)
#define IS_UINT8_INPUT(helper) _Generic(&helper, int (*)(const float *, uint8_t *): 1, default: 0)
#define IS_UINT8_OUTPUT(helper) _Generic(&helper, int (*)(const uint8_t *, float *): 1, default: 0)

@buffers@
int main(int argc, char **argv) {
  (void)argv;
  if (argc > 1) {
@sizes@    return 0;
  }
  for (;;) {
@reads@    if (@name@_invoke(@arguments@) != 0) return 3;
@writes@  }
}
)";

constexpr std::string_view kBuffer = "static int8_t @end@[@NAME@_@END@_SIZE];\n";
constexpr std::string_view kSize = R"(    printf("%lu", (unsigned long)sizeof @end@);
#if defined(@NAME@_@END@_ZERO_POINT)
    printf(" %.9g %d", (double)@NAME@_@END@_SCALE, @NAME@_@END@_ZERO_POINT - 128 * @is_uint8@);
#endif
    printf("\n");
)";
constexpr std::string_view kRead =
    R"(    if (fread(@end@, 1, sizeof @end@, stdin) != sizeof @end@) return 0;
    if (@is_uint8@) flip(@end@, sizeof @end@);
)";
constexpr std::string_view kWrite = R"(    if (@is_uint8@) flip(@end@, sizeof @end@);
    if (fwrite(@end@, 1, sizeof @end@, stdout) != sizeof @end@) return 4;
)";

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
    text.replace(at, what.size(), by);
  }
}

std::string upper_case(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

/// The names of the inputs ("input") or outputs in a header: "input1", "input2", ... of several.
std::vector<std::string> ends_in(const std::string& header, const std::string& name,
                                 const std::string& role) {
  std::vector<std::string> ends;
  const auto defines = [&](const std::string& end) {
    const std::string macro = fmt::format("define {}_{}_SIZE ", upper_case(name), upper_case(end));
    return header.find(macro) != std::string::npos;
  };
  for (std::size_t i = 1; defines(fmt::format("{}{}", role, i)); ++i) {
    ends.push_back(fmt::format("{}{}", role, i));
  }
  if (ends.empty()) ends.push_back(role);
  return ends;
}

std::string driver_for(const std::string& name, const std::vector<std::string>& inputs,
                       const std::vector<std::string>& outputs) {
  const bool is_plain = inputs.size() == 1 && outputs.size() == 1;
  std::string text(kDriver);
  std::string buffers;
  std::string sizes;
  std::string reads;
  std::string writes;
  std::string arguments;
  const auto add = [&](const std::string& end, bool is_input) {
    const std::string helper = fmt::format("IS_UINT8_{}({}_{}_{})", is_input ? "INPUT" : "OUTPUT",
                                           name, is_input ? "quantize" : "dequantize", end);
    const std::string plain = is_input ? "HAS_UINT8(1, 0)" : "HAS_UINT8(0, 1)";
    const auto filled = [&](std::string_view part) {
      std::string result(part);
      replace_all(result, "@end@", end);
      replace_all(result, "@END@", upper_case(end));
      replace_all(result, "@is_uint8@", is_plain ? plain : helper);
      return result;
    };
    buffers += filled(kBuffer);
    sizes += filled(kSize);
    (is_input ? reads : writes) += filled(is_input ? kRead : kWrite);
    arguments +=
        fmt::format("{}({}void *){}", arguments.empty() ? "" : ", ", is_input ? "const " : "", end);
  };
  for (const std::string& input : inputs) add(input, true);
  for (const std::string& output : outputs) add(output, false);
  replace_all(text, "@buffers@", buffers);
  replace_all(text, "@sizes@", sizes);
  replace_all(text, "@reads@", reads);
  replace_all(text, "@writes@", writes);
  replace_all(text, "@arguments@", arguments);
  replace_all(text, "@name@", name);
  replace_all(text, "@NAME@", upper_case(name));
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
  static_cast<void>(read_file(source));
  std::filesystem::path header = source;
  const std::string text = command_line::read_text(header.replace_extension(".h"));
  if (text.find(fmt::format("int {}_step(", name)) != std::string::npos) {
    throw InvalidArgument(fmt::format(
        "'{0}': expected {1}_invoke(), found {1}_step(), of a model that carries states from step "
        "to "
        "step; its self-test compares a sequence with Octet's interpreter: cc -D{2}_SELFTEST {0}",
        source.string(), name, upper_case(name)));
  }
  const std::vector<std::string> inputs = ends_in(text, name, "input");
  const std::vector<std::string> outputs = ends_in(text, name, "output");
  inputs_.resize(inputs.size());
  outputs_.resize(outputs.size());
  for (const std::string& output : outputs) {
    if (text.find(fmt::format("int32_t *{}", output)) == std::string::npos) continue;
    throw InvalidArgument(
        fmt::format("'{}': expected outputs of quantized values, found {} of int32, as ARG_MAX "
                    "gives it; compare the .tflite file, or C source made in front of it by octet "
                    "export --to",
                    source.string(), output));
  }
  write_scratch("driver.c", driver_for(name, inputs, outputs));
  compile();
  read_sizes();
}

void CProgram::compile() {
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
                                  first_error(command_line::read_text(folder_ / "errors"))));
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

void CProgram::read_sizes() {
  run_process({(folder_ / "program").string(), "sizes"},
              {.in = {}, .out = folder_ / "sizes", .err = {}});
  std::istringstream text(command_line::read_text(folder_ / "sizes"));
  for (std::vector<End>* ends : {&inputs_, &outputs_}) {
    for (End& end : *ends) {
      std::string line;
      std::getline(text, line);
      std::istringstream numbers(line);
      if (!(numbers >> end.size) || end.size == 0) {
        throw FormatError(
            fmt::format("'{}': the program does not say its sizes", source_.string()));
      }
      CodeGrid grid;
      if (numbers >> grid.scale >> grid.zero_point) end.grid = grid;
    }
  }
}

std::vector<std::int8_t> CProgram::run(std::span<const std::int8_t> samples) const {
  write_scratch("in", {reinterpret_cast<const char*>(samples.data()), samples.size()});
  const auto exit_code =
      run_process({(folder_ / "program").string()},
                  {.in = folder_ / "in", .out = folder_ / "out", .err = folder_ / "errors"});
  const auto bytes = read_file(folder_ / "out");
  const auto size_of = [](const std::vector<End>& ends) {
    std::size_t size = 0;
    for (const End& end : ends) size += end.size;
    return size;
  };
  const std::size_t expected = samples.size() / size_of(inputs_) * size_of(outputs_);
  if (exit_code != 0 || bytes.size() != expected) {
    throw IoError(fmt::format("'{}': the program ended with {} after {} of {} bytes",
                              source_.string(), exit_code.value_or(-1), bytes.size(), expected));
  }
  return {bytes.begin(), bytes.end()};
}

}  // namespace octet::tools
