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

}  // namespace

TfliteOperator tflite_forms::reshape() {
  return {.highest_version = 1,
          .required_version = always_first,
          .first_release = release_of_first,
          .read = read_reshape,
          .write = write_reshape};
}

}  // namespace octet::detail
