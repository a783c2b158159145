#include <fmt/format.h>
#include <fmt/ranges.h>
#include <octet/tests/packages/requirements.h>

#include <algorithm>
#include <map>
#include <sstream>

namespace octet::test {
namespace {

namespace fs = std::filesystem;
using Kind = Use::Kind;

// Where the compiler looks for <name>, newest first; empty where it is not on this machine.
std::string header_path(const std::string& name) {
  static const std::vector<std::string> known = [] {
    std::vector<std::string> folders;
    for (const char* parent : {"/usr/include/c++", "/usr/lib/gcc"}) {
      std::error_code none;
      for (const auto& entry : fs::recursive_directory_iterator(parent, none)) {
        const std::string path = entry.path().string();
        const bool language = fs::path(path).parent_path() == "/usr/include/c++";
        // Not those of cross compilers for parts without an operating system.
        const bool host = path.find("-none-") == std::string::npos;
        if (entry.is_directory() && (language || (host && path.ends_with("/include")))) {
          folders.push_back(path);
        }
      }
    }
    for (const char* folder : {"/usr/local/include", "/usr/include", "/usr/include/eigen3",
                               "/usr/include/torch/csrc/api/include"}) {
      folders.emplace_back(folder);
    }
    for (const auto& entry : fs::directory_iterator("/usr/include")) {
      if (entry.path().filename().string().find("-linux-gnu") != std::string::npos) {
        folders.push_back(entry.path().string());
      }
    }
    return folders;
  }();
  for (const std::string& folder : known) {
    if (fs::exists(fs::path(folder) / name)) return (fs::path(folder) / name).string();
  }
  return {};
}

/// Headers that a compiler for x86 or AArch64 brings with it, and the other one lacks.
const Names& one_processors() {
  static const Names headers = {"arm_neon.h", "asm/hwcap.h", "cpuid.h", "immintrin.h"};
  return headers;
}

std::string llvm_path(const std::string& name, bool program) {
  const std::string function = program ? "octet_llvm " : "octet_llvm_library ";
  std::string path =
      output_of("bash -c '. \"$1\"; " + function + "\"$2\"' _ '" + std::string(OCTET_SOURCE_DIR) +
                "/scripts/common.sh' '" + name + "' 2>/dev/null");
  return path.substr(0, path.find('\n'));
}

std::string place_of(const Use& use) {
  switch (use.kind) {
    case Kind::program:
    case Kind::path:
    case Kind::built_with:
    case Kind::argument:
      return use.path;
    case Kind::header:
      return header_path(use.name);
    case Kind::llvm_program:
      return llvm_path(use.name, true);
    case Kind::llvm_library:
      return llvm_path(use.name, false);
    case Kind::python_module: {
      const std::string path = "/usr/lib/python3/dist-packages/" + use.name;
      return fs::exists(path) ? path : "";
    }
  }
  return {};
}

std::string stem(const std::string& path) { return path.substr(0, path.rfind('.')); }

// Whether the mark of a list is what is used, by name.
bool marks(const Requirement& requirement, const Use& use) {
  const std::string& mark = requirement.mark;
  switch (use.kind) {
    case Kind::program:
      return requirement.kind == "program" && mark == fs::path(use.name).filename();
    case Kind::header:
      return requirement.kind == "header" &&
             (stem(mark) == stem(use.name) || mark.ends_with("/" + use.name));
    case Kind::llvm_program:
      return requirement.kind == "llvm";
    case Kind::llvm_library:
      return requirement.kind == "llvm-library" && mark.starts_with(use.name);
    case Kind::python_module:
      return requirement.kind == "file" && mark.ends_with("/" + use.name + "/__init__.py");
    case Kind::path:
      return requirement.kind == "file" && mark.starts_with(use.path);
    case Kind::argument:
    case Kind::built_with:
      return false;
  }
  return false;
}

// Whether scripts that run or build what is at `where` install the list.
bool installed_for(const std::string& list, const std::string& where) {
  if (list == "octet_runtime_requirements" || list == "octet_requirements") return true;
  // One file, where OCTET_MPI asks for it.
  if (list == "octet_mpi_requirements") return where == "train/distributed/transport_mpi.cpp";
  // Eigen is the tests', which build octet::eigen; elsewhere it is used where it is there.
  const bool tests = where.starts_with("tests/") || where == "core/eigen.h" ||
                     where == "examples/least_squares.cpp";
  const bool bench = where.starts_with("bench/");
  const bool shipped = where.find_first_of('/') != std::string::npos && !tests && !bench &&
                       !where.starts_with("scripts/") && !where.starts_with("cmake/");
  if (shipped) return false;
  if (list == "octet_test_requirements") return !bench;
  return true;
}

bool any_in(const Names& names, const Names& others) {
  return std::ranges::any_of(names, [&](const auto& name) { return others.contains(name); });
}

}  // namespace

std::vector<Requirement> read_requirements(const fs::path& source) {
  std::istringstream lines(output_of(
      "bash -c 'cd \"$1\"; . scripts/common.sh; . scripts/bench_peers.sh\n"
      "for list in $(compgen -A function octet_ | grep -E \"_(requirements|optional)$\"); do\n"
      "\"$list\" | sed \"s/^/$list /\"; done' _ '" +
      source.string() + "'"));
  std::vector<Requirement> found;
  Requirement one;
  for (std::string mark; lines >> one.list >> mark >> one.package;) {
    one.kind = mark.substr(0, mark.find(':'));
    one.mark = mark.substr(mark.find(':') + 1);
    found.push_back(one);
  }
  return found;
}

UsedPackages::UsedPackages(std::vector<Use> uses, const Debian& debian)
    : uses_(std::move(uses)), owners_(uses_.size()), debian_(debian) {
  Names paths;
  for (Use& use : uses_) {
    use.path = place_of(use);
    if (!use.path.empty()) paths.insert(use.path);
  }
  const auto owners = debian.owners(paths);
  for (std::size_t i = 0; i < uses_.size(); ++i) {
    const auto found = owners.find(uses_[i].path);
    if (found == owners.end()) continue;
    owners_[i] = found->second;
    // As the npm in the nodejs of others than Debian.
    for (const std::string& package : found->second) {
      if (debian.provides(package, uses_[i].name)) owners_[i] = {uses_[i].name};
    }
  }
}

bool UsedPackages::covers(const Requirement& requirement, std::size_t use) const {
  return owners_[use].contains(requirement.package) || marks(requirement, uses_[use]);
}

std::vector<std::string> UsedPackages::problems(
    const std::vector<Requirement>& requirements) const {
  Names listed;
  for (const Requirement& one : requirements) listed.insert(one.package);
  // The compiler is one thing: what g++ depends on are its parts (cc, ar, libc's headers).
  Names given = debian_.base();
  if (listed.contains("g++")) given.merge(debian_.closure({"g++"}));
  Names reached = debian_.closure(listed);
  reached.insert(given.begin(), given.end());

  std::vector<std::string> found;
  std::vector<bool> used(requirements.size(), false);
  for (std::size_t i = 0; i < uses_.size(); ++i) {
    const Use& use = uses_[i];
    bool covered = is_given(i, use.kind == Kind::built_with ? reached : given);
    for (std::size_t r = 0; r < requirements.size(); ++r) {
      const Requirement& one = requirements[r];
      if (!covers(one, i)) continue;
      used[r] = true;
      covered = covered || use.kind != Kind::header || installed_for(one.list, use.where);
      if (!owners_[i].empty() && !any_in(owners_[i], debian_.closure({one.package})) &&
          !any_in(owners_[i], Debian::depends_in_apt(one.package))) {
        found.push_back(fmt::format("{}: {} is in the package {}, and {} says {}", use.where,
                                    use.name, fmt::join(owners_[i], ", "), one.list, one.package));
      }
    }
    if (!covered) found.push_back(uncovered(i));
  }
  for (std::size_t r = 0; r < requirements.size(); ++r) {
    const Requirement& one = requirements[r];
    if (used[r]) continue;
    found.push_back(fmt::format("{} has {}, and nothing uses {}:{}", one.list, one.package,
                                one.kind, one.mark));
  }
  return found;
}

bool UsedPackages::is_given(std::size_t index, const Names& packages) const {
  const Use& use = uses_[index];
  if (use.kind == Kind::header && one_processors().contains(use.name)) return true;
  // A word that is no program, and what somebody has built by hand.
  if (use.kind == Kind::argument && owners_[index].empty()) return true;
  if (use.kind == Kind::built_with && use.path.starts_with("/usr/local/")) return true;
  return any_in(owners_[index], packages);
}

std::string UsedPackages::uncovered(std::size_t index) const {
  const Use& use = uses_[index];
  if (owners_[index].empty()) {
    return fmt::format("{}: {} is used, and no list of scripts/common.sh has a mark for it",
                       use.where, use.name);
  }
  return fmt::format("{}: {} is used, and no list of scripts/common.sh has its package {}",
                     use.where, use.path, fmt::join(owners_[index], ", "));
}

}  // namespace octet::test
