#include <octet/deploy/tflite/operators.h>

namespace octet::detail {
namespace {

OperatorAttributes read_concatenation(const TfliteOptions& from) {
  const auto* options = from.as<tflite::ConcatenationOptions>();
  if (options == nullptr) return ConcatenationAttributes{};
  return ConcatenationAttributes{
      .axis = options->axis(), .activation = from.activation(options->fused_activation_function())};
}

WrittenOptions write_concatenation(flatbuffers::FlatBufferBuilder& builder, const Operands& o) {
  return {tflite::BuiltinOptions::ConcatenationOptions,
          tflite::CreateConcatenationOptions(builder, o.op.as<ConcatenationAttributes>().axis,
                                             activation_of(o.op))
              .Union()};
}

}  // namespace

TfliteOperator tflite_forms::concatenation() {
  return {.highest_version = 2,
          .required_version = version_of_types,
          .first_release = release_of_types,
          .read = read_concatenation,
          .write = write_concatenation};
}

}  // namespace octet::detail
