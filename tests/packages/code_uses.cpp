// What the sources say themselves: headers, Python modules, programs that C++ starts.

#include <octet/tests/packages/debian.h>
#include <octet/tests/packages/uses.h>

#include <map>
#include <regex>

namespace octet::test {
namespace {

namespace fs = std::filesystem;

/// Files of C++ and JavaScript that start programs, and which of the system's. Anywhere else that
/// is an error.
const std::map<std::string, std::vector<std::string>>& starters() {
  static const std::map<std::string, std::vector<std::string>> known = {
      {"bench/run.cpp", {}},      // what its command line says: see scripts/bench.sh
      {"tools/process.cpp", {}},  // what c_program.cpp says
      {"tests/cli/octet_tool_test.cpp", {"sh"}},
      {"tests/core/parallel_test.cpp", {"sh", "env"}},           // and itself
      {"tests/docs/onnxruntime/onnxruntime_cxx_api.h", {"sh"}},  // what its caller says
      {"tests/mpi/mpi_test.cpp", {"mpirun"}},                    // what CMake has found
      {"tests/report/browser.mjs", {"chromium"}},                // or what else it finds
      {"tests/packages/debian.cpp", {"sh", "xargs", "apt-cache", "dpkg-query", "bash", "ninja"}},
      {"tools/c_program.cpp", {"cc"}},  // gcc and clang only where there is no cc
  };
  return known;
}

/// Of Python's own library.
const Names& python_library() {
  static const Names modules = {"collections", "gzip",     "hashlib",    "json",
                                "os",          "pathlib",  "statistics", "subprocess",
                                "sys",         "tempfile", "time",       "warnings"};
  return modules;
}

void add_started(const std::string& text, const std::string& where, Uses& uses, Names& seen) {
  static const std::regex start(
      R"(\b(exec[lv]p?e?|execSync|execFileSync|posix_spawnp|popen|spawnSync|spawn|system)[ ]*\()");
  const auto known = starters().find(where);
  if (known != starters().end()) {
    seen.insert(where);
    for (const std::string& name : known->second) uses.add_program(name, where);
  } else if (std::smatch found; std::regex_search(text, found, start)) {
    uses.add_unknown(where, found[1].str() + ": no table says which programs this file starts");
  }
}

void add_modules(const std::string& text, const std::string& where, Uses& uses) {
  static const std::regex import_line(R"(^[ \t]*(?:import|from)[ \t]+(\w+))",
                                      std::regex::multiline);
  for (std::sregex_iterator at(text.begin(), text.end(), import_line), end; at != end; ++at) {
    const std::string name = (*at)[1];
    if (!python_library().contains(name)) {
      uses.found.push_back({Use::Kind::python_module, name, "", where});
    }
  }
}

}  // namespace

void add_header_uses(const std::string& text, const std::string& where, Uses& uses) {
  static const std::regex include_line(R"(^[ \t]*#[ \t]*include[ \t]*<([^>]+)>)",
                                       std::regex::multiline);
  for (std::sregex_iterator at(text.begin(), text.end(), include_line), end; at != end; ++at) {
    const std::string name = (*at)[1];
    if (name.starts_with("octet/") || name == "octet_test_paths.h") continue;  // ours
    uses.found.push_back({Use::Kind::header, name, "", where});
  }
}

void add_code_uses(const fs::path& source, Uses& uses) {
  Names seen;
  const Names code = {".cpp", ".h", ".c", ".mjs", ".py"};
  for (const fs::path& file : our_files(source, [&](const fs::path& path) {
         return code.contains(path.extension().string());
       })) {
    const std::string text = text_of(file);
    const std::string where = fs::relative(file, source).string();
    if (file.extension() == ".py") {
      add_modules(text, where, uses);
    } else {
      if (file.extension() != ".mjs") add_header_uses(text, where, uses);
      add_started(text, where, uses, seen);
    }
  }
  for (const auto& [file, programs] : starters()) {
    if (!seen.contains(file)) uses.add_unknown("code_uses.cpp", "there is no file " + file);
  }
}

}  // namespace octet::test
