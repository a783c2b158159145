#include <octet/deploy/tflite/operators.h>
#include <octet/runtime/operators/svdf.h>

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

/// A file has the bias in front of the state.
constexpr std::array<std::size_t, 5> kSvdfOrder = {0, kSvdfFeatureWeights, kSvdfTimeWeights,
                                                   kSvdfBias, kSvdfState};
constexpr std::array<std::size_t, 1> kSvdfStates = {kSvdfState};

int svdf_version(const Operands& o) {
  if (o.input().dtype == DType::float32) return 1;
  return o.input(kSvdfState).dtype == DType::int8 ? 4 : 3;
}

int svdf_release(int version) {
  constexpr std::array kReleases = {10500, 11400, 20200, 20300};
  return kReleases.at(static_cast<std::size_t>(version - 1));
}

}  // namespace

TfliteOperator tflite_forms::svdf() {
  return {.highest_version = 4,
          .required_version = svdf_version,
          .first_release = svdf_release,
          .options = kRequired<tflite::SVDFOptions, SvdfAttributes>,
          .order = kSvdfOrder,
          .states = kSvdfStates};
}

TfliteOperator tflite_forms::unidirectional_sequence_lstm() {
  return {.highest_version = 4,
          .required_version = lstm_version,
          .first_release = lstm_release,
          .options = {.read = read_lstm, .write = write_lstm},
          .order = kLstmOrder,
          .states = kLstmStates};
}

}  // namespace octet::detail
