#include <octet/core/arithmetic/hard_swish.h>
#include <octet/core/autograd.h>
#include <octet/core/ops/map.h>
#include <octet/layers/hard_swish.h>
#include <octet/layers/lowering.h>

namespace octet {

Tensor HardSwish::forward(const Tensor& x, const ForwardContext& /*context*/) {
  const Tensor y = detail::map(
      Work::map_floats, [](float v) { return detail::hard_swish(v); }, x);
  return record("hard_swish", y, {x}, [x = x.detach()](const Tensor& g) {
    return std::vector<Tensor>{detail::map(
        Work::map_floats, [](float gv, float v) { return gv * detail::hard_swish_slope(v); }, g,
        x)};
  });
}

std::int32_t HardSwish::lower(Lowering& lowering, std::span<const std::int32_t> inputs) const {
  return lowering.op(*this, OpCode::hard_swish, {inputs[0]});
}

std::unique_ptr<Layer> HardSwish::make(const Description& /*description*/) {
  return std::make_unique<HardSwish>();
}

std::unique_ptr<Layer> HardSwish::clone() const { return std::make_unique<HardSwish>(*this); }

Shape HardSwish::do_build(const Shape& input_shape, const Random& /*random*/) {
  return input_shape;
}

}  // namespace octet
