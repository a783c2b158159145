#include <octet/core/function_ref.h>
#include <octet/core/kernels/gemm.h>
#include <octet/core/kernels/gemm_f32_panel.h>
#include <octet/core/kernels/gemm_s8.h>
#include <octet/core/parallel.h>

#include <algorithm>

namespace octet {
namespace {

/// Products below this many multiply-adds are not worth a second thread.
constexpr Index kParallelWork = Index{1} << 18;
/// The sums of a block of c on their way, half a megabyte, stay in the second-level cache with the
/// part of a' that they are made of.
constexpr Index kBlockColumns = 256;
constexpr Index kBlockRows = 512;

struct Product {
  Index m, n, k;
  GemmOperand a;
  /// Packs the rows [k0, k0 + depth) of b', columns from j0 on.
  FunctionRef<void(Index k0, Index depth, Index j0, float* panel)> pack_panel;
  float* c;
  Index c_stride;
  bool accumulate;
};

/// Rows [i0, i1) and columns [j0, j1) of a product.
struct Block {
  Index i0, i1, j0, j1;
};

/// One block: some of k for all of its columns, then the next, so that this part of a' is read from
/// the second-level cache for every panel.
void run_block(const Product& p, const KernelTable& table, const Block& block) {
  const Index cols = table.f32_cols;
  const Index rows = block.i1 - block.i0;
  const Index width = (block.j1 - block.j0 + cols - 1) / cols * cols;
  const Index height = detail::tile_rows(table, rows);
  const Index block_depth = detail::depth_of_blocks(p.k);
  const Index panel_floats = block_depth * cols;
  const Index partial_floats = block_depth == p.k ? 0 : rows * width;
  float* panel = detail::thread_floats<Product>(panel_floats + partial_floats);
  // Sums on their way lie apart: the rows of c may be a power of two apart, which few lines of the
  // first-level cache can hold.
  float* partial = panel + panel_floats;
  const bool transposed = p.a.transpose == Transpose::yes;
  const Index row = transposed ? 1 : p.a.stride;
  const Index step = transposed ? p.a.stride : 1;
  for (Index k0 = 0; k0 < p.k; k0 += block_depth) {
    const Index depth = std::min(block_depth, p.k - k0);
    const bool last = k0 + depth == p.k;
    for (Index j = block.j0; j < block.j1; j += cols) {
      p.pack_panel(k0, depth, j, panel);
      float* c = p.c + block.i0 * p.c_stride + j;
      float* mine = partial + (j - block.j0);
      const float* start = p.accumulate ? c : nullptr;
      detail::multiply_panel(table, rows, height, depth,
                             {p.a.data + block.i0 * row + k0 * step, row, step}, height * row,
                             panel, std::min(cols, p.n - j),
                             {k0 == 0 ? start : mine, k0 == 0 ? p.c_stride : width, last ? c : mine,
                              last ? p.c_stride : width});
    }
  }
}

Index divided_up(Index number, Index by) { return (number + by - 1) / by; }

void multiply(const Product& p, const KernelTable& table) {
  const Index m = p.m;
  const Index n = p.n;
  if (m <= 0 || n <= 0) return;
  if (p.k <= 0) {
    for (Index i = 0; i < m && !p.accumulate; ++i) std::fill_n(p.c + i * p.c_stride, n, 0.0F);
    return;
  }
  const Index threads = m * n * p.k < kParallelWork ? 1 : num_threads();
  const Index panels = divided_up(n, table.f32_cols);
  // As many blocks of columns as keep all threads busy to the end.
  const Index rounds = divided_up(panels * table.f32_cols, kBlockColumns * threads);
  const Index width = divided_up(panels, rounds * threads) * table.f32_cols;
  const Index blocks = divided_up(n, width);
  // Cut the rows only where there are too many, or too few columns to go round: each cut packs its
  // columns anew.
  const Index cuts = std::max(divided_up(m, kBlockRows),
                              std::min(divided_up(threads, blocks), divided_up(m, table.f32_rows)));
  const Index height = divided_up(divided_up(m, cuts), table.f32_rows) * table.f32_rows;
  const auto run_task = [&](Index task) {
    const Index i0 = task / blocks * height;
    const Index j0 = task % blocks * width;
    run_block(p, table, {i0, std::min(m, i0 + height), j0, std::min(n, j0 + width)});
  };
  const auto tasks = static_cast<std::size_t>(divided_up(m, height) * blocks);
  const std::size_t grain = threads == 1 ? tasks : 1;
  parallel_for(tasks, grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t task = begin; task < end; ++task) run_task(static_cast<Index>(task));
  });
}

}  // namespace

void gemm_f32(Index m, Index n, Index k, const GemmOperand& a, const GemmOperand& b, float* c,
              Index c_stride, bool accumulate) {
  const KernelTable& table = kernels();
  const auto pack = [&](Index k0, Index depth, Index j0, float* panel) {
    detail::pack_panel(table, b, n, k0, depth, j0, panel);
  };
  multiply({m, n, k, a, pack, c, c_stride, accumulate}, table);
}

void gemm_f32(Index m, const GemmOperand& a, const PackedS8& w, std::span<const float> scales,
              float* c, Index c_stride) {
  const auto pack = [&](Index k0, Index depth, Index j0, float* panel) {
    w.pack_reals(k0, depth, j0, scales, panel);
  };
  multiply({m, w.depth(), w.rows(), a, pack, c, c_stride, false}, w.kernel_table());
}

}  // namespace octet
