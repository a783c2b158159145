#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace octet::test {

/// Something of the system that this repository uses.
struct Use {
  enum class Kind {
    program,
    llvm_program,  // found by octet_llvm, which knows versions
    llvm_library,  // the beginning of a library's name, found by octet_llvm_library
    header,        // that a file of ours includes itself
    python_module,
    path,        // named by its place
    argument,    // of a command: it may be a program that the command runs
    built_with,  // a header or library that the build took, directly or through others
  };
  Kind kind = Kind::program;
  std::string name;
  /// Where it is on this machine; empty where it is not.
  std::string path;
  /// What uses it: a file of ours, with a line where that helps.
  std::string where;
};

/// Uses, and what could not be told: a command that is in no table, a script that is not
/// understood.
struct Uses {
  std::vector<Use> found;
  std::vector<std::string> unknown;

  /// A program by its name; or a word that may be one.
  void add_program(const std::string& name, const std::string& where,
                   Use::Kind kind = Use::Kind::program);
  /// A program, header or library of which the place is known.
  void add_path(Use::Kind kind, const std::string& path, const std::string& where);
  void add_unknown(const std::string& where, const std::string& what);
};

/// Every file of ours that is for version control, `accepted` by its path from the source folder:
/// no build folders, nothing hidden but .ci.
std::vector<std::filesystem::path> our_files(
    const std::filesystem::path& source,
    const std::function<bool(const std::filesystem::path&)>& accepted);
std::string text_of(const std::filesystem::path& file);

/// The commands of all shell scripts.
void add_script_uses(const std::filesystem::path& source, Uses& uses);
/// The headers of the system that a C or C++ file includes.
void add_header_uses(const std::string& text, const std::string& where, Uses& uses);
/// Headers and programs that C++, C and Python files name.
void add_code_uses(const std::filesystem::path& source, Uses& uses);
/// What CMake files and presets name.
void add_cmake_uses(const std::filesystem::path& source, Uses& uses);
/// What a build with Ninja has read, run and linked.
void add_build_uses(const std::filesystem::path& source, const std::filesystem::path& build,
                    const std::string& ninja, Uses& uses);

}  // namespace octet::test
