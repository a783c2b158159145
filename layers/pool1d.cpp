#include <octet/core/description.h>
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

std::vector<GraphValue> Pool1D::emit(Graph& g, std::span<const GraphValue> inputs) const {
  const Shape sequence = g.shape(inputs[0]);
  detail::require_sequences(*this, sequence);
  const Pool1DOptions window = window_over(sequence[0]);
  GraphValue image = g.reshape(inputs[0], {1, sequence[0], sequence[1]}, "/image");
  const bool causal = window.padding == Padding::causal;
  if (causal && window.size != 1) image = g.pad(image, {.left = window.size - 1}, "/zeros");
  const GraphValue pooled = g.op(code_, {image},
                                 PoolAttributes{.padding = causal ? Padding::valid : window.padding,
                                                .stride_h = 1,
                                                .stride_w = detail::as_int32(*this, window.stride),
                                                .filter_h = 1,
                                                .filter_w = detail::as_int32(*this, window.size)},
                                 "/pool");
  const Index channels = sequence[1];
  return {g.reshape(pooled, over_all_ ? Shape{channels} : Shape{g.shape(pooled)[1], channels})};
}

}  // namespace octet
