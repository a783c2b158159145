#include <fmt/core.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/layers/dense.h>

namespace octet {

Dense::Dense(Index units, Activation activation, DenseOptions options)
    : KernelLayer(options.name, activation), units_(units), options_(std::move(options)) {
  if (units_ <= 0) {
    throw InvalidArgument(fmt::format("Dense: expected at least 1 unit, found {}", units_));
  }
}

std::optional<LayerWeights> Dense::weights() const {
  constexpr int kUnitAxis = 1;
  return LayerWeights{kernel(), bias(), kUnitAxis};
}

void Dense::describe(Description& description) const {
  description.set("units", units_)
      .set("activation", to_string(activation()))
      .set("use_bias", options_.use_bias);
}

std::optional<Shape> Dense::kernel_shape(const Shape& input_shape) const {
  if (input_shape.rank() == 0) return std::nullopt;
  return Shape{input_shape.dim(-1), units_};
}

void Dense::make_tensors(std::span<const Shape> input_shapes, const Random& random) {
  const Shape& input_shape = input_shapes[0];
  if (input_shape.rank() == 0) {
    throw InvalidArgument(
        fmt::format("Dense \"{}\": expected examples [.., inputs], found scalars; put a "
                    "Reshape({{1}}) in front",
                    name()));
  }
  make_kernel(options_.kernel_initializer, checked_kernel_shape(input_shape), input_shape.dim(-1),
              units_, options_.use_bias ? units_ : 0, random);
}

std::unique_ptr<Layer> Dense::make(const Description& d) {
  return std::make_unique<Dense>(d.integer("units"), parse_activation(d.text("activation")),
                                 DenseOptions{.use_bias = d.flag("use_bias")});
}

}  // namespace octet
