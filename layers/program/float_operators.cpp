#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/ops/gradients_internal.h>
#include <octet/core/ops/ops.h>
#include <octet/core/quant/quant_params.h>
#include <octet/layers/activation_function.h>
#include <octet/layers/program/float_operators.h>
#include <octet/runtime/operators/definitions.h>
#include <octet/runtime/operators/resize_bilinear.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace octet {

std::string FloatCall::owner() const {
  return fmt::format("layer \"{}\" of type {}", step.layer->name(), step.layer->type());
}

// ---- Arithmetic

namespace {

FusedActivation clamp_of(const FloatCall& call) { return call.as<BinaryAttributes>().activation; }

}  // namespace

Tensor float_forms::add(const FloatCall& call) {
  const auto& x = call.x;
  if (x[0].shape() == x[1].shape()) return octet::add(x[0], x[1], clamp_of(call));
  return apply_activation(clamp_of(call), octet::add(x[0], x[1]));
}

Tensor float_forms::sub(const FloatCall& call) {
  return apply_activation(clamp_of(call), octet::sub(call.x[0], call.x[1]));
}

Tensor float_forms::mul(const FloatCall& call) {
  return apply_activation(clamp_of(call), octet::mul(call.x[0], call.x[1]));
}

Tensor float_forms::maximum(const FloatCall& call) { return octet::maximum(call.x[0], call.x[1]); }

Tensor float_forms::minimum(const FloatCall& call) { return octet::minimum(call.x[0], call.x[1]); }

/// 1 / sqrt(x). Quantized, RSQRT gives its largest value at 0, where there is no infinity: so do
/// values that were rounded to 0, the value of the least above 0 that there can be, or is.
Tensor float_forms::rsqrt(const FloatCall& call) {
  const Tensor& x = call.x[0];
  float least = kUnbounded;
  if (x.quantization() != nullptr) {
    least = x.quantization()->scale();
  } else {
    for (const float value : x.span()) least = value > 0.0F ? std::min(least, value) : least;
  }
  return octet::rsqrt(clamp(x, std::isfinite(least) ? least : 0.0F, kUnbounded));
}

// ---- Activations

Tensor float_forms::relu(const FloatCall& call) { return octet::relu(call.x[0]); }

Tensor float_forms::relu6(const FloatCall& call) { return octet::relu6(call.x[0]); }

Tensor float_forms::relu_n1_to_1(const FloatCall& call) { return clamp(call.x[0], -1.0F, 1.0F); }

Tensor float_forms::logistic(const FloatCall& call) { return sigmoid(call.x[0]); }

Tensor float_forms::tanh(const FloatCall& call) { return octet::tanh(call.x[0]); }

Tensor float_forms::softmax(const FloatCall& call) {
  return octet::softmax(call.x[0], call.as<SoftmaxAttributes>().beta);
}

// ---- Windows and images

namespace {

Pool2DOptions pool_of(const FloatCall& call) {
  const auto& attributes = call.as<PoolAttributes>();
  return {.size = {attributes.filter_h, attributes.filter_w},
          .stride = {attributes.stride_h, attributes.stride_w},
          .padding = attributes.padding};
}

}  // namespace

Tensor float_forms::average_pool_2d(const FloatCall& call) {
  return apply_activation(call.as<PoolAttributes>().activation,
                          average_pool2d(call.x[0], pool_of(call)));
}

Tensor float_forms::max_pool_2d(const FloatCall& call) {
  return apply_activation(call.as<PoolAttributes>().activation,
                          max_pool2d(call.x[0], pool_of(call)));
}

Tensor float_forms::pad(const FloatCall& call) {
  const auto& numbers = call.step.numbers;
  return pad2d(call.x[0],
               {.top = numbers[2], .bottom = numbers[3], .left = numbers[4], .right = numbers[5]});
}

Tensor float_forms::resize_bilinear(const FloatCall& call) {
  return octet::resize_bilinear(call.x[0], {call.step.numbers[0], call.step.numbers[1]},
                                detail::resize_coordinates(call.as<ResizeAttributes>()));
}

