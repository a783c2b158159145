#pragma once

#include <octet/core/kernels/gemm.h>
#include <octet/core/kernels/isa.h>

#include <algorithm>
#include <cstddef>

// What float tiles prefetch, and why: docs/performance.md, "Float products: prefetch".

namespace octet::detail {

/// Splits memory that is needed after a product into one prefetch range per tile of the product.
class PartsPrefetcher {
 public:
  PartsPrefetcher(MemoryParts parts, Index tiles) : parts_(parts) {
    Index bytes = 0;
    for (const auto& part : parts) bytes += size_of(part);
    // More would evict the operands of the product, or the first prefetched lines.
    if (bytes > kMaxBytes) parts_ = {};
    // The last tile of each part may have less to fetch than its share.
    const Index whole = tiles - static_cast<Index>(parts.size());
    per_tile_ = divided_up(bytes, std::max<Index>(whole, 1));
  }

  /// The range for the next tile, of depth `depth`; empty once everything has been handed out, or
  /// where a tile would have to fetch more than one line per k.
  TilePrefetch next(Index depth) {
    if (per_tile_ > depth * kLine) return {};
    if (!parts_.empty() && offset_ >= size_of(parts_.front())) {
      parts_ = parts_.subspan(1);
      offset_ = 0;
    }
    if (parts_.empty()) return {};
    const auto* at = reinterpret_cast<const std::byte*>(parts_.front().data()) + offset_;
    offset_ += per_tile_;
    return {at, divided_up(per_tile_, depth), 0};
  }

 private:
  static constexpr Index kLine = 64;
  static constexpr Index kMaxBytes = Index{512} << 10;

  static Index size_of(std::span<const float> part) {
    return static_cast<Index>(part.size_bytes());
  }

  MemoryParts parts_;
  Index offset_ = 0;
  Index per_tile_ = 0;
};

/// Splits the source of the next panel, `rows` rows of `floats` floats each, into prefetch ranges
/// for the tiles of the current panel.
class PanelPrefetcher {
 public:
  PanelPrefetcher() = default;
  PanelPrefetcher(const float* data, Index stride, Index rows, Index floats)
      : at_(reinterpret_cast<const std::byte*>(data)),
        stride_(stride * kFloat),
        rows_(rows),
        bytes_(floats * kFloat) {}

  /// The range for the next tile, of depth `depth`; empty once all rows have been handed out.
  TilePrefetch next(Index depth) {
    if (rows_ <= 0) return {};
    const TilePrefetch narrow{at_, stride_, kLine};
    const TilePrefetch two_rows{at_, divided_up(bytes_, depth), rows_ > 1 ? stride_ : 0};
    const bool is_narrow = bytes_ <= 2 * kLine && rows_ <= depth;
    // Either all rows at once, two lines each, or two rows of many lines.
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
