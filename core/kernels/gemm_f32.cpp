#include <octet/core/buffer.h>
#include <octet/core/function_ref.h>
#include <octet/core/kernels/gemm.h>
#include <octet/core/kernels/gemm_f32_panel.h>
#include <octet/core/kernels/gemm_s8.h>
#include <octet/core/kernels/soon_lines.h>
#include <octet/core/parallel.h>

#include <algorithm>

namespace octet {
namespace {

/// Products below this many multiply-adds are not worth a second thread.
constexpr Index kParallelWork = Index{1} << 17;
/// The sums of a block of c on their way, half a megabyte, stay in the second-level cache with the
/// part of a' that they are made of.
constexpr Index kBlockColumns = 256;
constexpr Index kBlockRows = 512;
/// Smaller operands are taken to be in the second-level cache.
constexpr Index kCachedFloats = Index{1} << 17;
/// A copy of a' pays where it has as many rows as could meet, and is read for as many columns.
constexpr Index kLeastRows = 12;
constexpr Index kLeastColumns = 256;
/// Floats of a cache line.
constexpr Index kLine = 64 / sizeof(float);
/// Rows that a thread copies at the least.
constexpr std::size_t kCopiedRows = 32;

struct Product {
  Index m, n, k;
  GemmOperand a;
  /// Packs the rows [k0, k0 + depth) of b', columns from j0 on.
  FunctionRef<void(Index k0, Index depth, Index j0, float* panel)> pack_panel;
  float* c;
  Index c_stride;
  bool accumulate;
  FunctionRef<void(const GemmBlock& block)> block_done;
  /// Where b' stands as floats; else no data.
  GemmOperand b;
  /// Bytes of an element of b'.
  Index b_bytes;
};

/// What the panel of these rows and columns of b' is packed of, where that may not be in the
/// second-level cache.
detail::SoonPanel source_of_panel(const Product& p, Index k0, Index depth, Index j0, Index cols) {
  if (depth <= 0 || p.b.data == nullptr || p.k * p.n <= kCachedFloats) return {};
  if (p.b.transpose == Transpose::yes) {
    return {p.b.data + j0 * p.b.stride + k0, p.b.stride, cols, depth};
  }
  return {p.b.data + k0 * p.b.stride + j0, p.b.stride, depth, cols};
}

/// One block: some of k for all of its columns, then the next, so that this part of a' is read from
/// the second-level cache for every panel.
void run_block(const Product& p, const KernelTable& table, const GemmBlock& block) {
  const Index cols = table.f32_cols;
  const Index rows = block.i1 - block.i0;
  const Index width = divided_up(block.j1 - block.j0, cols) * cols;
  const Index height = detail::tile_rows(table, rows);
  const Index block_depth = detail::depth_of_blocks(p.k);
  const Index panel_floats = block_depth * cols;
  const Index partial_floats = block_depth == p.k ? 0 : rows * width;
  float* panel = thread_floats<Product>(static_cast<std::size_t>(panel_floats + partial_floats));
  // Sums on their way lie apart: the rows of c may be a power of two apart, which few lines of the
  // first-level cache can hold.
  float* partial = panel + panel_floats;
  const bool transposed = p.a.transpose == Transpose::yes;
  const Index row = transposed ? 1 : p.a.stride;
  const Index step = transposed ? p.a.stride : 1;
  for (Index k0 = 0; k0 < p.k; k0 += block_depth) {
    const Index depth = std::min(block_depth, p.k - k0);
    const bool last = k0 + depth == p.k;
    const Index next_depth = std::min(block_depth, p.k - k0 - depth);
    for (Index j = block.j0; j < block.j1; j += cols) {
      p.pack_panel(k0, depth, j, panel);
      float* c = p.c + block.i0 * p.c_stride + j;
      float* mine = partial + (j - block.j0);
      const float* start = p.accumulate ? c : nullptr;
      const Index next = j + cols;
      detail::SoonPanel soon = next < block.j1
                                   ? source_of_panel(p, k0, depth, next, std::min(cols, p.n - next))
                                   : source_of_panel(p, k0 + depth, next_depth, block.j0,
                                                     std::min(cols, p.n - block.j0));
      detail::multiply_panel(table, rows, height, depth,
                             {p.a.data + block.i0 * row + k0 * step, row, step}, height * row,
                             panel, std::min(cols, p.n - j),
                             {k0 == 0 ? start : mine, k0 == 0 ? p.c_stride : width, last ? c : mine,
                              last ? p.c_stride : width},
                             soon);
    }
  }
  if (p.block_done) p.block_done(block);
}

/// Whether the rows of an operand meet in a few lines of the first-level cache, which repeats
/// itself every 4 KiB: a tile then waits for the second-level cache at every k.
bool rows_meet(const GemmOperand& a) {
  constexpr Index kPeriod = 4096 / sizeof(float);
  const Index off = a.stride % kPeriod;
  return a.transpose == Transpose::no && a.stride > kPeriod - kLine &&
         std::min(off, kPeriod - off) < kLine;
}

/// A copy of the rows [m, k] of `a` that lie further apart, in memory that `copy` keeps.
GemmOperand moved_apart(const GemmOperand& a, Index m, Index k, std::shared_ptr<float[]>& copy) {
  GemmOperand apart{nullptr, divided_up(k, kLine) * kLine + kLine};
  if (rows_meet(apart)) apart.stride += kLine;
  copy = allocate_array<float>(static_cast<std::size_t>(m * apart.stride));
  const auto rows = static_cast<std::size_t>(m);
  parallel_for(rows, thread_share(rows, kCopiedRows), [&](std::size_t begin, std::size_t end) {
    for (auto i = static_cast<Index>(begin); i < static_cast<Index>(end); ++i) {
      std::copy_n(a.data + i * a.stride, k, copy.get() + i * apart.stride);
    }
  });
  apart.data = copy.get();
  return apart;
}

/// How the result is cut into blocks, and whether threads share out its rows or its columns.
struct Cuts {
  bool by_rows;
  Index width, height;
};

Cuts cuts_of(const Product& p, const KernelTable& table, Index threads) {
  // Each thread reads all of one operand: the smaller one.
  const auto a_bytes = static_cast<Index>(sizeof(float));
  const bool by_rows = p.m * a_bytes >= p.n * p.b_bytes;
  const Index most_row_threads = divided_up(p.m, table.f32_rows);
  const Index row_threads = by_rows ? std::min(threads, most_row_threads) : 1;
  const Index column_threads = by_rows ? 1 : threads;
  // As many blocks as keep all threads busy to the end.
  const Index panels = divided_up(p.n, table.f32_cols);
  const Index rounds = divided_up(panels * table.f32_cols, kBlockColumns * column_threads);
  const Index width = divided_up(panels, rounds * column_threads) * table.f32_cols;
  const Index row_rounds = divided_up(p.m, kBlockRows * row_threads);
  // Where there are too few columns to go round, rows are cut: each cut packs its columns anew.
  const Index least_cuts = std::min(divided_up(threads, divided_up(p.n, width)), most_row_threads);
  return {by_rows, width, divided_up(p.m, std::max(row_rounds * row_threads, least_cuts))};
}

void multiply_blocks(const Product& p, const KernelTable& table) {
  const Index threads = p.m * p.n * p.k < kParallelWork ? 1 : num_threads();
  const auto [by_rows, width, height] = cuts_of(p, table, threads);
  const Index columns = divided_up(p.n, width);
  const Index rows = divided_up(p.m, height);
  const auto run_task = [&, by_rows = by_rows, width = width, height = height](Index task) {
    const Index i0 = (by_rows ? task / columns : task % rows) * height;
    const Index j0 = (by_rows ? task % columns : task / rows) * width;
    run_block(p, table, {i0, std::min(p.m, i0 + height), j0, std::min(p.n, j0 + width)});
  };
  const auto tasks = static_cast<std::size_t>(rows * columns);
  const std::size_t grain = threads == 1 ? tasks : 1;
  parallel_for(tasks, grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t task = begin; task < end; ++task) run_task(static_cast<Index>(task));
  });
}

