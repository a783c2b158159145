#include <fmt/core.h>
#include <octet/compress/adaround.h>
#include <octet/compress/side_by_side.h>
#include <octet/compress/soft_rounding.h>
#include <octet/core/autograd.h>
#include <octet/core/error.h>
#include <octet/core/ops/elementwise.h>
#include <octet/core/quant/quantize.h>
#include <octet/core/random.h>
#include <octet/layers/activation.h>
#include <octet/layers/folded_batch_norm.h>
#include <octet/layers/quantize/quantizer.h>
#include <octet/train/optimizer.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>
#include <utility>

namespace octet {
namespace {

void check_options(const AdaRoundOptions& options) {
  const auto require = [](bool sound, std::string_view what, double found) {
    if (sound) return;
    throw InvalidArgument(fmt::format("adaround: expected {}, found {}", what, found));
  };
  const auto steps = static_cast<double>(options.steps);
  const auto batch = static_cast<double>(options.batch_size);
  require(options.steps > 0, "a number of steps above 0", steps);
  require(options.batch_size > 0, "a batch size above 0", batch);
  require(options.learning_rate > 0.0F && std::isfinite(options.learning_rate),
          "a finite learning rate above 0", options.learning_rate);
  require(options.regularization >= 0.0F && std::isfinite(options.regularization),
          "a finite regularization that is not negative", options.regularization);
  require(options.warm_up >= 0.0F && options.warm_up <= 1.0F, "a warm-up from 0 to 1",
          options.warm_up);
  require(options.last_exponent >= 2, "a last exponent of at least 2", options.last_exponent);
  require(options.first_exponent >= options.last_exponent,
          "a first exponent that is not below the last", options.first_exponent);
}

RoundingRegularizer regularizer_at(std::size_t step, const AdaRoundOptions& options) {
  const double done = static_cast<double>(step) / static_cast<double>(options.steps);
  const double start = options.warm_up;
  if (done < start) return {};
  const double t = (done - start) / (1.0 - start);
  const double range = options.first_exponent - options.last_exponent;
  const double exponent =
      options.last_exponent + 0.5 * range * (1.0 + std::cos(t * std::numbers::pi));
  return {options.regularization, static_cast<int>(std::lround(exponent))};
}

/// The clamp that ends a layer; none for any other function.
Activation clamp_of(const Layer& layer) {
  return quantizes_before(layer.activation()) ? Activation::none : layer.activation();
}

Tensor clamped(const Layer& layer, const Tensor& x, const Tensor& kernel) {
  return apply_activation(clamp_of(layer), linear_with(layer, x, kernel));
}

double mean_squared_difference(const Tensor& a, const Tensor& b) {
  const std::span<const float> x = a.span();
  const std::span<const float> y = b.span();
  double sum = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double difference = static_cast<double>(x[i]) - static_cast<double>(y[i]);
    sum += difference * difference;
  }
  return sum / static_cast<double>(x.size());
}

/// Rows of x.
Tensor rows_of(const Tensor& x, std::span<const std::uint32_t> rows) {
  Tensor result(x.shape().without_batch().with_batch(static_cast<Index>(rows.size())));
  const std::span<const float> from = x.span();
  const std::size_t size = from.size() / static_cast<std::size_t>(x.dim(0));
  float* to = result.mutable_data();
  for (const std::uint32_t row : rows) {
    to = std::ranges::copy(from.subspan(row * size, size), to).out;
  }
  return result;
}

/// Moves v so that the layer gives `target` for x.
void learn(const Layer& layer, const SoftRounding& rounding, const Tensor& x, const Tensor& target,
           const AdaRoundOptions& options, const Random& random) {
  Adam adam(options.learning_rate);
  Tensor v = rounding.v();
  const auto samples = static_cast<std::uint32_t>(x.dim(0));
  std::vector<std::uint32_t> rows(std::min<std::size_t>(options.batch_size, samples));
  for (std::size_t step = 0; step < options.steps; ++step) {
    const Random draw = random.fork(step);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = draw.below(i, samples);
    Tensor y = clamped(layer, rows_of(x, rows), rounding.kernel(regularizer_at(step, options)));
    const Tensor wanted = rows_of(target, rows);
    const float factor = 2.0F * static_cast<float>(y.dim(-1)) / static_cast<float>(y.size());
    const Tensor gradient = no_grad([&] { return (y.detach() - wanted) * factor; });
    v.zero_grad();
    y.backward(gradient);
    adam.step({{"v", v}});
  }
}

/// The kernel that is trained, and what a batch normalization multiplies each of its units by.
struct OwnKernel {
  Tensor kernel;
  std::vector<double> factors;
};

OwnKernel own_kernel(Layer& layer) {
  FoldedBatchNorm* folded = folded_batch_norm(layer);
  if (folded == nullptr) {
    const Tensor kernel = layer.weights()->kernel;
    return {is_parameter(layer, kernel) ? kernel : Tensor(), {}};
  }
  OwnKernel own{folded->unfolded().weights()->kernel, {}};
  if (!is_parameter(folded->unfolded(), own.kernel)) return {};
  const BatchNorm& norm = folded->batch_norm();
  const std::span<const float> gamma = norm.gamma().span();
  const std::span<const float> variance = norm.moving_variance().span();
  for (std::size_t c = 0; c < gamma.size(); ++c) {
    own.factors.push_back(gamma[c] / std::sqrt(double{variance[c]} + double{norm.epsilon()}));
  }
  return own;
}

/// Why a layer is left out; empty where it is not.
std::string_view why_not(Layer& layer) {
  const Quantizer* quantizer = layer.kernel_quantizer();
  if (quantizer == nullptr || !quantizer->enabled()) return "its kernel is not quantized";
  if (!own_kernel(layer).kernel.defined()) {
    return "it does not keep its kernel in the order of LayerWeights";
  }
  if (!SoftRounding::takes(layer.weights()->kernel, quantizer->params())) {
    return "its kernel is not int8 with zero point 0 and one scale, or one per unit";
  }
  return "";
}

/// Puts the weights whose code is another than the nearest on it.
void move_weights(Layer& layer, const SoftRounding& rounding,
                  const std::vector<std::int8_t>& codes) {
  OwnKernel own = own_kernel(layer);
  const Tensor reals = rounding.reals(codes);
  const std::span<const float> to = reals.span();
  const std::span<float> weights = own.kernel.mutable_span();
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (codes[i] == rounding.nearest()[i]) continue;
    const double factor = own.factors.empty() ? 1.0 : own.factors[i % own.factors.size()];
    weights[i] = static_cast<float>(static_cast<double>(to[i]) / factor);
  }
  layer.kernel_quantizer()->freeze(true);
}

