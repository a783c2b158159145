#pragma once

namespace octet {

/// Whether an operand of a matrix product is transposed.
enum class Transpose { no, yes };

/// Returns Transpose::yes for true.
constexpr Transpose transpose_of(bool is_transposed) {
  return is_transposed ? Transpose::yes : Transpose::no;
}

}  // namespace octet
