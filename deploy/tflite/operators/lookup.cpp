#include <octet/deploy/tflite/operators.h>

#include <array>
#include <cstddef>

namespace octet::detail {
namespace {

int gather_version(const Operands& o) {
  if (o.input(1).dtype == DType::int16) return 4;
  return o.input(1).dtype == DType::int8 ? 2 : 1;
}

int gather_release(int version) {
  if (version >= 3) return 20500;
  return version == 2 ? 11400 : 10600;
}

/// A file has the table in front.
constexpr std::array<std::size_t, 2> kGatherOrder = {1, 0};

int cast_release(int /*version*/) { return 10500; }

WrittenOptions write_cast(flatbuffers::FlatBufferBuilder& builder, const Operands& o) {
  const auto options =
      tflite::CreateCastOptions(builder, static_cast<tflite::TensorType>(o.input().dtype),
                                static_cast<tflite::TensorType>(o.output().dtype));
  return {tflite::BuiltinOptions::CastOptions, options.Union()};
}

int arg_max_release(int version) {
  if (version >= 3) return 20900;
  return version == 2 ? 11400 : 10900;
}

OperatorAttributes read_arg_max(const TfliteOptions& from) {
  const auto* options = from.as<tflite::ArgMaxOptions>();
  if (options == nullptr) fail_tflite("{}: its options are missing", from.who);
  if (options->output_type() != tflite::TensorType::INT32) {
    fail_tflite(
        "{}: expected output_type int32, found {}; write tf.argmax(x, axis, output_type=tf.int32), "
        "or end the model in front of it",
        from.who, type_name(options->output_type()));
  }
  return NoAttributes{};
}

WrittenOptions write_arg_max(flatbuffers::FlatBufferBuilder& builder,
                             const Operands& /*operands*/) {
  const auto options = tflite::CreateArgMaxOptions(builder, tflite::TensorType::INT32);
  return {tflite::BuiltinOptions::ArgMaxOptions, options.Union()};
}

}  // namespace

TfliteOperator tflite_forms::gather() {
  return {.highest_version = 4,
          .required_version = gather_version,
          .first_release = gather_release,
          .options = kOptional<tflite::GatherOptions, GatherAttributes>,
          .order = kGatherOrder};
}

TfliteOperator tflite_forms::arg_max() {
  return {.highest_version = 3,
          .required_version = version_of_types,
          .first_release = arg_max_release,
          .options = {.read = read_arg_max, .write = write_arg_max}};
}

/// The types of the operands say what it does.
TfliteOperator tflite_forms::cast() {
  return {.highest_version = 4,
          .required_version = always_first,
          .first_release = cast_release,
          .options = {.read = read_none, .write = write_cast}};
}

}  // namespace octet::detail
