#pragma once

#include <octet/core/buffer.h>
#include <octet/core/conv2d_geometry.h>
#include <octet/core/kernels/gemm_s8.h>
#include <octet/core/kernels/isa.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// Convolutions of codes without a matrix of patches: tiles read the pixels where they lie. See
// docs/performance.md, "Int8 convolutions".

namespace octet {

/// How the patch that a filter reads lies in a row of packed weights: `pieces` pieces of `piece`
/// codes, which lie side by side in the image, each padded to `padded` codes by weights of 0.
struct PatchLayout {
  Index pieces;
  Index piece;
  Index padded;

  Index depth() const { return pieces * padded; }
};

/// The sums of an int8 convolution: sums[row, u] = bias[u] + sum over the patch of (x - zero_point)
/// * w[u], exactly, where rows are output pixels and what lies outside the image counts as 0.
class CorrelationS8 {
 public:
  /// Whether this machine's code path has tiles for it, and lines of outputs are long enough to
  /// fill them.
  static bool is_suited(const Conv2DGeometry& geometry);
  /// The layout of packed weights for a geometry for which is_suited() is true.
  static PatchLayout layout(const Conv2DGeometry& geometry);
  /// An upper bound of what an object takes on this machine.
  static std::size_t bytes(const Conv2DGeometry& geometry);

  /// `groups` holds the weights [filters, patch] of each group in the layout above, `bias` one
  /// number per filter or none.
  CorrelationS8(const Conv2DGeometry& geometry, std::vector<PackedS8> groups,
                std::span<const std::int32_t> bias, std::int32_t zero_point);

  /// Lines of outputs that are made at once: their sums and pixels stay in the first-level cache.
  Index block_lines() const { return block_lines_; }
  /// Bytes that each thread keeps at most for Lines.
  std::size_t thread_bytes() const;

  /// The pixels that the lines [begin, end) of outputs of one image read, as tiles read them.
  class Lines {
   public:
    Lines(const CorrelationS8& of, const std::int8_t* image, Index begin, Index end);

   private:
    friend class CorrelationS8;
    Index count_;
    ScratchBuffer<std::int8_t, struct PaddedLinesS8> padded_;
    ScratchBuffer<std::uint8_t, struct PreparedLinesS8> prepared_;
    const std::uint8_t* pixels_;
  };

  /// Writes the sums of all outputs of the lines and of the filters of a group to rows that lie
  /// `stride` apart. Runs on the calling thread.
  void sums(const Lines& lines, Index group, std::int32_t* to, Index stride) const;

 private:
  Index line_codes() const;
  /// Lines of pixels that so many lines of outputs read.
  Index lines_read(Index lines) const;
  Index padded_codes(Index lines) const;
  bool has_long_lines() const;
  void prepare(const std::int8_t* codes, Index count, std::uint8_t* to) const;
  void fill_padding(std::uint8_t* codes, Index begin, Index end) const;

  Conv2DGeometry geometry_;
  const KernelTable* kernels_;
  const S8Windows* windows_;
  std::vector<PackedS8> groups_;
  std::int8_t padding_;
  Index block_lines_;
  /// Where each group of codes of a patch begins, in bytes from the patch's first.
  std::vector<Index> offsets_;
  /// What the sums of each group's filters start from, followed by 0 up to a whole panel.
  std::vector<std::int32_t> starts_;
};

}  // namespace octet
