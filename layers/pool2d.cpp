#include <octet/core/description.h>
#include <octet/layers/image_layer.h>
#include <octet/layers/lowering.h>
#include <octet/layers/pool2d.h>

namespace octet {

void Pool2D::describe(Description& description) const {
  description.set("size", detail::as_shape(options_.size))
      .set("stride", detail::as_shape(options_.stride))
      .set("padding", to_string(options_.padding));
}

Pool2DOptions Pool2D::options_in(const Description& d) {
  return {.size = detail::pair_in(d, "size"),
          .stride = detail::pair_in(d, "stride"),
          .padding = parse_padding(d.text("padding"))};
}

Shape Pool2D::do_build(const Shape& input_shape, const Random& /*random*/) {
  // Both pools have one rule of shapes.
  return detail::image_result(
      *this, input_shape, [this](const Tensor& images) { return max_pool2d(images, options_); });
}

std::int32_t Pool2D::lower_pool(Lowering& lowering, OpCode code, std::int32_t input) const {
  // build() found all of them between 1 and 2^31 - 1.
  const auto number = [](Index value) { return static_cast<std::int32_t>(value); };
  return lowering.op(*this, code, {input},
                     PoolAttributes{.padding = options_.padding,
                                    .stride_h = number(options_.stride[0]),
                                    .stride_w = number(options_.stride[1]),
                                    .filter_h = number(options_.size[0]),
                                    .filter_w = number(options_.size[1])});
}

Tensor MaxPool2D::forward(const Tensor& x, const ForwardContext& /*context*/) {
  require_inputs({&x, 1});
  return max_pool2d(x, options());
}

std::int32_t MaxPool2D::lower(Lowering& lowering, std::span<const std::int32_t> inputs) const {
  return lower_pool(lowering, OpCode::max_pool_2d, inputs[0]);
}

std::unique_ptr<Layer> MaxPool2D::clone() const { return std::make_unique<MaxPool2D>(*this); }

std::unique_ptr<Layer> MaxPool2D::make(const Description& description) {
  return std::make_unique<MaxPool2D>(options_in(description));
}

Tensor AveragePool2D::forward(const Tensor& x, const ForwardContext& /*context*/) {
  require_inputs({&x, 1});
  return average_pool2d(x, options());
}

std::int32_t AveragePool2D::lower(Lowering& lowering, std::span<const std::int32_t> inputs) const {
  return lower_pool(lowering, OpCode::average_pool_2d, inputs[0]);
}

std::unique_ptr<Layer> AveragePool2D::clone() const {
  return std::make_unique<AveragePool2D>(*this);
}

std::unique_ptr<Layer> AveragePool2D::make(const Description& description) {
  return std::make_unique<AveragePool2D>(options_in(description));
}

}  // namespace octet
