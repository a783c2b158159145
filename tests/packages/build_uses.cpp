// What CMake files and presets name, and what a build has really read, run and linked.

#include <fmt/core.h>
#include <octet/tests/packages/debian.h>
#include <octet/tests/packages/uses.h>

#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

namespace octet::test {
namespace {

namespace fs = std::filesystem;

/// What CMake's own commands and variables stand for. An empty program is one of ours.
const std::map<std::string, std::string>& cmake_commands() {
  static const std::map<std::string, std::string> commands = {
      {"${CMAKE_COMMAND}", "cmake"},
      {"${OCTET_FLATC}", "flatc"},
      {"protobuf::protoc", "protoc"},
      {"${pkg_config}", "pkg-config"},
      {"${example}", ""},  // tests/CMakeLists.txt: a loop over programs of ours
      {"${ARGN}", ""},     // tests/install/install_test.cmake: CMake and what it has built
  };
  return commands;
}

/// Packages of CMake that are found without octet_find, and the program that each is.
const std::map<std::string, std::string>& cmake_packages() {
  static const std::map<std::string, std::string> packages = {
      {"Doxygen", "doxygen"}, {"Eigen3", ""}, {"fmt", ""}, {"octet", ""}, {"${package}", ""}};
  return packages;
}

std::string without_comments(const std::string& text) {
  static const std::regex comment(R"((^|[ \t])#[^\n]*)", std::regex::multiline);
  return std::regex_replace(text, comment, "");
}

template <typename Function>
void each_match(const std::string& text, const std::string& pattern, Function function) {
  const std::regex regex(pattern);
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at) {
    function((*at)[1].str());
  }
}

Names targets_of(const std::string& text) {
  Names targets;
  each_match(text, R"((?:add_executable|octet_\w+|octet_peer)\(\s*([\w]+))",
             [&](const std::string& name) { targets.insert(name); });
  // A loop that makes one of each of its names.
  each_match(text, R"(foreach\(\s*\w+\s+([^)]*)\)\s*add_executable\(\$\{)",
             [&](const std::string& names) {
               std::istringstream words(names);
               for (std::string name; words >> name;) targets.insert(name);
             });
  return targets;
}

void add_cmake_file(const std::string& text, const std::string& where, const Names& targets,
                    Uses& uses) {
  each_match(text, R"(find_program\(\s*\w+\s+([^\s)]+))",
             [&](const std::string& name) { uses.add_program(name, where); });
  for (const char* variable : {"CMAKE_CXX_COMPILER", "CMAKE_CROSSCOMPILING_EMULATOR"}) {
    each_match(text, fmt::format(R"(set\(\s*{}\s+([^\s)]+))", variable),
               [&](const std::string& name) { uses.add_program(name, where); });
  }
  each_match(text, R"(find_package\(\s*([^\s)]+))", [&](const std::string& name) {
    const auto known = cmake_packages().find(name);
    if (known == cmake_packages().end()) {
      uses.add_unknown(where, fmt::format("find_package({}): no table says what it is", name));
    } else if (!known->second.empty()) {
      uses.add_program(known->second, where);
    }
  });
  each_match(text, R"x(\bCOMMAND\s+"?([^\s")]+))x", [&](const std::string& name) {
    if (targets.contains(name) || name.find("CMAKE_CURRENT_SOURCE_DIR}/") != std::string::npos) {
      return;  // ours
    }
    const auto known = cmake_commands().find(name);
    if (known != cmake_commands().end()) {
      if (!known->second.empty()) uses.add_program(known->second, where);
    } else if (name.find_first_of("$/") != std::string::npos) {
      uses.add_unknown(where, fmt::format("COMMAND {}: no table says what it is", name));
    } else {
      uses.add_program(name, where);
    }
  });
  each_match(text, R"x((/usr/[^\s")]+))x", [&](const std::string& path) {
    uses.found.push_back({Use::Kind::path, path, path, where});
  });
}

