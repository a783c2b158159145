#include <octet/deploy/tflite/operators.h>

namespace octet::detail {
namespace {

int relu_release(int version) { return version >= 2 ? 20100 : 10500; }

/// Version 2 has int16 as well.
int leaky_relu_release(int version) { return version == 2 ? 20300 : 11301; }

int prelu_release(int /*version*/) { return 10800; }

int elu_release(int /*version*/) { return 11400; }

int gelu_release(int /*version*/) { return 20900; }

int rsqrt_release(int version) { return version >= 2 ? 20500 : 11000; }

int exp_release(int version) { return version >= 2 ? 21200 : 10700; }

int log_release(int version) { return version >= 2 ? 21400 : 11400; }

int sqrt_release(int version) { return version >= 2 ? 21600 : 11000; }

int sigmoid_version(const Operands& o) {
  return o.input().dtype == DType::int16 ? 3 : version_of_types(o);
}

int sigmoid_release(int version) { return version >= 3 ? 20300 : release_of_tables(version); }

int hard_swish_release(int /*version*/) { return 11500; }

/// An operator whose version 2 has int8 as well.
TfliteOperator of_floats_and_int8(int (*release)(int version), const OptionsForm& options) {
  return {.highest_version = 2,
          .required_version = version_of_types,
          .first_release = release,
          .options = options};
}

}  // namespace

TfliteOperator tflite_forms::relu() {
  return {.highest_version = 3,
          .required_version = version_of_types,
          .first_release = relu_release,
          .options = kNoOptions};
}

TfliteOperator tflite_forms::relu6() {
  return {.highest_version = 3,
          .required_version = version_of_types,
          .first_release = release_of_types,
          .options = kNoOptions};
}

TfliteOperator tflite_forms::relu_n1_to_1() {
  return {.highest_version = 1,
          .required_version = always_first,
          .first_release = release_of_first,
          .options = kNoOptions};
}

TfliteOperator tflite_forms::leaky_relu() {
  return {.highest_version = 2,
          .required_version = always_first,
          .first_release = leaky_relu_release,
          .options = kRequired<tflite::LeakyReluOptions, LeakyReluAttributes>};
}

TfliteOperator tflite_forms::prelu() {
  return {.highest_version = 1,
          .required_version = always_first,
          .first_release = prelu_release,
          .options = kNoOptions};
}

TfliteOperator tflite_forms::elu() {
  return {.highest_version = 1,
          .required_version = always_first,
          .first_release = elu_release,
          .options = kNoOptions};
}

TfliteOperator tflite_forms::gelu() {
  return of_floats_and_int8(gelu_release, kOptional<tflite::GeluOptions, GeluAttributes>);
}

TfliteOperator tflite_forms::rsqrt() { return of_floats_and_int8(rsqrt_release, kNoOptions); }

TfliteOperator tflite_forms::exp() {
  return of_floats_and_int8(exp_release, kEmpty<tflite::ExpOptions>);
}

TfliteOperator tflite_forms::log() { return of_floats_and_int8(log_release, kNoOptions); }

TfliteOperator tflite_forms::sqrt() { return of_floats_and_int8(sqrt_release, kNoOptions); }

TfliteOperator tflite_forms::hard_swish() {
  return {.highest_version = 1,
          .required_version = always_first,
          .first_release = hard_swish_release,
          .options = kEmpty<tflite::HardSwishOptions>};
}

TfliteOperator tflite_forms::logistic() {
  return {.highest_version = 3,
          .required_version = sigmoid_version,
          .first_release = sigmoid_release,
          .options = kNoOptions};
}

TfliteOperator tflite_forms::tanh() {
  return {.highest_version = 3,
          .required_version = sigmoid_version,
          .first_release = sigmoid_release,
          .options = kNoOptions};
}

TfliteOperator tflite_forms::softmax() {
  return {.highest_version = 3,
          .required_version = version_of_types,
          .first_release = release_of_types,
          .options = kOptional<tflite::SoftmaxOptions, SoftmaxAttributes>};
}

}  // namespace octet::detail