Tensor float_forms::resize_nearest_neighbor(const FloatCall& call) {
  const Tensor& x = call.x[0];
  return upsample2d(x, {call.step.numbers[0] / x.dim(1), call.step.numbers[1] / x.dim(2)});
}

// ---- What moves values

/// All of the batch, and of each other axis what the step's numbers say.
Tensor float_forms::strided_slice(const FloatCall& call) {
  const auto& numbers = call.step.numbers;
  const std::size_t rank = numbers.size() / 3;
  std::vector<AxisSlice> axes{{0, call.x[0].dim(0)}};
  for (std::size_t i = 1; i < rank; ++i) {
    axes.push_back({numbers[i], numbers[rank + i], numbers[2 * rank + i]});
  }
  return slice(call.x[0], axes);
}

Tensor float_forms::transpose(const FloatCall& call) {
  return permute(call.x[0], {call.step.numbers.begin(), call.step.numbers.end()});
}

Tensor float_forms::reshape(const FloatCall& call) {
  return call.x[0].reshape(call.result.with_batch(call.x[0].dim(0)));
}

// ---- What layers do not emit: Graph::linear() stands for operators with weights, quantization for
// those between types, and the rest comes with models of others, which run but are not trained.

namespace {

[[noreturn]] void refuse_to_train(const FloatCall& call) {
  throw InvalidArgument(fmt::format(
      "{}: expected an operator that trains, found {}; Graph::linear() stands for operators with "
      "weights, Graph::reshape() for those that reshape",
      call.owner(), to_string(call.step.code)));
}

}  // namespace

Tensor float_forms::arg_max(const FloatCall& call) { refuse_to_train(call); }
Tensor float_forms::cast(const FloatCall& call) { refuse_to_train(call); }
Tensor float_forms::conv_2d(const FloatCall& call) { refuse_to_train(call); }
Tensor float_forms::depthwise_conv_2d(const FloatCall& call) { refuse_to_train(call); }
Tensor float_forms::dequantize(const FloatCall& call) { refuse_to_train(call); }
Tensor float_forms::detection_post_process(const FloatCall& call) { refuse_to_train(call); }
Tensor float_forms::fully_connected(const FloatCall& call) { refuse_to_train(call); }
Tensor float_forms::mean(const FloatCall& call) { refuse_to_train(call); }
Tensor float_forms::padv2(const FloatCall& call) { refuse_to_train(call); }
Tensor float_forms::quantize(const FloatCall& call) { refuse_to_train(call); }
Tensor float_forms::split(const FloatCall& call) { refuse_to_train(call); }
Tensor float_forms::squeeze(const FloatCall& call) { refuse_to_train(call); }
Tensor float_forms::svdf(const FloatCall& call) { refuse_to_train(call); }
Tensor float_forms::transpose_conv(const FloatCall& call) { refuse_to_train(call); }

Tensor float_operator(const Step& step, const Shape& result, std::span<const Tensor> x) {
  using Form = Tensor (*)(const FloatCall& call);
  static constexpr std::array kForms = {
#define OCTET_ROW(name, ...) Form{float_forms::name},
#include <octet/runtime/operators.def>
  };
  return kForms[detail::index_of(step.code)]({step, result, x});
}

Shape shape_given(const Layer& layer, const std::string& what, FunctionRef<Tensor()> compute) {
  const NoGrad guard;
  try {
    return compute().shape().without_batch();
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(fmt::format("layer \"{}\" of type {}: {}{}", layer.name(), layer.type(),
                                      what, error.what()));
  }
}

Shape result_shape(const Step& step, std::span<const Shape> inputs) {
  std::vector<Tensor> none;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    none.emplace_back(step.reads_parameter(i) ? inputs[i] : inputs[i].with_batch(0));
  }
  return shape_given(*step.layer, "", [&] { return float_operator(step, {}, none); });
}

}  // namespace octet
