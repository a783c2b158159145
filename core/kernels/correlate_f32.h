#pragma once

#include <octet/core/conv2d_geometry.h>
#include <octet/core/function_ref.h>
#include <octet/core/kernels/isa.h>

#include <cstdint>
#include <memory>
#include <vector>

// Convolutions of floats without a matrix of patches: tiles read the pixels where they lie. See
// docs/performance.md, "Float convolutions".

namespace octet {

/// One axis of a correlation: output m reads the positions m * step + at of its taps, in order, and
/// zeros where these lie outside [0, input). The results of outputs lie out_step apart, from
/// out_first on.
struct CorrelationAxis {
  struct Tap {
    /// Index of the tap in the kernel.
    Index k;
    Index at;
  };

  /// Ascending in `at`.
  std::vector<Tap> taps = {};
  Index step = 1;
  Index count = 0;
  Index input = 0;
  Index out_first = 0;
  Index out_step = 1;

  /// What the outputs of a window read of an image.
  static CorrelationAxis forward(const WindowAxis& window);
  /// What the pixels phase, phase + stride, ... of an image read of the gradients of the outputs.
  static CorrelationAxis backward(const WindowAxis& window, Index phase);

  /// Positions in front of the input and behind it that outputs read.
  Index before() const;
  Index after() const;
};

/// The kernel of a correlation: element (c, j) of tap (ky, kx) is
/// data[(ky * taps_x + kx) * tap + c * channel + j * column], for c < channels and j < columns.
struct CorrelationKernel {
  const float* data;
  Index taps_x;
  Index tap;
  Index channel;
  Index column;
  Index channels;
  Index columns;
};

/// Pixels of images of which a correlation reads or writes consecutive channels: the first channel
/// of the first pixel, and the strides from image to image, line to line and pixel to pixel.
template <class T>
struct PixelsOf {
  T* data;
  Index image;
  Index line;
  Index pixel;
};

/// Quantized values, each (q - zero_point) * scale.
struct ScaledInt8 {
  const std::int8_t* data;
  float scale;
  std::int32_t zero_point;
};

/// Columns [first, first + columns) of a product, computed by tiles of that level.
struct ColumnPanel {
  Index first;
  Index columns;
  int level;
  int width;
};

/// y[m, n, j] = the chain of fused multiply-adds, from 0, over the taps in y, the taps in x and the
/// channels c of x[pixel, c] * kernel[tap, c, j], with zeros beside the image. Taps above and below
/// the image are left out, which changes no result of finite kernels.
class CorrelationF32 {
 public:
  CorrelationF32(CorrelationAxis y, CorrelationAxis x, const CorrelationKernel& kernel);

  /// Lines that one image gives.
  Index lines() const { return y_.count; }

  /// Computes the lines [begin, end), counted through all images. Calls done(image, begin, end), if
  /// given, for lines of an image while they are in the cache. Runs on the calling thread; any
  /// number of threads may call it at once.
  void run(const PixelsOf<const float>& in, Index begin, Index end, const PixelsOf<float>& out,
           FunctionRef<void(Index image, Index begin, Index end)> done = {}) const;

 private:
  struct Block;

  void run_block(const Block& block) const;
  void run_panel(const Block& block, const ColumnPanel& panel, const float* weights, float* to,
                 Index to_line, Index to_pixel) const;

  const KernelTable* kernels_;
  CorrelationAxis y_;
  CorrelationAxis x_;
  Index channels_;
  Index columns_;
  std::vector<ColumnPanel> panels_;
  std::shared_ptr<float[]> packed_;
};

/// The gradient of a convolution's kernel: writes to kernel[tap, c, f] of a group the chain of
/// fused multiply-adds, from 0, over the outputs [begin, end) of all images, in order, of x[pixel,
/// c] * g[output, f]. Runs on the calling thread.
void correlate_gradients_f32(const Conv2DGeometry& geometry, Index group, const float* x,
                             const float* g, Index begin, Index end, float* kernel);
/// Reads int8 values, which become floats a line at a time, in the cache.
void correlate_gradients_f32(const Conv2DGeometry& geometry, Index group, const ScaledInt8& x,
                             const float* g, Index begin, Index end, float* kernel);

}  // namespace octet
