#include <octet/deploy/tflite/operators.h>

#include <array>
#include <cstddef>

namespace octet::detail {
namespace {

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

int batch_matmul_version(const Operands& o) {
  return o.input().dtype == DType::int16 ? 3 : version_of_types(o);
}

int batch_matmul_release(int version) { return version >= 3 ? 20400 : 20300; }

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
          .options = kOptional<tflite::FullyConnectedOptions, FullyConnectedAttributes>};
}

TfliteOperator tflite_forms::batch_matmul() {
  return {.highest_version = 3,
          .required_version = batch_matmul_version,
          .first_release = batch_matmul_release,
          .options = kOptional<tflite::BatchMatMulOptions, BatchMatmulAttributes>};
}

TfliteOperator tflite_forms::conv_2d() {
  return {.highest_version = 8,
          .required_version = conv_2d_version,
          .first_release = conv_2d_release,
          .options = kRequired<tflite::Conv2DOptions, Conv2DAttributes>};
}

TfliteOperator tflite_forms::depthwise_conv_2d() {
  return {.highest_version = 7,
          .required_version = depthwise_version,
          .first_release = depthwise_release,
          .options = kRequired<tflite::DepthwiseConv2DOptions, DepthwiseConv2DAttributes>};
}

TfliteOperator tflite_forms::transpose_conv() {
  // A file has the output's shape in front, then the weights, the image and the bias.
  static constexpr std::array<std::size_t, 4> kOrder = {3, 1, 0, 2};
  return {.highest_version = 4,
          .required_version = transpose_conv_version,
          .first_release = transpose_conv_release,
          .options = kRequired<tflite::TransposeConvOptions, TransposeConvAttributes>,
          .order = kOrder};
}

}  // namespace octet::detail
