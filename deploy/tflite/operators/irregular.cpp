#include <octet/deploy/tflite/operators.h>

// Options that do not follow from attributes field by field.

namespace octet::detail {
namespace {

OperatorAttributes read_arg_max(const TfliteOptions& from) {
  const auto& options = from.require<tflite::ArgMaxOptions>();
  if (options.output_type() != tflite::TensorType::INT32) {
    fail_tflite(
        "{}: expected output_type int32, found {}; write tf.argmax(x, axis, output_type=tf.int32), "
        "or end the model in front of it",
        from.who, type_name(options.output_type()));
  }
  return NoAttributes{};
}

WrittenOptions write_arg_max(flatbuffers::FlatBufferBuilder& builder,
                             const Operands& /*operands*/) {
  const auto options = tflite::CreateArgMaxOptions(builder, tflite::TensorType::INT32);
  return {tflite::BuiltinOptions::ArgMaxOptions, options.Union()};
}

WrittenOptions write_cast(flatbuffers::FlatBufferBuilder& builder, const Operands& o) {
  const auto options =
      tflite::CreateCastOptions(builder, static_cast<tflite::TensorType>(o.input().dtype),
                                static_cast<tflite::TensorType>(o.output().dtype));
  return {tflite::BuiltinOptions::CastOptions, options.Union()};
}

WrittenOptions write_reshape(flatbuffers::FlatBufferBuilder& builder, const Operands& o) {
  auto attributes = o.op.as<ReshapeAttributes>();
  if (attributes.new_shape.empty()) attributes.new_shape = o.output().shape;
  return options_of<tflite::ReshapeOptions>(builder, attributes);
}

OperatorAttributes read_lstm(const TfliteOptions& from) {
  const auto& options = from.require<tflite::UnidirectionalSequenceLSTMOptions>();
  if (options.activation() != tflite::ActivationFunctionType::TANH) {
    fail_tflite("{}: expected activation TANH, found {}", from.who,
                tflite::EnumNameActivationFunctionType(options.activation()));
  }
  if (options.proj_clip() != 0.0F) {
    fail_tflite("{}: proj_clip {} is not supported", from.who, options.proj_clip());
  }
  return SequenceLstmAttributes{.cell_clip = options.cell_clip(),
                                .time_major = options.time_major()};
}

WrittenOptions write_lstm(flatbuffers::FlatBufferBuilder& builder, const Operands& o) {
  const auto& a = o.op.as<SequenceLstmAttributes>();
  const auto options = tflite::CreateUnidirectionalSequenceLSTMOptions(
      builder, tflite::ActivationFunctionType::TANH, a.cell_clip, 0.0F, a.time_major);
  return {tflite::BuiltinOptions::UnidirectionalSequenceLSTMOptions, options.Union()};
}

}  // namespace

TfliteForm tflite_forms::arg_max() { return {.read = read_arg_max, .write = write_arg_max}; }

/// The types of the operands say what it does.
TfliteForm tflite_forms::cast() { return {.read = read_none, .write = write_cast}; }

/// A file that is written says the shape.
TfliteForm tflite_forms::reshape() {
  return {.read = read_optional<tflite::ReshapeOptions, ReshapeAttributes>, .write = write_reshape};
}

TfliteForm tflite_forms::unidirectional_sequence_lstm() {
  return {.read = read_lstm, .write = write_lstm};
}

}  // namespace octet::detail
