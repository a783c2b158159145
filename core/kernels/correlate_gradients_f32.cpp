#include <octet/core/buffer.h>
#include <octet/core/kernels/correlate_f32.h>
#include <octet/core/kernels/correlate_internal.h>
#include <octet/core/kernels/gemm_f32_panel.h>
#include <octet/core/kernels/patches.h>

#include <algorithm>

namespace octet {
namespace {

/// Outputs of one image: lines [top, bottom), of each the outputs [left, right).
struct Outputs {
  Index image;
  Index top, bottom;
  Index left, right;
};

/// Calls body(outputs) for [begin, end) of all images, in order, as few rectangles.
template <class Body>
void for_each_rectangle(const Window& window, Index begin, Index end, Body&& body) {
  const Index width = window.x.output;
  while (begin < end) {
    const Index image = begin / window.outputs();
    const Index top = begin % window.outputs() / width;
    const Index left = begin % width;
    Index lines = std::min((end - begin) / width, window.y.output - top);
    Index right = width;
    if (left > 0 || lines == 0) {
      lines = 1;
      right = std::min(width, left + end - begin);
    }
    body(Outputs{image, top, top + lines, left, right});
    begin += lines * (right - left);
  }
}

/// Computes the rows of a kernel's gradient from the outputs of one image after the other.
class KernelSums {
 public:
  KernelSums(const Conv2DGeometry& s, float* sums, Index stride)
      : s_(s),
        y_(CorrelationAxis::forward(s.window.y)),
        x_(CorrelationAxis::forward(s.window.x)),
        panels_(detail::column_panels(kernels(), s.filters_per_group())),
        lines_(y_, x_, s.channels_per_group()),
        sums_(sums),
        stride_(stride) {}

  /// g: the gradients of these outputs, from the first on; read(lines, outputs) gives what they
  /// read.
  template <class Read>
  void add(const Outputs& outputs, Read&& read, const float* g, Index g_stride) {
    const detail::ImageLines in = read(lines_, outputs);
    const Index channels = s_.channels_per_group();
    const bool whole = detail::is_one_piece(x_, channels, in.pixel);
    const auto taps = static_cast<Index>(x_.taps.size());
    const ScratchBuffer<TilePiece, KernelSums> pieces(
        static_cast<std::size_t>(outputs.bottom - outputs.top));
    PieceTile tile{.depth = outputs.right - outputs.left,
                   .a_row = 1,
                   .a_step = x_.step * in.pixel,
                   .b_stride = g_stride,
                   .pieces = pieces.data()};
    for (const CorrelationAxis::Tap& ky : y_.taps) {
      tile.count = 0;
      for (Index m = outputs.top; m < outputs.bottom; ++m) {
        const Index line = m * y_.step + ky.at;
        if (line < 0 || line >= y_.input) continue;
        pieces.data()[tile.count++] = {(m * y_.step) * in.line,
                                       (m - outputs.top) * tile.depth * g_stride};
      }
      for (Index i = 0; i < (whole ? 1 : taps); ++i) {
        const CorrelationAxis::Tap& kx = x_.taps[static_cast<std::size_t>(i)];
        const Index row = (ky.k * taps + kx.k) * channels;
        tile.a = in.pixels + ky.at * in.line + (outputs.left * x_.step + kx.at) * in.pixel;
        add_rows(tile, g, row, whole ? taps * channels : channels);
      }
    }
    begun_ = true;
  }

 private:
  void add_rows(PieceTile tile, const float* g, Index row, Index rows) const {
    const KernelTable& table = kernels();
    const Index height = detail::tile_height(table, rows);
    const float* const a = tile.a;
    for (const ColumnPanel& panel : panels_) {
      tile.level = panel.level;
      tile.b = g + panel.first;
      for (Index r = 0; r < rows; r += height) {
        tile.rows = static_cast<int>(std::min(height, rows - r));
        tile.a = a + r;
        float* to = sums_ + (row + r) * stride_ + panel.first;
        tile.sums = {begun_ ? to : nullptr, stride_, to, stride_};
        table.f32_pieces(tile);
      }
    }
  }

