#pragma once

#include <octet/core/kernels/gemm.h>
#include <octet/core/kernels/isa.h>

#include <algorithm>
#include <cstddef>

namespace octet::detail {

/// Hands out to `tiles` tiles, one after the other, memory that is read when they are done.
class SoonParts {
 public:
  SoonParts(MemoryParts parts, Index tiles) : parts_(parts) {
    Index bytes = 0;
    for (const auto& part : parts) bytes += size_of(part);
    // More would push out of the cache what the tiles read, or itself.
    if (bytes > kMostBytes) parts_ = {};
    // The last tile of each part may have too much.
    const Index whole = tiles - static_cast<Index>(parts.size());
    of_tile_ = divided_up(bytes, std::max<Index>(whole, 1));
  }

  /// For a tile of this depth.
  SoonLines next(Index depth) {
    // More would hold up the product, and what is left is read no sooner.
    if (of_tile_ > depth * kLine) return {};
    if (!parts_.empty() && offset_ >= size_of(parts_.front())) {
      parts_ = parts_.subspan(1);
      offset_ = 0;
    }
    if (parts_.empty()) return {};
    const auto* at = reinterpret_cast<const std::byte*>(parts_.front().data()) + offset_;
    offset_ += of_tile_;
    return {at, divided_up(of_tile_, depth), 0};
  }

 private:
  static constexpr Index kLine = 64;
  static constexpr Index kMostBytes = Index{512} << 10;

  static Index size_of(std::span<const float> part) {
    return static_cast<Index>(part.size_bytes());
  }

  MemoryParts parts_;
  Index offset_ = 0;
  Index of_tile_ = 0;
};

/// Hands out to the tiles over one panel of a product what the next panel is packed of: rows of an
/// operand, some floats of each.
class SoonPanel {
 public:
  SoonPanel() = default;
  SoonPanel(const float* data, Index stride, Index rows, Index floats)
      : at_(reinterpret_cast<const std::byte*>(data)),
        stride_(stride * kFloat),
        rows_(rows),
        bytes_(floats * kFloat) {}

  SoonLines next(Index depth) {
    if (rows_ <= 0) return {};
    const SoonLines narrow{at_, stride_, kLine};
    const SoonLines two_rows{at_, divided_up(bytes_, depth), rows_ > 1 ? stride_ : 0};
    const bool is_narrow = bytes_ <= 2 * kLine && rows_ <= depth;
    // All rows of two lines, or two rows of many lines.
    const Index taken = is_narrow ? rows_ : 2;
    rows_ -= taken;
    at_ += taken * stride_;
    return is_narrow ? narrow : two_rows;
  }

 private:
  static constexpr Index kLine = 64;
  static constexpr Index kFloat = sizeof(float);

  const std::byte* at_ = nullptr;
  Index stride_ = 0;
  Index rows_ = 0;
  Index bytes_ = 0;
};

}  // namespace octet::detail
