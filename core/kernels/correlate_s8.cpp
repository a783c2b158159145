#include <octet/core/kernels/correlate_s8.h>
#include <octet/core/kernels/patches.h>
#include <octet/core/kernels/prepare_s8.h>

#include <algorithm>
#include <utility>

namespace octet {
namespace {

/// Sums of one block of lines.
constexpr Index kSumBytes = 16384;
/// Shorter lines of outputs, or ones of less than a quarter of a tile's rows, leave tiles half
/// empty: rows of patches fill them.
constexpr Index kLeastOutputs = 4;

/// Filters, rounded up to whole panels.
Index padded_filters(const KernelTable& table, const Conv2DGeometry& geometry) {
  return divided_up(geometry.filters_per_group(), table.s8_cols) * table.s8_cols;
}

PatchLayout layout_of(const Conv2DGeometry& geometry, const S8Windows& windows) {
  const Index group = windows.group;
  const Index channels = geometry.channels_per_group();
  const bool whole_lines = geometry.groups == 1 && geometry.window.x.dilation == 1;
  const Index piece = whole_lines ? geometry.window.x.kernel * channels : channels;
  return {geometry.patch() / piece, piece, divided_up(piece, group) * group};
}

/// Whether the layout does not more than double a patch: gathered patches have far fewer numbers of
/// padding then.
bool fits(const S8Windows& windows, const Conv2DGeometry& geometry) {
  if (windows.tile == nullptr) return false;
  const Index gathered = divided_up(geometry.patch(), Index{8}) * 8;
  return layout_of(geometry, windows).depth() <= 2 * gathered;
}

/// The tiles of this machine's code path that a convolution takes, if any.
const S8Windows* windows_for(const Conv2DGeometry& geometry) {
  const KernelTable& table = kernels();
  const Window& window = geometry.window;
  // Between such windows lie pixels that would be prepared for nothing.
  if (window.y.stride > window.y.kernel || window.x.stride > window.x.kernel) return nullptr;
  // Pixels that are patches fill tiles of products without regard to lines.
  if (geometry.is_matrix_product() && window.x.output < table.s8_windows.rows) return nullptr;
  for (const S8Windows* windows : {&table.s8_windows, &table.s8_small_windows}) {
    if (!fits(*windows, geometry)) continue;
    const Index least = std::max<Index>(kLeastOutputs, windows->rows / 4);
    return window.x.output < least ? nullptr : windows;
  }
  return nullptr;
}

/// The rows that each tile takes where as few tiles of at most `most` rows as can be share `rows`
/// rows evenly.
Index even_rows(Index rows, Index most) { return divided_up(rows, divided_up(rows, most)); }

}  // namespace

bool CorrelationS8::is_suited(const Conv2DGeometry& geometry) {
  return windows_for(geometry) != nullptr;
}

PatchLayout CorrelationS8::layout(const Conv2DGeometry& geometry) {
  return layout_of(geometry, *windows_for(geometry));
}

std::size_t CorrelationS8::bytes(const Conv2DGeometry& geometry) {
  const KernelTable& table = kernels();
  const PatchLayout patch = layout(geometry);
  const auto starts = static_cast<std::size_t>(padded_filters(table, geometry));
  return static_cast<std::size_t>(geometry.groups) *
             (PackedS8::bytes(geometry.filters_per_group(), patch.depth()) +
              starts * sizeof(std::int32_t)) +
         static_cast<std::size_t>(patch.depth() / windows_for(geometry)->group) * sizeof(Index);
}

CorrelationS8::CorrelationS8(const Conv2DGeometry& geometry, std::vector<PackedS8> groups,
                             std::span<const std::int32_t> bias, std::int32_t zero_point)
    : geometry_(geometry),
      kernels_(&kernels()),
      windows_(windows_for(geometry)),
      groups_(std::move(groups)),
      padding_(static_cast<std::int8_t>(zero_point)) {
  const Window& window = geometry.window;
  const Index line_bytes =
      window.x.output * geometry.filters_per_group() * static_cast<Index>(sizeof(std::int32_t));
  block_lines_ = even_rows(window.y.output, std::max<Index>(1, kSumBytes / line_bytes));
  const PatchLayout patch = layout(geometry);
  const Index pieces_per_line = patch.pieces / window.y.kernel;
  for (Index p = 0; p < patch.pieces; ++p) {
    const Index line = p / pieces_per_line * window.y.dilation;
    const Index pixel = p % pieces_per_line * window.x.dilation;
    const Index first = line * line_codes() + pixel * geometry.channels;
    for (Index i = 0; i < patch.padded; i += windows_->group) {
      offsets_.push_back((first + i) * kernels_->s8_x_bytes);
    }
  }
  const auto filters = static_cast<std::size_t>(geometry.filters_per_group());
  const auto padded = static_cast<std::size_t>(padded_filters(*kernels_, geometry));
  starts_.resize(groups_.size() * padded);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    for (std::size_t u = 0; u < filters; ++u) {
      const std::int64_t zero = zero_point + windows_->offset;
      const std::int64_t start =
          (bias.empty() ? 0 : bias[g * filters + u]) - zero * groups_[g].row_sums()[u];
      // Only the sum with the product of codes has to fit: that one is exact modulo 2^32.
      starts_[g * padded + u] = static_cast<std::int32_t>(static_cast<std::uint32_t>(start));
    }
  }
}

