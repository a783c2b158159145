#include <octet/deploy/tflite/operators.h>

namespace octet::detail {
namespace {

int quantize_version(const Operands& o) {
  if (o.output().quantization.scales.size() > 1) return 3;
  return o.output().dtype == DType::int16 ? 2 : 1;
}

int quantize_release(int version) {
  if (version == 3) return 20700;
  return version == 2 ? 11500 : 11400;
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

TfliteOperator tflite_forms::quantize() {
  return {.highest_version = 3,
          .required_version = quantize_version,
          .first_release = quantize_release,
          .options = kEmpty<tflite::QuantizeOptions>};
}

TfliteOperator tflite_forms::dequantize() {
  return {.highest_version = 5,
          .required_version = dequantize_version,
          .first_release = dequantize_release,
          .options = kEmpty<tflite::DequantizeOptions>};
}

}  // namespace octet::detail
