#include <fmt/format.h>
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
#include <new>
#include <utility>

namespace octet {
namespace {

constexpr Index kMaxDepth = 131071;
constexpr Index kRowsPerChunk = 32;
constexpr int kMaxRows = 8;
constexpr int kMaxCols = 32;
/// Kernels of fewer weights are packed by one thread.
constexpr Index kParallelWeights = Index{1} << 14;
/// Products below this many multiply-adds are not worth a second thread.
constexpr Index kParallelWork = Index{1} << 20;

std::shared_ptr<std::int8_t[]> allocate_codes(Index count) {
  constexpr std::align_val_t alignment{64};
  auto* memory = static_cast<std::int8_t*>(
      ::operator new[](static_cast<std::size_t>(std::max<Index>(count, 1)), alignment));
  return {memory, [](std::int8_t* p) { ::operator delete[](p, std::align_val_t{64}); }};
}

Index groups_of(const KernelTable& table, Index k) {
  return (k + table.s8_group - 1) / table.s8_group;
}

/// Rows of x as the tiles read them: shifted or widened, and padded to whole groups.
void prepare_rows(const KernelTable& table, const std::int8_t* x, Index x_stride, Index rows,
                  Index k, std::uint8_t* out, Index out_stride) {
  const auto size = static_cast<std::size_t>(k);
  for (Index i = 0; i < rows; ++i) {
    const std::int8_t* from = x + i * x_stride;
    std::uint8_t* to = out + i * out_stride;
    if (table.s8_x_bytes == 2) {
      table.passes.widen_codes(from, size, reinterpret_cast<std::int16_t*>(to));
    } else {
      table.passes.shift_codes(from, size, table.s8_offset, to);
    }
    // The padding of the weights is zero, so that of x may be anything.
    std::fill(to + k * table.s8_x_bytes, to + out_stride, std::uint8_t{0});
  }
}

/// What the sums of each column start from, panels padded: `start`, less what shifting x adds.
class Starts {
 public:
  Starts(const PackedS8& w, std::span<const std::int32_t> start) : padded_(std::move(spare())) {
    const KernelTable& table = w.kernel_table();
    const auto sums = w.row_sums();
    const auto cols = static_cast<std::size_t>(table.s8_cols);
    padded_.assign((sums.size() + cols - 1) / cols * cols, 0);
    for (std::size_t j = 0; j < sums.size(); ++j) {
      const auto shift = static_cast<std::uint32_t>(table.s8_offset * sums[j]);
      const auto from = start.empty() ? 0U : static_cast<std::uint32_t>(start[j]);
      padded_[j] = static_cast<std::int32_t>(from - shift);
    }
  }
  ~Starts() { spare() = std::move(padded_); }
  Starts(const Starts&) = delete;
  Starts& operator=(const Starts&) = delete;

  const std::int32_t* data() const { return padded_.data(); }

 private:
  /// Memory of the product before, lent to one at a time: rows_done may make another.
  static std::vector<std::int32_t>& spare() {
    thread_local std::vector<std::int32_t> memory;
    return memory;
  }

  std::vector<std::int32_t> padded_;
};

}  // namespace

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
  data_ = allocate_codes((n + kernels_->s8_cols - 1) / kernels_->s8_cols * panel_bytes());
}

Index PackedS8::panel_bytes() const {
  return groups_of(*kernels_, k_) * kernels_->s8_cols * kernels_->s8_group;
}

Index PackedS8::place(Index j, Index i) const {
  const Index cols = kernels_->s8_cols;
  const Index group = kernels_->s8_group;
  return j / cols * panel_bytes() + i / group * cols * group + j % cols * group + i % group;
}

PackedS8::PackedS8(const std::int8_t* rows, Index n, Index k) : PackedS8(n, k) {
  const Index cols = kernels_->s8_cols;
  std::fill_n(data_.get(), (n + cols - 1) / cols * panel_bytes(), std::int8_t{0});
  const Index group = kernels_->s8_group;
  for (Index j = 0; j < n; ++j) {
    const std::int8_t* row = rows + j * k;
    std::int32_t sum = 0;
    std::int32_t magnitude = 0;
    for (Index i = 0; i < k; ++i) {
      sum += row[i];
      magnitude += std::abs(std::int32_t{row[i]});
    }
    std::int8_t* to = data_.get() + place(j, 0);
    for (Index i = 0; i < k; i += group, to += cols * group) {
      std::memcpy(to, row + i, static_cast<std::size_t>(std::min(group, k - i)));
    }
    row_sums_[static_cast<std::size_t>(j)] = sum;
    row_magnitudes_[static_cast<std::size_t>(j)] = magnitude;
  }
}

