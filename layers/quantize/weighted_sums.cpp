#include <octet/core/buffer.h>
#include <octet/core/kernels/gemm.h>
#include <octet/core/ops/conv2d_internal.h>
#include <octet/core/ops/depthwise_conv2d_internal.h>
#include <octet/core/ops/gradients_internal.h>
#include <octet/core/ops/reduce.h>
#include <octet/core/ops/shape_ops.h>
#include <octet/core/ops/transposed_conv2d_internal.h>
#include <octet/core/profile.h>
#include <octet/core/tensor_internal.h>
#include <octet/layers/program/linear_operator.h>
#include <octet/layers/quantize/weighted_sums.h>
#include <octet/runtime/operators/conv_2d.h>
#include <octet/runtime/operators/depthwise_conv_2d.h>
#include <octet/runtime/operators/transpose_conv.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace octet {
namespace {

/// FULLY_CONNECTED.
class DenseSumsOfLayer final : public WeightedSums {
 public:
  DenseSumsOfLayer(WeightCodes codes, const Shape& x, std::int32_t zero_point)
      : x_shape_(x),
        sums_(std::move(codes.weights), codes.bias, zero_point),
        scales_(std::move(codes.weight_params.scales)) {}

  Shape result_shape() const override { return x_shape_.with_dim(-1, units()); }
  Index rows() const override { return x_shape_.without_dim(-1).size(); }
  Index rows_per_line() const override { return 1; }

  void compute(const std::int8_t* codes, std::int32_t* sums, Done done) const override {
    sums_.sums(rows(), codes, sums, [&](Index begin, Index end) { done(begin, end, 0, units()); });
  }
  void compute(const std::int8_t* codes, Take take) const override {
    sums_.sums(rows(), codes, [&](Index begin, Index end, const std::int32_t* sums) {
      take(begin, end, 0, units(), sums);
    });
  }

  Tensor input_gradient(const Tensor& g) const override {
    Tensor result(x_shape_);
    gemm_f32(g.dim(0), {g.data(), g.dim(1)}, sums_.weights(), scales_, result.mutable_data(),
             result.dim(-1));
    return result;
  }

  Tensor kernel_gradient(
      const Tensor& x, const Tensor& g,
      std::function<void(Index begin, Index end, float* rows)> finish) const override {
    const Tensor lines = detail::TensorAccess::view(x, {rows(), x.dim(-1)});
    return octet::kernel_gradient(lines, g, std::move(finish));
  }

  Index rows_per_block() const override { return kRowsPerBlock; }
  Int8Gradients int8_gradients(const MeasuredGradient& g,
                               const Int8Operands& operands) const override {
    Int8Gradients result;
    if (operands.to_input) {
      result.input = int8_input_gradient(g, sums_.weights(), scales_, operands.input_rounding)
                         .reshape(x_shape_);
    }
    result.kernel = int8_kernel_gradient(operands.x, operands.params, g, operands.kernel_rounding,
                                         operands.finish);
    return result;
  }

  Requantizer requantizer(float input_scale, std::span<const float> weight_scales,
                          float output_scale, Rounding rounding) const override {
    return Requantizer::fully_connected(input_scale, weight_scales, output_scale, rounding);
  }

 private:
  /// Few enough to be measured while they are in the cache.
  static constexpr Index kRowsPerBlock = 32;

  Index units() const { return sums_.weights().rows(); }

  Shape x_shape_;
  detail::DenseSums sums_;
  std::vector<float> scales_;
};

/// Computes the real values of quantized weights [units, patch], as the kernel lies: [patch,
/// units].
Tensor real_kernel(const Shape& shape, std::span<const std::int8_t> weights,
                   std::span<const float> scales) {
  Tensor kernel(shape);
  const Index units = shape.dim(-1);
  const Index patch = shape.size() / units;
  float* real = kernel.mutable_data();
  for (Index i = 0; i < patch; ++i) {
    for (Index u = 0; u < units; ++u) {
      const float scale = scales[scales.size() > 1 ? static_cast<std::size_t>(u) : 0];
      *real++ = static_cast<float>(weights[static_cast<std::size_t>(u * patch + i)]) * scale;
    }
  }
  return kernel;
}

/// What the convolutions have in common.
class WindowSumsOfLayer : public WeightedSums {
 public:
  /// Sums of a layer that makes `results` [batch, height, width, units] with a kernel [height,
  /// width, inputs, units].
  WindowSumsOfLayer(const Shape& results, const Shape& kernel, const WeightCodes& codes)
      : weights_(codes.weights.unpack()),
        scales_(codes.weight_params.scales),
        results_(results),
        kernel_(kernel) {}

