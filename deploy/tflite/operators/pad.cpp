#include <octet/deploy/tflite/operators.h>

namespace octet::detail {
namespace {

WrittenOptions write_pad(flatbuffers::FlatBufferBuilder& builder, const Operands& /*operands*/) {
  return {tflite::BuiltinOptions::PadOptions, tflite::CreatePadOptions(builder).Union()};
}

WrittenOptions write_padv2(flatbuffers::FlatBufferBuilder& builder, const Operands& /*operands*/) {
  return {tflite::BuiltinOptions::PadV2Options, tflite::CreatePadV2Options(builder).Union()};
}

int pad_version(const Operands& o) {
  constexpr std::size_t kFirstMostRank = 4;
  return o.input().shape.size() > kFirstMostRank ? 4 : version_of_types(o);
}

int pad_release(int version) { return version >= 4 ? 20600 : release_of_types(version); }

int padv2_release(int version) { return version == 1 ? 10900 : pad_release(version); }

}  // namespace

TfliteOperator tflite_forms::pad() {
  return {.highest_version = 4,
          .required_version = pad_version,
          .first_release = pad_release,
          .read = read_none,
          .write = write_pad};
}

TfliteOperator tflite_forms::padv2() {
  return {.highest_version = 4,
          .required_version = pad_version,
          .first_release = padv2_release,
          .read = read_none,
          .write = write_padv2};
}

}  // namespace octet::detail
