#include <octet/deploy/tflite/operators.h>

namespace octet::detail {

TfliteOperator tflite_forms::tanh() {
  return {.highest_version = 3,
          .required_version = version_of_types,
          .first_release = release_of_tables,
          .read = read_none,
          .write = write_none};
}

}  // namespace octet::detail
