#pragma once

namespace octet {

/// Whether an operand of a matrix product is transposed.
enum class Transpose { no, yes };

}  // namespace octet
