#pragma once

#include <octet/deploy/c/plan.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace octet::detail {

/// Where the values of a graph lie in the arena, in which memory is used again once the last
/// operator that reads it is done.
struct CMemory {
  /// By tensor: whether an output of the model is made of it, and the tensor whose memory it is in.
  std::vector<bool> needed;
  std::vector<std::int32_t> homes;
  /// Bytes from the front of the arena, by the tensor that is the home of others.
  std::vector<std::size_t> offsets;
  /// By operator of the model: where the words lie that it works in.
  std::map<std::size_t, std::size_t> scratch;
  /// The operators that run by rows, and bytes of the arena if they did not.
  std::optional<CRowChain> chain;
  std::int64_t whole_bytes = 0;
  /// States that are rings.
  std::vector<CRing> rings;
  /// A multiple of 4.
  std::int64_t bytes = 0;
};

/// Plans the memory of `plan.model`. Throws InvalidArgument where a value is no code of 8 bits.
CMemory plan_c_memory(const CPlan& plan);

}  // namespace octet::detail
