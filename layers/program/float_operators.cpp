#include <fmt/core.h>
#include <octet/core/arithmetic/elu.h>
#include <octet/core/arithmetic/gelu.h>
#include <octet/core/arithmetic/hard_swish.h>
#include <octet/core/arithmetic/real_functions.h>
#include <octet/core/autograd.h>
#include <octet/core/error.h>
#include <octet/core/ops/gradients_internal.h>
#include <octet/core/ops/map.h>
#include <octet/core/ops/ops.h>
#include <octet/core/quant/quant_params.h>
#include <octet/layers/activation_function.h>
#include <octet/layers/program/float_operators.h>
#include <octet/runtime/operators/resize_bilinear.h>

#include <algorithm>
#include <cmath>
#include <variant>
#include <vector>

namespace octet {
namespace {

/// max(x, 0) + alpha min(x, 0).
Tensor leaky_relu(const Tensor& x, float alpha) {
  const auto slope = [alpha](float v) { return v > 0.0F ? 1.0F : alpha; };
  const Tensor y = detail::map(
      Work::map_floats, [slope](float v) { return slope(v) * v; }, x);
  return record("leaky_relu", y, {x}, [x = x.detach(), slope](const Tensor& g) {
    return std::vector<Tensor>{detail::map(
        Work::map_floats, [slope](float gv, float v) { return slope(v) * gv; }, g, x)};
  });
}

/// min(x, 0), which passes the gradient at 0, where relu() does not.
Tensor negative_part(const Tensor& x) {
  const Tensor y = detail::map(
      Work::map_floats, [](float v) { return v > 0.0F ? 0.0F : v; }, x);
  return record("negative_part", y, {x}, [x = x.detach()](const Tensor& g) {
    return std::vector<Tensor>{detail::map(
        Work::map_floats, [](float gv, float v) { return v > 0.0F ? 0.0F : gv; }, g, x)};
  });
}

/// max(x, 0) + alpha min(x, 0); alpha broadcasts to x.
Tensor prelu(const Tensor& x, const Tensor& alpha) {
  return add(relu(x), mul(negative_part(x), alpha));
}

/// function(x), with the derivative `slope` at x.
template <class F, class Slope>
Tensor smooth(std::string_view name, Work work, const Tensor& x, F function, Slope slope) {
  const Tensor y = detail::map(work, function, x);
  return record(name, y, {x}, [x = x.detach(), work, slope](const Tensor& g) {
    return std::vector<Tensor>{detail::map(
        work, [slope](float gv, float v) { return gv * slope(v); }, g, x)};
  });
}

/// x relu6(x + 3) / 6.
Tensor hard_swish(const Tensor& x) {
  return smooth("hard_swish", Work::map_floats, x, detail::hard_swish, detail::hard_swish_slope);
}

/// x above 0, e^x - 1 below.
Tensor elu(const Tensor& x) {
  return smooth("elu", Work::transcendental, x, detail::elu, detail::elu_slope);
}

/// x times the distribution function of a standard normal variable.
Tensor gelu(const Tensor& x, bool approximate) {
  const auto form = approximate ? detail::GeluForm::approximate : detail::GeluForm::exact;
  return smooth(
      "gelu", Work::transcendental, x, [form](float v) { return detail::gelu(v, form); },
      [form](float v) { return detail::gelu_slope(v, form); });
}

/// log(x). Quantized, 0 stands for values up to half a step, which has a logarithm: so a range can
/// be measured of results, the lowest of which LOG gives for 0.
Tensor natural_log(const Tensor& x) {
  const Tensor read =
      x.quantization() == nullptr ? x : clamp(x, 0.5F * x.quantization()->scale(), kUnbounded);
  return smooth("log", Work::transcendental, read, detail::logarithm, detail::logarithm_slope);
}

/// sqrt(x). Throws InvalidArgument where quantized values are below 0: runtimes end a run there.
Tensor square_root(const Step& step, const Tensor& x) {
  const auto is_negative = [](float v) { return v < 0.0F; };
  if (x.quantization() != nullptr && std::ranges::any_of(x.span(), is_negative)) {
    throw InvalidArgument(fmt::format(
        "layer \"{}\" of type {}: expected a square root of values that are not below 0, found "
        "{}; put a ReLU in front",
        step.layer->name(), step.layer->type(), std::ranges::min(x.span())));
  }
  return smooth(
      "sqrt", Work::map_floats, x, [](float v) { return std::sqrt(v); }, detail::square_root_slope);
}

/// 1 / sqrt(x). Quantized, RSQRT gives its largest value at 0, where there is no infinity: so do
/// values that were rounded to 0, the value of the least above 0 that there can be, or is.
Tensor inverse_sqrt(const Tensor& x) {
  float least = kUnbounded;
  if (x.quantization() != nullptr) {
    least = x.quantization()->scale();
  } else {
    for (const float value : x.span()) least = value > 0.0F ? std::min(least, value) : least;
  }
  return div(1.0F, sqrt(clamp(x, std::isfinite(least) ? least : 0.0F, kUnbounded)));
}

FusedActivation clamp_of(const Step& step) {
  return std::get<BinaryAttributes>(step.attributes).activation;
}

Tensor sum(const Step& step, std::span<const Tensor> x) {
  if (x[0].shape() != x[1].shape()) return apply_activation(clamp_of(step), add(x[0], x[1]));
  return add(x[0], x[1], clamp_of(step));
}

Pool2DOptions pool_of(const Step& step) {
  const auto& attributes = std::get<PoolAttributes>(step.attributes);
  return {.size = {attributes.filter_h, attributes.filter_w},
          .stride = {attributes.stride_h, attributes.stride_w},
          .padding = attributes.padding};
}

FusedActivation pool_clamp(const Step& step) {
  return std::get<PoolAttributes>(step.attributes).activation;
}

Tensor softmax_of(const Step& step, const Tensor& x) {
  const float beta = std::get<SoftmaxAttributes>(step.attributes).beta;
  return softmax(beta == 1.0F ? x : x * beta);
}

Padding2D padding_of(const Step& step) {
  return {.top = step.numbers[2],
          .bottom = step.numbers[3],
          .left = step.numbers[4],
          .right = step.numbers[5]};
}

Tensor repeated(const Step& step, const Tensor& x) {
  return upsample2d(x, {step.numbers[0] / x.dim(1), step.numbers[1] / x.dim(2)});
}

Tensor resized(const Step& step, const Tensor& x) {
  return resize_bilinear(x, {step.numbers[0], step.numbers[1]},
                         detail::resize_coordinates(std::get<ResizeAttributes>(step.attributes)));
}

/// All of the batch, and of each other axis what the step's numbers say.
Tensor sliced(const Step& step, const Tensor& x) {
  const std::size_t rank = step.numbers.size() / 3;
  std::vector<AxisSlice> axes{{0, x.dim(0)}};
  for (std::size_t i = 1; i < rank; ++i) {
    axes.push_back({step.numbers[i], step.numbers[rank + i], step.numbers[2 * rank + i]});
  }
  return slice(x, axes);
}

Tensor transposed(const Step& step, const Tensor& x) {
  return permute(x, {step.numbers.begin(), step.numbers.end()});
}

Tensor multiplied(const Step& step, const Tensor& x, const Tensor& y) {
  const auto& attributes = std::get<BatchMatmulAttributes>(step.attributes);
  return batch_matmul(x, y, transpose_of(attributes.adj_x), transpose_of(attributes.adj_y));
}

Tensor joined(const Step& step, std::span<const Tensor> x) {
  const auto& attributes = std::get<ConcatenationAttributes>(step.attributes);
  return apply_activation(attributes.activation,
                          concatenate({x.begin(), x.end()}, attributes.axis));
}

}  // namespace

Tensor float_operator(const Step& step, const Shape& result, std::span<const Tensor> x) {
  switch (step.code) {
    case OpCode::add:
      return sum(step, x);
    case OpCode::sub:
      return apply_activation(clamp_of(step), sub(x[0], x[1]));
    case OpCode::mul:
      return apply_activation(clamp_of(step), mul(x[0], x[1]));
    case OpCode::maximum:
      return maximum(x[0], x[1]);
    case OpCode::minimum:
      return minimum(x[0], x[1]);
    case OpCode::batch_matmul:
      return multiplied(step, x[0], x[1]);
    case OpCode::concatenation:
      return joined(step, x);
    case OpCode::average_pool_2d:
      return apply_activation(pool_clamp(step), average_pool2d(x[0], pool_of(step)));
    case OpCode::max_pool_2d:
      return apply_activation(pool_clamp(step), max_pool2d(x[0], pool_of(step)));
    case OpCode::pad:
      return pad2d(x[0], padding_of(step));
    case OpCode::resize_bilinear:
      return resized(step, x[0]);
    case OpCode::resize_nearest_neighbor:
      return repeated(step, x[0]);
    case OpCode::strided_slice:
      return sliced(step, x[0]);
    case OpCode::transpose:
      return transposed(step, x[0]);
    case OpCode::gather:
      return take_rows(
          x[0], x[1],
          fmt::format("layer \"{}\" of type {}", step.layer->name(), step.layer->type()));
    case OpCode::reshape:
      return x[0].reshape(result.with_batch(x[0].dim(0)));
    case OpCode::relu:
      return relu(x[0]);
    case OpCode::relu6:
      return relu6(x[0]);
    case OpCode::relu_n1_to_1:
      return clamp(x[0], -1.0F, 1.0F);
    case OpCode::leaky_relu:
      return leaky_relu(x[0], std::get<LeakyReluAttributes>(step.attributes).alpha);
    case OpCode::prelu:
      return prelu(x[0], x[1]);
    case OpCode::hard_swish:
      return hard_swish(x[0]);
    case OpCode::elu:
      return elu(x[0]);
    case OpCode::gelu:
      return gelu(x[0], std::get<GeluAttributes>(step.attributes).approximate);
    case OpCode::exp:
      return smooth("exp", Work::transcendental, x[0], detail::exponential, detail::exponential);
    case OpCode::log:
      return natural_log(x[0]);
    case OpCode::sqrt:
      return square_root(step, x[0]);
    case OpCode::rsqrt:
      return inverse_sqrt(x[0]);
    case OpCode::logistic:
      return sigmoid(x[0]);
    case OpCode::tanh:
      return tanh(x[0]);
    case OpCode::softmax:
      return softmax_of(step, x[0]);
    case OpCode::arg_max:
    case OpCode::cast:
    case OpCode::conv_2d:
    case OpCode::depthwise_conv_2d:
    case OpCode::dequantize:
    case OpCode::detection_post_process:
    case OpCode::fully_connected:
    case OpCode::mean:
    case OpCode::padv2:
    case OpCode::quantize:
    case OpCode::split:
    case OpCode::squeeze:
    case OpCode::svdf:
    case OpCode::transpose_conv:
    case OpCode::unidirectional_sequence_lstm:
      break;
  }
  throw InvalidArgument(fmt::format(
      "layer \"{}\" of type {}: expected an operator that trains, found {}; Graph::linear() stands "
      "for operators with weights, Graph::reshape() for those that reshape",
      step.layer->name(), step.layer->type(), to_string(step.code)));
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
