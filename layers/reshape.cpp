#include <fmt/core.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/layers/lowering.h>
#include <octet/layers/reshape.h>

#include <algorithm>

namespace octet {

Tensor Reshape::forward(const Tensor& x, const ForwardContext& /*context*/) {
  require_built();
  return x.reshape(output_shape().with_batch(x.dim(0)));
}

std::int32_t Reshape::lower(Lowering& lowering, std::span<const std::int32_t> inputs) const {
  return input_shape() == output_shape() ? inputs[0] : lowering.reshape(*this, inputs[0]);
}

void Reshape::describe(Description& description) const { description.set("target", target_); }

std::unique_ptr<Layer> Reshape::clone() const { return std::make_unique<Reshape>(*this); }

std::unique_ptr<Layer> Flatten::clone() const { return std::make_unique<Flatten>(*this); }

Shape Reshape::do_build(const Shape& input_shape, const Random& /*random*/) {
  Shape result = target_;
  if (std::ranges::count(target_, -1) > 1) {
    throw InvalidArgument(fmt::format("{} \"{}\": expected at most one -1 in the target {}", type(),
                                      name(), target_.to_string()));
  }
  const Index size = input_shape.size();
  for (Index axis = 0; axis < target_.rank(); ++axis) {
    if (target_[axis] != -1) continue;
    const Index others = target_.without_dim(axis).size();
    result = target_.with_dim(axis, others == 0 ? -1 : size / others);
  }
  if (std::ranges::any_of(result, [](Index extent) { return extent < 0; }) ||
      result.size() != size) {
    throw InvalidArgument(fmt::format("{} \"{}\": cannot reshape {} ({} values) to {}", type(),
                                      name(), input_shape.to_string(), size, target_.to_string()));
  }
  return result;
}

std::unique_ptr<Layer> Reshape::make(const Description& d) {
  return std::make_unique<Reshape>(d.shape("target"));
}

std::unique_ptr<Layer> Flatten::make(const Description& /*description*/) {
  return std::make_unique<Flatten>();
}

}  // namespace octet
