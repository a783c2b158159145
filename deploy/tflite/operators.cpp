#include <fmt/core.h>
#include <octet/core/printable.h>
#include <octet/core/text.h>
#include <octet/deploy/tflite/operators.h>

#include <algorithm>

namespace octet::detail {

tflite::ActivationFunctionType written_field(flatbuffers::FlatBufferBuilder& /*builder*/,
                                             FusedActivation activation) {
  return static_cast<tflite::ActivationFunctionType>(activation);
}

tflite::Padding written_field(flatbuffers::FlatBufferBuilder& /*builder*/, Padding padding) {
  switch (padding) {
    case Padding::valid:
      return tflite::Padding::VALID;
    case Padding::same:
      return tflite::Padding::SAME;
    case Padding::causal:
      break;
  }
  fail_tflite("expected padding same or valid, found {}", static_cast<int>(padding));
}

flatbuffers::Offset<flatbuffers::Vector<std::int32_t>> written_field(
    flatbuffers::FlatBufferBuilder& builder, const std::vector<std::int32_t>& values) {
  return builder.CreateVector(values);
}

OperatorAttributes read_none(const TfliteOptions& /*options*/) { return NoAttributes{}; }

WrittenOptions write_none(flatbuffers::FlatBufferBuilder& /*builder*/,
                          const Operands& /*operands*/) {
  return {tflite::BuiltinOptions::NONE, 0};
}

std::vector<std::int32_t> inputs_from_file(OpCode code, const std::vector<std::int32_t>& in_file,
                                           std::string_view who) {
  const auto order = definition(code).file_order;
  if (order.empty()) return in_file;
  if (in_file.size() > order.size()) {
    fail_tflite("{}: expected at most {} inputs, found {}", who, order.size(), in_file.size());
  }
  const auto left_out = static_cast<std::size_t>(std::ranges::count(order, kNoOperand));
  std::vector<std::int32_t> inputs(order.size() - left_out, -1);
  for (std::size_t i = 0; i < in_file.size(); ++i) {
    const std::size_t to = order[i];
    if (to != kNoOperand) {
      inputs[to] = in_file[i];
    } else if (in_file[i] != -1) {
      fail_tflite("{}: operand {} is not supported", who, i);
    }
  }
  return inputs;
}

std::vector<std::int32_t> inputs_for_file(const Operator& op) {
  const auto order = definition(op.code).file_order;
  if (order.empty()) return op.inputs;
  std::vector<std::int32_t> in_file;
  for (const std::size_t from : order) {
    in_file.push_back(from == kNoOperand ? -1 : op.inputs[from]);
  }
  // Operands that are always left out are written as such.
  const bool ends_left_out = order.back() == kNoOperand;
  while (!ends_left_out && !in_file.empty() && in_file.back() == -1) in_file.pop_back();
  return in_file;
}

namespace {

/// The name that a generated table has for what a file may hold any number of.
std::string name_or_newer(std::string_view name) {
  return std::string(name.empty() ? "(newer than this version of Octet)" : name);
}

}  // namespace

tflite::BuiltinOperator builtin_of(const tflite::OperatorCode& code) {
  return std::max(code.builtin_code(),
                  static_cast<tflite::BuiltinOperator>(code.deprecated_builtin_code()));
}

std::optional<OpCode> known_code(const tflite::OperatorCode& code) {
  const tflite::BuiltinOperator number = builtin_of(code);
  if (number != tflite::BuiltinOperator::CUSTOM) {
    // Operators without a number in files have one of Octet's own.
    const auto known = static_cast<OpCode>(number);
    const bool has_number = is_known(known) && definition(known).custom_code.empty();
    return has_number ? std::optional(known) : std::nullopt;
  }
  const flatbuffers::String* const name = code.custom_code();
  if (name == nullptr || name->size() == 0) return std::nullopt;
  const auto* const known = std::ranges::find_if(
      kOpCodes, [&](OpCode one) { return definition(one).custom_code == name->string_view(); });
  return known == kOpCodes.end() ? std::nullopt : std::optional(*known);
}

std::string operator_name(const tflite::OperatorCode& code) {
  const tflite::BuiltinOperator builtin = builtin_of(code);
  if (builtin != tflite::BuiltinOperator::CUSTOM) {
    return name_or_newer(tflite::EnumNameBuiltinOperator(builtin));
  }
  const flatbuffers::String* name = code.custom_code();
  return fmt::format("custom operator '{}'", name == nullptr ? "" : printable(name->string_view()));
}

std::string type_name(tflite::TensorType type) {
  return lower_case(name_or_newer(tflite::EnumNameTensorType(type)));
}

FusedActivation TfliteOptions::value(tflite::ActivationFunctionType type) const {
  const auto number = static_cast<int>(type);
  if (number < 0 || number > static_cast<int>(FusedActivation::relu6)) {
    fail_tflite("{}: fused activation {} is not supported", who,
                name_or_newer(tflite::EnumNameActivationFunctionType(type)));
  }
  return static_cast<FusedActivation>(number);
}

Padding TfliteOptions::value(tflite::Padding type) const {
  switch (type) {
    case tflite::Padding::VALID:
      return Padding::valid;
    case tflite::Padding::SAME:
      return Padding::same;
  }
  fail_tflite("{}: expected padding same or valid, found neither", who);
}

std::vector<std::int32_t> TfliteOptions::value(
    const flatbuffers::Vector<std::int32_t>* values) const {
  return read_values(values, kMaxRank, who, budget);
}

void TfliteOptions::require_zero(std::string_view field, int number) const {
  if (number != 0) fail_tflite("{}: {} {} is not supported", who, field, number);
}

const TfliteForm& tflite_form(OpCode code) {
  static const std::array forms = {
#define OCTET_ROW(name, number, attributes, options) options::kForm<attributes>,
#define OCTET_ROW_BY_HAND(name, ...) tflite_forms::name(),
#include <octet/runtime/operators.def>
  };
  return forms[index_of(code)];
}

}  // namespace octet::detail
