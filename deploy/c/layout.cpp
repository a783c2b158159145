#include <fmt/format.h>
#include <octet/deploy/c/memory.h>
#include <octet/deploy/c/operators.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace octet::detail {
namespace {

/// C expressions of where the values of a graph lie: in the caller's memory, in constants, or in
/// the arena.
class Layout {
 public:
  explicit Layout(CPlan& plan) : plan_(plan), model_(*plan.model), memory_(plan_c_memory(plan)) {}

  void run() {
    plan_.arena_bytes = memory_.bytes;
    plan_.whole_arena_bytes = memory_.whole_bytes;
    for (std::size_t i = 0; i < model_.operators.size(); ++i) {
      const Operator& op = model_.operators[i];
      if (definition(op.code).only_reshapes || goes_into_ring(i)) continue;
      for (std::size_t k = 0; k < op.outputs.size(); ++k) {
        // The step of an operator with states of its own makes them, too.
        if (k > 0 && has_states(op)) break;
        if (memory_.needed[static_cast<std::size_t>(op.outputs[k])]) add_step(i, k);
      }
    }
    for (const CarriedState& state : plan_.states.states) place_state(state);
    for (CStep& step : plan_.steps) connect(step);
    for (CRingStep& step : plan_.rings) step.newest = read(step.ring.newest);
    if (memory_.chain) add_chain();
    for (std::size_t i = 0; plan_.input_in_arena && i < plan_.inputs.size(); ++i) {
      if (plan_.inputs[i].is_state) continue;
      const ModelTensor& input = *plan_.inputs[i].tensor;
      plan_.inputs[i].buffer = c_pointer(in_arena(model_.inputs[i]), DType::int8, input.dtype, "");
    }
    for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
      if (is_next_of_ring(i) || place(model_.outputs[i]).first == plan_.outputs[i].place) continue;
      plan_.outputs[i].copied = read(model_.outputs[i]);
    }
  }

 private:
  bool is_next_of_ring(std::size_t output) const {
    return std::ranges::count(memory_.rings, output, &CRing::output) > 0;
  }

  /// Whether the operator makes the window of a ring, to which the step that follows it adds.
  bool goes_into_ring(std::size_t number) {
    const auto ring = std::ranges::find(memory_.rings, number, &CRing::join);
    if (ring == memory_.rings.end()) return false;
    plan_.rings.push_back({*ring, plan_.steps.size(), {}});
    return true;
  }

  /// Gives a state its places in the struct of states: one, or two halves that take turns.
  void place_state(const CarriedState& state) {
    CEnd& old = plan_.inputs[state.input];
    old.is_overwritten = is_next_of_ring(state.output) || may_overwrite(state);
    old.place = fmt::format("state->{}", old.name);
    const std::string next = old.is_overwritten ? old.place : old.place + "[1 - state->now]";
    if (!old.is_overwritten) old.place += "[state->now]";
    if (plan_.outputs[state.output].is_state) plan_.outputs[state.output].place = next;
  }

  /// Whether a new state may be written over the old one.
  bool may_overwrite(const CarriedState& state) const {
    // One that is a result, too, is copied behind all steps.
    if (state.output < plan_.states.results) return true;
    const std::int32_t old = model_.inputs[state.input];
    const std::int32_t written = home(model_.outputs[state.output]);
    const auto holds_old = [&](std::int32_t i) { return home(i) == old; };
    const auto takes_old = [&](const CRingStep& step) { return holds_old(step.ring.newest); };
    if (std::ranges::any_of(model_.outputs, holds_old) ||
        std::ranges::any_of(plan_.rings, takes_old)) {
      return false;
    }
    const auto reads = [&](const CStep& step) {
      return std::ranges::any_of(c_values_of(step.source.op), holds_old);
    };
    const auto writes = [&](const CStep& step) {
      const Operator& op = step.source.op;
      return home(op.outputs[step.result]) == written ||
             (has_states(op) && std::ranges::count(op.outputs, written) > 0);
    };
    const auto writer = std::ranges::find_if(plan_.steps, writes);
    return writer != plan_.steps.end() && may_overwrite(*writer, old, written) &&
           std::none_of(writer + 1, plan_.steps.end(), reads);
  }

