#include <octet/core/description.h>
#include <octet/core/ops/image_ops.h>
#include <octet/layers/image_layer.h>
#include <octet/layers/lowering.h>
#include <octet/layers/upsampling2d.h>

namespace octet {

Tensor UpSampling2D::forward(const Tensor& x, const ForwardContext& /*context*/) {
  require_inputs({&x, 1});
  return upsample2d(x, factors_);
}

std::int32_t UpSampling2D::lower(Lowering& lowering, std::span<const std::int32_t> inputs) const {
  return lowering.repeat_pixels(*this, inputs[0]);
}

void UpSampling2D::describe(Description& description) const {
  description.set("factors", detail::as_shape(factors_));
}

std::unique_ptr<Layer> UpSampling2D::clone() const { return std::make_unique<UpSampling2D>(*this); }

Shape UpSampling2D::do_build(const Shape& input_shape, const Random& /*random*/) {
  return detail::image_result(
      *this, input_shape, [this](const Tensor& images) { return upsample2d(images, factors_); });
}

std::unique_ptr<Layer> UpSampling2D::make(const Description& d) {
  return std::make_unique<UpSampling2D>(detail::pair_in(d, "factors"));
}

}  // namespace octet
