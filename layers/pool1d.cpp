#include <octet/core/description.h>
#include <octet/core/ops/pool2d.h>
#include <octet/layers/graph.h>
#include <octet/layers/image_layer.h>
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
  detail::require_sequences(*this, input_shape);
  const Pool1DOptions window = window_over(input_shape[0]);
  // Both pools have one rule of shapes.
  const Shape pooled = detail::sequence_result(*this, input_shape, [&window](const Tensor& images) {
    return max_pool2d(
        images,
        {.size = {1, window.size}, .stride = {1, window.stride}, .padding = window.padding});
  });
  return over_all_ ? pooled.without_dim(0) : pooled;
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
