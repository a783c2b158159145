#include <octet/deploy/tflite/operators.h>

namespace octet::detail {
namespace {

WrittenOptions write_quantize(flatbuffers::FlatBufferBuilder& builder,
                              const Operands& /*operands*/) {
  return {tflite::BuiltinOptions::QuantizeOptions, tflite::CreateQuantizeOptions(builder).Union()};
}

int quantize_version(const Operands& o) {
  if (o.output().quantization.scales.size() > 1) return 3;
  return o.output().dtype == DType::int16 ? 2 : 1;
}

int quantize_release(int version) {
  if (version == 3) return 20700;
  return version == 2 ? 11500 : 11400;
}

}  // namespace

TfliteOperator tflite_forms::quantize() {
  return {.highest_version = 3,
          .required_version = quantize_version,
          .first_release = quantize_release,
          .read = read_none,
          .write = write_quantize};
}

}  // namespace octet::detail
