#pragma once

#include <octet/tests/packages/debian.h>
#include <octet/tests/packages/uses.h>

#include <string>
#include <vector>

namespace octet::test {

/// A line of a list of scripts/common.sh or bench_peers.sh: "header:zlib.h zlib1g-dev".
struct Requirement {
  std::string list;
  /// program, header, file, llvm or llvm-library.
  std::string kind;
  std::string mark;
  std::string package;
};

/// All lists, as the shell reads them.
std::vector<Requirement> read_requirements(const std::filesystem::path& source);

/// Uses with their places on this machine, and the packages that these belong to.
class UsedPackages {
 public:
  UsedPackages(std::vector<Use> uses, const Debian& debian);

  /// Each is a sentence that names what is used, where, and its package: a use that no list covers,
  /// a list that says another package than dpkg, a line of a list that nothing uses.
  std::vector<std::string> problems(const std::vector<Requirement>& requirements) const;

 private:
  bool covers(const Requirement& requirement, std::size_t use) const;
  bool is_given(std::size_t use, const Names& packages) const;
  std::string uncovered(std::size_t use) const;

  std::vector<Use> uses_;
  std::vector<Names> owners_;
  const Debian& debian_;
};

}  // namespace octet::test
