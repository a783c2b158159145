#include <octet/core/kernels/gemm.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/parallel.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace octet {
namespace {

/// A panel of this depth and f32_cols columns stays in the first-level cache.
constexpr Index kDepthBlock = 256;
constexpr int kMaxCols = 32;
constexpr int kMaxRows = 16;
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
  thread_local std::vector<float> panel_memory;
  const Index cols = table.f32_cols;
  panel_memory.resize(static_cast<std::size_t>(kDepthBlock * cols + 16));
  // The panel starts on a cache line: a vector that straddles two costs double.
  auto address = reinterpret_cast<std::uintptr_t>(panel_memory.data());
  float* panel = panel_memory.data() + (64 - address % 64) % 64 / sizeof(float);

  const Index valid = std::min(cols, p.n - j0);
  const bool a_transposed = p.a.transpose == Transpose::yes;
  const Index a_row = a_transposed ? 1 : p.a.stride;
  const Index a_step = a_transposed ? p.a.stride : 1;
  const bool b_transposed = p.b.transpose == Transpose::yes;
  const Index b_step = b_transposed ? 1 : p.b.stride;
  const Index b_next = b_transposed ? p.b.stride : 1;
  for (Index k0 = 0; k0 < p.k; k0 += kDepthBlock) {
    const Index depth = std::min(kDepthBlock, p.k - k0);
    const bool from_c = p.accumulate || k0 > 0;
    table.passes.pack_floats({.data = p.b.data + k0 * b_step + j0 * b_next,
                              .step = b_step,
                              .next = b_next,
                              .depth = depth,
                              .valid = static_cast<int>(valid)},
                             panel);
    for (Index i = i0; i < i1; i += table.f32_rows) {
      const auto rows = static_cast<int>(std::min<Index>(table.f32_rows, i1 - i));
      const float* a = p.a.data + i * a_row + k0 * a_step;
      float* c = p.c + i * p.c_stride + j0;
      if (valid == cols) {
        table.f32_tile(rows, depth, a, a_row, a_step, panel, c, p.c_stride, from_c);
        continue;
      }
      // A narrow last panel is computed whole, beside c.
      alignas(64) std::array<float, kMaxRows * kMaxCols> tile{};
      for (int r = 0; from_c && r < rows; ++r) {
        std::copy_n(c + r * p.c_stride, valid, tile.data() + Index{r} * cols);
      }
      table.f32_tile(rows, depth, a, a_row, a_step, panel, tile.data(), cols, from_c);
      for (int r = 0; r < rows; ++r) {
        std::copy_n(tile.data() + Index{r} * cols, valid, c + r * p.c_stride);
      }
    }
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
