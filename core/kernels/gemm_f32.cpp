#include <octet/core/buffer.h>
#include <octet/core/function_ref.h>
#include <octet/core/kernels/gemm.h>
#include <octet/core/kernels/gemm_f32_panel.h>
#include <octet/core/kernels/gemm_s8.h>
#include <octet/core/kernels/prefetch.h>
#include <octet/core/parallel.h>

#include <algorithm>

namespace octet {
namespace {

// See docs/performance.md, "Float products: blocks".

/// Rows and columns of a block of c: its partial sums, half a megabyte, stay in the second-level
/// cache together with the part of a' that they are computed from.
constexpr Index kBlockColumns = 256;
constexpr Index kBlockRows = 512;
/// Operands of at most this size are assumed to be in the second-level cache already.
constexpr Index kCachedFloats = Index{1} << 17;
/// Copying a' pays only if enough of its rows alias and the copy is read for enough columns.
constexpr Index kMinAliasedRows = 12;
constexpr Index kMinColumnsForCopy = 256;
/// Floats in a cache line.
constexpr Index kLine = 64 / sizeof(float);
/// The fewest rows that a thread copies.
constexpr std::size_t kCopyGrainRows = 32;

struct FloatProduct {
  Index m, n, k;
  GemmOperand a;
  /// Packs rows [k0, k0 + depth) of b', columns from j0 on.
  FunctionRef<void(Index k0, Index depth, Index j0, float* panel)> pack_panel;
  float* c;
  Index c_stride;
  bool accumulate;
  FunctionRef<void(const GemmBlock& block)> block_done;
  /// b' where it is given as floats; otherwise its data is null.
  GemmOperand b;
  /// Bytes per element of b'.
  Index b_bytes;
};

/// Prefetches the floats that the panel of these rows and columns of b' is packed from, unless they
/// are few enough to be in the second-level cache already.
detail::PanelPrefetcher panel_prefetcher(const FloatProduct& p, Index k0, Index depth, Index j0,
                                         Index cols) {
  if (depth <= 0 || p.b.data == nullptr || p.k * p.n <= kCachedFloats) return {};
  if (p.b.transpose == Transpose::yes) {
    return {p.b.data + j0 * p.b.stride + k0, p.b.stride, cols, depth};
  }
  return {p.b.data + k0 * p.b.stride + j0, p.b.stride, depth, cols};
}

/// Computes one block of c: a block of k for all its columns, then the next block of k, so that
/// every panel reads its part of a' from the second-level cache.
void multiply_block(const FloatProduct& p, const KernelTable& table, const GemmBlock& block) {
  const Index cols = table.f32_cols;
  const Index rows = block.i1 - block.i0;
  const Index width = divided_up(block.j1 - block.j0, cols) * cols;
  const Index height = detail::tile_height(table, rows);
  const Index block_depth = detail::depth_of_blocks(p.k);
  const Index panel_floats = block_depth * cols;
  const Index partial_floats = block_depth == p.k ? 0 : rows * width;
  const ScratchBuffer<float, FloatProduct> scratch(
      static_cast<std::size_t>(panel_floats + partial_floats));
  float* panel = scratch.data();
  // Partial sums have memory of their own: if the row stride of c is a power of two, its rows alias
  // in the first-level cache.
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
      float* block_sums = partial + (j - block.j0);
      const float* start = p.accumulate ? c : nullptr;
      const Index next = j + cols;
      detail::PanelPrefetcher prefetcher =
          next < block.j1 ? panel_prefetcher(p, k0, depth, next, std::min(cols, p.n - next))
                          : panel_prefetcher(p, k0 + depth, next_depth, block.j0,
                                             std::min(cols, p.n - block.j0));
      detail::multiply_panel(table, rows, height, depth,
                             {p.a.data + block.i0 * row + k0 * step, row, step}, height * row,
                             panel, std::min(cols, p.n - j),
                             {k0 == 0 ? start : block_sums, k0 == 0 ? p.c_stride : width,
                              last ? c : block_sums, last ? p.c_stride : width},
                             prefetcher);
    }
  }
}

/// Whether the rows of an operand map to the same few sets of the first-level cache, whose sets
/// repeat every 4 KiB: a tile then waits for the second-level cache at every k.
bool rows_alias_in_l1(const GemmOperand& a) {
  constexpr Index kPeriod = 4096 / sizeof(float);
  const Index remainder = a.stride % kPeriod;
  return a.transpose == Transpose::no && a.stride > kPeriod - kLine &&
         std::min(remainder, kPeriod - remainder) < kLine;
}

