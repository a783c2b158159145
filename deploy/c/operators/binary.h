#pragma once

#include <octet/deploy/c/operators.h>

#include <string>
#include <string_view>

// What operators of two operands share in C source.

namespace octet::detail {

/// `body`, lines of C, once for every element of the output: in loops over its axes, in which
/// @first@, @second@ and @place@ are the indices of the elements.
std::string binary_loops(const Operands& operands, std::string_view body, Fillings fillings);

/// "24 codes, relu".
std::string binary_detail(const CStep& step);

}  // namespace octet::detail
