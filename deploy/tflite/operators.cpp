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

int version_of_types(const Operands& o) { return o.input().dtype == DType::int8 ? 2 : 1; }

int always_first(const Operands& /*operands*/) { return 1; }

int release_of_first(int /*version*/) { return 10500; }

int release_of_types(int version) { return version >= 2 ? 11400 : 10500; }

int release_of_tables(int /*version*/) { return 11400; }

std::vector<std::int32_t> inputs_from_file(const TfliteOperator& format,
                                           const std::vector<std::int32_t>& in_file,
                                           std::string_view who) {
  if (format.order.empty()) return in_file;
  if (in_file.size() > format.order.size()) {
    fail_tflite("{}: expected at most {} inputs, found {}", who, format.order.size(),
                in_file.size());
  }
  const auto left_out = static_cast<std::size_t>(std::ranges::count(format.order, kNoOperand));
  std::vector<std::int32_t> inputs(format.order.size() - left_out, -1);
  for (std::size_t i = 0; i < in_file.size(); ++i) {
    const std::size_t to = format.order[i];
    if (to != kNoOperand) {
      inputs[to] = in_file[i];
    } else if (in_file[i] != -1) {
      fail_tflite("{}: operand {} is not supported", who, i);
    }
  }
  return inputs;
}

std::vector<std::int32_t> inputs_for_file(const TfliteOperator& format,
                                          const std::vector<std::int32_t>& inputs) {
  if (format.order.empty()) return inputs;
  std::vector<std::int32_t> in_file;
  for (const std::size_t from : format.order) {
    in_file.push_back(from == kNoOperand ? -1 : inputs[from]);
  }
  // Operands that are always left out are written as such.
  const bool ends_left_out = format.order.back() == kNoOperand;
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
    const bool has_number = is_known(known) && tflite_operator(known).custom_code.empty();
    return has_number ? std::optional(known) : std::nullopt;
  }
  const flatbuffers::String* const name = code.custom_code();
  if (name == nullptr || name->size() == 0) return std::nullopt;
  const auto* const known = std::ranges::find_if(kOpCodes, [&](OpCode one) {
    return tflite_operator(one).custom_code == name->string_view();
  });
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

const TfliteOperator& tflite_operator(OpCode code) {
  static const std::array forms = {
#define OCTET_ROW(name, number) tflite_forms::name(),
#include <octet/runtime/operators.def>
  };
  return forms[index_of(code)];
}

}  // namespace octet::detail
