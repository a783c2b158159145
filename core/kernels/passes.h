#pragma once

#include <octet/core/arithmetic/fixed_point.h>
#include <octet/core/kernels/adam_step.h>
#include <octet/core/kernels/min_max.h>
#include <octet/core/shape.h>

#include <cstddef>
#include <cstdint>

namespace octet {

/// A grid of codes: q = clamp(round(x / scale) + zero_point, qmin, qmax).
struct CodeGrid {
  float scale;
  std::int32_t zero_point;
  std::int32_t qmin;
  std::int32_t qmax;
};

/// The sum of two codes in integers: first_factor * first + second_factor * second + start, shifted
/// right by `shift`, rounded down.
struct CodeSum {
  std::int32_t first_factor;
  std::int32_t second_factor;
  std::int32_t start;
  int shift;
};

/// Where a clamped, quantized value passes its gradient: lo <= x <= hi and above < x < below.
struct GradientWindow {
  float lo;
  float hi;
  float above;
  float below;
};

/// Columns on grids whose steps are learned: a value x passes its gradient where lowest <= x <=
/// highest of its column, and is clamped below and above. `reciprocals` are 1 / step, NaN where
/// that is no normal number.
struct StepColumns {
  const float* steps;
  const float* reciprocals;
  const float* lowest;
  const float* highest;
};

/// The largest number of columns of a kernel that one call packs.
inline constexpr Index kMaxKernelColumns = 256;

/// Part of a float kernel to be packed as panels of an int8 product: `columns` <= kMaxKernelColumns
/// columns from `data` on and `k` rows with row stride `stride`. The scale of column j is
/// scales[j * scale_stride]; with scale_stride 0 all columns share one. Rows k to depth are
/// padding.
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

/// Where packed KernelColumns are written.
struct KernelPanels {
  /// The first panel, of int16 codes where the path widens them.
  std::int8_t* codes;
  /// The stride from panel to panel.
  Index panel_bytes;
  /// Per column: the sum of its codes, and the sum of their magnitudes.
  std::int32_t* sums;
  std::int32_t* magnitudes;
};

/// Part of one panel of an int8 product to be dequantized: `rows` columns of the kernel from panel
/// column `first` on, column j with scale scales[j], and `valid` rows of the kernel from `k0` on, a
/// multiple of f32_cols.
struct PanelPart {
  const std::int8_t* codes;
  Index depth;
  int first;
  int rows;
  Index k0;
  int valid;
  const float* scales;
};

/// A block [depth, valid] of an operand to be packed as one panel of a float product: element (k,
/// j) is data[k * step + j * next], where step or next is 1.
struct FloatBlock {
  const float* data;
  Index step;
  Index next;
  Index depth;
  int valid;
};

/// Pooling windows [height, width] side by side along a line of outputs, each `channels` wide.
/// `line` is the stride from line to line of the input.
struct PoolWindows {
  Index height;
  Index width;
  Index line;
  Index channels;
  Index count;
};

/// A tap of a depthwise convolution: where what it reads lies, from the first output's place in the
/// image on, and where its weights or sums do.
struct DepthwiseTap {
  Index x;
  Index w;
};

/// Outputs of a depthwise convolution, some side by side of each of some lines that read the same
/// taps: y[l * y_line + o * y_step + c] = start[c] + the sum over the taps, in order, of x[l *
/// x_line
/// + o * x_step + tap.x + c] * weights[tap.w + c]; without `start`, from 0 on.
template <class T>
struct DepthwiseLines {
  const T* x;
  Index x_line;
  Index x_step;
  const T* weights;
  const T* start;
  T* y;
  Index y_line;
  Index y_step;
  Index lines;
  Index outputs;
  Index channels;
  const DepthwiseTap* taps;
  Index count;
};

/// Part of the gradient of a depthwise convolution's kernel: for each tap, sums[tap.w + c] += x[l *
/// x_line + o * x_step + tap.x + c] * g[l * g_line + o * g_step + c] for all lines l and their
/// outputs o, in order.
template <class T>
struct DepthwiseProducts {
  const T* x;
  Index x_line;
  Index x_step;
  const T* g;
  Index g_line;
  Index g_step;
  Index lines;
  Index outputs;
  Index channels;
  const DepthwiseTap* taps;
  Index count;
  T* sums;
};

/// Batch normalization of rows of columns: y = clamp((x - mean) * inverse * gamma + beta, lo, hi),
/// a number of each per column; without the clamp unless `clamps`.
struct ColumnNorm {
  const float* mean;
  const float* inverse;
  const float* gamma;
  const float* beta;
  float lo;
  float hi;
  bool clamps;
};

/// The sigmoid of int16 by 256 points and lines between them: q lies at round(factor q / 2^shift),
/// where no product with the half of 2^shift leaves int32.
struct SigmoidNumbers {
  const std::int32_t* points;
  std::int32_t factor;
  int shift;
};

/// One step of an LSTM on integers in double rounding: of its gates i, f, c, o, which lie behind
/// one another and become their functions, and the cell state.
struct LstmStep {
  std::size_t units;
  std::int16_t* gates;
  /// Becomes clamp(f cell kept + i c added, -clip, clip), each product and the sum saturated.
  std::int16_t* cell;
  std::int16_t* tanh_of_cell;
  /// o tanh(cell) hidden.
  std::int32_t* result;
  SigmoidNumbers gate;
  SigmoidNumbers of_cell;
  QuantizedMultiplier kept;
  QuantizedMultiplier added;
  QuantizedMultiplier hidden;
  /// 32768 for none.
  std::int32_t clip;
};

/// Loops over spans, compiled once per code path. None sums floats across lanes of a vector, so
/// every path rounds each number in the same way and gives the same bits.
struct Passes {
  /// out = in / 255.
  void (*bytes_to_unit)(const std::uint8_t* in, std::size_t size, float* out);
  /// out = in + shift as unsigned bytes, and out = in as int16: codes as int8 tiles read them.
  void (*shift_codes)(const std::int8_t* in, std::size_t size, std::int32_t shift,
                      std::uint8_t* out);
  void (*widen_codes)(const std::int8_t* in, std::size_t size, std::int16_t* out);
  /// out = clamp(round(in / scale) + zero_point, qmin, qmax), with ties to even or away from zero.
  /// NaN counts as 0.
  void (*quantize_even)(const float* in, std::size_t size, const CodeGrid& grid, std::int8_t* out);
  void (*quantize_away)(const float* in, std::size_t size, const CodeGrid& grid, std::int8_t* out);
  /// out = scale * (in - zero_point).
  void (*dequantize)(const std::int8_t* in, std::size_t size, float scale, std::int32_t zero_point,
                     float* out);
  /// out = clamp(rint(float(in) * factor), lo, hi) + zero_point, where lo and hi are qmin and qmax
  /// minus the zero point; with one factor for all elements or one per element.
  void (*requantize)(const std::int32_t* in, std::size_t size, float factor, const CodeGrid& grid,
                     std::int8_t* out);
  void (*requantize_each)(const std::int32_t* in, std::size_t size, const float* factors,
                          const CodeGrid& grid, std::int8_t* out);
  /// out = clamp(in * factor, lo, hi) + zero_point in fixed point, with one or two roundings: see
  /// multiply_by_quantized_multiplier_single and _double.
  void (*requantize_single)(const std::int32_t* in, std::size_t size,
                            const QuantizedMultiplier& factor, const CodeGrid& grid,
                            std::int8_t* out);
  void (*requantize_double)(const std::int32_t* in, std::size_t size,
                            const QuantizedMultiplier& factor, const CodeGrid& grid,
                            std::int8_t* out);
  /// out = clamp(sum of first and second, lo, hi) + zero_point, lo and hi as for requantize. No
  /// part of a sum leaves int32.
  void (*add_codes)(const std::int8_t* first, const std::int8_t* second, std::size_t size,
                    const CodeSum& sum, const CodeGrid& grid, std::int8_t* out);
  /// The softmax of contract fp32 over contiguous rows of `row` codes; exps[d] is the exponential
  /// of a code that is d below the maximum of its row: see SoftmaxInt8. `out` may be `in` itself.
  void (*softmax_codes)(const std::int8_t* in, std::size_t rows, std::size_t row, const float* exps,
                        std::int8_t* out);
  /// gates = of_input * input_factor + of_hidden * hidden_factor in fixed point with two roundings,
  /// each product and the sum saturated to int16; and what LstmStep says.
  void (*lstm_gates)(const std::int32_t* of_input, const std::int32_t* of_hidden, std::size_t size,
                     const QuantizedMultiplier& input_factor,
                     const QuantizedMultiplier& hidden_factor, std::int16_t* gates);
  void (*lstm_cells)(const LstmStep& step);
  /// y[j] = clamp(y[j] + bias[j], lo, hi); NaN stays NaN.
  void (*add_bias)(float* y, std::size_t size, const float* bias, float lo, float hi);
  /// real[j] = clamp(sums[j] * scales[j], lo, hi).
  void (*real_sums)(const std::int32_t* sums, std::size_t size, const float* scales, float lo,
                    float hi, float* real);
  /// real = sums * scale.
  void (*scaled_sums)(const std::int32_t* sums, std::size_t size, float scale, float* real);
  /// Raises `largest` to the largest magnitude of each column where that is larger. Magnitudes are
  /// their bits, which have the same order, and infinities and NaN above all.
  void (*raise_magnitudes)(const float* x, std::size_t rows, std::size_t columns,
                           std::int32_t* largest);
  /// Writes the smallest and the largest number of each column of rows that lie `stride` apart;
  /// `rows` is at least 1.
  void (*column_limits)(const std::int32_t* x, Index stride, std::size_t rows, std::size_t columns,
                        std::int32_t* lowest, std::int32_t* highest);
  /// mask = 1 where sums lie between the limits of their column, both included, else 0.
  void (*mask_sums)(const std::int32_t* sums, std::size_t rows, std::size_t columns,
                    const std::int32_t* lowest, const std::int32_t* highest, std::int8_t* mask);
  /// out = g where x is inside the window, else 0; `out` may be g itself.
  void (*window_gradient)(const float* x, const float* g, std::size_t size,
                          const GradientWindow& window, float* out);
  /// out = g where the mask is 1, else 0; `out` may be g itself.
  void (*masked_gradient)(const std::int8_t* mask, const float* g, std::size_t size, float* out);
  /// window_gradient for `rows` rows of `columns` elements; adds column j of `out`, which may be g
  /// itself, to sums[j], row by row.
  void (*window_gradient_sums)(const float* x, const float* g, std::size_t rows,
                               std::size_t columns, const GradientWindow& window, float* out,
                               double* sums);
  /// y = x * factors of its column, for `rows` rows of `columns` elements; y may be x itself.
  void (*scale_columns)(const float* x, std::size_t rows, std::size_t columns, const float* factors,
                        float* y);
  /// out = round(x * factors of its column), ties away from zero, of products of at most 127.
  void (*quantize_columns)(const float* x, std::size_t rows, std::size_t columns,
                           const float* factors, std::int8_t* out);
  /// Sets g to 0 where x lies outside [lo, hi] of its column; for `rows` rows of `columns`
  /// elements.
  void (*mask_columns)(const float* x, std::size_t rows, std::size_t columns, const float* lo,
                       const float* hi, float* g);
  /// Adds what the gradient of each column's step is made of, with v = x / step: to sums[j] g *
  /// (round(v) - v) where x passes, ties away from zero; to sums[columns + j] g where x is clamped
  /// below; to sums[2 * columns + j] g where it is clamped above. Values that pass are at most 2^22
  /// steps, and none is NaN. `passed`, which may be g itself, gets g where x passes, else 0;
  /// null where nobody asks for it. Sums of 32 rows are floats, their total is double.
  void (*step_sums)(const float* x, const float* g, std::size_t rows, std::size_t columns,
                    const StepColumns& grid, float* passed, double* sums);
  /// y = the largest value of each window and channel, a NaN counting as the largest.
  void (*max_pool)(const float* x, const PoolWindows& windows, float* y);
  void (*max_pool_codes)(const std::int8_t* x, const PoolWindows& windows, std::int8_t* y);
  /// dx = g where a window's largest value lies first, in row-major order, else 0.
  void (*max_pool_gradient)(const float* x, const float* g, const PoolWindows& windows, float* dx);
  /// Depthwise convolutions and gradients of their kernels, of floats and of pairs of codes, each
  /// of 16 bits.
  void (*depthwise)(const DepthwiseLines<float>& lines);
  void (*depthwise_codes)(const DepthwiseLines<std::int32_t>& lines);
  void (*depthwise_products)(const DepthwiseProducts<float>& products);
  void (*depthwise_code_products)(const DepthwiseProducts<std::int32_t>& products);
  /// out = in - zero_point.
  void (*shifted_codes)(const std::int8_t* in, std::size_t size, std::int32_t zero_point,
                        std::int16_t* out);
  /// out = low + 65536 high: two codes as a pair.
  void (*pair_codes)(const std::int16_t* low, const std::int16_t* high, std::size_t size,
                     std::int32_t* out);
  /// Writes the sums of x - center of all columns, and then those of its squares.
  void (*column_moments)(const float* x, std::size_t rows, std::size_t columns, const float* center,
                         float* sums);
  void (*normalize_columns)(const float* x, std::size_t rows, std::size_t columns,
                            const ColumnNorm& norm, float* y);
  /// Writes the sums of g * n of all columns and then the sums of g, for gradients g, which count
  /// as 0 where y was clamped, and n = (x - mean) * inverse.
  void (*norm_sums)(const float* x, const float* g, std::size_t rows, std::size_t columns,
                    const ColumnNorm& norm, float* sums);
  /// dx = gamma * inverse * (g - shift - n * scale); dx may be g itself.
  void (*norm_gradient)(const float* x, const float* g, std::size_t rows, std::size_t columns,
                        const ColumnNorm& norm, const float* scales, const float* shifts,
                        float* dx);
  /// totals[j] += x[i * stride + j], in double, row i after row.
  void (*add_to_totals)(const float* x, Index stride, std::size_t rows, std::size_t columns,
                        double* totals);
  /// The minimum and maximum, -0 counting as 0, and whether all elements are finite. `size` is at
  /// least 1.
  void (*min_max)(const float* x, std::size_t size, float* min, float* max, bool* finite);
  void (*min_max_bytes)(const std::uint8_t* x, std::size_t size, std::uint8_t* min,
                        std::uint8_t* max);
  /// One step of Adam: see AdamStep. Unless `range` is null, sets it to the min_max of the new w.
  void (*adam)(float* w, float* m, float* v, const float* g, std::size_t size, const AdamStep& step,
               MinMax* range);
  /// panel[k * columns + j] = block(k, j), 0 beyond the last column.
  void (*pack_floats)(const FloatBlock& block, float* panel);
  /// out[k * f32_packed_rows + r] = a[k * stride + r] for r < rows <= f32_rows and k < depth: the
  /// rows of a transposed operand in the order in which one tile reads them.
  void (*pack_rows)(const float* a, Index stride, Index depth, int rows, float* out);
  /// Packs rows as pack_rows() does, of the real values scale * (a - zero_point).
  void (*pack_code_rows)(const std::int8_t* a, Index stride, Index depth, int rows, float scale,
                         std::int32_t zero_point, float* out);
  /// Quantizes a kernel, ties away from zero, in the order in which the path's int8 tile reads it.
  void (*pack_kernel)(const KernelColumns& from, const KernelPanels& to);
  /// panel[r * f32_cols + i] = float(code of column first + r and row k0 + i) * scales[r], 0 beyond
  /// the valid rows: the transposed kernel as a panel of a float product.
  void (*pack_reals)(const PanelPart& part, float* panel);
};

}  // namespace octet
