#include <octet/core/ops/pool2d.h>
#include <octet/layers/global_pool2d.h>
#include <octet/layers/image_layer.h>

namespace octet {

Tensor GlobalAveragePool2D::forward(const Tensor& x, const ForwardContext& /*context*/) {
  require_inputs({&x, 1});
  return global_average_pool2d(x);
}

Shape GlobalAveragePool2D::do_build(const Shape& input_shape, const Random& /*random*/) {
  return detail::image_result(*this, input_shape,
                              [](const Tensor& images) { return global_average_pool2d(images); });
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

std::unique_ptr<Layer> GlobalMaxPool2D::clone() const {
  return std::make_unique<GlobalMaxPool2D>(*this);
}

std::unique_ptr<Layer> GlobalMaxPool2D::make(const Description& /*description*/) {
  return std::make_unique<GlobalMaxPool2D>();
}

}  // namespace octet
