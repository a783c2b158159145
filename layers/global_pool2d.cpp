#include <octet/core/ops/pool2d.h>
#include <octet/layers/global_pool2d.h>
#include <octet/layers/image_layer.h>
#include <octet/layers/lowering.h>

namespace octet {
namespace {

/// A pool of one window as large as the image, and a RESHAPE of [1, 1, c] to [c].
std::int32_t lower_global(const Layer& layer, Lowering& lowering, OpCode code, std::int32_t input) {
  const Shape& image = layer.input_shape();
  const PoolAttributes whole{.filter_h = static_cast<std::int32_t>(image[0]),
                             .filter_w = static_cast<std::int32_t>(image[1])};
  const std::int32_t pooled =
      lowering.op_of_shape(layer, code, {input}, whole, {1, 1, image[2]}, "/pool");
  return lowering.reshape(layer, pooled);
}

}  // namespace

Tensor GlobalAveragePool2D::forward(const Tensor& x, const ForwardContext& /*context*/) {
  require_inputs({&x, 1});
  return global_average_pool2d(x);
}

Shape GlobalAveragePool2D::do_build(const Shape& input_shape, const Random& /*random*/) {
  return detail::image_result(*this, input_shape,
                              [](const Tensor& images) { return global_average_pool2d(images); });
}

std::int32_t GlobalAveragePool2D::lower(Lowering& lowering,
                                        std::span<const std::int32_t> inputs) const {
  return lower_global(*this, lowering, OpCode::average_pool_2d, inputs[0]);
}

std::unique_ptr<Layer> GlobalAveragePool2D::clone() const {
  return std::make_unique<GlobalAveragePool2D>(*this);
}

std::unique_ptr<Layer> GlobalAveragePool2D::make(const Description& /*description*/) {
  return std::make_unique<GlobalAveragePool2D>();
}

Tensor GlobalMaxPool2D::forward(const Tensor& x, const ForwardContext& /*context*/) {
  require_inputs({&x, 1});
  return global_max_pool2d(x);
}

Shape GlobalMaxPool2D::do_build(const Shape& input_shape, const Random& /*random*/) {
  return detail::image_result(*this, input_shape,
                              [](const Tensor& images) { return global_max_pool2d(images); });
}

std::int32_t GlobalMaxPool2D::lower(Lowering& lowering,
                                    std::span<const std::int32_t> inputs) const {
  return lower_global(*this, lowering, OpCode::max_pool_2d, inputs[0]);
}

std::unique_ptr<Layer> GlobalMaxPool2D::clone() const {
  return std::make_unique<GlobalMaxPool2D>(*this);
}

std::unique_ptr<Layer> GlobalMaxPool2D::make(const Description& /*description*/) {
  return std::make_unique<GlobalMaxPool2D>();
}

}  // namespace octet
