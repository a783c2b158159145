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

/// An int8 matrix [n, k] in the order in which gemm_s8 reads it, packed once and used many times.
class PackedS8 {
 public:
  /// The most codes of a row: no sum of their products with int8 codes leaves int32.
  static constexpr Index kMostInputs = 131071;

  PackedS8() = default;
  /// Packs n rows of k codes, row-major.
  PackedS8(const std::int8_t* rows, Index n, Index k);
  /// Packs the codes clamp(round_half_away(x / scale), qmin, qmax) of a row-major float matrix
  /// [k, n], whose columns become the rows: `scales` holds one for all columns or one per column.
  static PackedS8 quantize(const float* columns, Index k, Index n, std::span<const float> scales,
                           std::int32_t qmin, std::int32_t qmax);
  /// Packs the quantized values of a float matrix that is computed where it is read: rows(begin,
  /// end, memory) returns the rows [begin, end), which it may write to `memory`, for each row once,
  /// from several threads.
  using Rows = FunctionRef<const float*(Index begin, Index end, float* memory)>;
  static PackedS8 quantize(Rows rows, Index k, Index n, std::span<const float> scales,
                           std::int32_t qmin, std::int32_t qmax);

  /// Bytes that n rows of k codes take when they are packed for this machine.
  static std::size_t bytes(Index n, Index k);

  Index rows() const { return n_; }
  Index depth() const { return k_; }
  /// The sum of each row's codes.
  std::span<const std::int32_t> row_sums() const { return row_sums_; }
  /// The sum of the magnitudes of each row's codes.
  std::span<const std::int32_t> row_magnitudes() const { return row_magnitudes_; }
  /// Writes codes times their scale, `scales` as for quantize(), as a panel of a float product:
  /// panel[r * f32_cols + i] is that of row first + r < first + count and input k0 + i, 0 beyond
  /// the last input. k0 is a multiple of f32_cols.
  void pack_reals(Index first, Index count, Index k0, std::span<const float> scales,
                  float* panel) const;
  /// Returns the codes [n, k], row-major.
  std::vector<std::int8_t> unpack() const;
  /// Packs the transpose: k rows of n codes.
  PackedS8 transposed() const;
  /// For the kernels: the panels, and the code path whose layout they have.
  const std::int8_t* data() const { return data_.get(); }
  const KernelTable& kernel_table() const { return *kernels_; }
  /// depth() rounded up to a multiple of s8_depth_step; never 0.
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
  /// The address of the code of row j and input i.
  std::int8_t* place(Index j, Index i) const;

  struct Grid {
    std::span<const float> scales;
    std::int32_t qmin;
    std::int32_t qmax;
  };
  void pack_part(const float* rows, Index begin, Index end, Index j0, Index width, const Grid& grid,
                 std::int32_t* sums) const;
  void add_up(std::span<const std::int32_t> parts);
};

/// Computes acc[i, j] = start[j] + sum over k of x[i, k] * w[j, k], modulo 2^32, hence exactly if
/// the result fits int32. x is [m, k] with row stride `x_stride`, acc is [m, w.rows()] row-major;
/// an empty `start` counts as zeros. The caller accounts for zero points: with zx and zw, sum (x -
/// zx)(w - zw) = acc - zx * sum(w[j]) - zw * sum(x[i]) + k * zx * zw. k is at most
/// PackedS8::kMostInputs (packing throws InvalidArgument beyond that). Calls rows_done(begin, end),
/// if given, for completed rows, on the thread that computed them; every row is in one call. It may
/// start products of its own.
void gemm_s8(Index m, const std::int8_t* x, Index x_stride, const PackedS8& w, std::int32_t* acc,
             std::span<const std::int32_t> start = {},
             FunctionRef<void(Index begin, Index end)> rows_done = {});

/// Computes the same sums without storing all of them: passes those of rows [begin, end) to
/// `epilogue`, which may change them, then reuses their memory. Prefetches `prefetch`, memory that
/// will be read next, into the second-level cache.
void gemm_s8(Index m, const std::int8_t* x, Index x_stride, const PackedS8& w,
             std::span<const std::int32_t> start,
             FunctionRef<void(Index begin, Index end, std::int32_t* sums)> epilogue,
             std::span<const std::byte> prefetch = {});

/// Values as products of `rows` rows read them: converted once, where several products read the
/// same ones. Refers to `values` where they are read as they are.
class PreparedS8 {
 public:
  PreparedS8(const std::int8_t* values, std::size_t size, Index rows);

  /// Element i; elements lie element_bytes() apart.
  const std::uint8_t* at(Index i) const { return data_ + i * element_bytes_; }
  Index element_bytes() const { return element_bytes_; }
  Index rows() const { return rows_; }

 private:
  Index rows_;
  Index element_bytes_;
  std::shared_ptr<std::uint8_t[]> memory_;
  const std::uint8_t* data_;
};

/// Computes the same sums of x.rows() rows, the first of which begins at element `first`. Reads
/// w.padded_depth() elements of each row: behind w.depth() they may have any value.
void gemm_s8(const PreparedS8& x, Index first, Index x_stride, const PackedS8& w,
             std::span<const std::int32_t> start,
             FunctionRef<void(Index begin, Index end, std::int32_t* sums)> epilogue);

/// The largest number of bytes of scratch memory that a thread keeps after a product of m rows with
/// an epilogue.
std::size_t gemm_s8_thread_bytes(Index m, const PackedS8& w);

}  // namespace octet
