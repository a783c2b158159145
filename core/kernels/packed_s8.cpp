#include <fmt/core.h>
#include <octet/core/buffer.h>
#include <octet/core/error.h>
#include <octet/core/kernels/gemm_s8.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/kernels/transpose_bytes.h>
#include <octet/core/parallel.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdlib>
#include <cstring>

// See docs/performance.md, "Packing int8 weights".

namespace octet {
namespace {

/// Threads start packing at a multiple of this many rows, itself a multiple of every path's group.
constexpr Index kRowStep = 8;
/// Floats of a kernel that are computed and packed at a time: they stay in the first-level cache.
constexpr Index kPartFloats = 4096;

/// The number of consecutive codes of a column that are stored side by side.
Index group_of(const KernelTable& table, Index padded) {
  return table.s8_group == 0 ? padded : table.s8_group;
}

}  // namespace

Index PackedS8::padded_depth(const KernelTable& table, Index k) {
  const Index step = table.s8_depth_step;
  return divided_up(std::max<Index>(k, 1), step) * step;
}

Index PackedS8::padded_depth() const { return padded_depth(*kernels_, k_); }

Index PackedS8::panel_bytes(const KernelTable& table, Index k) {
  return padded_depth(table, k) * table.s8_cols * table.s8_w_bytes;
}

std::size_t PackedS8::bytes(Index n, Index k) {
  const KernelTable& table = octet::kernels();
  const Index panels = divided_up(n, table.s8_cols) * panel_bytes(table, k);
  return static_cast<std::size_t>(panels) + 2 * static_cast<std::size_t>(n) * sizeof(std::int32_t);
}

PackedS8::PackedS8(Index n, Index k)
    : n_(n),
      k_(k),
      kernels_(&kernels()),
      row_sums_(static_cast<std::size_t>(n)),
      row_magnitudes_(static_cast<std::size_t>(n)) {
  if (k > kMostInputs) {
    throw InvalidArgument(fmt::format(
        "PackedS8: expected at most {} inputs, so that no int32 sum overflows, found {}",
        kMostInputs, k));
  }
  data_ = allocate_array<std::int8_t>(
      static_cast<std::size_t>(divided_up(n, kernels_->s8_cols) * panel_bytes()));
}

std::int8_t* PackedS8::place(Index j, Index i) const {
  const Index cols = kernels_->s8_cols;
  const Index group = group_of(*kernels_, padded_depth());
  const Index code = i / group * cols * group + j % cols * group + i % group;
  return data_.get() + j / cols * panel_bytes() + code * kernels_->s8_w_bytes;
}

PackedS8::PackedS8(const std::int8_t* rows, Index n, Index k) : PackedS8(n, k) {
  const Index cols = kernels_->s8_cols;
  std::fill_n(data_.get(), divided_up(n, cols) * panel_bytes(), std::int8_t{0});
  const Index group = group_of(*kernels_, padded_depth());
  for (Index j = 0; j < n; ++j) {
    const std::int8_t* row = rows + j * k;
    std::int32_t sum = 0;
    std::int32_t magnitude = 0;
    for (Index i = 0; i < k; ++i) {
      sum += row[i];
      magnitude += std::abs(std::int32_t{row[i]});
    }
    std::int8_t* to = place(j, 0);
    for (Index i = 0; i < k; i += group, to += cols * group * kernels_->s8_w_bytes) {
      const auto count = static_cast<std::size_t>(std::min(group, k - i));
      if (kernels_->s8_w_bytes == 1) {
        std::memcpy(to, row + i, count);
      } else {
        kernels_->passes.widen_codes(row + i, count, reinterpret_cast<std::int16_t*>(to));
      }
    }
    row_sums_[static_cast<std::size_t>(j)] = sum;
    row_magnitudes_[static_cast<std::size_t>(j)] = magnitude;
  }
}

/// Packs the rows [begin, end), whose first is at `rows`, of the columns [j0, j0 + width).
void PackedS8::pack_part(const float* rows, Index begin, Index end, Index j0, Index width,
                         const Grid& grid, std::int32_t* sums) const {
  const Index scale_stride = grid.scales.size() == 1 ? 0 : 1;
  kernels_->passes.pack_kernel({.data = rows + j0,
                                .stride = n_,
                                .k = end - begin,
                                .depth = (end == k_ ? padded_depth() : end) - begin,
                                .columns = std::min(width, n_ - j0),
                                .scales = grid.scales.data() + j0 * scale_stride,
                                .scale_stride = scale_stride,
                                .qmin = grid.qmin,
                                .qmax = grid.qmax},
                               {.codes = place(j0, begin),
                                .panel_bytes = panel_bytes(),
                                .sums = sums + j0,
                                .magnitudes = sums + n_ + j0});
}

/// Sets the sums and magnitudes of columns from those of parts [parts, 2, n].
void PackedS8::add_up(std::span<const std::int32_t> parts) {
  const auto columns = static_cast<std::size_t>(n_);
  for (std::size_t at = 0; at < parts.size(); at += 2 * columns) {
    for (std::size_t j = 0; j < columns; ++j) {
      row_sums_[j] += parts[at + j];
      row_magnitudes_[j] += parts[at + columns + j];
    }
  }
}

PackedS8 PackedS8::quantize(const float* columns, Index k, Index n, std::span<const float> scales,
                            std::int32_t qmin, std::int32_t qmax) {
  assert(scales.size() == 1 || static_cast<Index>(scales.size()) == n);
  PackedS8 result(n, k);
  const KernelTable& table = *result.kernels_;
  // If a group is a whole column, rows cannot be divided among threads: panels are divided instead.
  const Index width = table.s8_group == 0 ? table.s8_cols : kMaxKernelColumns;
  const Index strips = divided_up(n, width);
  // Divides rows, not columns: the optimizer divides the kernel by rows too, so that each thread
  // has its rows in its cache.
  const bool parallel = n * k >= static_cast<Index>(parallel_grain(Work::write_floats));
  const Index most_parts = parallel && table.s8_group != 0 ? num_threads() : 1;
  assert(table.s8_group == 0 || kRowStep % table.s8_group == 0);
  const Index part_rows =
      divided_up(divided_up(std::max<Index>(k, 1), most_parts), kRowStep) * kRowStep;
  const Index parts = divided_up(std::max<Index>(k, 1), part_rows);
  std::vector<std::int32_t> sums(static_cast<std::size_t>(2 * parts * n));
  const auto pack = [&](Index task) {
    const Index part = task / strips;
    const Index begin = part * part_rows;
    result.pack_part(columns + begin * n, begin, std::min(k, begin + part_rows),
                     task % strips * width, width, {scales, qmin, qmax},
                     sums.data() + 2 * part * n);
  };
  parallel_for(
      static_cast<std::size_t>(parts * strips), static_cast<std::size_t>(parallel ? 1 : strips),
      [&](std::size_t begin, std::size_t end) {
        for (auto task = static_cast<Index>(begin); task < static_cast<Index>(end); ++task) {
          pack(task);
        }
      });
  result.add_up(sums);
  return result;
}

PackedS8 PackedS8::quantize(Rows rows, Index k, Index n, std::span<const float> scales,
                            std::int32_t qmin, std::int32_t qmax) {
  if (kernels().s8_group == 0) {
    // A group is a whole column: all rows are read at once.
    const ScratchBuffer<float, PackedS8> all(static_cast<std::size_t>(k * n));
    return quantize(rows(0, k, all.data()), k, n, scales, qmin, qmax);
  }
  PackedS8 result(n, k);
  const Index part_rows =
      divided_up(divided_up(kPartFloats, std::max<Index>(n, 1)), kRowStep) * kRowStep;
  const auto parts = static_cast<std::size_t>(divided_up(std::max<Index>(k, 1), part_rows));
  const auto row = static_cast<std::size_t>(n);
  std::vector<std::int32_t> sums(2 * parts * row);
  const std::size_t least =
      parallel_grain(Work::write_floats, static_cast<std::size_t>(part_rows * n));
  parallel_for(parts, thread_share(parts, least), [&](std::size_t first, std::size_t last) {
    const ScratchBuffer<float, PackedS8> memory(static_cast<std::size_t>(part_rows) * row);
    for (std::size_t part = first; part < last; ++part) {
      const Index begin = static_cast<Index>(part) * part_rows;
      const Index end = std::min(k, begin + part_rows);
      const float* const part_of_rows = rows(begin, end, memory.data());
      for (Index j0 = 0; j0 < n; j0 += kMaxKernelColumns) {
        result.pack_part(part_of_rows, begin, end, j0, kMaxKernelColumns, {scales, qmin, qmax},
                         sums.data() + 2 * part * row);
      }
    }
  });
  result.add_up(sums);
  return result;
}

void PackedS8::pack_reals(Index first, Index count, Index k0, std::span<const float> scales,
                          float* panel) const {
  const Index cols = kernels_->s8_cols;
  std::array<float, kMaxS8Cols> same;
  if (scales.size() == 1) same.fill(scales[0]);
  for (Index j = first; j < first + count;) {
    const Index column = j % cols;
    const Index rows = std::min(cols - column, first + count - j);
    kernels_->passes.pack_reals(
        {.codes = data_.get() + j / cols * panel_bytes(),
         .depth = padded_depth(),
         .first = static_cast<int>(column),
         .rows = static_cast<int>(rows),
         .k0 = k0,
         .valid = static_cast<int>(std::min<Index>(kernels_->f32_cols, k_ - k0)),
         .scales = scales.size() == 1 ? same.data() : scales.data() + j},
        panel + (j - first) * kernels_->f32_cols);
    j += rows;
  }
}

std::vector<std::int8_t> PackedS8::unpack() const {
  std::vector<std::int8_t> rows(static_cast<std::size_t>(n_ * k_));
  const Index group = group_of(*kernels_, padded_depth());
  const Index step = kernels_->s8_cols * group * kernels_->s8_w_bytes;
  for (Index j = 0; j < n_; ++j) {
    std::int8_t* row = rows.data() + j * k_;
    const std::int8_t* from = place(j, 0);
    for (Index i = 0; i < k_; i += group, from += step) {
      const Index count = std::min(group, k_ - i);
      if (kernels_->s8_w_bytes == 1) {
        std::memcpy(row + i, from, static_cast<std::size_t>(count));
        continue;
      }
      const auto* wide = reinterpret_cast<const std::int16_t*>(from);
      for (Index c = 0; c < count; ++c) row[i + c] = static_cast<std::int8_t>(wide[c]);
    }
  }
  return rows;
}

namespace {

/// Codes of 4 rows of 4, and their sums.
using Square [[gnu::vector_size(16)]] = std::int8_t;
constexpr Index kSide = 4;

Square transposed_square(const Square& codes) {
  // Makes the row's number the column's, a bit at a time.
  const Square half =
      __builtin_shufflevector(codes, codes, 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
  return __builtin_shufflevector(half, half, 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
}

/// The sums of codes and of their magnitudes, of 4 rows.
class SquareSums {
 public:
  void add(const Square& codes) {
    const Wide wide = __builtin_convertvector(codes, Wide);
    sums_ += wide;
    magnitudes_ += wide < 0 ? -wide : wide;
    if (++count_ == kMost) flush();
  }
  /// Adds up to `rows` of them.
  void write(Index rows, std::int32_t* sums, std::int32_t* magnitudes) {
    flush();
    for (Index i = 0; i < rows * kSide; ++i) {
      sums[i / kSide] += totals_[static_cast<std::size_t>(i)];
      magnitudes[i / kSide] += totals_[static_cast<std::size_t>(i + kSide * kSide)];
    }
  }

 private:
  using Wide [[gnu::vector_size(32)]] = std::int16_t;
  /// So many magnitudes of up to 128 stay in int16.
  static constexpr int kMost = 255;

  void flush() {
    for (int i = 0; i < kSide * kSide; ++i) {
      totals_[static_cast<std::size_t>(i)] += sums_[i];
      totals_[static_cast<std::size_t>(i + kSide * kSide)] += magnitudes_[i];
    }
    sums_ = Wide{};
    magnitudes_ = Wide{};
    count_ = 0;
  }

  Wide sums_{};
  Wide magnitudes_{};
  int count_ = 0;
  std::array<std::int32_t, 2 * kSide * kSide> totals_{};
};

}  // namespace

PackedS8 PackedS8::transposed() const {
  if (kernels_->s8_group != kSide || kernels_->s8_w_bytes != 1) {
    const std::vector<std::int8_t> codes = unpack();
    std::vector<std::int8_t> columns(codes.size());
    transpose_bytes(codes.data(), k_, n_, k_, columns.data(), n_);
    return {columns.data(), k_, n_};
  }
  // 4 rows' group of codes becomes 4 columns' group of rows.
  const Index cols = kernels_->s8_cols;
  assert(cols % kSide == 0);
  PackedS8 result(k_, n_);
  std::fill_n(result.data_.get(), divided_up(k_, cols) * result.panel_bytes(), std::int8_t{0});
  const auto groups = static_cast<std::size_t>(divided_up(k_, kSide));
  const auto repack = [&](Index i) {
    SquareSums sums;
    std::int8_t* to = result.place(i, 0);
    for (Index panel = 0; panel < n_; panel += cols) {
      const std::int8_t* from = place(panel, i);
      const Index end = std::min(panel + cols, n_);
      for (Index j = panel; j < end; j += kSide, from += sizeof(Square), to += cols * kSide) {
        Square codes{};
        std::memcpy(&codes, from, static_cast<std::size_t>(std::min(kSide, end - j) * kSide));
        codes = transposed_square(codes);
        sums.add(codes);
        std::memcpy(to, &codes, sizeof(codes));
      }
    }
    const auto at = static_cast<std::size_t>(i);
    sums.write(std::min(kSide, k_ - i), &result.row_sums_[at], &result.row_magnitudes_[at]);
  };
  parallel_for(groups, parallel_grain(Work::write_floats, static_cast<std::size_t>(n_)),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t g = begin; g < end; ++g) repack(static_cast<Index>(g) * kSide);
               });
  return result;
}

}  // namespace octet
