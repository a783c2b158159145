#include <fmt/format.h>
#include <octet/core/autograd.h>
#include <octet/core/error.h>
#include <octet/core/kernels/min_max.h>
#include <octet/core/kernels/passes.h>
#include <octet/core/ops/elementwise.h>
#include <octet/core/ops/fake_quant.h>
#include <octet/layers/quantize/quantizer.h>
#include <octet/layers/quantize/tensor_codes.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace octet {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace

std::string_view to_string(Simulation simulation) {
  return simulation == Simulation::integer ? "integer" : "fake_quant";
}

Quantizer::Quantizer(const Quantizer& other)
    : spec_(other.spec_),
      initial_min_(other.initial_min_),
      initial_max_(other.initial_max_),
      usable_from_start_(other.usable_from_start_),
      owner_(other.owner_),
      prefix_(other.prefix_),
      frozen_(other.frozen_),
      enabled_(other.enabled_),
      min_(clone_leaf(other.min_)),
      max_(clone_leaf(other.max_)),
      zero_point_(clone_leaf(other.zero_point_)),
      updates_(clone_leaf(other.updates_)) {}

void Quantizer::build(std::string owner, std::string prefix, const Shape& shape,
                      ZeroPoint zero_point) {
  spec_.validate(owner);
  owner_ = std::move(owner);
  prefix_ = std::move(prefix);
  Shape range_shape;
  if (spec_.axis >= 0) {
    if (spec_.axis != shape.rank() - 1) {
      throw InvalidArgument(
          fmt::format("{}: expected a range per index of the last axis of {}, found axis {}",
                      owner_, shape.to_string(), spec_.axis));
    }
    if (zero_point == ZeroPoint::kept) {
      throw InvalidArgument(fmt::format(
          "{}: expected one range for the tensor, found axis {}; only kernels have a range per "
          "channel",
          owner_, spec_.axis));
    }
    range_shape = {shape.dim(-1)};
  }
  min_ = Tensor::full(range_shape, initial_min_);
  max_ = Tensor::full(range_shape, initial_max_);
  updates_ = Tensor::scalar(0.0F);
  if (zero_point == ZeroPoint::kept) {
    zero_point_ = Tensor::scalar(0.0F);
    keep_zero_point(choose_quant_params(min_.span(), max_.span(), spec_, owner_));
  }
}

void Quantizer::observe(const Tensor& x) {
  if (!built()) throw InvalidArgument("Quantizer: observe() needs the state that build() makes");
  if (frozen_ || x.size() == 0) return;
  const auto channels = static_cast<std::size_t>(min_.size());
  std::vector<float> memory(4 * channels);
  const auto part = [&](std::size_t i) {
    return std::span(memory).subspan(i * channels, channels);
  };
  const std::span<float> batch_min = part(0);
  const std::span<float> batch_max = part(1);
  const std::span<float> old_min = part(2);
  const std::span<float> old_max = part(3);
  measure(x, batch_min, batch_max);
  std::ranges::copy(min_.span(), old_min.begin());
  std::ranges::copy(max_.span(), old_max.begin());
  const float count = update(batch_min, batch_max);
  try {
    keep_zero_point(choose_quant_params(min_.span(), max_.span(), spec_, owner_));
  } catch (...) {
    std::ranges::copy(old_min, min_.data());
    std::ranges::copy(old_max, max_.data());
    throw;
  }
  updates_.data()[0] = count;
}

/// The range of x, channel by channel.
void Quantizer::measure(const Tensor& x, std::span<float> batch_min,
                        std::span<float> batch_max) const {
  bool finite = true;
  if (spec_.axis < 0) {
    const MinMax range = x.limits();
    batch_min[0] = range.min;
    batch_max[0] = range.max;
    finite = range.finite;
  } else {
    finite = min_max_columns(x.span(), batch_min, batch_max);
  }
  if (!finite) {
    throw NumericError(
        fmt::format("{}: expected finite values, found NaN or infinity; has "
                    "training diverged? Try a smaller learning rate",
                    owner_));
  }
}

void Quantizer::keep_zero_point(const QuantParams& params) {
  if (zero_point_.defined()) zero_point_.data()[0] = static_cast<float>(params.zero_point());
}

void Quantizer::require_range() const {
  if (!has_range()) {
    throw InvalidArgument(fmt::format(
        "{}: no range has been observed yet; train a step or calibrate() first", owner_));
  }
}

QuantParams Quantizer::params() const {
  require_range();
  QuantParams params = choose_quant_params(min_.span(), max_.span(), spec_, owner_);
  params.quantized_dimension = std::max(spec_.axis, 0);
  return params;
}

Quantizer::Range Quantizer::wanted_range(float batch_min, float batch_max) const {
  if (!spec_.symmetric) return {std::min(batch_min, 0.0F), std::max(batch_max, 0.0F)};
  // TFMOT: without the lowest code the range is [-m, m]; with it, one code longer below.
  const auto codes = static_cast<float>(1 << spec_.num_bits);
  const float ratio = spec_.narrow_range ? -1.0F : -(codes - 2.0F) / codes;
  return {std::min(batch_min, batch_max / ratio), std::max(batch_max, batch_min * ratio)};
}

Tensor Quantizer::fake_quant(const Tensor& x) const {
  if (!enabled_) return x;
  require_range();
  if (spec_.axis < 0) {
    return fake_quant_with_min_max_vars(x, min_, max_, spec_.num_bits, spec_.narrow_range, owner_);
  }
  return fake_quant_with_min_max_vars_per_channel(x, min_, max_, spec_.num_bits, spec_.narrow_range,
                                                  owner_);
}

Tensor Quantizer::quantize_dequantize(const Tensor& x, RoundMode mode) const {
  if (!enabled_) return x;
  const auto grid = std::make_shared<const QuantParams>(params());
  const Tensor y = tensor_of_codes(x.shape(), grid, quantize_tensor(x, *grid, mode));
  return record("quantize_dequantize", y, {x}, [x, grid](const Tensor& g) {
    const float scale = grid->scale();
    const float lo = static_cast<float>(grid->qmin - grid->zero_point()) * scale;
    const float hi = static_cast<float>(grid->qmax - grid->zero_point()) * scale;
    return std::vector<Tensor>{inside_window(x, g, {lo, hi, -kInfinity, kInfinity})};
  });
}

std::vector<NamedTensor> Quantizer::state() const {
  if (!built()) return {};
  std::vector<NamedTensor> result = {{prefix_ + "min", min_}, {prefix_ + "max", max_}};
  if (zero_point_.defined()) result.push_back({prefix_ + "zero_point", zero_point_});
  return result;
}

std::vector<NamedTensor> Quantizer::counters() const {
  if (!built()) return {};
  return {{prefix_ + "updates", updates_}};
}

}  // namespace octet
