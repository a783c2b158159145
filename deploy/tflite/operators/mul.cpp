#include <octet/deploy/tflite/operators.h>

namespace octet::detail {
namespace {

OperatorAttributes read_mul(const TfliteOptions& from) {
  const auto* options = from.as<tflite::MulOptions>();
  if (options == nullptr) return MulAttributes{};
  return MulAttributes{.activation = from.activation(options->fused_activation_function())};
}

WrittenOptions write_mul(flatbuffers::FlatBufferBuilder& builder, const Operands& o) {
  return {tflite::BuiltinOptions::MulOptions,
          tflite::CreateMulOptions(builder, activation_of(o.op)).Union()};
}

/// 3 where codes are rescaled by a factor of 1 or more.
int mul_version(const Operands& o) {
  if (o.input().dtype != DType::int8) return 1;
  const float product = o.input(0).quantization.scale() * o.input(1).quantization.scale();
  return product / o.output().quantization.scale() >= 1.0F ? 3 : 2;
}

int mul_release(int version) { return version >= 3 ? 11500 : release_of_types(version); }

}  // namespace

TfliteOperator tflite_forms::mul() {
  return {.highest_version = 3,
          .required_version = mul_version,
          .first_release = mul_release,
          .read = read_mul,
          .write = write_mul};
}

}  // namespace octet::detail
