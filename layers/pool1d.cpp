#include <fmt/core.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/core/ops/pool2d.h>
#include <octet/layers/graph.h>
#include <octet/layers/pool1d.h>

namespace octet {

Pool1D::Pool1D(OpCode code, Pool1DOptions options)
    : Layer(options.name), code_(code), options_(std::move(options)) {}

Pool1D::Pool1D(OpCode code, std::string name)
    : Layer(std::move(name)), code_(code), over_all_(true) {}

void Pool1D::describe(Description& description) const {
  if (over_all_) return;
  description.set("size", options_.size)
      .set("stride", options_.stride)
      .set("padding", to_string(options_.padding));
}

Pool1DOptions Pool1D::options_in(const Description& d) {
  return {.size = d.integer("size"),
          .stride = d.integer("stride"),
          .padding = parse_padding(d.text("padding"))};
}

Pool1DOptions Pool1D::window_over(Index steps) const {
  Pool1DOptions window = options_;
  if (over_all_) window.size = steps;
  if (over_all_ || window.stride == 0) window.stride = window.size;
  return window;
}

Shape Pool1D::do_build(const Shape& input_shape, const Random& /*random*/) {
  if (input_shape.rank() != 2) {
    throw InvalidArgument(
        fmt::format("{} \"{}\": expected sequences [steps, channels], found examples of shape {}; "
                    "put a Reshape layer in front",
                    type(), name(), input_shape.to_string()));
  }
  const Pool1DOptions window = window_over(input_shape[0]);
  try {
    const Tensor none({0, 1, input_shape[0], input_shape[1]});
    const Shape pooled = max_pool2d(none, {.size = {1, window.size},
                                           .stride = {1, window.stride},
                                           .padding = window.padding})
                             .shape();
    return over_all_ ? Shape{pooled[3]} : Shape{pooled[2], pooled[3]};
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(fmt::format("{} \"{}\": {}", type(), name(), error.what()));
  }
}

std::vector<GraphValue> Pool1D::emit(Graph& g, std::span<const GraphValue> inputs) const {
  const Shape& sequence = g.shape(inputs[0]);
  const Pool1DOptions window = window_over(sequence[0]);
  const GraphValue image = g.reshape(inputs[0], {1, sequence[0], sequence[1]}, "/image");
  const GraphValue pooled =
      g.op(code_, {image},
           PoolAttributes{.padding = window.padding,
                          .stride_h = 1,
                          .stride_w = static_cast<std::int32_t>(window.stride),
                          .filter_h = 1,
                          .filter_w = static_cast<std::int32_t>(window.size)},
           "/pool");
  return {g.reshape(pooled, output_shape())};
}

}  // namespace octet
