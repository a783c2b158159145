#include <octet/deploy/tflite/operators.h>

namespace octet::detail {
namespace {

OperatorAttributes read_fully_connected(const TfliteOptions& from) {
  const auto* options = from.as<tflite::FullyConnectedOptions>();
  if (options == nullptr) return FullyConnectedAttributes{};
  if (options->weights_format() != 0) {
    fail_tflite("{}: weights format {} is not supported", from.who, options->weights_format());
  }
  return FullyConnectedAttributes{
      .activation = from.activation(options->fused_activation_function()),
      .keep_num_dims = options->keep_num_dims()};
}

WrittenOptions write_fully_connected(flatbuffers::FlatBufferBuilder& builder, const Operands& o) {
  return {tflite::BuiltinOptions::FullyConnectedOptions,
          tflite::CreateFullyConnectedOptions(builder, activation_of(o.op), 0,
                                              o.op.as<FullyConnectedAttributes>().keep_num_dims)
              .Union()};
}

int fully_connected_version(const Operands& o) {
  if (o.input(1).stored_bits != 8) return o.input(1).stored_bits == 4 ? 10 : 14;
  if (o.input().dtype == DType::int16) return 7;
  if (!o.has_input(2)) return 6;
  if (o.op.as<FullyConnectedAttributes>().keep_num_dims) return 5;
  return o.input().dtype == DType::int8 ? 4 : 1;
}

int fully_connected_release(int version) {
  if (version <= 4) return version <= 2 ? 11000 : 11400;
  if (version <= 6) return version == 5 ? 20000 : 20100;
  if (version <= 9) return 20300;  // int16
  // Weights of 4 bits, and of 2, which 2.20 did not know.
  return version <= 10 ? 21100 : 22100;
}

}  // namespace

TfliteOperator tflite_forms::fully_connected() {
  return {.highest_version = 14,
          .required_version = fully_connected_version,
          .first_release = fully_connected_release,
          .read = read_fully_connected,
          .write = write_fully_connected};
}

}  // namespace octet::detail
