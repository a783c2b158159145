#include <octet/deploy/tflite/operators.h>

namespace octet::detail {
namespace {

// ADD, MUL and SUB: `Options` is the table of one.

template <class Options>
OperatorAttributes read_binary(const TfliteOptions& from) {
  const auto* options = from.as<Options>();
  if (options == nullptr) return BinaryAttributes{};
  return BinaryAttributes{.activation = from.activation(options->fused_activation_function())};
}

template <class Options>
WrittenOptions write_binary(flatbuffers::FlatBufferBuilder& builder, const Operands& o) {
  typename Options::Builder options(builder);
  options.add_fused_activation_function(activation_of(o.op));
  // A copy, since the traits' constant has no definition that a reference could be bound to.
  constexpr auto type = tflite::BuiltinOptionsTraits<Options>::enum_value;
  return {type, options.Finish().Union()};
}

/// 3 where codes are rescaled by a factor of 1 or more.
int mul_version(const Operands& o) {
  if (o.input().dtype != DType::int8) return 1;
  const float product = o.input(0).quantization.scale() * o.input(1).quantization.scale();
  return product / o.output().quantization.scale() >= 1.0F ? 3 : 2;
}

int mul_release(int version) { return version >= 3 ? 11500 : release_of_types(version); }

int sub_release(int version) { return version >= 2 ? 11400 : 10600; }

OperatorAttributes read_concatenation(const TfliteOptions& from) {
  const auto* options = from.as<tflite::ConcatenationOptions>();
  if (options == nullptr) return ConcatenationAttributes{};
  return ConcatenationAttributes{
      .axis = options->axis(), .activation = from.activation(options->fused_activation_function())};
}

WrittenOptions write_concatenation(flatbuffers::FlatBufferBuilder& builder, const Operands& o) {
  return {tflite::BuiltinOptions::ConcatenationOptions,
          tflite::CreateConcatenationOptions(builder, o.op.as<ConcatenationAttributes>().axis,
                                             activation_of(o.op))
              .Union()};
}

}  // namespace

TfliteOperator tflite_forms::add() {
  return {.highest_version = 2,
          .required_version = version_of_types,
          .first_release = release_of_types,
          .read = read_binary<tflite::AddOptions>,
          .write = write_binary<tflite::AddOptions>};
}

TfliteOperator tflite_forms::mul() {
  return {.highest_version = 3,
          .required_version = mul_version,
          .first_release = mul_release,
          .read = read_binary<tflite::MulOptions>,
          .write = write_binary<tflite::MulOptions>};
}

TfliteOperator tflite_forms::sub() {
  return {.highest_version = 2,
          .required_version = version_of_types,
          .first_release = sub_release,
          .read = read_binary<tflite::SubOptions>,
          .write = write_binary<tflite::SubOptions>};
}

TfliteOperator tflite_forms::concatenation() {
  return {.highest_version = 2,
          .required_version = version_of_types,
          .first_release = release_of_types,
          .read = read_concatenation,
          .write = write_concatenation};
}

}  // namespace octet::detail
