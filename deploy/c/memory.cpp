#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/deploy/c/memory.h>
#include <octet/deploy/c/operators.h>
#include <octet/deploy/c/row_functions.h>
#include <octet/runtime/memory_plan.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

namespace octet::detail {
namespace {

[[noreturn]] void fail_model(std::string_view problem) {
  throw InvalidArgument(fmt::format("c source: {}", problem));
}

/// `place` says where the tensor is, e.g. "operator RELU". An operator's own state may be int16.
void check_codes(const ModelTensor& tensor, std::string_view place, bool is_own_state = false) {
  const bool is_wide_state = is_own_state && tensor.dtype == DType::int16;
  if (tensor.dtype != DType::int8 && tensor.dtype != DType::uint8 && !is_wide_state) {
    fail_model(fmt::format(
        "{}: tensor \"{}\" is {}, expected int8 or uint8 all through; float operators "
        "have no place in it. Quantize the layer, export a .tflite or ONNX file, or did "
        "you mean the int8 model?",
        place, tensor.name, to_string(tensor.dtype)));
  }
  if (tensor.quantization.scales.size() != 1) {
    fail_model(fmt::format("{}: tensor \"{}\" has {} scales, expected one", place, tensor.name,
                           tensor.quantization.scales.size()));
  }
}

/// Throws unless result `i` of `op` has a place in C: codes, the classes of an ARG_MAX, or indices,
/// which are an input in another shape.
void check_result(const IntegerModel& model, const Operator& op, std::int32_t i,
                  std::string_view place) {
  const ModelTensor& result = model.tensors[static_cast<std::size_t>(i)];
  const bool is_index = definition(op.code).only_reshapes && result.dtype == DType::int32;
  const bool is_own_state = !definition(op.code).file_states.empty() && i != op.outputs[0];
  if (op.code != OpCode::arg_max && !is_index) check_codes(result, place, is_own_state);
}

/// The blocks of memory that operators need, some of which run by rows.
class Blocks {
 public:
  Blocks(const CPlan& plan, const std::vector<bool>& needed, const std::vector<CRing>& rings,
         const CRowChain* chain)
      : plan_(plan),
        model_(*plan.model),
        needed_(needed),
        rings_(rings),
        chain_(chain),
        homes_(model_.tensors.size()),
        uses_(homes_.size()) {
    std::iota(homes_.begin(), homes_.end(), 0);
    for (const CEnd& input : plan.inputs) {
      if (input.rows > 0) continue;
      const auto i = model_.inputs[static_cast<std::size_t>(&input - plan.inputs.data())];
      check_codes(*input.tensor, "input", is_read_as_state(i));
    }
    for (std::size_t i = 0; i < model_.operators.size(); ++i) {
      if (is_needed(model_.operators[i])) add_operator(i);
    }
    if (chain_ != nullptr) add_rows();
    add_ends();
    for (std::size_t i = 0; i < model_.operators.size(); ++i) {
      const bool is_alone = chain_ == nullptr || !chain_->contains(i);
      if (is_alone && is_needed(model_.operators[i])) add_overlaps(i);
    }
    if (chain_ != nullptr) add_overlaps_of_rows();
  }

  /// Estimates what the fullest step takes at least.
  std::size_t estimate() const {
    std::map<std::ptrdiff_t, std::size_t> bytes;
    for (const MemoryUse& use : uses_) bytes[use.first] = 0;
    for (const MemoryUse& use : uses_) {
      for (auto at = bytes.lower_bound(use.first); at != bytes.end() && at->first <= use.last;
           ++at) {
        at->second += use.bytes;
      }
    }
    for (const MemoryOverlap& o : overlaps_) {
      const std::size_t shared = std::min(uses_[o.output].bytes, uses_[o.input].bytes);
      bytes[uses_[o.output].first] -= shared - std::min(shared, o.lead);
    }
    std::size_t most = 0;
    for (const auto& [step, sum] : bytes) most = std::max(most, sum);
    return most;
  }

