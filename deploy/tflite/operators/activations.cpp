#include <octet/deploy/tflite/operators.h>

namespace octet::detail {
namespace {

int relu_release(int version) { return version >= 2 ? 20100 : 10500; }

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

WrittenOptions write_hard_swish(flatbuffers::FlatBufferBuilder& builder, const Operands&) {
  return {tflite::BuiltinOptions::HardSwishOptions,
          tflite::CreateHardSwishOptions(builder).Union()};
}

int hard_swish_release(int /*version*/) { return 11500; }

OperatorAttributes read_softmax(const TfliteOptions& from) {
  const auto* options = from.as<tflite::SoftmaxOptions>();
  if (options == nullptr) return SoftmaxAttributes{};
  return SoftmaxAttributes{.beta = options->beta()};
}

WrittenOptions write_softmax(flatbuffers::FlatBufferBuilder& builder, const Operands& o) {
  return {tflite::BuiltinOptions::SoftmaxOptions,
          tflite::CreateSoftmaxOptions(builder, o.op.as<SoftmaxAttributes>().beta).Union()};
}

}  // namespace

TfliteOperator tflite_forms::relu() {
  return {.highest_version = 3,
          .required_version = version_of_types,
          .first_release = relu_release,
          .read = read_none,
          .write = write_none};
}

TfliteOperator tflite_forms::relu6() {
  return {.highest_version = 3,
          .required_version = version_of_types,
          .first_release = release_of_types,
          .read = read_none,
          .write = write_none};
}

TfliteOperator tflite_forms::relu_n1_to_1() {
  return {.highest_version = 1,
          .required_version = always_first,
          .first_release = release_of_first,
          .read = read_none,
          .write = write_none};
}

TfliteOperator tflite_forms::leaky_relu() {
  return {.highest_version = 2,
          .required_version = always_first,
          .first_release = leaky_relu_release,
          .read = read_leaky_relu,
          .write = write_leaky_relu};
}

TfliteOperator tflite_forms::hard_swish() {
  return {.highest_version = 1,
          .required_version = always_first,
          .first_release = hard_swish_release,
          .read = read_none,
          .write = write_hard_swish};
}

TfliteOperator tflite_forms::logistic() {
  return {.highest_version = 3,
          .required_version = version_of_types,
          .first_release = release_of_tables,
          .read = read_none,
          .write = write_none};
}

TfliteOperator tflite_forms::tanh() {
  return {.highest_version = 3,
          .required_version = version_of_types,
          .first_release = release_of_tables,
          .read = read_none,
          .write = write_none};
}

TfliteOperator tflite_forms::softmax() {
  return {.highest_version = 3,
          .required_version = version_of_types,
          .first_release = release_of_types,
          .read = read_softmax,
          .write = write_softmax};
}

}  // namespace octet::detail
