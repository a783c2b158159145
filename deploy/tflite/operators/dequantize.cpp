#include <octet/deploy/tflite/operators.h>

namespace octet::detail {
namespace {

WrittenOptions write_dequantize(flatbuffers::FlatBufferBuilder& builder,
                                const Operands& /*operands*/) {
  return {tflite::BuiltinOptions::DequantizeOptions,
          tflite::CreateDequantizeOptions(builder).Union()};
}

int dequantize_version(const Operands& o) {
  if (o.input().quantization.scales.size() > 1) return 5;
  if (o.input().dtype == DType::int16) return 3;
  return version_of_types(o);
}

int dequantize_release(int version) {
  if (version == 5) return 20700;
  return version == 3 ? 11500 : 11400;
}

}  // namespace

TfliteOperator tflite_forms::dequantize() {
  return {.highest_version = 5,
          .required_version = dequantize_version,
          .first_release = dequantize_release,
          .read = read_none,
          .write = write_dequantize};
}

}  // namespace octet::detail
