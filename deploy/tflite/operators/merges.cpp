#include <octet/deploy/tflite/operators.h>

namespace octet::detail {
namespace {

/// 4 for int16; 3 where int8 is rescaled by a factor of 1 or more.
int mul_version(const Operands& o) {
  if (o.input().dtype == DType::int16) return 4;
  if (o.input().dtype != DType::int8) return 1;
  const float product = o.input(0).quantization.scale() * o.input(1).quantization.scale();
  return product / o.output().quantization.scale() >= 1.0F ? 3 : 2;
}

int mul_release(int version) {
  return version >= 4 ? 20300 : version >= 3 ? 11500 : release_of_types(version);
}

/// int16 whose scales are no powers of two.
int add_version(const Operands& o) {
  return o.input().dtype == DType::int16 ? 3 : version_of_types(o);
}

int add_release(int version) { return version >= 3 ? 20400 : release_of_types(version); }

int sub_version(const Operands& o) {
  return o.input().dtype == DType::int16 ? 5 : version_of_types(o);
}

int sub_release(int version) { return version >= 5 ? 20400 : version >= 2 ? 11400 : 10600; }

int concatenation_version(const Operands& o) {
  return o.input().dtype == DType::int16 ? 3 : version_of_types(o);
}

int concatenation_release(int version) { return version >= 3 ? 20300 : release_of_types(version); }

}  // namespace

TfliteOperator tflite_forms::add() {
  return {.highest_version = 4,
          .required_version = add_version,
          .first_release = add_release,
          .options = kOptional<tflite::AddOptions, BinaryAttributes>};
}

TfliteOperator tflite_forms::mul() {
  return {.highest_version = 4,
          .required_version = mul_version,
          .first_release = mul_release,
          .options = kOptional<tflite::MulOptions, BinaryAttributes>};
}

TfliteOperator tflite_forms::sub() {
  return {.highest_version = 5,
          .required_version = sub_version,
          .first_release = sub_release,
          .options = kOptional<tflite::SubOptions, BinaryAttributes>};
}

namespace {

TfliteOperator extreme_form() {
  return {.highest_version = 2,
          .required_version = version_of_types,
          .first_release = release_of_tables,
          .options = kEmpty<tflite::MaximumMinimumOptions>};
}

}  // namespace

TfliteOperator tflite_forms::maximum() { return extreme_form(); }
TfliteOperator tflite_forms::minimum() { return extreme_form(); }

TfliteOperator tflite_forms::concatenation() {
  return {.highest_version = 3,
          .required_version = concatenation_version,
          .first_release = concatenation_release,
          .options = kOptional<tflite::ConcatenationOptions, ConcatenationAttributes>};
}

}  // namespace octet::detail