/// Copies the rows [m, k] of `a` to a stride whose rows do not alias, in memory that `copy` owns.
GemmOperand copy_with_padding(const GemmOperand& a, Index m, Index k,
                              std::shared_ptr<float[]>& copy) {
  GemmOperand padded{nullptr, divided_up(k, kLine) * kLine + kLine};
  if (rows_alias_in_l1(padded)) padded.stride += kLine;
  copy = allocate_array<float>(static_cast<std::size_t>(m * padded.stride));
  const auto rows = static_cast<std::size_t>(m);
  parallel_for(rows, thread_share(rows, kCopyGrainRows), [&](std::size_t begin, std::size_t end) {
    for (auto i = static_cast<Index>(begin); i < static_cast<Index>(end); ++i) {
      std::copy_n(a.data + i * a.stride, k, copy.get() + i * padded.stride);
    }
  });
  padded.data = copy.get();
  return padded;
}

/// The size of the blocks of c, and whether threads divide its rows or its columns among them.
struct Cuts {
  bool by_rows;
  Index width, height;
};

Cuts cuts_of(const FloatProduct& p, const KernelTable& table, Index threads) {
  // Every thread reads all of one operand: make it the smaller one.
  const auto a_bytes = static_cast<Index>(sizeof(float));
  const bool by_rows = p.m * a_bytes >= p.n * p.b_bytes;
  const Index most_row_threads = divided_up(p.m, table.f32_rows);
  const Index row_threads = by_rows ? std::min(threads, most_row_threads) : 1;
  const Index column_threads = by_rows ? 1 : threads;
  // A multiple of the number of threads, so that all threads finish at the same time.
  const Index panels = divided_up(p.n, table.f32_cols);
  const Index rounds = divided_up(panels * table.f32_cols, kBlockColumns * column_threads);
  const Index width = divided_up(panels, rounds * column_threads) * table.f32_cols;
  const Index row_rounds = divided_up(p.m, kBlockRows * row_threads);
  // Too few columns for all threads: rows are cut too, and each cut packs its columns anew.
  const Index least_cuts = std::min(divided_up(threads, divided_up(p.n, width)), most_row_threads);
  return {by_rows, width, divided_up(p.m, std::max(row_rounds * row_threads, least_cuts))};
}

void multiply_blocks(const FloatProduct& p, const KernelTable& table) {
  const auto least_work = static_cast<Index>(parallel_grain(Work::float_multiply_adds));
  const Index threads = p.m * p.n * p.k < least_work ? 1 : num_threads();
  const auto [by_rows, width, height] = cuts_of(p, table, threads);
  const Index columns = divided_up(p.n, width);
  const Index rows = divided_up(p.m, height);
  const auto run_task = [&, by_rows = by_rows, width = width, height = height](Index task) {
    const Index i0 = (by_rows ? task / columns : task % rows) * height;
    const Index j0 = (by_rows ? task % columns : task / rows) * width;
    const GemmBlock block{i0, std::min(p.m, i0 + height), j0, std::min(p.n, j0 + width)};
    multiply_block(p, table, block);
    if (p.block_done) p.block_done(block);
  };
  const auto tasks = static_cast<std::size_t>(rows * columns);
  const std::size_t grain = threads == 1 ? tasks : 1;
  parallel_for(tasks, grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t task = begin; task < end; ++task) run_task(static_cast<Index>(task));
  });
}

void multiply(FloatProduct p, const KernelTable& table) {
  if (p.m <= 0 || p.n <= 0) return;
  if (p.k <= 0) {
    for (Index i = 0; i < p.m && !p.accumulate; ++i) std::fill_n(p.c + i * p.c_stride, p.n, 0.0F);
    if (p.block_done) p.block_done({0, p.m, 0, p.n});
    return;
  }
  std::shared_ptr<float[]> copy;
  const bool copy_pays = p.m >= kMinAliasedRows && p.n >= kMinColumnsForCopy;
  if (copy_pays && rows_alias_in_l1(p.a)) p.a = copy_with_padding(p.a, p.m, p.k, copy);
  multiply_blocks(p, table);
}

}  // namespace

std::size_t gemm_f32_thread_bytes(Index m, Index n, Index k) {
  if (m <= 0 || n <= 0 || k <= 0) return 0;
  const Index cols = kernels().f32_cols;
  const Index depth = detail::depth_of_blocks(k);
  const Index width = divided_up(std::min(n, kBlockColumns), cols) * cols;
  const Index partial = depth == k ? 0 : std::min(m, kBlockRows) * width;
  return static_cast<std::size_t>(depth * cols + partial) * sizeof(float);
}

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
