#include <octet/deploy/tflite/operators.h>

namespace octet::detail {
namespace {

int relu_release(int version) { return version >= 2 ? 20100 : 10500; }

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

}  // namespace octet::detail
