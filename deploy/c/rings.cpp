#include <octet/deploy/c/rings.h>
#include <octet/runtime/kernel.h>
#include <octet/runtime/operators/concatenation.h>
#include <octet/runtime/operators/definitions.h>
#include <octet/runtime/operators/strided_slice.h>

#include <algorithm>
#include <optional>

namespace octet::detail {
namespace {

class RingFinder {
 public:
  RingFinder(const IntegerModel& model, const CarriedStates& states)
      : model_(model), states_(states) {}

  std::optional<CRing> ring_of(const CarriedState& state) const {
    const std::int32_t old = model_.inputs[state.input];
    const std::int32_t next = model_.outputs[state.output];
    const std::optional<std::size_t> join = only_reader_of(old);
    if (!join || state.output < states_.results || is_read(next)) return std::nullopt;
    const Operator& joins = model_.operators[*join];
    const bool is_in_front = joins.code == OpCode::concatenation && joins.inputs.size() == 2 &&
                             joins.inputs[0] == old && joins.inputs[1] != old;
    if (!is_in_front || ends(joins.outputs[0])) return std::nullopt;
    const std::optional<std::size_t> cut = writer_of(next);
    if (!cut || !cuts_end(model_.operators[*cut], joins)) return std::nullopt;
    CRing ring{.input = state.input,
               .output = state.output,
               .join = *join,
               .cut = *cut,
               .window = joins.outputs[0],
               .newest = joins.inputs[1],
               .kept = static_cast<std::int64_t>(sample_bytes(tensor(old))),
               .step = static_cast<std::int64_t>(sample_bytes(tensor(joins.inputs[1])))};
    // A window's newest values are not to lie over its oldest ones.
    ring.turn = (ring.kept + 2 * ring.step - 1) / ring.step * ring.step;
    return ring;
  }

 private:
  const ModelTensor& tensor(std::int32_t i) const {
    return model_.tensors[static_cast<std::size_t>(i)];
  }
  static bool reads(const Operator& op, std::int32_t i) {
    return std::ranges::count(op.inputs, i) > 0;
  }
  bool is_read(std::int32_t i) const {
    return std::ranges::any_of(model_.operators, [&](const Operator& op) { return reads(op, i); });
  }

  std::optional<std::size_t> only_reader_of(std::int32_t i) const {
    std::optional<std::size_t> found;
    for (std::size_t k = 0; k < model_.operators.size(); ++k) {
      if (!reads(model_.operators[k], i)) continue;
      if (found) return std::nullopt;
      found = k;
    }
    return std::ranges::count(model_.outputs, i) == 0 ? found : std::nullopt;
  }

  std::optional<std::size_t> writer_of(std::int32_t i) const {
    const auto writes = [&](const Operator& op) { return std::ranges::count(op.outputs, i) > 0; };
    const auto found = std::ranges::find_if(model_.operators, writes);
    if (found == model_.operators.end()) return std::nullopt;
    return static_cast<std::size_t>(found - model_.operators.begin());
  }

  /// Whether the values are an output, in whatever shape.
  bool ends(std::int32_t i) const {
    if (std::ranges::count(model_.outputs, i) > 0) return true;
    return std::ranges::any_of(model_.operators, [&](const Operator& op) {
      return definition(op.code).only_reshapes && op.inputs[0] == i && ends(op.outputs[0]);
    });
  }

  /// Whether both are in one piece, and `cut` takes as much from the end of what `joins` makes as
  /// that has put in front.
  bool cuts_end(const Operator& cut, const Operator& joins) const {
    const std::int32_t window = joins.outputs[0];
    if (cut.code != OpCode::strided_slice || cut.inputs[0] != window) return false;
    const auto parts = concatenation_parts({model_, joins});
    if (std::ranges::any_of(parts, [](const auto& part) { return part.count != 1; })) return false;
    const std::vector<SliceAxis> axes = slice_axes({model_, cut});
    const std::vector<std::int32_t>& shape = tensor(window).shape;
    const std::size_t axis = concatenation_axis({model_, joins});
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (axes[i].step != 1 || axes[i].end != shape[i] || axes[i].is_dropped) return false;
      if (i < axis && shape[i] != 1) return false;
      if (i != axis && axes[i].begin != 0) return false;
    }
    return axes[axis].begin == tensor(joins.inputs[1]).shape[axis];
  }

  const IntegerModel& model_;
  const CarriedStates& states_;
};

}  // namespace

std::vector<CRing> find_rings(const IntegerModel& model, const CarriedStates& states) {
  const RingFinder finder(model, states);
  std::vector<CRing> rings;
  for (const CarriedState& state : states.states) {
    if (const auto ring = finder.ring_of(state)) rings.push_back(*ring);
  }
  return rings;
}

}  // namespace octet::detail