  /// Whether a step may write that result where that input is, which it may read.
  bool may_overwrite(const CStep& step, std::int32_t input, std::int32_t result) const {
    const std::vector<std::int32_t> values = c_values_of(step.source.op);
    const auto overlap = c_operator(step.source.op.code).overlap;
    if (step.rows) return false;
    const std::size_t first_state =
        values.size() - definition(step.source.op.code).file_states.size();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (home(values[i]) != input) continue;
      // An operator's own state moves on where it lies.
      if (i >= first_state && step.source.op.outputs[1 + i - first_state] == result) continue;
      if (overlap == nullptr) return false;
      const std::optional<COverlap> found = overlap(plan_, step.source, i);
      if (!found || found->lead != 0) return false;
    }
    return true;
  }

  static bool has_states(const Operator& op) { return !definition(op.code).file_states.empty(); }

  const ModelTensor& tensor(std::int32_t i) const {
    return model_.tensors[static_cast<std::size_t>(i)];
  }
  std::int32_t home(std::int32_t i) const { return memory_.homes[static_cast<std::size_t>(i)]; }

  /// Where the values of tensor i lie, and of which type that memory is.
  std::pair<std::string, DType> place(std::int32_t i) {
    const std::int32_t at = home(i);
    for (std::size_t k = 0; k < model_.inputs.size(); ++k) {
      if (at == model_.inputs[k]) return {plan_.inputs[k].place, plan_.inputs[k].tensor->dtype};
    }
    const auto ring = std::ranges::find(memory_.rings, at, &CRing::window);
    if (ring != memory_.rings.end()) return {c_ring_window(plan_, *ring), tensor(at).dtype};
    if (tensor(at).is_constant()) return {constant(at), tensor(at).dtype};
    // Of outputs that hold the same codes, the first is written and the others are copied.
    for (std::size_t k = 0; k < model_.outputs.size(); ++k) {
      if (at == home(model_.outputs[k])) {
        return {plan_.outputs[k].place, plan_.outputs[k].tensor->dtype};
      }
    }
    return {in_arena(at), DType::int8};
  }

  /// Where the arena has a place for the values of tensor i.
  std::string in_arena(std::int32_t i) const {
    return c_arena_place(plan_, memory_.offsets[static_cast<std::size_t>(i)]);
  }

  std::string read(std::int32_t i) {
    const auto [memory, type] = place(i);
    return c_pointer(memory, type, tensor(i).dtype, "const ");
  }

  std::string constant(std::int32_t i) {
    std::string name = fmt::format("{}_constant{}", plan_.name, i);
    if (!written_.insert(i).second) return name;
    plan_.constants +=
        array_text(c_type(tensor(i).dtype), name, codes_of(tensor(i).dtype, tensor(i).data));
    plan_.constant_bytes += static_cast<std::int64_t>(tensor(i).data.size());
    return name;
  }

  void add_step(std::size_t number, std::size_t result) {
    const Operator& op = model_.operators[number];
    CStep step{
        static_cast<int>(plan_.steps.size()) + 1, {model_, op, plan_.rounding}, result, {}, {}};
    step.function = fmt::format("{}_layer{}", plan_.name, step.number);
    if (const auto scratch = memory_.scratch.find(number); scratch != memory_.scratch.end()) {
      step.scratch = fmt::format("({}_arena.words + {})", plan_.name, scratch->second / 4);
    }
    if (memory_.chain && memory_.chain->contains(number)) {
      if (number == memory_.chain->model_operators.front()) plan_.chain_step = plan_.steps.size();
      step.rows = c_operator(op.code).rows(step.source);
    }
    plan_.steps.push_back(std::move(step));
  }

  /// Says where a step reads and writes.
  void connect(CStep& step) {
    const Operator& op = step.source.op;
    for (const std::int32_t in : c_values_of(op)) step.from.push_back(read(in));
    const auto write = [&](std::int32_t i) {
      const auto [memory, type] = place(i);
      return c_pointer(memory, type, tensor(i).dtype, "");
    };
    step.to = write(op.outputs[step.result]);
    for (std::size_t k = 0; k < definition(op.code).file_states.size(); ++k) {
      step.states.push_back(write(op.outputs[1 + k]));
    }
  }

  void add_chain() {
    plan_.chain = memory_.chain;
    const CRowChain& chain = *plan_.chain;
    for (const std::int32_t i : chain.tensors) {
      plan_.chain_offsets.push_back(memory_.offsets[static_cast<std::size_t>(home(i))]);
    }
    for (const std::size_t image : chain.whole_inputs()) {
      plan_.chain_arguments.push_back(read(chain.tensors[image]));
    }
    plan_.chain_arguments.push_back(plan_.steps[plan_.chain_step + chain.operators.size() - 1].to);
  }

  CPlan& plan_;
  const IntegerModel& model_;
  const CMemory memory_;
  std::set<std::int32_t> written_;
};

}  // namespace

void lay_out(CPlan& plan) { Layout(plan).run(); }

}  // namespace octet::detail
