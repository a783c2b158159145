#include <octet/deploy/tflite/operators.h>

namespace octet::detail {
namespace {

using flatbuffers::FlatBufferBuilder;
using tflite::BuiltinOptions;

tflite::ActivationFunctionType activation_of(const Operator& op) {
  return static_cast<tflite::ActivationFunctionType>(op.activation());
}

// ---- Operators without options

OperatorAttributes read_none(const TfliteOptions& /*options*/) { return NoAttributes{}; }

WrittenOptions write_none(FlatBufferBuilder& /*builder*/, const Operands& /*operands*/) {
  return {BuiltinOptions::NONE, 0};
}

/// 1 for floats, 2 for int8: most operators.
int version_of_types(const Operands& o) { return o.input().dtype == DType::int8 ? 2 : 1; }

int always_first(const Operands& /*operands*/) { return 1; }

int release_of_first(int /*version*/) { return 10500; }

int release_of_types(int version) { return version >= 2 ? 11400 : 10500; }

/// LOGISTIC and TANH.
int release_of_tables(int /*version*/) { return 11400; }

int relu_release(int version) { return version >= 2 ? 20100 : 10500; }

// ---- ADD

OperatorAttributes read_add(const TfliteOptions& from) {
  const auto* options = from.as<tflite::AddOptions>();
  if (options == nullptr) return AddAttributes{};
  return AddAttributes{.activation = from.activation(options->fused_activation_function())};
}

WrittenOptions write_add(FlatBufferBuilder& builder, const Operands& o) {
  return {BuiltinOptions::AddOptions,
          tflite::CreateAddOptions(builder, activation_of(o.op)).Union()};
}

// ---- CONCATENATION

OperatorAttributes read_concatenation(const TfliteOptions& from) {
  const auto* options = from.as<tflite::ConcatenationOptions>();
  if (options == nullptr) return ConcatenationAttributes{};
  return ConcatenationAttributes{
      .axis = options->axis(), .activation = from.activation(options->fused_activation_function())};
}

WrittenOptions write_concatenation(FlatBufferBuilder& builder, const Operands& o) {
  return {BuiltinOptions::ConcatenationOptions,
          tflite::CreateConcatenationOptions(builder, o.op.as<ConcatenationAttributes>().axis,
                                             activation_of(o.op))
              .Union()};
}

// ---- CONV_2D

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

WrittenOptions write_conv_2d(FlatBufferBuilder& builder, const Operands& o) {
  return {BuiltinOptions::Conv2DOptions,
          tflite::CreateConv2DOptions(builder, tflite::Padding::VALID, 1, 1, activation_of(o.op))
              .Union()};
}

int conv_2d_version(const Operands& o) { return o.input().dtype == DType::int8 ? 3 : 1; }

// ---- DEQUANTIZE and QUANTIZE

WrittenOptions write_dequantize(FlatBufferBuilder& builder, const Operands& /*operands*/) {
  return {BuiltinOptions::DequantizeOptions, tflite::CreateDequantizeOptions(builder).Union()};
}

int dequantize_version(const Operands& o) {
  if (o.input().quantization.scales.size() > 1) return 5;
  if (o.input().dtype == DType::int16) return 3;
  return version_of_types(o);
}

int dequantize_release(int version) {
  if (version == 5) return 20700;
  return version == 3 ? 11500 : 11400;
}

WrittenOptions write_quantize(FlatBufferBuilder& builder, const Operands& /*operands*/) {
  return {BuiltinOptions::QuantizeOptions, tflite::CreateQuantizeOptions(builder).Union()};
}

int quantize_version(const Operands& o) {
  if (o.output().quantization.scales.size() > 1) return 3;
  return o.output().dtype == DType::int16 ? 2 : 1;
}

int quantize_release(int version) {
  if (version == 3) return 20700;
  return version == 2 ? 11500 : 11400;
}

// ---- FULLY_CONNECTED

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

WrittenOptions write_fully_connected(FlatBufferBuilder& builder, const Operands& o) {
  return {BuiltinOptions::FullyConnectedOptions,
          tflite::CreateFullyConnectedOptions(builder, activation_of(o.op), 0,
                                              o.op.as<FullyConnectedAttributes>().keep_num_dims)
              .Union()};
}

int fully_connected_version(const Operands& o) {
  if (!o.has_input(2)) return 6;
  if (o.op.as<FullyConnectedAttributes>().keep_num_dims) return 5;
  return o.input().dtype == DType::int8 ? 4 : 1;
}

int fully_connected_release(int version) {
  if (version <= 4) return version <= 2 ? 11000 : 11400;
  return version == 5 ? 20000 : 20100;
}

// ---- RESHAPE

OperatorAttributes read_reshape(const TfliteOptions& from) {
  const auto* options = from.as<tflite::ReshapeOptions>();
  if (options == nullptr) return ReshapeAttributes{};
  return ReshapeAttributes{.new_shape =
                               read_values(options->new_shape(), kMaxRank, from.who, from.budget)};
}

WrittenOptions write_reshape(FlatBufferBuilder& builder, const Operands& o) {
  const auto& wanted = o.op.as<ReshapeAttributes>().new_shape;
  const auto& shape = wanted.empty() ? o.output().shape : wanted;
  return {BuiltinOptions::ReshapeOptions,
          tflite::CreateReshapeOptionsDirect(builder, &shape).Union()};
}

// ---- SOFTMAX

OperatorAttributes read_softmax(const TfliteOptions& from) {
  const auto* options = from.as<tflite::SoftmaxOptions>();
  if (options == nullptr) return SoftmaxAttributes{};
  return SoftmaxAttributes{.beta = options->beta()};
}

WrittenOptions write_softmax(FlatBufferBuilder& builder, const Operands& o) {
  return {BuiltinOptions::SoftmaxOptions,
          tflite::CreateSoftmaxOptions(builder, o.op.as<SoftmaxAttributes>().beta).Union()};
}

constexpr std::array kOperators = {
    TfliteOperator{OpCode::add, 2, version_of_types, release_of_types, read_add, write_add},
    TfliteOperator{OpCode::concatenation, 2, version_of_types, release_of_types, read_concatenation,
                   write_concatenation},
    TfliteOperator{OpCode::conv_2d, 8, conv_2d_version, release_of_types, read_conv_2d,
                   write_conv_2d},
    TfliteOperator{OpCode::dequantize, 5, dequantize_version, dequantize_release, read_none,
                   write_dequantize},
    TfliteOperator{OpCode::fully_connected, 12, fully_connected_version, fully_connected_release,
                   read_fully_connected, write_fully_connected},
    TfliteOperator{OpCode::logistic, 3, version_of_types, release_of_tables, read_none, write_none},
    TfliteOperator{OpCode::quantize, 3, quantize_version, quantize_release, read_none,
                   write_quantize},
    TfliteOperator{OpCode::relu, 3, version_of_types, relu_release, read_none, write_none},
    TfliteOperator{OpCode::relu6, 3, version_of_types, release_of_types, read_none, write_none},
    TfliteOperator{OpCode::relu_n1_to_1, 1, always_first, release_of_first, read_none, write_none},
    TfliteOperator{OpCode::reshape, 1, always_first, release_of_first, read_reshape, write_reshape},
    TfliteOperator{OpCode::softmax, 3, version_of_types, release_of_types, read_softmax,
                   write_softmax},
    TfliteOperator{OpCode::tanh, 3, version_of_types, release_of_tables, read_none, write_none}};

static_assert(is_complete(kOperators), "an operator has no .tflite form");

}  // namespace

FusedActivation TfliteOptions::activation(tflite::ActivationFunctionType type) const {
  const auto number = static_cast<int>(type);
  if (number < 0 || number > static_cast<int>(FusedActivation::relu6)) {
    fail_tflite("{}: fused activation {} is not supported", who, number);
  }
  return static_cast<FusedActivation>(number);
}

const TfliteOperator& tflite_operator(OpCode code) { return entry_of(kOperators, code); }

}  // namespace octet::detail