  CMemory plan() const {
    // What operators work in begins at words.
    MemoryPlan memory = plan_memory(uses_, scratch_.empty() ? 1 : sizeof(std::int32_t), overlaps_);
    CMemory result;
    result.needed = needed_;
    result.homes = homes_;
    for (const auto& [op, block] : scratch_) result.scratch[op] = memory.offsets[block];
    result.offsets = std::move(memory.offsets);
    result.bytes = static_cast<std::int64_t>((memory.total_bytes + 3) / 4 * 4);
    if (chain_ != nullptr) result.chain = *chain_;
    return result;
  }

 private:
  const ModelTensor& tensor(std::int32_t i) const {
    return model_.tensors[static_cast<std::size_t>(i)];
  }
  std::int32_t& home(std::int32_t i) { return homes_[static_cast<std::size_t>(i)]; }
  MemoryUse& use(std::int32_t i) { return uses_[static_cast<std::size_t>(i)]; }

  /// Whether an operator has the tensor as a state of its own.
  bool is_read_as_state(std::int32_t i) const {
    return std::ranges::any_of(model_.operators, [&](const Operator& op) {
      return std::ranges::any_of(definition(op.code).file_states,
                                 [&](std::size_t state) { return op.inputs[state] == i; });
    });
  }

  /// The time at which an operator runs: the operators of a chain all run at once.
  std::ptrdiff_t step_of(std::size_t i) const {
    const bool is_of_chain = chain_ != nullptr && chain_->contains(i);
    return static_cast<std::ptrdiff_t>(is_of_chain ? chain_->model_operators.front() : i);
  }

  bool is_needed(const Operator& op) const {
    return std::ranges::any_of(
        op.outputs, [&](std::int32_t i) { return needed_[static_cast<std::size_t>(i)]; });
  }

  /// Whether the operator reads, or reshapes, indices that the caller gives.
  bool reads_indices(const Operator& op, std::int32_t in) {
    const auto input = std::ranges::find(model_.inputs, home(in));
    const bool may_read = op.code == OpCode::gather || definition(op.code).only_reshapes;
    return may_read && input != model_.inputs.end() &&
           plan_.inputs[static_cast<std::size_t>(input - model_.inputs.begin())].rows > 0;
  }

  void add_operator(std::size_t i) {
    const Operator& op = model_.operators[i];
    const std::ptrdiff_t step = step_of(i);
    const std::string place = fmt::format("operator {} ({})", i, to_string(op.code));
    const std::size_t states = definition(op.code).file_states.size();
    if (states > 0 && c_operator(op.code).make == nullptr) {
      fail_model(
          fmt::format("{}: expected an operator that C source has, found one with a state of "
                      "its own; a layer SVDF is made of others",
                      place));
    }
    for (const std::int32_t out : op.outputs) check_result(model_, op, out, place);
    const std::vector<std::int32_t> values = c_values_of(op);
    for (std::size_t k = 0; k < values.size(); ++k) {
      const bool is_own_state = k + states >= values.size();
      if (!reads_indices(op, values[k])) check_codes(tensor(values[k]), place, is_own_state);
      use(home(values[k])).last = step;
    }
    // A RESHAPE or SQUEEZE gives its input another shape where it lies.
    if (definition(op.code).only_reshapes) {
      home(op.outputs[0]) = home(op.inputs[0]);
      return;
    }
    for (const std::int32_t out : op.outputs) {
      if (!needed_[static_cast<std::size_t>(out)]) continue;
      use(out) = {sample_bytes(tensor(out)), step, step};
    }
    add_scratch(i);
  }

