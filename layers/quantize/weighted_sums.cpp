#include <octet/core/kernels/gemm.h>
#include <octet/core/ops/conv2d_internal.h>
#include <octet/core/ops/depthwise_conv2d_internal.h>
#include <octet/core/ops/gradients_internal.h>
#include <octet/layers/quantize/weighted_sums.h>
#include <octet/runtime/operators/conv_2d.h>
#include <octet/runtime/operators/depthwise_conv_2d.h>

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

  Shape result_shape() const override { return {rows(), units()}; }
  Index rows() const override { return x_shape_[0]; }
  Index rows_per_line() const override { return 1; }

  void compute(
      const std::int8_t* codes, std::int32_t* sums,
      FunctionRef<void(Index begin, Index end, Index unit, Index units)> done) const override {
    sums_.sums(rows(), codes, sums, [&](Index begin, Index end) { done(begin, end, 0, units()); });
  }

  Tensor input_gradient(const Tensor& g) const override {
    Tensor result(x_shape_);
    gemm_f32(g.dim(0), {g.data(), g.dim(1)}, sums_.weights(), scales_, result.data(),
             result.dim(1));
    return result;
  }

  Tensor kernel_gradient(
      const Tensor& x, const Tensor& g,
      std::function<void(Index begin, Index end, float* rows)> finish) const override {
    return octet::kernel_gradient(x, g, std::move(finish));
  }

  Requantizer requantizer(float input_scale, std::span<const float> weight_scales,
                          float output_scale, Rounding rounding) const override {
    return Requantizer::fully_connected(input_scale, weight_scales, output_scale, rounding);
  }

 private:
  Index units() const { return sums_.weights().rows(); }

  Shape x_shape_;
  detail::DenseSums sums_;
  std::vector<float> scales_;
};

/// The geometry of one image.
Conv2DGeometry of_one_image(Conv2DGeometry geometry) {
  geometry.images = 1;
  return geometry;
}

/// The reals of weight codes [units, patch], as the kernel lies: [patch, units].
Tensor real_kernel(const Shape& shape, std::span<const std::int8_t> weights,
                   std::span<const float> scales) {
  Tensor kernel(shape);
  const Index units = shape.dim(-1);
  const Index patch = shape.size() / units;
  float* real = kernel.data();
  for (Index i = 0; i < patch; ++i) {
    for (Index u = 0; u < units; ++u) {
      const float scale = scales[scales.size() > 1 ? static_cast<std::size_t>(u) : 0];
      *real++ = static_cast<float>(weights[static_cast<std::size_t>(u * patch + i)]) * scale;
    }
  }
  return kernel;
}

/// What CONV_2D and DEPTHWISE_CONV_2D have in common.
class WindowSumsOfLayer : public WeightedSums {
 public:
  WindowSumsOfLayer(const Shape& x, const Conv2DGeometry& geometry, const WeightCodes& codes)
      : geometry_(geometry),
        weights_(codes.weights.unpack()),
        scales_(codes.weight_params.scales),
        x_shape_(x) {}

  Shape result_shape() const override {
    const Shape images = geometry_.output_shape();
    return x_shape_.rank() == 3 ? images.without_dim(1) : images;
  }
  Index rows() const override { return geometry_.rows(); }
  Index rows_per_line() const override { return geometry_.window.x.output; }

  Tensor input_gradient(const Tensor& g) const override {
    const Tensor kernel = real_kernel(geometry_.kernel_shape(), weights_, scales_);
    return input_gradient_of_images(kernel, g.reshape(geometry_.output_shape())).reshape(x_shape_);
  }

  Tensor kernel_gradient(
      const Tensor& x, const Tensor& g,
      std::function<void(Index begin, Index end, float* rows)> finish) const override {
    Tensor result = kernel_gradient_of_images(x, g.reshape(geometry_.output_shape()))
                        .reshape(geometry_.kernel_shape());
    if (finish) finish(0, geometry_.patch(), result.data());
    return result;
  }

 protected:
  const Conv2DGeometry& geometry() const { return geometry_; }
  /// [filters, patch].
  std::span<const std::int8_t> weights() const { return weights_; }

  virtual Tensor input_gradient_of_images(const Tensor& kernel, const Tensor& g) const = 0;
  virtual Tensor kernel_gradient_of_images(const Tensor& x, const Tensor& g) const = 0;

 private:
  Conv2DGeometry geometry_;
  std::vector<std::int8_t> weights_;
  std::vector<float> scales_;
  Shape x_shape_;
};

