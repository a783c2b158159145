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
#include <utility>

namespace octet {
namespace {

constexpr Index kMaxDepth = 131071;
/// Packed weights up to this size stay in the second-level cache. Then each tile of rows is
/// multiplied by all of them, so that its sums stay in the first; of larger ones each panel is used
/// for several tiles before the next is fetched.
constexpr Index kCachedBytes = Index{1} << 20;
constexpr Index kTilesPerPanel = 4;
constexpr int kMaxRows = 32;
constexpr int kMaxCols = 32;
/// Kernels of fewer weights are packed by one thread.
constexpr Index kParallelWeights = Index{1} << 14;
/// Products below this many multiply-adds are not worth a second thread.
constexpr Index kParallelWork = Index{1} << 20;

/// From the pool of floats: kernels are packed anew every step.
std::shared_ptr<std::int8_t[]> allocate_codes(Index count) {
  const std::shared_ptr<float[]> memory =
      allocate_floats(static_cast<std::size_t>(count) / sizeof(float) + 1);
  return {memory, reinterpret_cast<std::int8_t*>(memory.get())};
}

/// k, filled up as the tiles want it; never nothing.
Index depth_of(const KernelTable& table, Index k) {
  const Index step = table.s8_depth_step;
  return (std::max<Index>(k, 1) + step - 1) / step * step;
}

/// Codes of a column that lie side by side.
Index group_of(const KernelTable& table, Index k) {
  return table.s8_group == 0 ? depth_of(table, k) : table.s8_group;
}

struct alignas(64) CacheLine {
  std::uint8_t bytes[64];
};

/// Memory of the product before, lent to one at a time: rows_done may make another.
template <class T, class Tag>
class Lent {
 public:
  explicit Lent(std::size_t size) : memory_(std::move(spare())) {
    if (memory_.size() >= size) return;
    // Nobody wants the old bytes: the new ones are neither beside them nor twice as many.
    memory_ = {};
    memory_.resize(size);
  }
  ~Lent() { spare() = std::move(memory_); }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;

  T* data() { return memory_.data(); }

 private:
  static std::vector<T>& spare() {
    thread_local std::vector<T> memory;
    return memory;
  }

  std::vector<T> memory_;
};

/// Rows of x as the tiles read them: shifted or widened, and padded to whole groups.
void prepare_rows(const KernelTable& table, const std::int8_t* x, Index x_stride, Index rows,
                  Index k, std::uint8_t* out, Index out_stride) {
  if (x_stride == k && out_stride == k * table.s8_x_bytes) {
    // One row as long as all of them.
    k *= rows;
    x_stride = k;
    out_stride *= rows;
    rows = 1;
  }
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
void fill_starts(const PackedS8& w, std::span<const std::int32_t> start, std::int32_t* padded) {
  const auto sums = w.row_sums();
  for (std::size_t j = 0; j < sums.size(); ++j) {
    const auto shift = static_cast<std::uint32_t>(w.kernel_table().s8_offset * sums[j]);
    const auto from = start.empty() ? 0U : static_cast<std::uint32_t>(start[j]);
    padded[j] = static_cast<std::int32_t>(from - shift);
  }
}

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
  return depth_of(*kernels_, k_) * kernels_->s8_cols * kernels_->s8_w_bytes;
}

std::int8_t* PackedS8::place(Index j, Index i) const {
  const Index cols = kernels_->s8_cols;
  const Index group = group_of(*kernels_, k_);
  const Index code = i / group * cols * group + j % cols * group + i % group;
  return data_.get() + j / cols * panel_bytes() + code * kernels_->s8_w_bytes;
}

PackedS8::PackedS8(const std::int8_t* rows, Index n, Index k) : PackedS8(n, k) {
  const Index cols = kernels_->s8_cols;
  std::fill_n(data_.get(), (n + cols - 1) / cols * panel_bytes(), std::int8_t{0});
  const Index group = group_of(*kernels_, k);
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
           .depth = depth_of(*result.kernels_, k),
           .valid = static_cast<int>(std::min(cols, n - j0)),
           .scales = scales.size() == 1 ? same.data() : scales.data() + j0,
           .qmin = qmin,
           .qmax = qmax},
          {.codes = result.data_.get() + static_cast<Index>(panel) * result.panel_bytes(),
           .sums = result.row_sums_.data() + j0,
           .magnitudes = result.row_magnitudes_.data() + j0});
    }
  });
  return result;
}

