#include <octet/core/buffer.h>
#include <octet/core/kernels/correlate_f32.h>
#include <octet/core/kernels/correlate_internal.h>
#include <octet/core/kernels/gemm_f32_panel.h>

#include <algorithm>
#include <utility>

namespace octet {
namespace {

/// Floats of the lines that are read or written in one block: they stay in the second-level cache.
constexpr Index kBlockFloats = Index{1} << 15;

}  // namespace

// ---- Axes

CorrelationAxis CorrelationAxis::forward(const WindowAxis& window) {
  CorrelationAxis axis{.step = window.stride, .count = window.output, .input = window.input};
  for (Index k = 0; k < window.kernel; ++k)
    axis.taps.push_back({k, window.first(0) + k * window.dilation});
  return axis;
}

CorrelationAxis CorrelationAxis::backward(const WindowAxis& window, Index phase) {
  CorrelationAxis axis{.count = divided_up(std::max<Index>(0, window.input - phase), window.stride),
                       .input = window.output,
                       .out_first = phase,
                       .out_step = window.stride};
  for (Index k = window.kernel - 1; k >= 0; --k) {
    const Index distance = phase + window.before - k * window.dilation;
    if (distance % window.stride == 0) axis.taps.push_back({k, distance / window.stride});
  }
  return axis;
}

Index CorrelationAxis::before() const {
  return taps.empty() ? 0 : std::max<Index>(0, -taps.front().at);
}

Index CorrelationAxis::after() const {
  return taps.empty() ? 0 : std::max<Index>(0, (count - 1) * step + taps.back().at + 1 - input);
}

// ---- Parts that both kinds of products have in common

namespace detail {

std::vector<ColumnPanel> column_panels(const KernelTable& table, Index columns) {
  std::vector<ColumnPanel> panels;
  for (Index first = 0; first < columns; first += table.f32_cols) {
    const Index count = std::min<Index>(table.f32_cols, columns - first);
    int level = 0;
    while (level < kMostNarrow && count <= table.f32_cols >> (level + 1)) ++level;
    panels.push_back({first, count, level, table.f32_cols >> level});
  }
  return panels;
}

PaddedLines::PaddedLines(const CorrelationAxis& y, const CorrelationAxis& x, Index channels)
    : y_(&y), x_(&x), channels_(channels), before_(x.before()), after_(x.after()) {}

Index PaddedLines::floats_per_line() const { return (before_ + x_->input + after_) * channels_; }

/// copy(from, count, to) gives floats.
template <class T, class Copy>
ImageLines PaddedLines::copied(const PixelsOf<const T>& in, Index image, Index begin, Index end,
                               Copy copy) {
  if (y_->taps.empty()) return {nullptr, 0, 0};
  const Index first = std::clamp<Index>(begin * y_->step + y_->taps.front().at, 0, y_->input);
  const Index last =
      std::clamp<Index>((end - 1) * y_->step + y_->taps.back().at + 1, first, y_->input);
  const Index line = floats_per_line();
  const auto needed = static_cast<std::size_t>((last - first) * line);
  if (!copy_ || capacity_ < needed) {
    copy_.emplace(needed);
    capacity_ = needed;
  }
  float* to = copy_->data();
  const bool whole = in.pixel == channels_;
  const Index pieces = whole ? 1 : x_->input;
  const Index piece = whole ? x_->input * channels_ : channels_;
  for (Index i = first; i < last; ++i) {
    to = std::fill_n(to, before_ * channels_, 0.0F);
    const T* from = in.data + image * in.image + i * in.line;
    for (Index p = 0; p < pieces; ++p, from += in.pixel, to += piece) copy(from, piece, to);
    to = std::fill_n(to, after_ * channels_, 0.0F);
  }
  return {copy_->data() + before_ * channels_ - first * line, line, channels_};
}

ImageLines PaddedLines::read(const PixelsOf<const float>& in, Index image, Index begin, Index end) {
  if (before_ == 0 && after_ == 0) return {in.data + image * in.image, in.line, in.pixel};
  return copied(in, image, begin, end,
                [](const float* from, Index count, float* to) { std::copy_n(from, count, to); });
}

ImageLines PaddedLines::read(const PixelsOf<const std::int8_t>& in, const ScaledInt8& scaled,
                             Index image, Index begin, Index end) {
  const auto dequantize = kernels().passes.dequantize;
  return copied(in, image, begin, end, [&](const std::int8_t* from, Index count, float* to) {
    dequantize(from, static_cast<std::size_t>(count), scaled.scale, scaled.zero_point, to);
  });
}

bool is_one_piece(const CorrelationAxis& x, Index channels, Index pixel) {
  if (pixel != channels) return false;
  for (std::size_t i = 1; i < x.taps.size(); ++i) {
    if (x.taps[i].at != x.taps[i - 1].at + 1) return false;
  }
  return !x.taps.empty();
}

}  // namespace detail

// ---- Correlation

/// Lines [begin, end) of one image.
struct CorrelationF32::Block {
  detail::ImageLines in;
  Index begin;
  Index end;
  PixelsOf<float> out;
};

CorrelationF32::CorrelationF32(CorrelationAxis y, CorrelationAxis x,
                               const CorrelationKernel& kernel)
    : kernels_(&kernels()),
      y_(std::move(y)),
      x_(std::move(x)),
      channels_(kernel.channels),
      columns_(kernel.columns),
      panels_(detail::column_panels(*kernels_, kernel.columns)) {
  Index width = 0;
  for (const ColumnPanel& panel : panels_) width += panel.width;
  const auto rows = static_cast<Index>(y_.taps.size() * x_.taps.size()) * channels_;
  packed_ = allocate_array<float>(static_cast<std::size_t>(rows * width));
  float* to = packed_.get();
  for (const ColumnPanel& panel : panels_) {
    for (const CorrelationAxis::Tap& ky : y_.taps) {
      for (const CorrelationAxis::Tap& kx : x_.taps) {
        const float* tap = kernel.data + (ky.k * kernel.taps_x + kx.k) * kernel.tap;
        for (Index c = 0; c < channels_; ++c, to += panel.width) {
          const float* from = tap + c * kernel.channel + panel.first * kernel.column;
          for (Index j = 0; j < panel.columns; ++j) to[j] = from[j * kernel.column];
          std::fill_n(to + panel.columns, panel.width - panel.columns, 0.0F);
        }
      }
    }
  }
}

void CorrelationF32::run(const PixelsOf<const float>& in, Index begin, Index end,
                         const PixelsOf<float>& out,
                         FunctionRef<void(Index image, Index begin, Index end)> done) const {
  detail::PaddedLines lines(y_, x_, channels_);
  const Index line = std::max({lines.floats_per_line() * y_.step, x_.count * columns_, Index{1}});
  const Index step = std::max<Index>(1, kBlockFloats / line);
  while (begin < end) {
    const Index image = begin / y_.count;
    const Index first = begin % y_.count;
    const Index last = std::min({y_.count, first + step, first + end - begin});
    run_block({lines.read(in, image, first, last),
               first,
               last,
               {out.data + image * out.image, out.image, out.line, out.pixel}});
    if (done) done(image, first, last);
    begin += last - first;
  }
}

void CorrelationF32::run_block(const Block& block) const {
  const Index lines = block.end - block.begin;
  const PixelsOf<float>& out = block.out;
  float* const pixels =
      out.data + (y_.out_first + block.begin * y_.out_step) * out.line + x_.out_first * out.pixel;
  const Index line = y_.out_step * out.line;
  const Index pixel = x_.out_step * out.pixel;
  const ColumnPanel& last = panels_.back();
  const bool in_place = last.columns == last.width;
  // A tile writes whole vectors, the last panel beyond its columns: into the next pixel, which is
  // then written by the panels in front, and behind the last pixel.
  const Index slack = in_place ? 0 : last.width;
  const ScratchBuffer<float, Block> copy(
      in_place ? 0 : static_cast<std::size_t>(lines * x_.count * columns_ + slack));
  const float* weights = packed_.get() + static_cast<Index>(y_.taps.size() * x_.taps.size()) *
                                             channels_ * (last.first + last.width);
  for (auto panel = panels_.rbegin(); panel != panels_.rend(); ++panel) {
    weights -= static_cast<Index>(y_.taps.size() * x_.taps.size()) * channels_ * panel->width;
    if (in_place) {
      run_panel(block, *panel, weights, pixels, line, pixel);
    } else {
      run_panel(block, *panel, weights, copy.data(), x_.count * columns_, columns_);
    }
  }
  for (Index m = 0; !in_place && m < lines; ++m) {
    const float* from = copy.data() + m * x_.count * columns_;
    float* to = pixels + m * line;
    if (pixel == columns_) {
      std::copy_n(from, x_.count * columns_, to);
    } else {
      for (Index n = 0; n < x_.count; ++n)
        std::copy_n(from + n * columns_, columns_, to + n * pixel);
    }
  }
}

void CorrelationF32::run_panel(const Block& block, const ColumnPanel& panel, const float* weights,
                               float* to, Index to_line, Index to_pixel) const {
  const bool whole = detail::is_one_piece(x_, channels_, block.in.pixel);
  const auto taps = static_cast<Index>(x_.taps.size());
  const Index pieces = whole ? 1 : taps;
  const ScratchBuffer<TilePiece, Block> buffer(y_.taps.size() * static_cast<std::size_t>(pieces));
  TilePiece* piece = buffer.data();
  for (std::size_t i = 0; i < y_.taps.size(); ++i) {
    for (std::size_t j = 0; j < static_cast<std::size_t>(pieces); ++j, ++piece) {
      piece->a = y_.taps[i].at * block.in.line + x_.taps[j].at * block.in.pixel;
      piece->b = (static_cast<Index>(i) * taps + static_cast<Index>(j)) * channels_ * panel.width;
    }
  }
  const Index height = detail::tile_height(*kernels_, x_.count);
  PieceTile tile{.level = panel.level,
                 .depth = whole ? taps * channels_ : channels_,
                 .a_row = x_.step * block.in.pixel,
                 .a_step = 1,
                 .b = weights,
                 .b_stride = panel.width};
  for (Index m = block.begin; m < block.end; ++m, to += to_line) {
    const auto [first, last] = detail::taps_inside(y_, m);
    tile.pieces = buffer.data() + first * pieces;
    tile.count = (last - first) * pieces;
    for (Index n = 0; n < x_.count; n += height) {
      tile.rows = static_cast<int>(std::min(height, x_.count - n));
      tile.a = block.in.pixels + m * y_.step * block.in.line + n * tile.a_row;
      tile.sums = {nullptr, 0, to + n * to_pixel + panel.first, to_pixel};
      kernels_->f32_pieces(tile);
    }
  }
}

}  // namespace octet