  Shape result_shape() const override { return results_; }
  Index rows() const override { return results_.size() / units(); }
  Index rows_per_line() const override { return results_[2]; }

  Tensor input_gradient(const Tensor& g) const override {
    const ProfilePart profiled("input gradient");
    return input_gradient_of_images(real_kernel(), g.reshape(results_));
  }

  Tensor kernel_gradient(
      const Tensor& x, const Tensor& g,
      std::function<void(Index begin, Index end, float* rows)> finish) const override {
    Tensor result = kernel_gradient_of_images(x, g.reshape(results_));
    if (finish) finish(0, kernel_.size() / units(), result.mutable_data());
    return result;
  }

 protected:
  Index units() const { return kernel_.dim(-1); }
  /// [units, inputs of a unit].
  std::span<const std::int8_t> weights() const { return weights_; }

  /// g in the shape of the images that the layer makes, without asking for its elements.
  Tensor images_of_results(const Tensor& g) const {
    return detail::TensorAccess::view(g, results_);
  }
  Tensor real_kernel() const { return octet::real_kernel(kernel_, weights_, scales_); }
  /// Calls `body` with the quantized weights in the order of the kernel.
  template <class Body>
  auto with_quantized_kernel(const Body& body) const {
    const std::vector<std::int8_t> kernel = transposed_matrix(weights_, units());
    return body(QuantizedKernel{kernel, scales_});
  }

  virtual Tensor input_gradient_of_images(const Tensor& kernel, const Tensor& g) const = 0;
  virtual Tensor kernel_gradient_of_images(const Tensor& x, const Tensor& g) const = 0;

 private:
  std::vector<std::int8_t> weights_;
  std::vector<float> scales_;
  Shape results_;
  Shape kernel_;
};

/// CONV_2D.
class ConvSumsOfLayer final : public WindowSumsOfLayer {
 public:
  ConvSumsOfLayer(const Conv2DGeometry& geometry, const WeightCodes& codes, std::int32_t zero_point)
      : WindowSumsOfLayer(geometry.output_shape(), geometry.kernel_shape(), codes),
        geometry_(geometry),
        sums_(geometry.with_images(1), detail::pack_groups(geometry, weights()), codes.bias,
              zero_point) {}

  void compute(const std::int8_t* codes, std::int32_t* sums, Done done) const override {
    sums_.sums(geometry_.images, codes, sums, done);
  }
  void compute(const std::int8_t* codes, Take take) const override {
    const Index units = geometry_.filters_per_group();
    sums_.sums(geometry_.images, codes,
               [&](Index group, Index begin, Index end, const std::int32_t* sums) {
                 take(begin, end, group * units, units, sums);
               });
  }

  bool reads_gradient_once() const override { return geometry_.window.is_pointwise(); }
  ConvGradients gradients(const Tensor& x, const Tensor& g,
                          const WantedGradients& wanted) const override {
    return conv2d_gradients(geometry_, x, real_kernel(), images_of_results(g), wanted);
  }

  Index rows_per_block() const override { return geometry_.window.outputs(); }
  Int8Gradients int8_gradients(const MeasuredGradient& g,
                               const Int8Operands& operands) const override {
    Int8Gradients result;
    if (operands.to_input) {
      result.input = with_quantized_kernel([&](const QuantizedKernel& kernel) {
        return int8_input_gradient(geometry_, g, kernel, operands.input_rounding);
      });
    }
    result.kernel = int8_kernel_gradient(geometry_, operands.x, operands.params, g,
                                         operands.kernel_rounding, operands.finish);
    return result;
  }

  Requantizer requantizer(float input_scale, std::span<const float> weight_scales,
                          float output_scale, Rounding rounding) const override {
    return detail::conv_2d_requantizer(input_scale, weight_scales, output_scale, rounding,
                                       geometry_.groups);
  }

