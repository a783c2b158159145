#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/deploy/c/operators.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/runtime/memory_plan.h>
#include <zlib.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <utility>

namespace octet::detail {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

void check_name(std::string_view name) {
  const auto fail = [&](std::string_view reason) {
    throw InvalidArgument(
        fmt::format("c source: \"{}\" cannot be the name of a network in C: {}; expected letters, "
                    "digits and single underscores, as in mnist_int8",
                    name, reason));
  };
  if (name.empty()) fail("it is empty");
  if (!is_letter(name[0])) fail("it does not begin with a letter");
  for (const char c : name) {
    if (!is_letter(c) && !is_digit(c) && c != '_') fail(fmt::format("it holds '{}'", c));
  }
  if (name.find("__") != std::string_view::npos || name.back() == '_') {
    fail("C++ keeps names with two underscores in a row for itself");
  }
  // The file includes <stdint.h> and <string.h>, and finds itself where its folder is searched.
  if (name == "stdint" || name == "string") fail("a header of the C library has it");
}

[[noreturn]] void fail_model(std::string_view problem) {
  throw InvalidArgument(fmt::format("c source: {}", problem));
}

/// The model without a QUANTIZE that alone reads an input of floats, and without a DEQUANTIZE that
/// gives an output.
IntegerModel without_float_ends(IntegerModel model) {
  auto& ops = model.operators;
  for (std::int32_t& input : model.inputs) {
    if (model.tensors[static_cast<std::size_t>(input)].dtype != DType::float32) continue;
    const auto reads = [&](const Operator& op) { return std::ranges::count(op.inputs, input) > 0; };
    const auto reader = std::ranges::find_if(ops, reads);
    if (reader == ops.end() || reader->code != OpCode::quantize ||
        std::ranges::count_if(ops, reads) > 1) {
      continue;
    }
    input = reader->outputs[0];
    ops.erase(reader);
  }
  for (std::int32_t& output : model.outputs) {
    const auto writer = std::ranges::find_if(ops, [&](const Operator& op) {
      return op.code == OpCode::dequantize && op.outputs[0] == output;
    });
    if (writer == ops.end() || std::ranges::count(model.outputs, writer->inputs[0]) > 0) continue;
    output = writer->inputs[0];
    ops.erase(writer);
  }
  return model;
}

std::string capitals(std::string_view name) {
  std::string text(name);
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

/// `role` is "input" or "output".
std::vector<CEnd> ends_of(const IntegerModel& model, const std::vector<std::int32_t>& tensors,
                          std::string_view role) {
  std::vector<CEnd> ends;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::string name =
        tensors.size() == 1 ? std::string(role) : fmt::format("{}{}", role, i + 1);
    ends.push_back({name, capitals(name), &model.tensors[static_cast<std::size_t>(tensors[i])]});
  }
  return ends;
}

/// `place` says where the tensor is, e.g. "operator RELU".
void check_codes(const ModelTensor& tensor, std::string_view place) {
  if (tensor.dtype != DType::int8 && tensor.dtype != DType::uint8) {
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

/// Memory of one type as the type that a step takes.
std::string pointer(const std::string& memory, DType memory_type, const ModelTensor& tensor,
                    std::string_view qualifier) {
  if (tensor.dtype == memory_type) return memory;
  const bool is_name = memory.find(' ') == std::string::npos;
  return fmt::format("({}{} *){}", qualifier, c_type(tensor.dtype),
                     is_name ? memory : fmt::format("({})", memory));
}

/// Where the values of a graph lie: in the caller's memory, in constants, or in an arena in which
/// memory is used again once the last step that reads it is done.
class Layout {
 public:
  explicit Layout(CPlan& plan)
      : plan_(plan), model_(*plan.model), home_(model_.tensors.size()), uses_(home_.size()) {
    std::iota(home_.begin(), home_.end(), 0);
  }

  void run() {
    find_needed();
    find_homes();
    // What steps work in begins at words.
    MemoryPlan memory =
        plan_memory(uses_, scratch_.empty() ? 1 : sizeof(std::int32_t), find_overlaps());
    plan_.arena_bytes = static_cast<std::int64_t>((memory.total_bytes + 3) / 4 * 4);
    offsets_ = std::move(memory.offsets);
    for (const Operator& op : model_.operators) {
      if (definition(op.code).only_reshapes) continue;
      for (std::size_t i = 0; i < op.outputs.size(); ++i) {
        if (needed_[static_cast<std::size_t>(op.outputs[i])]) add_step(op, i);
      }
    }
    for (std::size_t i = 0; plan_.input_in_arena && i < plan_.inputs.size(); ++i) {
      const ModelTensor& input = *plan_.inputs[i].tensor;
      plan_.inputs[i].buffer = pointer(in_arena(model_.inputs[i]), DType::int8, input, "");
    }
    for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
      if (place(model_.outputs[i]).first != plan_.outputs[i].name)
        plan_.outputs[i].copied = read(model_.outputs[i]);
    }
  }

 private:
  const ModelTensor& tensor(std::int32_t i) const {
    return model_.tensors[static_cast<std::size_t>(i)];
  }
  std::int32_t& home(std::int32_t i) { return home_[static_cast<std::size_t>(i)]; }
  MemoryUse& use(std::int32_t i) { return uses_[static_cast<std::size_t>(i)]; }

  /// The inputs that a step reads as values.
  static std::span<const std::int32_t> values_of(const Operator& op) {
    return std::span(op.inputs).first(c_operator(op.code).reads_all_inputs ? op.inputs.size() : 1);
  }

  bool is_needed(const Operator& op) const {
    return std::ranges::any_of(
        op.outputs, [&](std::int32_t i) { return needed_[static_cast<std::size_t>(i)]; });
  }

  /// What the output is made of, from the back; the rest is left out.
  void find_needed() {
    needed_.assign(model_.tensors.size(), false);
    for (const std::int32_t output : model_.outputs) {
      needed_[static_cast<std::size_t>(output)] = true;
    }
    for (std::size_t i = model_.operators.size(); i-- > 0;) {
      const Operator& op = model_.operators[i];
      if (!is_needed(op)) continue;
      for (const std::int32_t in : values_of(op)) needed_[static_cast<std::size_t>(in)] = true;
    }
  }

  /// A RESHAPE or SQUEEZE gives its input another shape where it lies.
  void find_homes() {
    for (const std::int32_t input : model_.inputs) check_codes(tensor(input), "input");
    for (std::size_t i = 0; i < model_.operators.size(); ++i) {
      const Operator& op = model_.operators[i];
      const auto step = static_cast<std::ptrdiff_t>(i);
      if (!is_needed(op)) continue;
      const std::string place = fmt::format("operator {} ({})", i, to_string(op.code));
      for (const std::int32_t out : op.outputs) check_codes(tensor(out), place);
      for (const std::int32_t in : values_of(op)) {
        check_codes(tensor(in), place);
        use(home(in)).last = step;
      }
      if (definition(op.code).only_reshapes) {
        home(op.outputs[0]) = home(op.inputs[0]);
        continue;
      }
      for (const std::int32_t out : op.outputs) {
        if (!needed_[static_cast<std::size_t>(out)]) continue;
        use(out) = {static_cast<std::size_t>(tensor(out).size()), step, step};
      }
      const auto scratch_bytes = c_operator(op.code).scratch_bytes;
      if (scratch_bytes == nullptr) continue;
      const std::int64_t bytes = scratch_bytes(plan_, {model_, op, plan_.rounding});
      if (bytes == 0) continue;
      scratch_[&op] = uses_.size();
      uses_.push_back({static_cast<std::size_t>(bytes), step, step});
    }
    for (const std::int32_t output : model_.outputs) {
      check_codes(tensor(output), "output");
      // The caller's memory.
      use(home(output)).bytes = 0;
    }
    for (const std::int32_t input : model_.inputs) {
      use(input).first = -1;  // The caller writes it before the first step.
      use(input).bytes = plan_.input_in_arena ? static_cast<std::size_t>(tensor(input).size()) : 0;
      const auto copies = [&](std::int32_t output) { return home(output) == input; };
      // Outputs that no step writes are copied behind all steps.
      if (plan_.input_in_arena && std::ranges::any_of(model_.outputs, copies)) {
        use(input).last = std::ssize(model_.operators);
      }
    }
  }

  /// Where outputs may lie over what their operator is the last to read.
  std::vector<MemoryOverlap> find_overlaps() {
    std::vector<MemoryOverlap> overlaps;
    for (std::size_t i = 0; i < model_.operators.size(); ++i) {
      const Operator& op = model_.operators[i];
      if (!is_needed(op)) continue;
      std::map<std::int32_t, std::optional<COverlap>> by_home;
      for (std::size_t k = 0; k < values_of(op).size(); ++k) {
        const std::int32_t in = home(op.inputs[k]);
        if (use(in).last != static_cast<std::ptrdiff_t>(i)) continue;
        const auto found = overlap_of(op, k);
        const auto [at, is_first] = by_home.emplace(in, found);
        // Elementwise both times, or not at all.
        if (!is_first && (!found || found->lead > 0)) at->second.reset();
      }
      for (const auto& [in, overlap] : by_home) {
        if (!overlap) continue;
        overlaps.push_back({static_cast<std::size_t>(op.outputs[0]), static_cast<std::size_t>(in),
                            static_cast<std::size_t>(overlap->lead),
                            static_cast<std::size_t>(overlap->unit)});
      }
    }
    return overlaps;
  }

  std::optional<COverlap> overlap_of(const Operator& op, std::size_t input) const {
    const auto overlap = c_operator(op.code).overlap;
    if (overlap == nullptr) return std::nullopt;
    return overlap(plan_, {model_, op, plan_.rounding}, input);
  }

  /// Where the values of tensor i lie, and of which type that memory is.
  std::pair<std::string, DType> place(std::int32_t i) {
    const std::int32_t at = home(i);
    for (std::size_t k = 0; k < model_.inputs.size(); ++k) {
      if (at == model_.inputs[k]) return {plan_.inputs[k].name, plan_.inputs[k].tensor->dtype};
    }
    if (tensor(at).is_constant()) return {constant(at), tensor(at).dtype};
    // Of outputs that hold the same codes, the first is written and the others are copied.
    for (std::size_t k = 0; k < model_.outputs.size(); ++k) {
      if (at == home(model_.outputs[k])) {
        return {plan_.outputs[k].name, plan_.outputs[k].tensor->dtype};
      }
    }
    return {in_arena(at), DType::int8};
  }

  /// Where the arena has a place for the values of tensor i.
  std::string in_arena(std::int32_t i) const {
    const std::size_t offset = offsets_[static_cast<std::size_t>(i)];
    const std::string arena = plan_.name + "_arena.bytes";
    return offset == 0 ? arena : fmt::format("{} + {}", arena, offset);
  }

  std::string read(std::int32_t i) {
    const auto [memory, type] = place(i);
    return pointer(memory, type, tensor(i), "const ");
  }

  std::string constant(std::int32_t i) {
    std::string name = fmt::format("{}_constant{}", plan_.name, i);
    if (!written_.insert(i).second) return name;
    plan_.constants +=
        array_text(c_type(tensor(i).dtype), name, codes_of(tensor(i).dtype, tensor(i).data));
    plan_.constant_bytes += tensor(i).size();
    return name;
  }

  void add_step(const Operator& op, std::size_t result) {
    CStep step{
        static_cast<int>(plan_.steps.size()) + 1, {model_, op, plan_.rounding}, result, {}, {}};
    if (const auto scratch = scratch_.find(&op); scratch != scratch_.end()) {
      step.scratch =
          fmt::format("({}_arena.words + {})", plan_.name, offsets_[scratch->second] / 4);
    }
    for (const std::int32_t in : values_of(op)) step.from.push_back(read(in));
    const auto [memory, type] = place(op.outputs[result]);
    step.to = pointer(memory, type, tensor(op.outputs[result]), "");
    plan_.steps.push_back(std::move(step));
  }

  CPlan& plan_;
  const IntegerModel& model_;
  /// By tensor: the one whose memory it is in.
  std::vector<std::int32_t> home_;
  /// By tensor the memory that it needs, and behind them what operators work in.
  std::vector<MemoryUse> uses_;
  std::map<const Operator*, std::size_t> scratch_;
  std::vector<bool> needed_;
  std::vector<std::size_t> offsets_;
  std::set<std::int32_t> written_;
};

std::uint32_t crc_of(const IntegerModel& model) {
  const std::vector<std::uint8_t> bytes = to_tflite(model);
  return static_cast<std::uint32_t>(crc32_z(0, bytes.data(), bytes.size()));
}

}  // namespace

std::string_view c_type(DType dtype) { return dtype == DType::uint8 ? "uint8_t" : "int8_t"; }

std::int32_t code_of(DType dtype, std::uint8_t byte) {
  return dtype == DType::int8 ? std::int32_t{static_cast<std::int8_t>(byte)} : std::int32_t{byte};
}

std::vector<std::int32_t> codes_of(DType dtype, std::span<const std::uint8_t> bytes) {
  std::vector<std::int32_t> codes;
  codes.reserve(bytes.size());
  for (const std::uint8_t byte : bytes) codes.push_back(code_of(dtype, byte));
  return codes;
}

Fillings CPlan::fillings() const { return {{"name", name}, {"NAME", macro}}; }

Fillings CPlan::fillings(const CEnd& end) const {
  Fillings result = fillings();
  result["end"] = end.name;
  result["END"] = end.macro;
  result["type"] = c_type(end.tensor->dtype);
  return result;
}

std::int64_t size_of(const std::vector<CEnd>& ends) {
  std::int64_t size = 0;
  for (const CEnd& end : ends) size += end.tensor->size();
  return size;
}

std::vector<CEnd> all_ends(const CPlan& plan) {
  std::vector<CEnd> ends = plan.inputs;
  ends.insert(ends.end(), plan.outputs.begin(), plan.outputs.end());
  return ends;
}

std::string c_parameters(const CPlan& plan) {
  std::vector<std::string> parameters;
  for (const CEnd& input : plan.inputs) {
    parameters.push_back(fmt::format("const {} *{}", c_type(input.tensor->dtype), input.name));
  }
  for (const CEnd& output : plan.outputs) {
    parameters.push_back(fmt::format("{} *{}", c_type(output.tensor->dtype), output.name));
  }
  return fmt::format("{}", fmt::join(parameters, ", "));
}

CPlan make_c_plan(const IntegerModel& model, std::string_view name, const CSourceOptions& options) {
  check_name(name);
  CPlan plan;
  plan.name = name;
  plan.macro = capitals(name);
  model.validate();
  plan.rounding = options.rounding ? *options.rounding : rounding_of(model);
  static_cast<void>(to_string(plan.rounding));  // Throws where it has no name.
  if (plan.rounding == Rounding::q15) {
    throw InvalidArgument(
        "c source: expected rounding mode fp32, single or double, found q15, the mode of int16 "
        "activations; write them as .tflite, or train with 8 bits for activations");
  }
  if (options.weights != CWeights::int8 && options.weights != CWeights::packed) {
    throw InvalidArgument("c source: a CWeights outside the enumeration");
  }
  plan.weights = options.weights;
  if (options.code != CCode::fast && options.code != CCode::small) {
    throw InvalidArgument("c source: a CCode outside the enumeration");
  }
  plan.code = options.code;
  plan.input_in_arena = options.input_in_arena;
  plan.crc = crc_of(model);
  plan.model = std::make_shared<const IntegerModel>(without_float_ends(model));
  plan.inputs = ends_of(*plan.model, plan.model->inputs, "input");
  plan.outputs = ends_of(*plan.model, plan.model->outputs, "output");
  plan.states = kept_states(model);
  Layout(plan).run();
  return plan;
}

}  // namespace octet::detail
