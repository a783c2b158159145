#include <fmt/format.h>
#include <octet/core/buffer.h>
#include <octet/core/error.h>
#include <octet/core/kernels/gemm_s8.h>
#include <octet/core/kernels/isa.h>
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

constexpr Index kMaxDepth = 131071;
/// Threads start packing at a multiple of this many rows, itself a multiple of every path's group.
constexpr Index kRowStep = 8;

/// The number of consecutive codes of a column that are stored side by side.
Index group_of(const KernelTable& table, Index padded) {
  return table.s8_group == 0 ? padded : table.s8_group;
}

/// Adds every other row of `rows`, from row `first` on, to `totals`.
void add_up(std::span<const std::int32_t> rows, std::size_t first,
            std::vector<std::int32_t>& totals) {
  const std::size_t row = totals.size();
  for (std::size_t at = first * row; at < rows.size(); at += 2 * row) {
    for (std::size_t j = 0; j < row; ++j) totals[j] += rows[at + j];
  }
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
  if (k > kMaxDepth) {
    throw InvalidArgument(fmt::format(
        "PackedS8: expected at most {} inputs, so that no int32 sum overflows, found {}", kMaxDepth,
        k));
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
  const auto pack = [&](Index part, Index strip) {
    const Index j0 = strip * width;
    const Index k0 = part * part_rows;
    const bool last = part + 1 == parts;
    std::int32_t* part_sums = sums.data() + 2 * part * n + j0;
    const Index scale_stride = scales.size() == 1 ? 0 : 1;
    table.passes.pack_kernel({.data = columns + k0 * n + j0,
                              .stride = n,
                              .k = last ? k - k0 : part_rows,
                              .depth = last ? result.padded_depth() - k0 : part_rows,
                              .columns = std::min(width, n - j0),
                              .scales = scales.data() + j0 * scale_stride,
                              .scale_stride = scale_stride,
                              .qmin = qmin,
                              .qmax = qmax},
                             {.codes = result.place(j0, k0),
                              .panel_bytes = result.panel_bytes(),
                              .sums = part_sums,
                              .magnitudes = part_sums + n});
  };
  parallel_for(
      static_cast<std::size_t>(parts * strips), static_cast<std::size_t>(parallel ? 1 : strips),
      [&](std::size_t begin, std::size_t end) {
        for (auto task = static_cast<Index>(begin); task < static_cast<Index>(end); ++task) {
          pack(task / strips, task % strips);
        }
      });
  add_up(sums, 0, result.row_sums_);
  add_up(sums, 1, result.row_magnitudes_);
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

}  // namespace octet
