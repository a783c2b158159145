#include <octet/deploy/tflite/operators.h>

#include <array>
#include <cstddef>

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

TfliteOperator tflite_forms::fully_connected() {
  return {.highest_version = 14,
          .required_version = fully_connected_version,
          .first_release = fully_connected_release,
          .read = read_fully_connected,
          .write = write_fully_connected};
}

TfliteOperator tflite_forms::conv_2d() {
  return {.highest_version = 8,
          .required_version = conv_2d_version,
          .first_release = conv_2d_release,
          .read = read_conv_2d,
          .write = write_conv_2d};
}

TfliteOperator tflite_forms::depthwise_conv_2d() {
  return {.highest_version = 7,
          .required_version = depthwise_version,
          .first_release = depthwise_release,
          .read = read_depthwise,
          .write = write_depthwise};
}

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