Index CorrelationS8::line_codes() const {
  const WindowAxis& x = geometry_.window.x;
  return (x.before + x.input + x.after()) * geometry_.channels;
}

Index CorrelationS8::lines_read(Index lines) const {
  const WindowAxis& y = geometry_.window.y;
  return (lines - 1) * y.stride + (y.kernel - 1) * y.dilation + 1;
}

Index CorrelationS8::padded_codes(Index lines) const {
  // Tiles read a group at a time, behind the last pixel too.
  return lines_read(lines) * line_codes() + windows_->group;
}

std::size_t CorrelationS8::thread_bytes() const {
  return static_cast<std::size_t>(padded_codes(block_lines_) * (1 + kernels_->s8_x_bytes));
}

/// Long enough to be prepared one by one.
bool CorrelationS8::has_long_lines() const {
  constexpr Index kLongLine = 256;
  return geometry_.window.x.input * geometry_.channels >= kLongLine;
}

void CorrelationS8::prepare(const std::int8_t* codes, Index count, std::uint8_t* to) const {
  prepare_s8(*kernels_, windows_->offset, codes, static_cast<std::size_t>(count), to);
}

/// Prepared codes [begin, end).
void CorrelationS8::fill_padding(std::uint8_t* codes, Index begin, Index end) const {
  if (kernels_->s8_x_bytes == 2) {
    auto* wide = reinterpret_cast<std::int16_t*>(codes);
    std::fill(wide + begin, wide + end, std::int16_t{padding_});
  } else {
    std::fill(codes + begin, codes + end, static_cast<std::uint8_t>(padding_ + windows_->offset));
  }
}

CorrelationS8::Lines::Lines(const CorrelationS8& of, const std::int8_t* image, Index begin,
                            Index end)
    : count_(end - begin),
      padded_(static_cast<std::size_t>(of.has_long_lines() ? 0 : of.padded_codes(count_))),
      prepared_(static_cast<std::size_t>(of.padded_codes(count_) * of.kernels_->s8_x_bytes)),
      pixels_(prepared_.data()) {
  const WindowAxis& y = of.geometry_.window.y;
  const WindowAxis& x = of.geometry_.window.x;
  const Index first = y.first(begin);
  const Index top = std::clamp<Index>(first, 0, y.input);
  const Index bottom = std::clamp<Index>(first + of.lines_read(count_), top, y.input);
  const Index width = x.input * of.geometry_.channels;
  const Index before = x.before * of.geometry_.channels;
  const Index line = of.line_codes();
  const Index codes = of.padded_codes(count_);
  if (!of.has_long_lines()) {
    std::fill_n(padded_.data(), codes, of.padding_);
    copy_pieces(reinterpret_cast<const char*>(image + top * width), width,
                reinterpret_cast<char*>(padded_.data() + (top - first) * line + before), line,
                bottom - top, width);
    of.prepare(padded_.data(), codes, prepared_.data());
    return;
  }
  Index filled = 0;
  for (Index i = top; i < bottom; ++i) {
    const Index start = (i - first) * line + before;
    of.fill_padding(prepared_.data(), filled, start);
    of.prepare(image + i * width, width, prepared_.data() + start * of.kernels_->s8_x_bytes);
    filled = start + width;
  }
  of.fill_padding(prepared_.data(), filled, codes);
}

void CorrelationS8::sums(const Lines& lines, Index group, std::int32_t* to, Index stride) const {
  const PackedS8& weights = groups_[static_cast<std::size_t>(group)];
  const Window& window = geometry_.window;
  const Index bytes = kernels_->s8_x_bytes;
  const Index filters = weights.rows();
  const Index cols = kernels_->s8_cols;
  const Index line = window.y.stride * line_codes() * bytes;
  const std::uint8_t* pixels = lines.pixels_ + group * geometry_.channels_per_group() * bytes;
  S8WindowTile tile{.groups = static_cast<Index>(offsets_.size()),
                    .offsets = offsets_.data(),
                    .x_stride = window.x.stride * geometry_.channels * bytes,
                    .panel = weights.data(),
                    .start = starts_.data() + group * padded_filters(*kernels_, geometry_),
                    .sums_stride = stride};
  for (Index j = 0; j < filters; j += cols, tile.start += cols) {
    tile.cols = static_cast<int>(std::min(cols, filters - j));
    const bool narrow = 2 * tile.cols <= cols;
    const Index height =
        even_rows(window.x.output, narrow ? windows_->narrow_rows : windows_->rows);
    for (Index m = 0; m < lines.count_; ++m) {
      for (Index n = 0; n < window.x.output; n += height) {
        tile.rows = static_cast<int>(std::min(height, window.x.output - n));
        tile.x = pixels + m * line + n * tile.x_stride;
        tile.sums = to + (m * window.x.output + n) * stride + j;
        windows_->tile(tile);
      }
    }
    tile.panel += weights.padded_depth() * cols * kernels_->s8_w_bytes;
  }
  if (kernels_->s8.end != nullptr) kernels_->s8.end();
}

}  // namespace octet
