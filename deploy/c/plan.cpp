#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/deploy/c/plan.h>
#include <octet/deploy/tflite/writer.h>
#include <zlib.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <numeric>
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

/// Gives an input of floats the int32 that a CAST makes of them, where nothing else reads it.
void take_indices(IntegerModel& model, std::int32_t input) {
  auto& ops = model.operators;
  const auto reads = [&](const Operator& op) { return std::ranges::count(op.inputs, input) > 0; };
  const auto casts = [&](const Operator& op) {
    return reads(op) && op.code == OpCode::cast &&
           std::ranges::count(model.outputs, op.outputs[0]) == 0;
  };
  if (std::ranges::count(model.outputs, input) > 0 || std::ranges::none_of(ops, reads) ||
      std::ranges::count_if(ops, reads) != std::ranges::count_if(ops, casts)) {
    return;
  }
  for (const Operator& cast : ops) {
    if (!casts(cast)) continue;
    const std::int32_t indices = cast.outputs[0];
    for (Operator& op : ops) std::ranges::replace(op.inputs, indices, input);
  }
  std::erase_if(ops, [&](const Operator& op) { return op.code == OpCode::cast && reads(op); });
  model.tensors[static_cast<std::size_t>(input)].dtype = DType::int32;
}

/// The model without a QUANTIZE, or CASTs to int32, that alone read an input of floats, and without
/// a DEQUANTIZE that gives an output.
IntegerModel without_float_ends(IntegerModel model) {
  auto& ops = model.operators;
  for (std::int32_t& input : model.inputs) {
    if (model.tensors[static_cast<std::size_t>(input)].dtype != DType::float32) continue;
    take_indices(model, input);
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
    ends.push_back({.name = name,
                    .macro = capitals(name),
                    .tensor = &model.tensors[static_cast<std::size_t>(tensors[i])],
                    .place = name});
  }
  return ends;
}

/// Finds how many rows the tables have that inputs of int32 choose from. Throws InvalidArgument
/// where these are to lie in the arena, which holds bytes.
void find_indices(CPlan& plan) {
  const IntegerModel& model = *plan.model;
  std::vector<std::int32_t> homes(model.tensors.size());
  std::iota(homes.begin(), homes.end(), 0);
  const auto home = [&](std::int32_t i) -> std::int32_t& {
    return homes[static_cast<std::size_t>(i)];
  };
  for (const Operator& op : model.operators) {
    if (definition(op.code).only_reshapes) home(op.outputs[0]) = home(op.inputs[0]);
    if (op.code != OpCode::gather) continue;
    const auto input = std::ranges::find(model.inputs, home(op.inputs[0]));
    if (input == model.inputs.end()) continue;
    std::int64_t& rows = plan.inputs[static_cast<std::size_t>(input - model.inputs.begin())].rows;
    const std::int64_t found = model.tensors[static_cast<std::size_t>(op.inputs[1])].shape[0];
    rows = rows == 0 ? found : std::min(rows, found);
  }
  if (!plan.input_in_arena || !has_indices(plan)) return;
  throw InvalidArgument(
      "c source: expected inputs of int8 or uint8 within the static buffers, found indices of "
      "int32; leave out input_in_arena (--c-input-in-arena)");
}

std::uint32_t crc_of(const IntegerModel& model) {
  const std::vector<std::uint8_t> bytes = to_tflite(model);
  return static_cast<std::uint32_t>(crc32_z(0, bytes.data(), bytes.size()));
}

}  // namespace

std::string c_arena_place(const CPlan& plan, std::size_t offset) {
  const std::string arena = plan.name + "_arena.bytes";
  return offset == 0 ? arena : fmt::format("{} + {}", arena, offset);
}

std::string c_pointer(const std::string& memory, DType memory_type, DType type,
                      std::string_view qualifier) {
  if (type == memory_type) return memory;
  const bool is_name = memory.find(' ') == std::string::npos;
  return fmt::format("({}{} *){}", qualifier, c_type(type),
                     is_name ? memory : fmt::format("({})", memory));
}

std::string_view c_type(DType dtype) {
  if (dtype == DType::int32) return "int32_t";
  if (dtype == DType::int16) return "int16_t";
  return dtype == DType::uint8 ? "uint8_t" : "int8_t";
}

std::int32_t code_of(DType dtype, std::uint8_t byte) {
  return dtype == DType::int8 ? std::int32_t{static_cast<std::int8_t>(byte)} : std::int32_t{byte};
}

std::vector<std::int32_t> codes_of(DType dtype, std::span<const std::uint8_t> bytes) {
  const auto numbers_of = [&]<class Number>(Number /*type*/) {
    std::vector<Number> numbers(bytes.size() / sizeof(Number));
    if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
    return std::vector<std::int32_t>(numbers.begin(), numbers.end());
  };
  if (dtype == DType::int32) return numbers_of(std::int32_t{});
  if (dtype == DType::int16) return numbers_of(std::int16_t{});
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
  result["place"] = end.place;
  result["count"] = end.is_state ? std::to_string(end.tensor->size())
                                 : fmt::format("{}_{}_SIZE", macro, end.macro);
  return result;
}

std::int64_t size_of(const std::vector<CEnd>& ends) {
  std::int64_t size = 0;
  for (const CEnd& end : ends) size += end.tensor->size();
  return size;
}

std::int64_t bytes_of(const std::vector<CEnd>& ends) {
  std::int64_t bytes = 0;
  for (const CEnd& end : ends) {
    bytes += end.tensor->size() * static_cast<std::int64_t>(octet::size_of(end.tensor->dtype));
  }
  return bytes;
}

bool has_indices(const CPlan& plan) {
  return std::ranges::any_of(plan.inputs, [](const CEnd& input) { return input.rows > 0; });
}

std::vector<CEnd> given(const std::vector<CEnd>& ends) {
  std::vector<CEnd> result = ends;
  std::erase_if(result, [](const CEnd& end) { return end.is_state; });
  return result;
}

std::vector<CEnd> given_ends(const CPlan& plan) {
  std::vector<CEnd> ends = given(plan.inputs);
  const std::vector<CEnd> outputs = given(plan.outputs);
  ends.insert(ends.end(), outputs.begin(), outputs.end());
  return ends;
}

std::string_view c_call(const CPlan& plan) {
  return plan.states.states.empty() ? "invoke" : "step";
}

std::string c_parameters(const CPlan& plan) {
  std::vector<std::string> parameters;
  for (const CEnd& input : given(plan.inputs)) {
    parameters.push_back(fmt::format("const {} *{}", c_type(input.tensor->dtype), input.name));
  }
  for (const CEnd& output : given(plan.outputs)) {
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
  if (options.rows < 0) {
    throw InvalidArgument(fmt::format(
        "c source: expected a number of rows at a time, or 0 for whole images, found {}",
        options.rows));
  }
  plan.rows = options.rows;
  plan.crc = crc_of(model);
  plan.model = std::make_shared<const IntegerModel>(without_float_ends(model));
  plan.inputs = ends_of(*plan.model, plan.model->inputs, "input");
  plan.outputs = ends_of(*plan.model, plan.model->outputs, "output");
  find_indices(plan);
  plan.states = kept_states(model);
  for (const CarriedState& state : plan.states.states) {
    plan.inputs[state.input].is_state = true;
    plan.outputs[state.output].is_state = state.output >= plan.states.results;
  }
  if (const auto entry = model.metadata.find(kFrontEndKey); entry != model.metadata.end()) {
    plan.front_end = LogMel::parse(entry->second);
  }
  read_example_metadata(model, plan);
  return plan;
}

}  // namespace octet::detail
