#include <octet/deploy/tflite/operators.h>

namespace octet::detail {
namespace {

WrittenOptions write_hard_swish(flatbuffers::FlatBufferBuilder& builder, const Operands&) {
  return {tflite::BuiltinOptions::HardSwishOptions,
          tflite::CreateHardSwishOptions(builder).Union()};
}

int hard_swish_release(int /*version*/) { return 11500; }

}  // namespace

TfliteOperator tflite_forms::hard_swish() {
  return {.highest_version = 1,
          .required_version = always_first,
          .first_release = hard_swish_release,
          .read = read_none,
          .write = write_hard_swish};
}

}  // namespace octet::detail
