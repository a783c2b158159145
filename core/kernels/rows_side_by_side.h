#pragma once

#include <octet/core/shape.h>

#include <algorithm>

namespace octet {

/// Columns from which on rows fill vectors by themselves.
inline constexpr Index kEnoughColumns = 64;

/// How many rows of `columns` columns a pass takes as one.
inline Index rows_side_by_side(Index columns) {
  return std::max<Index>(1, kEnoughColumns / std::max<Index>(1, columns));
}

/// Calls body(first, rows, columns) for the rows [0, rows) of a matrix, of which several of few
/// columns are one, so that they fill vectors, and once more for those that are left.
template <class Body>
void for_rows_side_by_side(Index rows, Index columns, const Body& body) {
  const Index together = std::min(rows_side_by_side(columns), std::max<Index>(1, rows));
  const Index whole = rows / together * together;
  if (whole > 0) body(Index{0}, whole / together, together * columns);
  if (whole < rows) body(whole, Index{1}, (rows - whole) * columns);
}

}  // namespace octet
