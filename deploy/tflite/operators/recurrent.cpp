#include <octet/deploy/tflite/operators.h>

#include <array>
#include <cstddef>

namespace octet::detail {
namespace {

/// Without peepholes, projections and layer normalization.
constexpr std::array<std::size_t, 24> kLstmOrder = {
    0, 1,  2,  3,  4,          5,          6,  7,  8,          kNoOperand, kNoOperand, kNoOperand,
    9, 10, 11, 12, kNoOperand, kNoOperand, 13, 14, kNoOperand, kNoOperand, kNoOperand, kNoOperand};
constexpr std::array<std::size_t, 2> kLstmStates = {13, 14};

OperatorAttributes read_lstm(const TfliteOptions& from) {
  const auto* options = from.as<tflite::UnidirectionalSequenceLSTMOptions>();
  if (options == nullptr) fail_tflite("{}: its options are missing", from.who);
  if (options->activation() != tflite::ActivationFunctionType::TANH) {
    fail_tflite("{}: expected activation TANH, found {}", from.who,
                tflite::EnumNameActivationFunctionType(options->activation()));
  }
  if (options->proj_clip() != 0.0F) {
    fail_tflite("{}: proj_clip {} is not supported", from.who, options->proj_clip());
  }
  return SequenceLstmAttributes{.cell_clip = options->cell_clip(),
                                .time_major = options->time_major()};
}

WrittenOptions write_lstm(flatbuffers::FlatBufferBuilder& builder, const Operands& o) {
  const auto& a = o.op.as<SequenceLstmAttributes>();
  const auto options = tflite::CreateUnidirectionalSequenceLSTMOptions(
      builder, tflite::ActivationFunctionType::TANH, a.cell_clip, 0.0F, a.time_major);
  return {tflite::BuiltinOptions::UnidirectionalSequenceLSTMOptions, options.Union()};
}

/// The first version that takes integers.
int lstm_version(const Operands& /*operands*/) { return 3; }

int lstm_release(int version) { return version >= 3 ? 20400 : 11300; }

}  // namespace

TfliteOperator tflite_forms::unidirectional_sequence_lstm() {
  return {.highest_version = 4,
          .required_version = lstm_version,
          .first_release = lstm_release,
          .options = {.read = read_lstm, .write = write_lstm},
          .order = kLstmOrder,
          .states = kLstmStates};
}

}  // namespace octet::detail