 private:
  Tensor input_gradient_of_images(const Tensor& kernel, const Tensor& g) const override {
    return conv2d_input_gradient(geometry_, kernel, g);
  }
  Tensor kernel_gradient_of_images(const Tensor& x, const Tensor& g) const override {
    return conv2d_kernel_gradient(geometry_, x, g);
  }

  Conv2DGeometry geometry_;
  detail::ConvSums sums_;
};

/// A convolution whose kernel makes sums block by block.
template <class Sums>
class BlockSumsOfLayer : public WindowSumsOfLayer {
 public:
  void compute(const std::int8_t* codes, std::int32_t* sums, Done done) const override {
    const auto write = [&](Index begin, Index end, FunctionRef<void(std::int32_t*)> write_sums) {
      write_sums(sums + begin * units());
      done(begin, end, 0, units());
    };
    sums_.for_blocks(geometry_.images, codes, write);
  }
  void compute(const std::int8_t* codes, Take take) const override {
    const auto pass = [&](Index begin, Index end, FunctionRef<void(std::int32_t*)> write_sums) {
      const ScratchBuffer<std::int32_t, WindowSumsOfLayer> sums(
          static_cast<std::size_t>((end - begin) * units()));
      write_sums(sums.data());
      take(begin, end, 0, units(), sums.data());
    };
    sums_.for_blocks(geometry_.images, codes, pass);
  }

 protected:
  /// `arrange` gives the weights in the order of the kernel.
  BlockSumsOfLayer(const Conv2DGeometry& geometry, const Shape& results, const Shape& kernel,
                   const WeightCodes& codes, std::int32_t zero_point,
                   FunctionRef<std::vector<std::int8_t>(std::span<const std::int8_t>)> arrange)
      : WindowSumsOfLayer(results, kernel, codes),
        geometry_(geometry),
        sums_(geometry.with_images(1), arrange(weights()), bias_or_zeros(codes.bias), zero_point) {}

  const Conv2DGeometry& geometry() const { return geometry_; }

 private:
  /// One number per unit.
  std::vector<std::int32_t> bias_or_zeros(std::vector<std::int32_t> bias) const {
    bias.resize(static_cast<std::size_t>(units()));
    return bias;
  }

  Conv2DGeometry geometry_;
  Sums sums_;
};

/// DEPTHWISE_CONV_2D.
class DepthwiseSumsOfLayer final
    : public BlockSumsOfLayer<detail::DepthwiseSums<std::int8_t, std::int32_t>> {
 public:
  DepthwiseSumsOfLayer(const Conv2DGeometry& geometry, const WeightCodes& codes,
                       std::int32_t zero_point)
      : BlockSumsOfLayer(geometry, geometry.output_shape(), geometry.kernel_shape(), codes,
                         zero_point, [&](std::span<const std::int8_t> weights) {
                           return taps_first(weights, geometry.filters);
                         }) {}

  bool reads_gradient_once() const override { return true; }
  ConvGradients gradients(const Tensor& x, const Tensor& g,
                          const WantedGradients& wanted) const override {
    return depthwise_conv2d_gradients(geometry(), x, real_kernel(), images_of_results(g), wanted);
  }

  Index rows_per_block() const override { return geometry().window.outputs(); }
  Int8Gradients int8_gradients(const MeasuredGradient& g,
                               const Int8Operands& operands) const override {
    return with_quantized_kernel([&](const QuantizedKernel& kernel) {
      return int8_depthwise_gradients(geometry(), g, kernel, operands);
    });
  }

  Requantizer requantizer(float input_scale, std::span<const float> weight_scales,
                          float output_scale, Rounding rounding) const override {
    // Files always have a bias: lower() writes zeros where the layer has none.
    constexpr bool kHasBias = true;
    return detail::depthwise_requantizer(input_scale, weight_scales, output_scale, rounding,
                                         kHasBias);
  }

 private:
  Tensor input_gradient_of_images(const Tensor& kernel, const Tensor& g) const override {
    return depthwise_conv2d_input_gradient(geometry(), kernel, g);
  }
  Tensor kernel_gradient_of_images(const Tensor& x, const Tensor& g) const override {
    return depthwise_conv2d_kernel_gradient(geometry(), x, g);
  }
};

/// TRANSPOSE_CONV. The geometry is that of the convolution from the results back to the images.
class TransposedSumsOfLayer final : public BlockSumsOfLayer<detail::TransposedCodeSums> {
 public:
  TransposedSumsOfLayer(const Conv2DGeometry& geometry, Padding padding, const WeightCodes& codes,
                        std::int32_t zero_point)
      : BlockSumsOfLayer(geometry, geometry.input_shape(), swapped(geometry.kernel_shape()), codes,
                         zero_point,
                         [](std::span<const std::int8_t> weights) {
                           return std::vector<std::int8_t>(weights.begin(), weights.end());
                         }),
        xnnpack_takes_(detail::xnnpack_takes_transpose_conv(geometry, padding)) {}

