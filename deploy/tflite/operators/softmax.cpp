#include <octet/deploy/tflite/operators.h>

namespace octet::detail {
namespace {

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

TfliteOperator tflite_forms::softmax() {
  return {.highest_version = 3,
          .required_version = version_of_types,
          .first_release = release_of_types,
          .read = read_softmax,
          .write = write_softmax};
}

}  // namespace octet::detail
