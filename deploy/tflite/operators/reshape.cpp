#include <octet/deploy/tflite/operators.h>

namespace octet::detail {
namespace {

OperatorAttributes read_reshape(const TfliteOptions& from) {
  const auto* options = from.as<tflite::ReshapeOptions>();
  if (options == nullptr) return ReshapeAttributes{};
  return ReshapeAttributes{.new_shape =
                               read_values(options->new_shape(), kMaxRank, from.who, from.budget)};
}

WrittenOptions write_reshape(flatbuffers::FlatBufferBuilder& builder, const Operands& o) {
  const auto& wanted = o.op.as<ReshapeAttributes>().new_shape;
  const auto& shape = wanted.empty() ? o.output().shape : wanted;
  return {tflite::BuiltinOptions::ReshapeOptions,
          tflite::CreateReshapeOptionsDirect(builder, &shape).Union()};
}

OperatorAttributes read_squeeze(const TfliteOptions& from) {
  const auto* options = from.as<tflite::SqueezeOptions>();
  if (options == nullptr) return SqueezeAttributes{};
  return SqueezeAttributes{
      .squeeze_dims = read_values(options->squeeze_dims(), kMaxRank, from.who, from.budget)};
}

WrittenOptions write_squeeze(flatbuffers::FlatBufferBuilder& builder, const Operands& o) {
  const auto& dims = o.op.as<SqueezeAttributes>().squeeze_dims;
  return {tflite::BuiltinOptions::SqueezeOptions,
          tflite::CreateSqueezeOptionsDirect(builder, &dims).Union()};
}

int squeeze_release(int /*version*/) { return 10600; }

}  // namespace

TfliteOperator tflite_forms::reshape() {
  return {.highest_version = 1,
          .required_version = always_first,
          .first_release = release_of_first,
          .read = read_reshape,
          .write = write_reshape};
}

TfliteOperator tflite_forms::squeeze() {
  return {.highest_version = 2,
          .required_version = always_first,
          .first_release = squeeze_release,
          .read = read_squeeze,
          .write = write_squeeze};
}

}  // namespace octet::detail