  Index rows_per_block() const override { return geometry().window.inputs(); }
  Int8Gradients int8_gradients(const MeasuredGradient& g,
                               const Int8Operands& operands) const override {
    Int8Gradients result;
    if (operands.to_input) {
      result.input = with_quantized_kernel([&](const QuantizedKernel& kernel) {
        return int8_transposed_input_gradient(geometry(), g, kernel, operands.input_rounding);
      });
    }
    result.kernel = int8_transposed_kernel_gradient(geometry(), operands.x, operands.params, g,
                                                    operands.kernel_rounding, operands.finish);
    return result;
  }

  Requantizer requantizer(float input_scale, std::span<const float> weight_scales,
                          float output_scale, Rounding rounding) const override {
    return detail::transpose_conv_requantizer(input_scale, weight_scales, output_scale, rounding,
                                              xnnpack_takes_);
  }

 private:
  /// [height, width, units, inputs], as transposed_conv2d() has a kernel, with the units last, or
  /// the other way round.
  static Shape swapped(const Shape& kernel) { return {kernel[0], kernel[1], kernel[3], kernel[2]}; }
  static Tensor swapped(const Tensor& kernel) { return permute(kernel, {0, 1, 3, 2}); }

  Tensor input_gradient_of_images(const Tensor& kernel, const Tensor& g) const override {
    return transposed_conv2d_input_gradient(geometry(), swapped(kernel), g);
  }
  Tensor kernel_gradient_of_images(const Tensor& x, const Tensor& g) const override {
    return swapped(transposed_conv2d_kernel_gradient(geometry(), x, g));
  }

  bool xnnpack_takes_;
};

}  // namespace

ConvGradients WeightedSums::gradients(const Tensor& x, const Tensor& g,
                                      const WantedGradients& wanted) const {
  ConvGradients result;
  if (wanted.x) result.x = input_gradient(g);
  if (wanted.kernel) result.kernel = kernel_gradient(x, g);
  if (wanted.bias) result.bias = sum(g, {0});
  return result;
}

bool has_int8_gradients(const LayerWeights& layer) {
  if (!layer.convolution) return !layer.own_layout;
  return layer.depthwise || layer.convolution->groups == 1;
}

std::shared_ptr<const WeightedSums> make_weighted_sums(const LayerWeights& layer, WeightCodes codes,
                                                       const Tensor& x, std::int32_t zero_point) {
  const ProfilePart profiled("weights");
  if (!layer.convolution) {
    return std::make_shared<DenseSumsOfLayer>(std::move(codes), x.shape(), zero_point);
  }
  // Graph::linear() has made images of sequences.
  const Tensor images(x.shape().without_batch().with_batch(0));
  Conv2DGeometry geometry = layer.transposed
                                ? transposed_geometry(images, layer)
                                : conv2d_geometry(images, layer.kernel, *layer.convolution);
  geometry.images = x.dim(0);
  if (layer.transposed) {
    return std::make_shared<TransposedSumsOfLayer>(geometry, layer.convolution->padding, codes,
                                                   zero_point);
  }
  if (layer.depthwise) {
    return std::make_shared<DepthwiseSumsOfLayer>(geometry, codes, zero_point);
  }
  return std::make_shared<ConvSumsOfLayer>(geometry, codes, zero_point);
}

}  // namespace octet
