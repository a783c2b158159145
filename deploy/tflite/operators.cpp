#include <octet/deploy/tflite/operators.h>

namespace octet::detail {

tflite::ActivationFunctionType activation_of(const Operator& op) {
  return static_cast<tflite::ActivationFunctionType>(op.activation());
}

tflite::Padding padding_of(Padding padding) {
  switch (padding) {
    case Padding::valid:
      return tflite::Padding::VALID;
    case Padding::same:
      return tflite::Padding::SAME;
  }
  fail_tflite("a padding outside the enumeration: {}", static_cast<int>(padding));
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

FusedActivation TfliteOptions::activation(tflite::ActivationFunctionType type) const {
  const auto number = static_cast<int>(type);
  if (number < 0 || number > static_cast<int>(FusedActivation::relu6)) {
    fail_tflite("{}: fused activation {} is not supported", who, number);
  }
  return static_cast<FusedActivation>(number);
}

Padding TfliteOptions::padding(tflite::Padding type) const {
  switch (type) {
    case tflite::Padding::VALID:
      return Padding::valid;
    case tflite::Padding::SAME:
      return Padding::same;
  }
  fail_tflite("{}: padding {} is not supported", who, static_cast<int>(type));
}

const TfliteOperator& tflite_operator(OpCode code) {
#define OCTET_ROW(name, number) tflite_forms::name(),
  static const std::array forms = {OCTET_OPERATORS(OCTET_ROW)};
#undef OCTET_ROW
  return forms[index_of(code)];
}

}  // namespace octet::detail
