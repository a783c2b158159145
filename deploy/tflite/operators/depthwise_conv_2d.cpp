#include <octet/deploy/tflite/operators.h>

namespace octet::detail {
namespace {

OperatorAttributes read_depthwise(const TfliteOptions& from) {
  const auto* options = from.as<tflite::DepthwiseConv2DOptions>();
  if (options == nullptr) fail_tflite("{}: its options are missing", from.who);
  return DepthwiseConv2DAttributes{
      .padding = from.padding(options->padding()),
      .stride_h = options->stride_h(),
      .stride_w = options->stride_w(),
      .dilation_h = options->dilation_h_factor(),
      .dilation_w = options->dilation_w_factor(),
      .depth_multiplier = options->depth_multiplier(),
      .activation = from.activation(options->fused_activation_function())};
}

WrittenOptions write_depthwise(flatbuffers::FlatBufferBuilder& builder, const Operands& o) {
  const auto& a = o.op.as<DepthwiseConv2DAttributes>();
  return {tflite::BuiltinOptions::DepthwiseConv2DOptions,
          tflite::CreateDepthwiseConv2DOptions(builder, padding_of(a.padding), a.stride_w,
                                               a.stride_h, a.depth_multiplier, activation_of(o.op),
                                               a.dilation_w, a.dilation_h)
              .Union()};
}

int depthwise_version(const Operands& o) {
  if (o.input(1).stored_bits != 8) return 7;
  if (o.input().dtype == DType::int16) return 5;
  if (o.input().dtype == DType::int8) return 3;
  const auto& a = o.op.as<DepthwiseConv2DAttributes>();
  return a.dilation_h != 1 || a.dilation_w != 1 ? 2 : 1;
}

int depthwise_release(int version) {
  if (version >= 4) return version >= 7 ? 21100 : 20300;
  if (version == 3) return 11400;
  return version == 2 ? 11200 : 10500;
}

}  // namespace

TfliteOperator tflite_forms::depthwise_conv_2d() {
  return {.highest_version = 7,
          .required_version = depthwise_version,
          .first_release = depthwise_release,
          .read = read_depthwise,
          .write = write_depthwise};
}

}  // namespace octet::detail
