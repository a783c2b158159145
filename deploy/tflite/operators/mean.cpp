#include <octet/deploy/tflite/operators.h>

namespace octet::detail {
namespace {

OperatorAttributes read_mean(const TfliteOptions& from) {
  const auto* options = from.as<tflite::ReducerOptions>();
  if (options == nullptr) return MeanAttributes{};
  return MeanAttributes{.keep_dims = options->keep_dims()};
}

WrittenOptions write_mean(flatbuffers::FlatBufferBuilder& builder, const Operands& o) {
  return {tflite::BuiltinOptions::ReducerOptions,
          tflite::CreateReducerOptions(builder, o.op.as<MeanAttributes>().keep_dims).Union()};
}

int mean_release(int version) { return version >= 2 ? 11400 : 10600; }

}  // namespace

TfliteOperator tflite_forms::mean() {
  return {.highest_version = 2,
          .required_version = version_of_types,
          .first_release = mean_release,
          .read = read_mean,
          .write = write_mean};
}

}  // namespace octet::detail