void multiply(Product p, const KernelTable& table) {
  if (p.m <= 0 || p.n <= 0) return;
  if (p.k <= 0) {
    for (Index i = 0; i < p.m && !p.accumulate; ++i) std::fill_n(p.c + i * p.c_stride, p.n, 0.0F);
    if (p.block_done) p.block_done({0, p.m, 0, p.n});
    return;
  }
  std::shared_ptr<float[]> copy;
  const bool pays = p.m >= kLeastRows && p.n >= kLeastColumns;
  if (pays && rows_meet(p.a)) p.a = moved_apart(p.a, p.m, p.k, copy);
  multiply_blocks(p, table);
}

}  // namespace

void gemm_f32(Index m, Index n, Index k, const GemmOperand& a, const GemmOperand& b, float* c,
              Index c_stride, bool accumulate,
              FunctionRef<void(const GemmBlock& block)> block_done) {
  const KernelTable& table = kernels();
  const auto pack = [&](Index k0, Index depth, Index j0, float* panel) {
    detail::pack_panel(table, b, n, k0, depth, j0, panel);
  };
  multiply({.m = m,
            .n = n,
            .k = k,
            .a = a,
            .pack_panel = pack,
            .c = c,
            .c_stride = c_stride,
            .accumulate = accumulate,
            .block_done = block_done,
            .b = b,
            .b_bytes = sizeof(float)},
           table);
}

void gemm_f32(Index m, const GemmOperand& a, const PackedS8& w, std::span<const float> scales,
              float* c, Index c_stride) {
  const auto pack = [&](Index k0, Index depth, Index j0, float* panel) {
    w.pack_reals(k0, depth, j0, scales, panel);
  };
  multiply({.m = m,
            .n = w.depth(),
            .k = w.rows(),
            .a = a,
            .pack_panel = pack,
            .c = c,
            .c_stride = c_stride,
            .accumulate = false,
            .block_done = {},
            .b = {},
            .b_bytes = w.kernel_table().s8_w_bytes},
           w.kernel_table());
}

}  // namespace octet
