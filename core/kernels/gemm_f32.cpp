#include <octet/core/kernels/gemm.h>
#include <octet/core/kernels/gemm_f32_panel.h>
#include <octet/core/parallel.h>

namespace octet {
namespace {

/// Products below this many multiply-adds are not worth a second thread.
constexpr Index kParallelWork = Index{1} << 18;

struct Product {
  Index m, n, k;
  GemmOperand a, b;
  float* c;
  Index c_stride;
  bool accumulate;
};

/// All rows [i0, i1) of one panel of columns.
void run_panel(const Product& p, const KernelTable& table, Index i0, Index i1, Index j0) {
  float* panel = detail::thread_floats<Product>(detail::kDepthBlock * table.f32_cols);
  const Index height = detail::tile_rows(table, i1 - i0);
  const bool transposed = p.a.transpose == Transpose::yes;
  const Index row = transposed ? 1 : p.a.stride;
  const Index step = transposed ? p.a.stride : 1;
  for (Index k0 = 0; k0 < p.k; k0 += detail::kDepthBlock) {
    const Index depth = std::min(detail::kDepthBlock, p.k - k0);
    detail::pack_panel(table, p.b, p.n, k0, depth, j0, panel);
    detail::multiply_panel(table, i1 - i0, height, depth,
                           {p.a.data + i0 * row + k0 * step, row, step}, height * row, panel,
                           std::min<Index>(table.f32_cols, p.n - j0), p.c + i0 * p.c_stride + j0,
                           p.c_stride, p.accumulate || k0 > 0);
  }
}

}  // namespace

void gemm_f32(Index m, Index n, Index k, const GemmOperand& a, const GemmOperand& b, float* c,
              Index c_stride, bool accumulate) {
  if (m <= 0 || n <= 0) return;
  if (k <= 0) {
    for (Index i = 0; i < m && !accumulate; ++i) std::fill_n(c + i * c_stride, n, 0.0F);
    return;
  }
  const KernelTable& table = kernels();
  const Product product{m, n, k, a, b, c, c_stride, accumulate};
  const Index cols = table.f32_cols;
  const Index panels = (n + cols - 1) / cols;
  const Index threads = m * n * k < kParallelWork ? 1 : num_threads();
  // Cut the rows only where there are too few panels to go round: each cut packs its panel anew.
  const Index cuts = std::max<Index>(
      1, std::min((threads + panels - 1) / panels, (m + table.f32_rows - 1) / table.f32_rows));
  const Index rows_per_cut =
      ((m + cuts - 1) / cuts + table.f32_rows - 1) / table.f32_rows * table.f32_rows;
  const auto run_task = [&](Index task) {
    const Index i0 = task / panels * rows_per_cut;
    run_panel(product, table, i0, std::min(m, i0 + rows_per_cut), task % panels * cols);
  };
  const auto tasks = static_cast<std::size_t>(cuts * panels);
  const std::size_t grain = threads == 1 ? tasks : 1;
  parallel_for(tasks, grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t task = begin; task < end; ++task) run_task(static_cast<Index>(task));
  });
}

}  // namespace octet
