#include <octet/deploy/tflite/operators.h>

namespace octet::detail {
namespace {

OperatorAttributes read_conv_2d(const TfliteOptions& from) {
  const auto* options = from.as<tflite::Conv2DOptions>();
  if (options == nullptr) fail_tflite("{}: its options are missing", from.who);
  if (options->stride_h() != 1 || options->stride_w() != 1 || options->dilation_h_factor() != 1 ||
      options->dilation_w_factor() != 1) {
    fail_tflite(
        "{}: stride {} x {}, dilation {} x {}; only 1 x 1 filters of stride 1 without dilation are "
        "supported",
        from.who, options->stride_h(), options->stride_w(), options->dilation_h_factor(),
        options->dilation_w_factor());
  }
  return Conv2DAttributes{.activation = from.activation(options->fused_activation_function())};
}

WrittenOptions write_conv_2d(flatbuffers::FlatBufferBuilder& builder, const Operands& o) {
  return {tflite::BuiltinOptions::Conv2DOptions,
          tflite::CreateConv2DOptions(builder, tflite::Padding::VALID, 1, 1, activation_of(o.op))
              .Union()};
}

int conv_2d_version(const Operands& o) { return o.input().dtype == DType::int8 ? 3 : 1; }

}  // namespace

TfliteOperator tflite_forms::conv_2d() {
  return {.highest_version = 8,
          .required_version = conv_2d_version,
          .first_release = release_of_types,
          .read = read_conv_2d,
          .write = write_conv_2d};
}

}  // namespace octet::detail
