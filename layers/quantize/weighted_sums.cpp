#include <octet/core/kernels/gemm.h>
#include <octet/core/ops/conv2d_internal.h>
#include <octet/core/ops/gradients_internal.h>
#include <octet/layers/quantize/weighted_sums.h>
#include <octet/runtime/operators/conv_2d.h>

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

/// CONV_2D.
class ConvSumsOfLayer final : public WeightedSums {
 public:
  ConvSumsOfLayer(const Conv2DGeometry& geometry, const WeightCodes& codes, std::int32_t zero_point)
      : geometry_(geometry),
        weights_(codes.weights.unpack()),
        sums_(of_one_image(geometry), detail::pack_groups(geometry, weights_), codes.bias,
              zero_point),
        scales_(codes.weight_params.scales) {}

  Shape result_shape() const override { return geometry_.output_shape(); }
  Index rows() const override { return geometry_.rows(); }

  void compute(
      const std::int8_t* codes, std::int32_t* sums,
      FunctionRef<void(Index begin, Index end, Index unit, Index units)> done) const override {
    const Index units = geometry_.filters_per_group();
    sums_.sums(geometry_.images, codes,
               [&](Index group, Index begin, Index end, const std::int32_t* block) {
                 const Index unit = group * units;
                 for (Index i = begin; i < end; ++i) {
                   std::copy_n(block + (i - begin) * units, units,
                               sums + i * geometry_.filters + unit);
                 }
                 done(begin, end, unit, units);
               });
  }

  Tensor input_gradient(const Tensor& g) const override {
    return conv2d_input_gradient(geometry_, real_kernel(), g.reshape(geometry_.output_shape()));
  }

  Tensor kernel_gradient(
      const Tensor& x, const Tensor& g,
      std::function<void(Index begin, Index end, float* rows)> finish) const override {
    Tensor result = conv2d_kernel_gradient(geometry_, x, g.reshape(geometry_.output_shape()));
    if (finish) finish(0, geometry_.patch(), result.data());
    return result;
  }

  Requantizer requantizer(float input_scale, std::span<const float> weight_scales,
                          float output_scale, Rounding rounding) const override {
    return detail::conv_2d_requantizer(input_scale, weight_scales, output_scale, rounding,
                                       geometry_.groups);
  }

 private:
  /// The reals of the codes, as the kernel lies: [kh, kw, channels of a group, filters].
  Tensor real_kernel() const {
    Tensor kernel(geometry_.kernel_shape());
    float* real = kernel.data();
    for (Index i = 0; i < geometry_.patch(); ++i) {
      for (Index f = 0; f < geometry_.filters; ++f) {
        const float scale = scales_[scales_.size() > 1 ? static_cast<std::size_t>(f) : 0];
        const auto code = weights_[static_cast<std::size_t>(f * geometry_.patch() + i)];
        *real++ = static_cast<float>(code) * scale;
      }
    }
    return kernel;
  }

  Conv2DGeometry geometry_;
  /// [filters, patch].
  std::vector<std::int8_t> weights_;
  detail::ConvSums sums_;
  std::vector<float> scales_;
};

}  // namespace

std::shared_ptr<const WeightedSums> make_weighted_sums(const LayerWeights& layer, WeightCodes codes,
                                                       const Tensor& x, std::int32_t zero_point) {
  if (!layer.convolution) {
    return std::make_shared<DenseSumsOfLayer>(std::move(codes), x.shape(), zero_point);
  }
  return std::make_shared<ConvSumsOfLayer>(conv2d_geometry(x, layer.kernel, *layer.convolution),
                                           codes, zero_point);
}

}  // namespace octet
