#pragma once

#include <octet/core/kernels/correlate_f32.h>
#include <octet/core/kernels/isa.h>

#include <array>
#include <cstdint>
#include <vector>

// Depthwise convolutions of floats and of codes: every channel is one of its own, so that vectors
// run over channels. See docs/performance.md, "Depthwise convolutions".

namespace octet {

/// Outputs of a line that read the same taps of it.
struct DepthwiseSegment {
  Index begin;
  Index end;
  /// For each tap in y, those in x.
  std::vector<DepthwiseTap> taps;
  Index taps_per_line;
};

/// The segments of images [lines, `pixels`, channels] for a kernel [taps in y, `taps_x`, channels]
/// whose weights lie `repeats` times `channels` apart. Of the taps in x, every `taps_at_once`-th
/// one.
std::vector<DepthwiseSegment> depthwise_segments(const CorrelationAxis& y, const CorrelationAxis& x,
                                                 Index taps_x, Index channels, Index repeats,
                                                 Index taps_at_once);

/// y[m, n, c] = start[c] + the sum over the taps in y and the taps in x, in order, of x[pixel, c] *
/// weights[tap, c]; taps beside the image are left out. Products and sums are rounded one by one.
/// T is float; or std::int32_t for codes, of which x then holds pairs: in the low 16 bits that of
/// the pixel, in the high ones that of the pixel which the next tap in x reads, 0 behind the end of
/// the line. Two taps are then one multiplication.
template <class T>
class DepthwiseCorrelation {
 public:
  /// Weights [taps, channels], of which a line of the kernel has `taps_x`; `start` may be null:
  /// then sums start from 0.
  DepthwiseCorrelation(CorrelationAxis y, CorrelationAxis x, Index taps_x, Index channels,
                       const T* weights, const T* start);

  /// Bytes of its weights.
  static std::size_t bytes_of(Index taps, Index channels);

  /// Lines that one image gives.
  Index lines() const { return y_.count; }
  /// The lines [first, last) of an image that the results [begin, end) read.
  std::array<Index, 2> lines_read(Index begin, Index end) const;

  /// Computes the lines [begin, end) of an image, of which `x` is the first pixel, and writes them
  /// to their places in lines of results: the first in that at `y`, each next one `y_line` numbers
  /// behind. Any number of threads may call it at once.
  void run(const T* x, Index begin, Index end, T* y, Index y_line) const;

 private:
  CorrelationAxis y_;
  CorrelationAxis x_;
  Index channels_;
  /// Outputs that one vector holds where channels are few.
  Index repeats_;
  std::vector<T> weights_;
  std::vector<T> start_;
  std::vector<DepthwiseSegment> segments_;
};

extern template class DepthwiseCorrelation<float>;
extern template class DepthwiseCorrelation<std::int32_t>;

/// Returns where an image [lines, pixels, channels] begins, or would begin if all of it were there:
/// its lines [first, last) are, until the next call.
using LinesOfImage = FunctionRef<const float*(Index image, Index first, Index last)>;

/// The most floats of the lines that depthwise_products_f32() asks for at once, but for those that
/// one line of outputs reads.
inline constexpr Index kDepthwiseBlock = Index{1} << 15;

/// The gradient of a depthwise convolution's kernel: writes to sums[tap, c] the sum over the
/// outputs [begin, end) of all images of x[pixel, c] * g[output, c], images in order. In which
/// order they are added depends on the shapes, `begin` and `end` alone. Runs on the calling thread.
void depthwise_products_f32(const Window& window, Index channels, LinesOfImage x, LinesOfImage g,
                            Index begin, Index end, float* sums);

/// Asks for memory in order, from where it may take long: loops over channels read it in steps.
void prefetch_floats(const float* from, Index count);

}  // namespace octet