/// CONV_2D.
class ConvSumsOfLayer final : public WindowSumsOfLayer {
 public:
  ConvSumsOfLayer(const Shape& x, const Conv2DGeometry& geometry, const WeightCodes& codes,
                  std::int32_t zero_point)
      : WindowSumsOfLayer(x, geometry, codes),
        sums_(of_one_image(geometry), detail::pack_groups(geometry, weights()), codes.bias,
              zero_point) {}

  void compute(
      const std::int8_t* codes, std::int32_t* sums,
      FunctionRef<void(Index begin, Index end, Index unit, Index units)> done) const override {
    const Index units = geometry().filters_per_group();
    sums_.sums(geometry().images, codes,
               [&](Index group, Index begin, Index end, const std::int32_t* block) {
                 const Index unit = group * units;
                 const Index filters = geometry().filters;
                 if (units == filters) {
                   std::copy_n(block, (end - begin) * units, sums + begin * units);
                 } else {
                   for (Index i = begin; i < end; ++i) {
                     std::copy_n(block + (i - begin) * units, units, sums + i * filters + unit);
                   }
                 }
                 done(begin, end, unit, units);
               });
  }

  Requantizer requantizer(float input_scale, std::span<const float> weight_scales,
                          float output_scale, Rounding rounding) const override {
    return detail::conv_2d_requantizer(input_scale, weight_scales, output_scale, rounding,
                                       geometry().groups);
  }

 private:
  Tensor input_gradient_of_images(const Tensor& kernel, const Tensor& g) const override {
    return conv2d_input_gradient(geometry(), kernel, g);
  }
  Tensor kernel_gradient_of_images(const Tensor& x, const Tensor& g) const override {
    return conv2d_kernel_gradient(geometry(), x, g);
  }

  detail::ConvSums sums_;
};

/// DEPTHWISE_CONV_2D.
class DepthwiseSumsOfLayer final : public WindowSumsOfLayer {
 public:
  DepthwiseSumsOfLayer(const Shape& x, const Conv2DGeometry& geometry, const WeightCodes& codes,
                       std::int32_t zero_point)
      : WindowSumsOfLayer(x, geometry, codes),
        sums_(of_one_image(geometry), taps_first(weights(), geometry.filters),
              bias_or_zeros(codes.bias, geometry.filters), zero_point) {}

  void compute(
      const std::int8_t* codes, std::int32_t* sums,
      FunctionRef<void(Index begin, Index end, Index unit, Index units)> done) const override {
    const Index units = geometry().filters;
    sums_.for_blocks(geometry().images, codes,
                     [&](Index begin, Index end, FunctionRef<void(std::int32_t*)> write_sums) {
                       write_sums(sums + begin * units);
                       done(begin, end, 0, units);
                     });
  }

  Requantizer requantizer(float input_scale, std::span<const float> weight_scales,
                          float output_scale, Rounding rounding) const override {
    // Files always have a bias: Lowering writes zeros where the layer has none.
    constexpr bool kHasBias = true;
    return detail::depthwise_requantizer(input_scale, weight_scales, output_scale, rounding,
                                         kHasBias);
  }

 private:
  static std::vector<std::int32_t> bias_or_zeros(std::vector<std::int32_t> bias, Index units) {
    bias.resize(static_cast<std::size_t>(units));
    return bias;
  }

  DepthwiseConv2DGeometry depthwise() const {
    return {.window = geometry().window,
            .images = geometry().images,
            .channels = geometry().channels,
            .multiplier = geometry().filters_per_group()};
  }
  Tensor input_gradient_of_images(const Tensor& kernel, const Tensor& g) const override {
    return depthwise_conv2d_input_gradient(depthwise(), kernel, g);
  }
  Tensor kernel_gradient_of_images(const Tensor& x, const Tensor& g) const override {
    return depthwise_conv2d_kernel_gradient(depthwise(), x, g);
  }

  detail::DepthwiseSums<std::int8_t, std::int32_t> sums_;
};

}  // namespace

std::shared_ptr<const WeightedSums> make_weighted_sums(const LayerWeights& layer, WeightCodes codes,
                                                       const Tensor& x, std::int32_t zero_point) {
  if (!layer.convolution) {
    return std::make_shared<DenseSumsOfLayer>(std::move(codes), x.shape(), zero_point);
  }
  const Tensor images(images_of(x.shape().without_batch()).with_batch(0));
  Conv2DGeometry geometry = conv2d_geometry(images, layer.kernel, *layer.convolution);
  geometry.images = x.dim(0);
  if (layer.depthwise) {
    return std::make_shared<DepthwiseSumsOfLayer>(x.shape(), geometry, codes, zero_point);
  }
  return std::make_shared<ConvSumsOfLayer>(x.shape(), geometry, codes, zero_point);
}

}  // namespace octet
