#include <octet/core/kernels/isa.h>
#include <octet/core/kernels/passes_loops.h>

#include <cmath>

// Plain loops: what every other path is tested against, bit for bit.

namespace octet {
namespace {

constexpr int kRows = 4;
constexpr int kPackedRows = 4;
constexpr int kCols = 16;

void f32_tile(int rows, Index k, const float* a, Index a_row, Index a_step, const float* panel,
              float* c, Index c_stride, bool from_c) {
  for (int r = 0; r < rows; ++r) {
    float acc[kCols];
    for (int j = 0; j < kCols; ++j) acc[j] = from_c ? c[r * c_stride + j] : 0.0F;
    for (Index kk = 0; kk < k; ++kk) {
      const float x = a[r * a_row + kk * a_step];
      for (int j = 0; j < kCols; ++j) acc[j] = std::fma(x, panel[kk * kCols + j], acc[j]);
    }
    for (int j = 0; j < kCols; ++j) c[r * c_stride + j] = acc[j];
  }
}

constexpr int kS8Rows = 4;
constexpr int kS8Cols = 16;

void s8_tile(int rows, Index groups, const std::uint8_t* x, Index x_stride,
             const std::int8_t* panel, const std::int32_t* start, std::int32_t* acc,
             Index acc_stride) {
  for (int r = 0; r < rows; ++r) {
    const auto* codes = reinterpret_cast<const std::int8_t*>(x + r * x_stride);
    std::uint32_t sums[kS8Cols];
    for (int j = 0; j < kS8Cols; ++j) sums[j] = static_cast<std::uint32_t>(start[j]);
    for (Index g = 0; g < groups; ++g) {
      const std::int32_t code = codes[g];
      for (int j = 0; j < kS8Cols; ++j) {
        sums[j] += static_cast<std::uint32_t>(code * panel[g * kS8Cols + j]);
      }
    }
    for (int j = 0; j < kS8Cols; ++j) {
      acc[r * acc_stride + j] = static_cast<std::int32_t>(sums[j]);
    }
  }
}

}  // namespace

namespace detail {
const KernelTable kPortableKernels = {Isa::portable,
                                      kRows,
                                      kCols,
                                      kPackedRows,
                                      f32_tile,
                                      kS8Rows,
                                      kS8Cols,
                                      1,
                                      0,
                                      1,
                                      s8_tile,
                                      passes::all<kCols, kPackedRows, kS8Cols, 1>()};
}  // namespace detail

}  // namespace octet
