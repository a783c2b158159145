#include <octet/deploy/tflite/operators.h>

#include <array>
#include <cstddef>

namespace octet::detail {
namespace {

OperatorAttributes read_transpose_conv(const TfliteOptions& from) {
  const auto* options = from.as<tflite::TransposeConvOptions>();
  if (options == nullptr) fail_tflite("{}: its options are missing", from.who);
  return TransposeConvAttributes{
      .padding = from.padding(options->padding()),
      .stride_h = options->stride_h(),
      .stride_w = options->stride_w(),
      .activation = from.activation(options->fused_activation_function())};
}

WrittenOptions write_transpose_conv(flatbuffers::FlatBufferBuilder& builder, const Operands& o) {
  const auto& a = o.op.as<TransposeConvAttributes>();
  return {tflite::BuiltinOptions::TransposeConvOptions,
          tflite::CreateTransposeConvOptions(builder, padding_of(a.padding), a.stride_w, a.stride_h,
                                             activation_of(o.op))
              .Union()};
}

int transpose_conv_version(const Operands& o) {
  if (o.op.activation() != FusedActivation::none) return 4;
  return o.has_input(2) ? 3 : version_of_types(o);
}

int transpose_conv_release(int version) {
  if (version >= 4) return 21300;
  if (version == 3) return 20300;
  return version == 2 ? 20200 : 10900;
}

}  // namespace

TfliteOperator tflite_forms::transpose_conv() {
  // A file has the output's shape in front, then the weights, the image and the bias.
  static constexpr std::array<std::size_t, 4> kOrder = {3, 1, 0, 2};
  return {.highest_version = 4,
          .required_version = transpose_conv_version,
          .first_release = transpose_conv_release,
          .read = read_transpose_conv,
          .write = write_transpose_conv,
          .order = kOrder};
}

}  // namespace octet::detail
