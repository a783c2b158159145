#pragma once

#include <cstddef>

namespace octet {

/// The numbers begin, begin + 1, ..., end - 1.
struct IndexRange {
  std::size_t begin = 0;
  std::size_t end = 0;

  std::size_t size() const { return end - begin; }
  bool empty() const { return begin == end; }
  bool contains(std::size_t i) const { return begin <= i && i < end; }

  bool operator==(const IndexRange&) const = default;
};

/// Part `i` of `count` things cut into `parts` of consecutive ones whose sizes differ by one at
/// most: [ceil(i count / parts), ceil((i + 1) count / parts)). The first is empty only where there
/// is nothing to cut.
inline IndexRange part_of(std::size_t count, std::size_t parts, std::size_t i) {
  const auto begin = [&](std::size_t part) { return (part * count + parts - 1) / parts; };
  return {begin(i), begin(i + 1)};
}

/// The part that thing `i` of `count` is in.
inline std::size_t part_with(std::size_t count, std::size_t parts, std::size_t i) {
  return i * parts / count;
}

}  // namespace octet