PackedS8 PackedS8::quantize(const float* columns, Index k, Index n, std::span<const float> scales,
                            std::int32_t qmin, std::int32_t qmax, float* reals) {
  assert(scales.size() == 1 || static_cast<Index>(scales.size()) == n);
  PackedS8 result(n, k);
  const Index cols = result.kernels_->s8_cols;
  const auto panels = static_cast<std::size_t>((n + cols - 1) / cols);
  const std::size_t grain = n * k < kParallelWeights ? panels : 1;
  parallel_for(panels, grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t panel = begin; panel < end; ++panel) {
      const Index j0 = static_cast<Index>(panel) * cols;
      std::array<float, kMaxCols> same;
      if (scales.size() == 1) same.fill(scales[0]);
      result.kernels_->passes.pack_kernel(
          {.data = columns + j0,
           .stride = n,
           .k = k,
           .valid = static_cast<int>(std::min(cols, n - j0)),
           .scales = scales.size() == 1 ? same.data() : scales.data() + j0,
           .qmin = qmin,
           .qmax = qmax},
          {.codes = result.data_.get() + static_cast<Index>(panel) * result.panel_bytes(),
           .sums = result.row_sums_.data() + j0,
           .magnitudes = result.row_magnitudes_.data() + j0,
           .reals = reals == nullptr ? nullptr : reals + j0});
    }
  });
  return result;
}

std::vector<std::int8_t> PackedS8::unpack() const {
  std::vector<std::int8_t> rows(static_cast<std::size_t>(n_ * k_));
  for (Index j = 0; j < n_; ++j) {
    for (Index i = 0; i < k_; ++i) rows[static_cast<std::size_t>(j * k_ + i)] = data_[place(j, i)];
  }
  return rows;
}

void gemm_s8(Index m, const std::int8_t* x, Index x_stride, const PackedS8& w, std::int32_t* acc,
             std::span<const std::int32_t> start,
             FunctionRef<void(Index begin, Index end)> rows_done) {
  if (m <= 0 || w.rows() == 0) return;
  assert(start.empty() || static_cast<Index>(start.size()) == w.rows());
  const KernelTable& table = w.kernel_table();
  const Index n = w.rows();
  const Index cols = table.s8_cols;
  const Index groups = groups_of(table, w.depth());
  const Index x_bytes = groups * table.s8_group * table.s8_x_bytes;
  const Index panel_bytes = groups * cols * table.s8_group;
  const Starts from(w, start);
  const auto run_rows = [&](std::size_t begin, std::size_t end) {
    const auto first = static_cast<Index>(begin);
    const Index count = static_cast<Index>(end) - first;
    thread_local std::vector<std::uint8_t> prepared;
    prepared.resize(static_cast<std::size_t>(count * x_bytes));
    prepare_rows(table, x + first * x_stride, x_stride, count, w.depth(), prepared.data(), x_bytes);
    for (Index j0 = 0; j0 < n; j0 += cols) {
      const std::int8_t* panel = w.data() + j0 / cols * panel_bytes;
      const Index valid = std::min(cols, n - j0);
      for (Index i = 0; i < count; i += table.s8_rows) {
        const auto rows = static_cast<int>(std::min<Index>(table.s8_rows, count - i));
        const std::uint8_t* codes = prepared.data() + i * x_bytes;
        std::int32_t* out = acc + (first + i) * n + j0;
        if (valid == cols) {
          table.s8_tile(rows, groups, codes, x_bytes, panel, from.data() + j0, out, n);
          continue;
        }
        alignas(64) std::array<std::int32_t, kMaxRows * kMaxCols> tile;
        table.s8_tile(rows, groups, codes, x_bytes, panel, from.data() + j0, tile.data(), cols);
        for (int r = 0; r < rows; ++r) std::copy_n(tile.data() + r * cols, valid, out + r * n);
      }
    }
    if (rows_done) rows_done(first, first + count);
  };
  const Index rows_per_chunk = m * n * w.depth() < kParallelWork ? m : kRowsPerChunk;
  parallel_for(static_cast<std::size_t>(m), static_cast<std::size_t>(rows_per_chunk), run_rows);
}

}  // namespace octet
