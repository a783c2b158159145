#pragma once

#include <octet/core/buffer.h>
#include <octet/core/kernels/correlate_f32.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

// Parts that convolutions and the gradients of their kernels have in common.

namespace octet::detail {

/// The fewest panels for so many columns; the last one is as narrow as they allow.
std::vector<ColumnPanel> column_panels(const KernelTable& table, Index columns);

/// Lines of an image: pixel (y, x) begins at pixels[y * line + x * pixel].
struct ImageLines {
  const float* pixels;
  Index line;
  Index pixel;
};

/// Copies lines with zeros beside them where a correlation reads beyond them.
class PaddedLines {
 public:
  PaddedLines(const CorrelationAxis& y, const CorrelationAxis& x, Index channels);

  Index floats_per_line() const;
  /// What the outputs [begin, end) in y read of an image; valid until the next call.
  ImageLines read(const PixelsOf<const float>& in, Index image, Index begin, Index end);
  /// Reads int8 values as floats.
  ImageLines read(const PixelsOf<const std::int8_t>& in, const ScaledInt8& scaled, Index image,
                  Index begin, Index end);

 private:
  template <class T, class Copy>
  ImageLines copied(const PixelsOf<const T>& in, Index image, Index begin, Index end, Copy copy);

  const CorrelationAxis* y_;
  const CorrelationAxis* x_;
  Index channels_;
  Index before_;
  Index after_;
  std::size_t capacity_ = 0;
  std::optional<ScratchBuffer<float, PaddedLines>> copy_;
};

/// Whether what an output reads of a line lies in one piece.
bool is_one_piece(const CorrelationAxis& x, Index channels, Index pixel);

/// The taps [first, last) of output m that lie inside the image.
inline std::pair<Index, Index> taps_inside(const CorrelationAxis& axis, Index m) {
  Index first = 0;
  auto last = static_cast<Index>(axis.taps.size());
  const auto at = [&](Index tap) {
    return m * axis.step + axis.taps[static_cast<std::size_t>(tap)].at;
  };
  while (first < last && at(first) < 0) ++first;
  while (last > first && at(last - 1) >= axis.input) --last;
  return {first, last};
}

}  // namespace octet::detail
