#include <fmt/core.h>
#include <octet/compress/soft_rounding.h>
#include <octet/core/arithmetic/sigmoid.h>
#include <octet/core/autograd.h>
#include <octet/core/error.h>
#include <octet/core/parallel.h>
#include <octet/core/quant/quantize.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

namespace octet {
namespace {

/// How far the sigmoid is stretched, so that h reaches 0 and 1.
constexpr float kStretch = 1.2F;
constexpr float kBelow = 0.1F;

/// By products, which are the same everywhere.
float power(float x, int exponent) {
  float result = 1.0F;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) result *= x;
    x *= x;
  }
  return result;
}

template <class Body>
void for_each(std::size_t count, Body&& body) {
  parallel_for(count, parallel_grain(Work::transcendental),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t i = begin; i < end; ++i) body(i);
               });
}

}  // namespace

float RoundingRegularizer::slope(float h) const {
  if (weight == 0.0F) return 0.0F;
  const float u = 2.0F * h - 1.0F;
  const float magnitude = power(std::fabs(u), exponent - 1);
  return -2.0F * weight * static_cast<float>(exponent) * (u < 0.0F ? -magnitude : magnitude);
}

bool SoftRounding::takes(const Tensor& kernel, const QuantParams& params) {
  const bool one = params.scales.size() == 1;
  const bool by_unit = kernel.rank() > 0 && params.quantized_dimension == kernel.rank() - 1 &&
                       std::cmp_equal(params.scales.size(), kernel.dim(-1));
  return params.qmin >= -128 && params.qmax <= 127 && (one || by_unit) &&
         std::ranges::all_of(params.zero_points, [](std::int32_t z) { return z == 0; });
}

SoftRounding::SoftRounding(const Tensor& kernel, QuantParams params)
    : shape_(kernel.shape()), params_(std::move(params)), v_(kernel.shape()) {
  if (!takes(kernel, params_)) {
    throw InvalidArgument(fmt::format(
        "SoftRounding: expected int8 values with zero point 0 and one scale, or one for each index "
        "of the last axis of a kernel {}, found values {} to {} and {} scales on axis {}",
        shape_.to_string(), params_.qmin, params_.qmax, params_.scales.size(),
        params_.quantized_dimension));
  }
  const std::span<const float> weights = kernel.span();
  nearest_.resize(weights.size());
  quantize(weights, shape_.dims(), params_, nearest_);
  lower_.resize(weights.size());
  has_choice_.resize(weights.size());
  float* v = v_.mutable_data();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const float steps = weights[i] / scale_of(i);
    const float below = std::floor(steps);
    const bool inside = below >= static_cast<float>(params_.qmin) &&
                        below + 1.0F <= static_cast<float>(params_.qmax);
    has_choice_[i] = inside ? 1 : 0;
    lower_[i] = inside ? below : static_cast<float>(nearest_[i]);
    const float part = inside ? steps - below : 0.0F;
    v[i] = std::log((part + kBelow) / (kStretch - kBelow - part));
  }
  v_.set_requires_grad(true);
}

Tensor SoftRounding::kernel(const RoundingRegularizer& regularizer) const {
  Tensor result(shape_);
  // d w'/dv and d loss/dv of the regularizer.
  auto slopes = std::make_shared<std::vector<float>>(lower_.size());
  auto pulls = std::make_shared<std::vector<float>>(lower_.size());
  const std::span<const float> v = v_.span();
  float* w = result.mutable_data();
  for_each(lower_.size(), [&](std::size_t i) {
    const float p = detail::sigmoid(v[i]);
    const float h = kStretch * p - kBelow;
    const bool moves = has_choice_[i] != 0 && h > 0.0F && h < 1.0F;
    const float slope = moves ? kStretch * p * (1.0F - p) : 0.0F;
    (*slopes)[i] = slope * scale_of(i);
    (*pulls)[i] = moves ? slope * regularizer.slope(h) : 0.0F;
    const float up = has_choice_[i] != 0 ? std::clamp(h, 0.0F, 1.0F) : 0.0F;
    w[i] = scale_of(i) * (lower_[i] + up);
  });
  const auto backward = [shape = shape_, slopes, pulls](const Tensor& g) {
    Tensor gradient(shape);
    const std::span<const float> from = g.span();
    float* to = gradient.mutable_data();
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = (*slopes)[i] * from[i] + (*pulls)[i];
    return std::vector<Tensor>{gradient};
  };
  return record("adaround", std::move(result), {v_}, backward, BackwardReads::nothing);
}

std::vector<std::int8_t> SoftRounding::learned() const {
  std::vector<std::int8_t> codes = nearest_;
  const std::span<const float> v = v_.span();
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (has_choice_[i] == 0) continue;
    codes[i] = static_cast<std::int8_t>(lower_[i] + (v[i] >= 0.0F ? 1.0F : 0.0F));
  }
  return codes;
}

Tensor SoftRounding::reals(std::span<const std::int8_t> codes) const {
  Tensor result(shape_);
  dequantize(codes, shape_.dims(), params_, result.mutable_span());
  return result;
}

}  // namespace octet
