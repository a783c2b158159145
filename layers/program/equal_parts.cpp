#include <octet/layers/program/equal_parts.h>
#include <octet/runtime/operators/definitions.h>

#include <optional>

namespace octet {
namespace {

/// What a step takes of the one axis of which it does not take all.
struct Cut {
  std::size_t axis;
  AxisSlice taken;
};

/// None where a step is no STRIDED_SLICE, or cuts no axis or several.
std::optional<Cut> cut_of(const Program& program, const Step& step) {
  const bool slices = step.kind == Step::Kind::op && step.code == OpCode::strided_slice &&
                      (step.scheme == nullptr || step.scheme->result == nullptr);
  if (!slices) return std::nullopt;
  const Shape& read = program.values[step.inputs[0]].shape;
  const std::size_t rank = step.numbers.size() / 3;
  std::optional<Cut> cut;
  for (std::size_t axis = 1; axis < rank; ++axis) {
    const AxisSlice taken{step.numbers[axis], step.numbers[rank + axis],
                          step.numbers[2 * rank + axis]};
    if (taken.extent() == read[static_cast<Index>(axis) - 1]) continue;
    if (cut) return std::nullopt;
    cut = Cut{axis, taken};
  }
  return cut;
}

}  // namespace

EqualParts equal_parts(const Program& program, std::size_t first) {
  const Step& start = program.steps[first];
  const std::optional<Cut> cut = cut_of(program, start);
  if (!cut) return {};
  const Index extent = program.values[start.inputs[0]].shape[static_cast<Index>(cut->axis) - 1];
  const Index size = cut->taken.extent();
  const auto count = static_cast<std::size_t>(extent / size);
  if (extent % size != 0 || count > definition(OpCode::split).most_outputs) return {};
  if (count > program.steps.size() - first) return {};
  for (std::size_t i = 0; i < count; ++i) {
    const Step& step = program.steps[first + i];
    const std::optional<Cut> part = cut_of(program, step);
    const Index begin = static_cast<Index>(i) * size;
    const bool fits = part && part->axis == cut->axis && part->taken.begin == begin &&
                      part->taken.end == begin + size && step.inputs == start.inputs &&
                      (step.scheme == nullptr) == (start.scheme == nullptr);
    if (!fits) return {};
  }
  return {count, cut->axis};
}

}  // namespace octet
