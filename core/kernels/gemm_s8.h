#pragma once

#include <octet/core/function_ref.h>
#include <octet/core/shape.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace octet {

struct KernelTable;

/// An int8 matrix [n, k] in the order that gemm_s8 reads it, packed once and used many times.
class PackedS8 {
 public:
  PackedS8() = default;
  /// Packs n rows of k codes, row-major.
  PackedS8(const std::int8_t* rows, Index n, Index k);
  /// Packs the codes clamp(round_half_away(x / scale), qmin, qmax) of a float matrix [k, n],
  /// row-major, column by column: `scales` holds one for all columns or one each.
  static PackedS8 quantize(const float* columns, Index k, Index n, std::span<const float> scales,
                           std::int32_t qmin, std::int32_t qmax);

  /// Bytes that n rows of k codes take when they are packed for this machine.
  static std::size_t bytes(Index n, Index k);

  Index rows() const { return n_; }
  Index depth() const { return k_; }
  /// The sum of each row's codes.
  std::span<const std::int32_t> row_sums() const { return row_sums_; }
  /// The sum of the magnitudes of each row's codes.
  std::span<const std::int32_t> row_magnitudes() const { return row_magnitudes_; }
  /// Codes times their scale, `scales` as for quantize(): panel[r * f32_cols + i] is that of row
  /// first + r < first + count and input k0 + i, 0 beyond the last input. k0 is a multiple of
  /// f32_cols, columns of a panel of a float product.
  void pack_reals(Index first, Index count, Index k0, std::span<const float> scales,
                  float* panel) const;
  /// The codes [n, k], row-major.
  std::vector<std::int8_t> unpack() const;
  /// For the kernels: the panels, and the code path that they are laid out for.
  const std::int8_t* data() const { return data_.get(); }
  const KernelTable& kernel_table() const { return *kernels_; }
  /// depth(), filled up as the tiles want it; never 0.
  Index padded_depth() const;

 private:
  Index n_ = 0;
  Index k_ = 0;
  const KernelTable* kernels_ = nullptr;
  std::shared_ptr<std::int8_t[]> data_;
  std::vector<std::int32_t> row_sums_;
  std::vector<std::int32_t> row_magnitudes_;

  PackedS8(Index n, Index k);
  static Index padded_depth(const KernelTable& table, Index k);
  static Index panel_bytes(const KernelTable& table, Index k);
  Index panel_bytes() const { return panel_bytes(*kernels_, k_); }
  /// Where the code of row j that belongs to input i lies.
  std::int8_t* place(Index j, Index i) const;
};

/// acc[i, j] = start[j] + sum over k of x[i, k] * w[j, k], modulo 2^32, so exact where the result
/// fits int32: x is [m, k] with rows `x_stride` apart, acc is [m, w.rows()] row-major; without
/// `start` 0 is added. Zero points are the caller's: with zx and zw,
/// sum (x - zx)(w - zw) = acc - zx * sum(w[j]) - zw * sum(x[i]) + k * zx * zw.
/// k is at most 131,071, so that no sum overflows (InvalidArgument beyond, when packing).
/// `rows_done(begin, end)` is called, by the thread that made them, for rows that are complete:
/// once for each row. It may make products of its own.
void gemm_s8(Index m, const std::int8_t* x, Index x_stride, const PackedS8& w, std::int32_t* acc,
             std::span<const std::int32_t> start = {},
             FunctionRef<void(Index begin, Index end)> rows_done = {});

/// The same where no one needs all sums at once: those of rows [begin, end) are given to `take`,
/// which may change them, and their memory is then used again. `soon` is memory that will be read
/// next: it is fetched into the second-level cache meanwhile.
void gemm_s8(Index m, const std::int8_t* x, Index x_stride, const PackedS8& w,
             std::span<const std::int32_t> start,
             FunctionRef<void(Index begin, Index end, std::int32_t* sums)> take,
             std::span<const std::byte> soon = {});

/// Bytes that each thread keeps at most, for products to come, once it has worked on one of m rows
/// whose sums are given to `take`.
std::size_t gemm_s8_thread_bytes(Index m, const PackedS8& w);

}  // namespace octet