void PackedS8::pack_reals(Index first, Index count, Index k0, std::span<const float> scales,
                          float* panel) const {
  const Index cols = kernels_->s8_cols;
  std::array<float, kMaxCols> same;
  if (scales.size() == 1) same.fill(scales[0]);
  for (Index j = first; j < first + count;) {
    const Index column = j % cols;
    const Index rows = std::min(cols - column, first + count - j);
    kernels_->passes.pack_reals(
        {.codes = data_.get() + j / cols * panel_bytes(),
         .depth = depth_of(*kernels_, k_),
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
  for (Index j = 0; j < n_; ++j) {
    for (Index i = 0; i < k_; ++i) {
      std::int16_t wide = 0;
      if (kernels_->s8_w_bytes == 2) std::memcpy(&wide, place(j, i), sizeof(wide));
      rows[static_cast<std::size_t>(j * k_ + i)] =
          kernels_->s8_w_bytes == 2 ? static_cast<std::int8_t>(wide) : *place(j, i);
    }
  }
  return rows;
}

namespace {

/// The sums of `count` prepared rows with all of w, rows w.rows() apart.
void multiply_rows(const PackedS8& w, Index count, const std::uint8_t* x, Index x_bytes,
                   const std::int32_t* start, std::int32_t* sums) {
  const KernelTable& table = w.kernel_table();
  const Index n = w.rows();
  const Index cols = table.s8_cols;
  const Index depth = depth_of(table, w.depth());
  const std::int8_t* panel = w.data();
  for (Index j0 = 0; j0 < n; j0 += cols, panel += depth * cols * table.s8_w_bytes) {
    const Index valid = std::min(cols, n - j0);
    for (Index i = 0; i < count; i += table.s8_rows) {
      const auto rows = static_cast<int>(std::min<Index>(table.s8_rows, count - i));
      const std::uint8_t* codes = x + i * x_bytes;
      std::int32_t* out = sums + i * n + j0;
      if (valid == cols) {
        table.s8_tile(rows, depth, codes, x_bytes, panel, start + j0, out, n);
        continue;
      }
      alignas(64) std::array<std::int32_t, kMaxRows * kMaxCols> tile;
      table.s8_tile(rows, depth, codes, x_bytes, panel, start + j0, tile.data(), cols);
      for (int r = 0; r < rows; ++r) std::copy_n(tile.data() + r * cols, valid, out + r * n);
    }
  }
}

Index row_bytes(const PackedS8& w) {
  return depth_of(w.kernel_table(), w.depth()) * w.kernel_table().s8_x_bytes;
}

Index chunk_rows(const PackedS8& w) {
  const bool cached = w.rows() * w.depth() * w.kernel_table().s8_w_bytes <= kCachedBytes;
  return w.kernel_table().s8_rows * (cached ? 1 : kTilesPerPanel);
}

/// The product by chunks of rows: their sums go to `acc`, or where that is null to memory that the
/// next chunk overwrites; then to `take`.
void run(Index m, const std::int8_t* x, Index x_stride, const PackedS8& w,
         std::span<const std::int32_t> start, std::int32_t* acc,
         FunctionRef<void(Index begin, Index end, std::int32_t* sums)> take) {
  if (m <= 0 || w.rows() == 0) return;
  assert(start.empty() || static_cast<Index>(start.size()) == w.rows());
  const KernelTable& table = w.kernel_table();
  const Index n = w.rows();
  const Index x_bytes = row_bytes(w);
  Lent<std::int32_t, struct StartsTag> starts(static_cast<std::size_t>(n + kMaxCols));
  fill_starts(w, start, starts.data());
  const auto run_rows = [&](std::size_t begin, std::size_t end) {
    const auto first = static_cast<Index>(begin);
    const Index count = static_cast<Index>(end) - first;
    Lent<std::int32_t, struct SumsTag> own(acc == nullptr ? static_cast<std::size_t>(count * n)
                                                          : 0);
    std::int32_t* sums = acc == nullptr ? own.data() : acc + first * n;
    {
      Lent<CacheLine, struct CodesTag> lines(static_cast<std::size_t>(count * x_bytes / 64 + 1));
      std::uint8_t* codes = lines.data()->bytes;
      prepare_rows(table, x + first * x_stride, x_stride, count, w.depth(), codes, x_bytes);
      multiply_rows(w, count, codes, x_bytes, starts.data(), sums);
    }
    if (take) take(first, first + count, sums);
  };
  const Index rows_per_chunk = chunk_rows(w);
  const bool parallel = m * n * w.depth() >= kParallelWork;
  const auto run_chunks = [&](std::size_t begin, std::size_t end) {
    const auto step = static_cast<std::size_t>(rows_per_chunk);
    for (std::size_t i = begin; i < end; i += step) run_rows(i, std::min(end, i + step));
  };
  const Index grain = parallel ? rows_per_chunk : m;
  parallel_for(static_cast<std::size_t>(m), static_cast<std::size_t>(grain), run_chunks);
}

}  // namespace

void gemm_s8(Index m, const std::int8_t* x, Index x_stride, const PackedS8& w, std::int32_t* acc,
             std::span<const std::int32_t> start,
             FunctionRef<void(Index begin, Index end)> rows_done) {
  run(m, x, x_stride, w, start, acc, [&](Index begin, Index end, const std::int32_t* /*sums*/) {
    if (rows_done) rows_done(begin, end);
  });
}

void gemm_s8(Index m, const std::int8_t* x, Index x_stride, const PackedS8& w,
             std::span<const std::int32_t> start,
             FunctionRef<void(Index begin, Index end, std::int32_t* sums)> take) {
  run(m, x, x_stride, w, start, nullptr, take);
}

std::size_t gemm_s8_thread_bytes(Index m, const PackedS8& w) {
  const Index rows = std::min(m, chunk_rows(w));
  const Index numbers = rows * w.rows() + w.rows() + kMaxCols;
  const Index lines = rows * row_bytes(w) / static_cast<Index>(sizeof(CacheLine)) + 1;
  return static_cast<std::size_t>(numbers) * sizeof(std::int32_t) +
         static_cast<std::size_t>(lines) * sizeof(CacheLine);
}

}  // namespace octet
