#pragma once

#include <octet/core/window.h>

#include <cstddef>
#include <cstdint>
#include <vector>

// A chain of operators on images that is computed by rows: of the images between them memory holds
// the rows alone that windows still read.

namespace octet::detail {

struct RowImage {
  std::int64_t height = 0;
  std::int64_t row_bytes = 0;
};

/// An operator of a chain. Each row of its output is made of the rows that a window along `axis`
/// reads of each input.
struct RowOperator {
  std::vector<std::size_t> inputs;
  std::size_t output = 0;
  WindowAxis axis;
};

/// One call of an operator: it makes the next rows of its output.
struct RowCall {
  std::size_t op = 0;
  /// Rows that are made.
  std::int64_t count = 0;
  /// By input: the row in its memory at which reading begins.
  std::vector<std::int64_t> from;
  /// Rows that are read from there on, and rows of padding in front of them.
  std::int64_t height = 0;
  std::int64_t top = 0;
  /// The row in the output's memory that is written first.
  std::int64_t to = 0;
  /// Before the call: `kept` rows of the output move to the front of its memory, past `dropped`
  /// ones that nothing reads any more.
  std::int64_t dropped = 0;
  std::int64_t kept = 0;
};

struct RowSchedule {
  /// The calls that make the next rows of the last image.
  std::vector<std::vector<RowCall>> bands;
  /// By image: rows that memory holds of it; 0 for those that lie in memory as a whole, which are
  /// the ones that no operator makes and the last one.
  std::vector<std::int64_t> capacity;
  /// By image that no operator makes: how many bytes the last image has to begin in front of it,
  /// so that no byte of it is written before the one there has been read for the last time.
  std::vector<std::int64_t> leads;

  std::int64_t calls() const;
};

/// Plans the rows of a chain, up to `rows` of them a call. No row is made twice, and each as late
/// as possible. Operators stand in the order of computation, and the last one makes the last image.
RowSchedule schedule_rows(const std::vector<RowImage>& images,
                          const std::vector<RowOperator>& operators, std::int64_t rows);

}  // namespace octet::detail
