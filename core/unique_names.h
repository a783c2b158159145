#pragma once

#include <fmt/core.h>

#include <map>
#include <string>
#include <utility>

namespace octet {

/// Names of which each is given once. Takes time and memory in proportion to the names alone,
/// however many of them are wanted again: a file may give all its values one name.
class UniqueNames {
 public:
  /// Returns `wanted`, or with "_1", "_2" and so on behind it the first name that is not taken; it
  /// is taken from now on.
  std::string take(std::string wanted) {
    const auto [entry, is_new] = last_.try_emplace(wanted, 0);
    if (is_new) return wanted;
    std::string name;
    do {
      name = fmt::format("{}_{}", wanted, ++entry->second);
    } while (!last_.try_emplace(name, 0).second);
    return name;
  }

 private:
  /// Names that are taken, and the number that was last put behind each.
  std::map<std::string, int> last_;
};

}  // namespace octet
