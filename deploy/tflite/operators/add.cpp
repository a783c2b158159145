#include <octet/deploy/tflite/operators.h>

namespace octet::detail {
namespace {

OperatorAttributes read_add(const TfliteOptions& from) {
  const auto* options = from.as<tflite::AddOptions>();
  if (options == nullptr) return AddAttributes{};
  return AddAttributes{.activation = from.activation(options->fused_activation_function())};
}

WrittenOptions write_add(flatbuffers::FlatBufferBuilder& builder, const Operands& o) {
  return {tflite::BuiltinOptions::AddOptions,
          tflite::CreateAddOptions(builder, activation_of(o.op)).Union()};
}

}  // namespace

TfliteOperator tflite_forms::add() {
  return {.highest_version = 2,
          .required_version = version_of_types,
          .first_release = release_of_types,
          .read = read_add,
          .write = write_add};
}

}  // namespace octet::detail
