#pragma once

namespace octet {

/// What happens to a value exactly between two integers.
enum class RoundMode {
  half_to_even,  ///< to the even neighbour: rint
  half_away,     ///< away from zero: std::round
};

}  // namespace octet