RoundedLayer round_layer(Layer& layer, const Tensor& x, const Tensor& target,
                         const AdaRoundOptions& options, const Random& random) {
  const SoftRounding rounding(layer.weights()->kernel.detach(), layer.kernel_quantizer()->params());
  learn(layer, rounding, x, target, options, random);
  const std::vector<std::int8_t> codes = rounding.learned();
  const auto error_of = [&](std::span<const std::int8_t> of) {
    return no_grad(
        [&] { return mean_squared_difference(clamped(layer, x, rounding.reals(of)), target); });
  };
  RoundedLayer result{.layer = layer.name(),
                      .nearest_error = error_of(rounding.nearest()),
                      .learned_error = error_of(codes)};
  if (!std::isfinite(result.nearest_error) || !std::isfinite(result.learned_error)) {
    throw NumericError(
        fmt::format("adaround: expected finite results of layer \"{}\", found an error of {}",
                    layer.name(), result.nearest_error + result.learned_error));
  }
  if (result.learned_error >= result.nearest_error) return result;
  std::size_t moved = 0;
  for (std::size_t i = 0; i < codes.size(); ++i) moved += codes[i] != rounding.nearest()[i] ? 1 : 0;
  result.moved = static_cast<double>(moved) / static_cast<double>(codes.size());
  move_weights(layer, rounding, codes);
  return result;
}

}  // namespace

AdaRounding adaround(Model& quantized, const Model& reference, std::span<const Tensor> inputs,
                     const AdaRoundOptions& options) {
  check_options(options);
  AdaRounding result;
  const Model floats = in_floats(reference);
  const Random random(options.seed);
  run_side_by_side(
      "adaround", quantized, floats, inputs,
      [&](std::size_t i, const Tensor& x, const Tensor& x_float) {
        Layer& layer = *quantized.layers()[i];
        const std::string_view why =
            quantized.is_reused(i) ? "it is used several times" : why_not(layer);
        if (!why.empty()) {
          result.left_out.push_back({layer.name(), std::string(why)});
          return;
        }
        const Layer& in_float = *floats.layers()[i];
        const Tensor target =
            no_grad([&] { return clamped(in_float, x_float, kernel_on_grid(in_float)); });
        result.rounded.push_back(round_layer(layer, x.detach(), target, options, random.fork(i)));
      });
  return result;
}

AdaRounding adaround(Model& quantized, std::span<const Tensor> inputs,
                     const AdaRoundOptions& options) {
  return adaround(quantized, Model(quantized), inputs, options);
}

}  // namespace octet