void add_presets(const fs::path& source, Uses& uses) {
  const auto presets = nlohmann::json::parse(text_of(source / "CMakePresets.json"));
  for (const auto& preset : presets.at("configurePresets")) {
    const std::string where = "CMakePresets.json:" + preset.at("name").get<std::string>();
    if (preset.contains("generator")) {
      const std::string generator = preset.at("generator");
      if (generator != "Ninja") {
        uses.add_unknown(where, fmt::format("generator {}: no table has it", generator));
      }
      uses.add_program("ninja", where);
    }
    const auto variables = preset.value("cacheVariables", nlohmann::json::object());
    const std::string compiler = variables.value("CMAKE_CXX_COMPILER", "");
    if (!compiler.empty()) uses.add_program(compiler, where);
    const bool instrumented = variables.contains("OCTET_SANITIZE") ||
                              variables.contains("OCTET_COVERAGE") ||
                              variables.contains("OCTET_FUZZ");
    if (compiler == "clang++" && instrumented) {
      uses.found.push_back({Use::Kind::llvm_library, "libclang_rt.", "", where});
    }
  }
  // Where no preset names a compiler it is the system's.
  uses.add_program("g++", "CMakePresets.json");
}

// Of a line of "ninja -t commands" the programs and the libraries, where they are the system's.
void add_build_command(const std::string& line, Names& programs, Names& libraries) {
  std::istringstream words(line);
  bool command = true;
  for (std::string word; words >> word;) {
    const bool system = word.starts_with("/usr/") || word.starts_with("/bin/");
    if (command && system) programs.insert(word);
    command = word == "&&" || word == ":" || (command && word.ends_with("ccache"));
    static const std::regex library(R"(^/.*/lib[^/]*\.(so|a)(\.[0-9.]+)?$)");
    if (system && std::regex_match(word, library)) libraries.insert(word);
  }
}

}  // namespace

void add_cmake_uses(const fs::path& source, Uses& uses) {
  const std::vector<fs::path> files = our_files(source, [](const fs::path& path) {
    return path.filename() == "CMakeLists.txt" || path.extension() == ".cmake";
  });
  std::map<std::string, std::string> texts;
  Names targets;
  for (const fs::path& file : files) {
    const std::string text = without_comments(text_of(file));
    targets.merge(targets_of(text));
    texts[fs::relative(file, source).string()] = text;
  }
  for (const auto& [where, text] : texts) add_cmake_file(text, where, targets, uses);
  add_presets(source, uses);
}

void add_build_uses(const fs::path& source, const fs::path& build, const std::string& ninja,
                    Uses& uses) {
  const std::string in_build = fmt::format("'{}' -C '{}' -t ", ninja, build.string());
  Names headers;
  Names generated;
  std::istringstream dependencies(output_of(in_build + "deps"));
  for (std::string line; std::getline(dependencies, line);) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin == 0 || begin == std::string::npos) continue;
    const fs::path path = (build / line.substr(begin)).lexically_normal();
    const std::string name = path.string();
    if (name.starts_with("/usr/") || name.starts_with("/opt/")) headers.insert(name);
    if (name.starts_with(build.string() + "/") && !name.starts_with(build.string() + "/include/")) {
      generated.insert(name);
    }
  }
  for (const std::string& file : generated) {
    // CMake's own, of headers that sources include as well, by their full paths.
    if (file.ends_with("/cmake_pch.hxx")) continue;
    add_header_uses(text_of(file), "build:" + fs::relative(file, build).string(), uses);
  }
  if (headers.empty()) {
    uses.add_unknown(build.string(), "ninja -t deps tells no header of the system");
  }
  Names programs;
  Names libraries;
  std::istringstream commands(output_of(in_build + "commands"));
  for (std::string line; std::getline(commands, line);) {
    add_build_command(line, programs, libraries);
  }
  if (programs.empty() || libraries.empty()) {
    uses.add_unknown(build.string(), "ninja -t commands tells no program or library");
  }
  const auto ours = [&](const std::string& path) {
    return path.starts_with(source.string() + "/") || path.starts_with(build.string() + "/");
  };
  for (const std::string& path : headers) {
    if (!ours(path)) uses.add_path(Use::Kind::built_with, path, "the build");
  }
  for (const std::string& path : libraries) {
    if (!ours(path)) uses.add_path(Use::Kind::built_with, path, "the build");
  }
  for (const std::string& path : programs) {
    if (!ours(path)) uses.add_path(Use::Kind::program, path, "the build");
  }
}

}  // namespace octet::test
