#pragma once

#include <octet/core/function_ref.h>
#include <octet/core/ops/gradients_internal.h>
#include <octet/core/quant/requantize.h>
#include <octet/layers/quantize/int8_gradients.h>
#include <octet/layers/quantize/weight_codes.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace octet {

/// The sums of products of a layer with weights, as the kernel of its operator makes them, and
/// their gradients. Sums are a matrix [rows, units]: a row per example, or per output pixel of all
/// images.
class WeightedSums {
 public:
  virtual ~WeightedSums() = default;

  /// [batch, ...] of the layer's result.
  virtual Shape result_shape() const = 0;
  virtual Index rows() const = 0;
  /// Rows that are pixels of one line of an image; 1 for examples.
  virtual Index rows_per_line() const = 0;

  /// Writes all sums to `sums`, exactly, and calls done(begin, end, unit, units) once for those of
  /// rows [begin, end) and units [unit, unit + units), on the thread that made them.
  using Done = FunctionRef<void(Index begin, Index end, Index unit, Index units)>;
  virtual void compute(const std::int8_t* codes, std::int32_t* sums, Done done) const = 0;
  /// Computes the sums without storing all of them: gives those of a block of rows and units,
  /// `units` a row, to `take`; their memory is then used again.
  using Take =
      FunctionRef<void(Index begin, Index end, Index unit, Index units, const std::int32_t* sums)>;
  virtual void compute(const std::int8_t* codes, Take take) const = 0;

  /// Computes the gradient of the input from that of the sums, with the real values of the
  /// quantized weights.
  virtual Tensor input_gradient(const Tensor& g) const = 0;
  /// The gradient of the kernel for inputs x; `finish(begin, end, rows)`, where given, changes its
  /// rows [begin, end) of one number per unit afterwards.
  virtual Tensor kernel_gradient(
      const Tensor& x, const Tensor& g,
      std::function<void(Index begin, Index end, float* rows)> finish = {}) const = 0;

  /// Whether gradients() reads a gradient once, so that it is best computed where it is read.
  virtual bool reads_gradient_once() const { return false; }
  /// The gradients that are wanted of the input, the kernel and the bias, computed together.
  virtual ConvGradients gradients(const Tensor& x, const Tensor& g,
                                  const WantedGradients& wanted) const;

  /// The block of rows of a MeasuredGradient that int8_gradients() takes: those of an image.
  virtual Index rows_per_block() const = 0;
  /// Computes the gradients on int8, of a layer for which has_int8_gradients() holds. All values of
  /// g are finite.
  virtual Int8Gradients int8_gradients(const MeasuredGradient& g,
                                       const Int8Operands& operands) const = 0;

  virtual Requantizer requantizer(float input_scale, std::span<const float> weight_scales,
                                  float output_scale, Rounding rounding) const = 0;
};

/// Returns the sums of `layer` for inputs of the shape of x, quantized with `zero_point`.
std::shared_ptr<const WeightedSums> make_weighted_sums(const LayerWeights& layer, WeightCodes codes,
                                                       const Tensor& x, std::int32_t zero_point);

}  // namespace octet
