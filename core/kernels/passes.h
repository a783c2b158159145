#pragma once

#include <octet/core/kernels/adam_step.h>
#include <octet/core/kernels/min_max.h>
#include <octet/core/shape.h>

#include <cstddef>
#include <cstdint>

namespace octet {

struct QuantizedMultiplier;

/// Steps from code to code, and the codes that there are: q = clamp(round(x / scale) + zero_point).
struct CodeGrid {
  float scale;
  std::int32_t zero_point;
  std::int32_t qmin;
  std::int32_t qmax;
};

/// What the gradient of a clamped, quantized value passes: lo <= x <= hi and above < x < below.
struct GradientWindow {
  float lo;
  float hi;
  float above;
  float below;
};

/// Columns of a kernel that become panels of an int8 product in one go.
inline constexpr Index kMostKernelColumns = 256;

/// Part of a kernel of floats that is to become panels of an int8 product: `columns` of its columns
/// from `data` on, kMostKernelColumns at the most, and `k` rows, `stride` apart. The scale of
/// column j is scales[j * scale_stride]: one for all where the stride is 0. Filled up to `depth`
/// rows.
struct KernelColumns {
  const float* data;
  Index stride;
  Index k;
  Index depth;
  Index columns;
  const float* scales;
  Index scale_stride;
  std::int32_t qmin;
  std::int32_t qmax;
};

/// What becomes of KernelColumns.
struct KernelPanels {
  /// The first panel's memory, of int16 codes where the path has them widened.
  std::int8_t* codes;
  /// From one panel to the next.
  Index panel_bytes;
  /// Of each column: the sum of its codes, and of their magnitudes.
  std::int32_t* sums;
  std::int32_t* magnitudes;
};

/// Rows and columns of one panel of an int8 product whose reals are wanted: those of `rows` columns
/// of the kernel from panel column `first` on, column j on steps of scales[j], and `valid` of its
/// rows from `k0` on, a multiple of f32_cols.
struct PanelPart {
  const std::int8_t* codes;
  Index depth;
  int first;
  int rows;
  Index k0;
  int valid;
  const float* scales;
};

/// A block of an operand [depth, valid] that is to become one panel of a float product: element
/// (k, j) stands at data[k * step + j * next], where step or next is 1.
struct FloatBlock {
  const float* data;
  Index step;
  Index next;
  Index depth;
  int valid;
};

/// Loops over spans without a sum of floats in them, compiled once for each code path: an element
/// is computed by the same roundings everywhere, so all paths give the same bits.
struct Passes {
  /// out = in / 255.
  void (*bytes_to_unit)(const std::uint8_t* in, std::size_t size, float* out);
  /// out = in + shift, as unsigned bytes or as int16: codes as an int8 tile wants them.
  void (*shift_codes)(const std::int8_t* in, std::size_t size, std::int32_t shift,
                      std::uint8_t* out);
  void (*widen_codes)(const std::int8_t* in, std::size_t size, std::int16_t* out);
  /// Ties to even, and away from zero. NaN counts as 0.
  void (*quantize_even)(const float* in, std::size_t size, const CodeGrid& grid, std::int8_t* out);
  void (*quantize_away)(const float* in, std::size_t size, const CodeGrid& grid, std::int8_t* out);
  /// out = scale * (in - zero_point).
  void (*dequantize)(const std::int8_t* in, std::size_t size, float scale, std::int32_t zero_point,
                     float* out);
  /// out = clamp(rint(float(in) * factor), lo, hi) + zero_point; lo and hi are the
  /// limits of `grid` without its zero point. With one factor for all, or with one an element.
  void (*requantize)(const std::int32_t* in, std::size_t size, float factor, const CodeGrid& grid,
                     std::int8_t* out);
  void (*requantize_each)(const std::int32_t* in, std::size_t size, const float* factors,
                          const CodeGrid& grid, std::int8_t* out);
  /// out = clamp(in * factor, lo, hi) + zero_point in fixed point, with one rounding or two: see
  /// multiply_by_quantized_multiplier_single and _double.
  void (*requantize_single)(const std::int32_t* in, std::size_t size,
                            const QuantizedMultiplier& factor, const CodeGrid& grid,
                            std::int8_t* out);
  void (*requantize_double)(const std::int32_t* in, std::size_t size,
                            const QuantizedMultiplier& factor, const CodeGrid& grid,
                            std::int8_t* out);
  /// Rows of `row` codes end to end through the softmax of contract fp32; exps[d] is the
  /// exponential of a code that is d below the largest of its row: see SoftmaxInt8. `out` may be
  /// `in` itself.
  void (*softmax_codes)(const std::int8_t* in, std::size_t rows, std::size_t row, const float* exps,
                        std::int8_t* out);
  /// y[j] = clamp(y[j] + bias[j], lo, hi); NaN stays.
  void (*add_bias)(float* y, std::size_t size, const float* bias, float lo, float hi);
  /// real[j] = clamp(sums[j] * worth[j], lo, hi).
  void (*real_sums)(const std::int32_t* sums, std::size_t size, const float* worth, float lo,
                    float hi, float* real);
  /// out = g where x is inside the window, else 0.
  void (*window_gradient)(const float* x, const float* g, std::size_t size,
                          const GradientWindow& window, float* out);
  /// The same for `rows` of `columns` elements; and sums[j] += out of column j, row after row.
  void (*window_gradient_sums)(const float* x, const float* g, std::size_t rows,
                               std::size_t columns, const GradientWindow& window, float* out,
                               double* sums);
  /// g = 0 where x lies outside [lo, hi] of its column; rows of `columns` elements.
  void (*mask_columns)(const float* x, std::size_t rows, std::size_t columns, const float* lo,
                       const float* hi, float* g);
  /// totals[j] += x[j], in double.
  void (*add_to_totals)(const float* x, std::size_t size, double* totals);
  /// The least and the largest element, -0 counting as 0, and whether all are finite. `size` is 1
  /// or more.
  void (*min_max)(const float* x, std::size_t size, float* least, float* largest, bool* finite);
  void (*min_max_bytes)(const std::uint8_t* x, std::size_t size, std::uint8_t* least,
                        std::uint8_t* largest);
  /// `limits`, unless null, become what min_max gives of the new w.
  void (*adam)(float* w, float* m, float* v, const float* g, std::size_t size, const AdamStep& step,
               MinMax* limits);
  /// panel[k * columns + j] = block(k, j), 0 beyond the last column.
  void (*pack_floats)(const FloatBlock& block, float* panel);
  /// out[k * f32_packed_rows + r] = a[k * stride + r] for r < rows <= f32_rows, k < depth: rows of
  /// a transposed operand as one tile reads them.
  void (*pack_rows)(const float* a, Index stride, Index depth, int rows, float* out);
  /// The same of scale * (a - zero_point).
  void (*pack_code_rows)(const std::int8_t* a, Index stride, Index depth, int rows, float scale,
                         std::int32_t zero_point, float* out);
  /// Codes rounded half away, in the order that the path's int8 tile reads them.
  void (*pack_kernel)(const KernelColumns& from, const KernelPanels& to);
  /// panel[r * f32_cols + i] = float(code of column first + r, row k0 + i) * scales[r], 0 beyond
  /// the valid rows: the transposed kernel as a panel of a float product.
  void (*pack_reals)(const PanelPart& part, float* panel);
};

}  // namespace octet
