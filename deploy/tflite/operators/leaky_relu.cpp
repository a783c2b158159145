#include <octet/deploy/tflite/operators.h>

namespace octet::detail {
namespace {

OperatorAttributes read_leaky_relu(const TfliteOptions& from) {
  const auto* options = from.as<tflite::LeakyReluOptions>();
  if (options == nullptr) fail_tflite("{}: its options are missing", from.who);
  return LeakyReluAttributes{.alpha = options->alpha()};
}

WrittenOptions write_leaky_relu(flatbuffers::FlatBufferBuilder& builder, const Operands& o) {
  return {tflite::BuiltinOptions::LeakyReluOptions,
          tflite::CreateLeakyReluOptions(builder, o.op.as<LeakyReluAttributes>().alpha).Union()};
}

/// Version 2 has int16 as well.
int leaky_relu_release(int version) { return version == 2 ? 20300 : 11301; }

}  // namespace

TfliteOperator tflite_forms::leaky_relu() {
  return {.highest_version = 2,
          .required_version = always_first,
          .first_release = leaky_relu_release,
          .read = read_leaky_relu,
          .write = write_leaky_relu};
}

}  // namespace octet::detail
