#include <octet/deploy/tflite/operators.h>

namespace octet::detail {
namespace {

OperatorAttributes read_conv_2d(const TfliteOptions& from) {
  const auto* options = from.as<tflite::Conv2DOptions>();
  if (options == nullptr) fail_tflite("{}: its options are missing", from.who);
  return Conv2DAttributes{.padding = from.padding(options->padding()),
                          .stride_h = options->stride_h(),
                          .stride_w = options->stride_w(),
                          .dilation_h = options->dilation_h_factor(),
                          .dilation_w = options->dilation_w_factor(),
                          .activation = from.activation(options->fused_activation_function())};
}

WrittenOptions write_conv_2d(flatbuffers::FlatBufferBuilder& builder, const Operands& o) {
  const auto& a = o.op.as<Conv2DAttributes>();
  return {tflite::BuiltinOptions::Conv2DOptions,
          tflite::CreateConv2DOptions(builder, padding_of(a.padding), a.stride_w, a.stride_h,
                                      activation_of(o.op), a.dilation_w, a.dilation_h)
              .Union()};
}

int conv_2d_version(const Operands& o) {
  if (o.input(1).stored_bits != 8) return 7;
  if (o.input().shape[3] != o.input(1).shape[3]) return 6;  // groups
  if (o.input().dtype == DType::int16) return 4;
  return o.input().dtype == DType::int8 ? 3 : 1;
}

int conv_2d_release(int version) {
  if (version >= 7) return 21100;
  if (version >= 4) return version == 6 ? 20900 : 20300;
  return release_of_types(version);
}

}  // namespace

TfliteOperator tflite_forms::conv_2d() {
  return {.highest_version = 8,
          .required_version = conv_2d_version,
          .first_release = conv_2d_release,
          .read = read_conv_2d,
          .write = write_conv_2d};
}

}  // namespace octet::detail
