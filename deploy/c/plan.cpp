#include <octet/core/error.h>
#include <octet/deploy/c/operators.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/runtime/memory_plan.h>
#include <zlib.h>

#include <algorithm>
#include <cctype>
#include <limits>
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

/// The model without QUANTIZE from floats at its front and DEQUANTIZE at its end.
IntegerModel without_float_ends(IntegerModel model) {
  if (model.inputs.size() != 1 || model.outputs.size() != 1) {
    fail_model(fmt::format("expected a model of one input and one output, found {} and {}",
                           model.inputs.size(), model.outputs.size()));
  }
  const auto is_float = [&](std::int32_t i) {
    return model.tensors[static_cast<std::size_t>(i)].dtype == DType::float32;
  };
  auto& ops = model.operators;
  if (!ops.empty() && ops.front().code == OpCode::quantize && is_float(model.inputs[0]) &&
      ops.front().inputs[0] == model.inputs[0]) {
    model.inputs[0] = ops.front().outputs[0];
    ops.erase(ops.begin());
  }
  if (!ops.empty() && ops.back().code == OpCode::dequantize &&
      ops.back().outputs[0] == model.outputs[0]) {
    model.outputs[0] = ops.back().inputs[0];
    ops.pop_back();
  }
  return model;
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
    MemoryPlan memory = plan_memory(uses_, 1);
    plan_.arena_bytes = static_cast<std::int64_t>(memory.total_bytes);
    offsets_ = std::move(memory.offsets);
    for (const Operator& op : model_.operators) {
      if (!definition(op.code).only_reshapes && is_needed(op)) add_step(op);
    }
    const std::int32_t output = home(model_.outputs[0]);
    if (output == model_.inputs[0] || tensor(output).is_constant()) {
      plan_.copied = read(model_.outputs[0]);
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
    return needed_[static_cast<std::size_t>(op.outputs[0])];
  }

  /// What the output is made of, from the back; the rest is left out.
  void find_needed() {
    needed_.assign(model_.tensors.size(), false);
    needed_[static_cast<std::size_t>(model_.outputs[0])] = true;
    for (std::size_t i = model_.operators.size(); i-- > 0;) {
      const Operator& op = model_.operators[i];
      if (!is_needed(op)) continue;
      for (const std::int32_t in : values_of(op)) needed_[static_cast<std::size_t>(in)] = true;
    }
  }

  /// A RESHAPE or SQUEEZE gives its input another shape where it lies.
  void find_homes() {
    check_codes(tensor(model_.inputs[0]), "input");
    for (std::size_t i = 0; i < model_.operators.size(); ++i) {
      const Operator& op = model_.operators[i];
      const std::int32_t out = op.outputs[0];
      const auto step = static_cast<std::ptrdiff_t>(i);
      if (!is_needed(op)) continue;
      const std::string place = fmt::format("operator {} ({})", i, to_string(op.code));
      check_codes(tensor(out), place);
      for (const std::int32_t in : values_of(op)) {
        check_codes(tensor(in), place);
        use(home(in)).last = step;
      }
      if (definition(op.code).only_reshapes) {
        home(out) = home(op.inputs[0]);
      } else {
        use(out) = {static_cast<std::size_t>(tensor(out).size()), step, step};
      }
    }
    check_codes(tensor(model_.outputs[0]), "output");
    // The caller's memory.
    use(model_.inputs[0]).bytes = 0;
    use(home(model_.outputs[0])).bytes = 0;
  }

  /// Where the values of tensor i lie, and of which type that memory is.
  std::pair<std::string, DType> place(std::int32_t i) {
    const std::int32_t at = home(i);
    if (at == model_.inputs[0]) return {"input", plan_.input().dtype};
    if (tensor(at).is_constant()) return {constant(at), tensor(at).dtype};
    if (at == home(model_.outputs[0])) return {"output", plan_.output().dtype};
    const std::size_t offset = offsets_[static_cast<std::size_t>(at)];
    const std::string arena = plan_.name + "_arena";
    return {offset == 0 ? arena : fmt::format("{} + {}", arena, offset), DType::int8};
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

  void add_step(const Operator& op) {
    CStep step{static_cast<int>(plan_.steps.size()) + 1, {model_, op, plan_.rounding}, {}, {}};
    for (const std::int32_t in : values_of(op)) step.from.push_back(read(in));
    const auto [memory, type] = place(op.outputs[0]);
    step.to = pointer(memory, type, tensor(op.outputs[0]), "");
    plan_.steps.push_back(std::move(step));
  }

  CPlan& plan_;
  const IntegerModel& model_;
  /// By tensor: the one whose memory it is in.
  std::vector<std::int32_t> home_;
  std::vector<MemoryUse> uses_;
  std::vector<bool> needed_;
  std::vector<std::size_t> offsets_;
  std::set<std::int32_t> written_;
};

std::uint32_t crc_of(const IntegerModel& model) {
  const std::vector<std::uint8_t> bytes = to_tflite(model);
  return static_cast<std::uint32_t>(crc32_z(0, bytes.data(), bytes.size()));
}

std::string capitals(std::string_view name) {
  std::string text(name);
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
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

Fillings CPlan::fillings() const {
  return {{"name", name},
          {"NAME", macro},
          {"input_type", std::string(c_type(input().dtype))},
          {"output_type", std::string(c_type(output().dtype))},
          {"input_size", std::to_string(input().size())},
          {"output_size", std::to_string(output().size())}};
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
  plan.crc = crc_of(model);
  plan.model = std::make_shared<const IntegerModel>(without_float_ends(model));
  Layout(plan).run();
  return plan;
}

}  // namespace octet::detail
