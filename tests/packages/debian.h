#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace octet::test {

using Names = std::set<std::string>;

/// What a command of the shell prints. Throws std::runtime_error where it cannot be started.
std::string output_of(const std::string& command);

/// What dpkg knows of this machine.
class Debian {
 public:
  static bool available();
  Debian();

  /// The packages that have a path, for each of `paths` that has one. A link that no package has
  /// (an alternative, /bin where all is in /usr) stands for what it leads to.
  std::map<std::string, Names> owners(const Names& paths) const;
  /// Packages and all installed ones that they depend on. Names of none installed stay in.
  Names closure(const Names& packages) const;
  /// What apt says that a package depends on: of one that is not installed, though its parts are.
  static const Names& depends_in_apt(const std::string& package);
  /// What debootstrap --variant=minbase puts on a machine: no list has to name it.
  const Names& base() const { return base_; }
  bool provides(const std::string& package, const std::string& name) const;

 private:
  std::map<std::string, Names> depends_;
  std::map<std::string, Names> providers_;
  Names base_;
};

}  // namespace octet::test