  void add_scratch(std::size_t i) {
    const Operator& op = model_.operators[i];
    const auto scratch_bytes = c_operator(op.code).scratch_bytes;
    if (scratch_bytes == nullptr) return;
    const bool by_rows = chain_ != nullptr && chain_->contains(i);
    const std::int64_t bytes =
        scratch_bytes(plan_, {model_, op, plan_.rounding}, by_rows ? plan_.rows : 0);
    if (bytes == 0) return;
    // Operators of a chain run in turn, and share what they work in.
    if (by_rows && chain_scratch_ == 0) chain_scratch_ = uses_.size();
    scratch_[i] = by_rows ? chain_scratch_ : uses_.size();
    if (scratch_[i] == uses_.size()) uses_.push_back({0, step_of(i), step_of(i)});
    MemoryUse& scratch = uses_[scratch_[i]];
    scratch.bytes = std::max(scratch.bytes, static_cast<std::size_t>(bytes));
  }

  /// Gives the images within a chain memory of some rows.
  void add_rows() {
    for (std::size_t k = 0; k < chain_->images.size(); ++k) {
      const std::int64_t rows = chain_->schedule.capacity[k];
      if (rows == 0) continue;
      use(chain_->tensors[k]).bytes = static_cast<std::size_t>(rows * chain_->images[k].row_bytes);
    }
  }

  void add_ends() {
    for (const std::int32_t output : model_.outputs) {
      const auto makes = [&](const Operator& op) { return std::ranges::count(op.outputs, output); };
      const auto maker = std::ranges::find_if(model_.operators, makes);
      if (maker == model_.operators.end()) {
        check_codes(tensor(output), "output");
      } else {
        check_result(model_, *maker, output, "output");
      }
      // The caller's memory.
      use(home(output)).bytes = 0;
    }
    for (const CRing& ring : rings_) use(ring.window).bytes = 0;
    for (const std::int32_t input : model_.inputs) {
      use(input).first = -1;  // The caller writes it before the first step.
      use(input).bytes = is_in_arena(input) ? sample_bytes(tensor(input)) : 0;
      const auto copies = [&](std::int32_t output) { return home(output) == input; };
      // Outputs that no step writes are copied behind all steps.
      if (is_in_arena(input) && std::ranges::any_of(model_.outputs, copies)) {
        use(input).last = std::ssize(model_.operators);
      }
    }
  }

  bool is_in_arena(std::int32_t input) const {
    const auto i = std::ranges::find(model_.inputs, input) - model_.inputs.begin();
    return plan_.input_in_arena && !plan_.inputs[static_cast<std::size_t>(i)].is_state;
  }

  /// Where outputs may lie over what their operator is the last to read.
  void add_overlaps(std::size_t i) {
    const Operator& op = model_.operators[i];
    const auto overlap_of = c_operator(op.code).overlap;
    std::map<std::int32_t, std::optional<COverlap>> by_home;
    const std::vector<std::int32_t> values = c_values_of(op);
    for (std::size_t k = 0; k < values.size(); ++k) {
      const std::int32_t in = home(values[k]);
      if (overlap_of == nullptr || use(in).last != step_of(i)) continue;
      const auto found = overlap_of(plan_, {model_, op, plan_.rounding}, k);
      const auto [at, is_first] = by_home.emplace(in, found);
      // Elementwise both times, or not at all.
      if (!is_first && (!found || found->lead > 0)) at->second.reset();
    }
    for (const auto& [in, overlap] : by_home) {
      if (!overlap) continue;
      overlaps_.push_back({static_cast<std::size_t>(op.outputs[0]), static_cast<std::size_t>(in),
                           static_cast<std::size_t>(overlap->lead),
                           static_cast<std::size_t>(overlap->unit)});
    }
  }

