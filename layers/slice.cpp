#include <fmt/core.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/layers/graph.h>
#include <octet/layers/slice.h>

#include <utility>

namespace octet {

Slice::Slice(SliceOptions options) : Layer(options.name), options_(std::move(options)) {}

std::vector<GraphValue> Slice::emit(Graph& graph, std::span<const GraphValue> inputs) const {
  const Shape& examples = graph.shape(inputs[0]);
  const Index cut = counted_axis(examples, axis());
  const AxisSlice kept = taken(examples, cut);
  if (kept.extent() == examples[cut]) return {inputs[0]};
  std::vector<AxisSlice> axes;
  for (const Index extent : examples) axes.push_back({0, extent});
  axes[static_cast<std::size_t>(cut)] = kept;
  return {graph.slice(inputs[0], axes)};
}

void Slice::describe(Description& description) const {
  description.set("axis", options_.axis).set("begin", options_.begin).set("size", options_.size);
  // As files have it that were written before there were steps.
  if (options_.step != 1) description.set("step", options_.step);
}

std::unique_ptr<Layer> Slice::make(const Description& d) {
  return std::make_unique<Slice>(SliceOptions{.axis = d.integer("axis"),
                                              .begin = d.integer("begin"),
                                              .size = d.integer("size"),
                                              .step = d.has("step") ? d.integer("step") : 1});
}

AxisSlice Slice::taken(const Shape& examples, Index axis) const {
  const Index begin = options_.begin;
  const Index size = options_.size;
  const Index step = options_.step;
  const Index extent = examples[axis];
  if (begin >= 0 && size >= 1 && step >= 1 && begin < extent &&
      size - 1 <= (extent - 1 - begin) / step) {
    return {begin, begin + (size - 1) * step + 1, step};
  }
  throw InvalidArgument(fmt::format(
      "Slice \"{}\": expected 1 to {} elements that lie within axis {} of examples {}, found {} "
      "from {} on{}",
      name(), extent, axis, examples.to_string(), size, begin,
      step == 1 ? "" : fmt::format(" in steps of {}", step)));
}

SplitPart::SplitPart(Index parts, Index part, Index axis, std::string name)
    : Slice({.axis = axis, .name = std::move(name)}), parts_(parts), part_(part) {
  if (part >= 0 && part < parts) return;
  throw InvalidArgument(fmt::format(
      "SplitPart: expected at least 1 part, and the number of one from 0 on, found part "
      "{} of {}",
      part, parts));
}

void SplitPart::describe(Description& description) const {
  description.set("parts", parts_).set("part", part_).set("axis", axis());
}

std::unique_ptr<Layer> SplitPart::make(const Description& d) {
  return std::make_unique<SplitPart>(d.integer("parts"), d.integer("part"), d.integer("axis"));
}

AxisSlice SplitPart::taken(const Shape& examples, Index axis) const {
  const Index size = examples[axis] / parts_;
  if (size > 0 && examples[axis] % parts_ == 0) return {part_ * size, (part_ + 1) * size};
  throw InvalidArgument(fmt::format(
      "SplitPart \"{}\": expected an extent that is a multiple of {}, found {} of axis {} of "
      "examples {}; a Slice takes parts of any size",
      name(), parts_, examples[axis], axis, examples.to_string()));
}

}  // namespace octet
