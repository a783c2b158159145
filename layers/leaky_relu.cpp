#include <fmt/core.h>
#include <octet/core/autograd.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/core/ops/map.h>
#include <octet/layers/leaky_relu.h>
#include <octet/layers/lowering.h>

#include <cmath>

namespace octet {

LeakyReLU::LeakyReLU(float alpha, std::string name) : Layer(std::move(name)), alpha_(alpha) {
  if (!(std::isfinite(alpha) && alpha >= 0.0F)) {
    throw InvalidArgument(
        fmt::format("LeakyReLU: expected a finite alpha of 0 or more, found {}", alpha));
  }
}

Tensor LeakyReLU::forward(const Tensor& x, const ForwardContext& /*context*/) {
  const auto slope = [alpha = alpha_](float v) { return v > 0.0F ? 1.0F : alpha; };
  const Tensor y = detail::map(
      Work::map_floats, [slope](float v) { return slope(v) * v; }, x);
  return record("leaky_relu", y, {x}, [x = x.detach(), slope](const Tensor& g) {
    return std::vector<Tensor>{detail::map(
        Work::map_floats, [slope](float gv, float v) { return slope(v) * gv; }, g, x)};
  });
}

std::int32_t LeakyReLU::lower(Lowering& lowering, std::span<const std::int32_t> inputs) const {
  return lowering.op(*this, OpCode::leaky_relu, {inputs[0]}, LeakyReluAttributes{.alpha = alpha_});
}

void LeakyReLU::describe(Description& description) const {
  description.set("alpha", double{alpha_});
}

std::unique_ptr<Layer> LeakyReLU::make(const Description& d) {
  return std::make_unique<LeakyReLU>(d.float_number("alpha"));
}

std::unique_ptr<Layer> LeakyReLU::clone() const { return std::make_unique<LeakyReLU>(*this); }

Shape LeakyReLU::do_build(const Shape& input_shape, const Random& /*random*/) {
  return input_shape;
}

}  // namespace octet