  void add_overlaps_of_rows() {
    const std::size_t last = chain_->operators.back().output;
    const std::int32_t output = chain_->tensors[last];
    std::map<std::int32_t, std::int64_t> leads;
    for (std::size_t k = 0; k < chain_->images.size(); ++k) {
      const std::int32_t in = home(chain_->tensors[k]);
      if (k == last || chain_->schedule.capacity[k] > 0 || use(in).last != use(output).first) {
        continue;
      }
      leads[in] = std::max(leads[in], chain_->schedule.leads[k]);
    }
    for (const auto& [in, lead] : leads) {
      overlaps_.push_back({static_cast<std::size_t>(output), static_cast<std::size_t>(in),
                           static_cast<std::size_t>(lead)});
    }
  }

  const CPlan& plan_;
  const IntegerModel& model_;
  const std::vector<bool>& needed_;
  const std::vector<CRing>& rings_;
  const CRowChain* chain_;
  std::vector<std::int32_t> homes_;
  /// By tensor the memory that it needs, and behind them what operators work in.
  std::vector<MemoryUse> uses_;
  std::map<std::size_t, std::size_t> scratch_;
  /// The block that the operators of the chain work in; 0 where there is none.
  std::size_t chain_scratch_ = 0;
  std::vector<MemoryOverlap> overlaps_;
};

/// Marks, from the back, what the output is made of; the rest is left out, as the next states of
/// rings are.
std::vector<bool> find_needed(const IntegerModel& model, const std::vector<CRing>& rings) {
  std::vector<bool> needed(model.tensors.size());
  for (const std::int32_t output : model.outputs) needed[static_cast<std::size_t>(output)] = true;
  for (const CRing& ring : rings) {
    needed[static_cast<std::size_t>(ring.window)] = true;
    needed[static_cast<std::size_t>(model.outputs[ring.output])] = false;
  }
  for (std::size_t i = model.operators.size(); i-- > 0;) {
    const Operator& op = model.operators[i];
    const auto is_needed = [&](std::int32_t t) { return needed[static_cast<std::size_t>(t)]; };
    if (std::ranges::none_of(op.outputs, is_needed)) continue;
    for (const std::int32_t in : c_values_of(op)) needed[static_cast<std::size_t>(in)] = true;
    if (definition(op.code).file_states.empty()) continue;
    // A kernel that has states of its own keeps them in what it gives of them.
    for (const std::int32_t out : op.outputs) needed[static_cast<std::size_t>(out)] = true;
  }
  return needed;
}

/// The memory of the chain that takes least, of the few that seem to.
CMemory plan_by_rows(const CPlan& plan, CMemory whole) {
  constexpr std::size_t kMostPlans = 8;
  const std::vector<CRowChain> chains = row_chains(plan, whole.needed);
  std::vector<std::pair<std::size_t, const CRowChain*>> likely;
  likely.reserve(chains.size());
  for (const CRowChain& chain : chains) {
    likely.emplace_back(Blocks(plan, whole.needed, whole.rings, &chain).estimate(), &chain);
  }
  std::ranges::stable_sort(
      likely, {}, [](const auto& a) { return std::pair(a.first, a.second->operators.size()); });
  const std::int64_t whole_bytes = whole.bytes;
  CMemory best = std::move(whole);
  for (std::size_t i = 0; i < std::min(likely.size(), kMostPlans); ++i) {
    CMemory memory = Blocks(plan, best.needed, best.rings, likely[i].second).plan();
    if (memory.bytes < best.bytes) best = std::move(memory);
  }
  best.whole_bytes = whole_bytes;
  return best;
}

}  // namespace

CMemory plan_c_memory(const CPlan& plan) {
  // A ring is twice as long as its state.
  const bool has_rings = plan.code == CCode::fast && plan.rows == 0;
  std::vector<CRing> rings;
  if (has_rings) rings = find_rings(*plan.model, plan.states);
  CMemory whole = Blocks(plan, find_needed(*plan.model, rings), rings, nullptr).plan();
  whole.whole_bytes = whole.bytes;
  whole.rings = std::move(rings);
  return plan.rows == 0 ? whole : plan_by_rows(plan, std::move(whole));
}

}  // namespace octet::detail
