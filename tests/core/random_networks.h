#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

namespace octet::test {

/// How many random networks a test draws: the number that it has time for in every run, or
/// OCTET_RANDOM_NETWORKS where that is set.
inline std::uint32_t random_networks(std::uint32_t in_every_run) {
  const char* asked = std::getenv("OCTET_RANDOM_NETWORKS");
  return asked == nullptr ? in_every_run : static_cast<std::uint32_t>(std::stoul(asked));
}

}  // namespace octet::test