  Conv2DGeometry s_;
  CorrelationAxis y_;
  CorrelationAxis x_;
  std::vector<ColumnPanel> panels_;
  detail::PaddedLines lines_;
  float* sums_;
  Index stride_;
  bool begun_ = false;
};

/// Copies rows of `columns` floats to rows of `width`. What lies behind them counts for nothing: it
/// is what follows in memory, or zeros for the last rows.
void copy_rows(const float* from, Index from_stride, Index rows, Index columns, Index width,
               float* to) {
  constexpr auto kSize = static_cast<Index>(sizeof(float));
  const Index wide = std::max<Index>(0, rows - divided_up(width, from_stride));
  copy_pieces(reinterpret_cast<const char*>(from), from_stride * kSize, reinterpret_cast<char*>(to),
              width * kSize, wide, width * kSize);
  for (Index i = wide; i < rows; ++i) {
    std::copy_n(from + i * from_stride, columns, to + i * width);
    std::fill_n(to + i * width + columns, width - columns, 0.0F);
  }
}

/// The pixels of a group of the images at x.
template <class T>
PixelsOf<const T> pixels_of_group(const Conv2DGeometry& geometry, Index group, const T* x) {
  const Index line = geometry.window.x.input * geometry.channels;
  return {x + group * geometry.channels_per_group(), geometry.window.y.input * line, line,
          geometry.channels};
}

template <class Read>
void correlate_gradients(const Conv2DGeometry& geometry, Index group, Read&& read, const float* g,
                         Index begin, Index end, float* kernel) {
  const Index filters = geometry.filters_per_group();
  float* const result = kernel + group * filters;
  const ColumnPanel last = detail::column_panels(kernels(), filters).back();
  const Index padded = last.first + last.width;
  const bool in_place = padded == filters;
  // Tiles compute whole vectors: of a few filters in copies with columns to spare.
  const auto patch = static_cast<std::size_t>(geometry.patch());
  const ScratchBuffer<float, struct KernelSumsCopy> sums(
      in_place ? 0 : patch * static_cast<std::size_t>(padded));
  KernelSums total(geometry, in_place ? result : sums.data(), in_place ? geometry.filters : padded);
  for_each_rectangle(geometry.window, begin, end, [&](const Outputs& outputs) {
    const Index row = outputs.image * geometry.window.outputs() +
                      outputs.top * geometry.window.x.output + outputs.left;
    const float* from = g + row * geometry.filters + group * filters;
    if (in_place) return total.add(outputs, read, from, geometry.filters);
    const Index rows = (outputs.bottom - outputs.top) * (outputs.right - outputs.left);
    const ScratchBuffer<float, struct GradientsCopy> copy(static_cast<std::size_t>(rows * padded));
    copy_rows(from, geometry.filters, rows, filters, padded, copy.data());
    total.add(outputs, read, copy.data(), padded);
  });
  for (Index i = 0; !in_place && i < geometry.patch(); ++i) {
    std::copy_n(sums.data() + i * padded, filters, result + i * geometry.filters);
  }
}

}  // namespace

void correlate_gradients_f32(const Conv2DGeometry& geometry, Index group, const float* x,
                             const float* g, Index begin, Index end, float* kernel) {
  const auto pixels = pixels_of_group(geometry, group, x);
  const auto read = [&](detail::PaddedLines& lines, const Outputs& of) {
    return lines.read(pixels, of.image, of.top, of.bottom);
  };
  correlate_gradients(geometry, group, read, g, begin, end, kernel);
}

void correlate_gradients_f32(const Conv2DGeometry& geometry, Index group, const ScaledInt8& x,
                             const float* g, Index begin, Index end, float* kernel) {
  const auto pixels = pixels_of_group(geometry, group, x.data);
  const auto read = [&](detail::PaddedLines& lines, const Outputs& of) {
    return lines.read(pixels, x, of.image, of.top, of.bottom);
  };
  correlate_gradients(geometry, group, read, g, begin, end, kernel);
}

}  // namespace octet
