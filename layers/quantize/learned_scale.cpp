#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/quant/round.h>
#include <octet/layers/quantize/learned_scale.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace octet {
namespace {

/// The number of steps from the lowest to the highest quantized value.
std::int32_t steps_in(const QuantSpec& spec) { return spec.qmax() - spec.qmin(); }

/// The zero point in the middle, or at the lowest value.
std::int32_t lsq_zero_point(const QuantSpec& spec) {
  if (!spec.symmetric) return spec.qmin();
  return spec.is_signed ? 0 : 1 << (spec.num_bits - 1);
}

/// A write would make a backward pass refuse what an earlier operator of this step has read.
void set_unless_equal(Tensor& tensor, std::size_t at, float value) {
  if (tensor.data()[at] != value) tensor.mutable_data()[at] = value;
}

}  // namespace

const LearnedScale::Policy LearnedScale::kLsq = {
    .type = "Lsq",
    .names = {"step"},
    .results_only = false,
    .values_of = [](const QuantSpec&, const Step& step) { return Values{step.step}; },
    .step_of =
        [](const QuantSpec& spec, const Values& values) {
          return Step{values[0], lsq_zero_point(spec)};
        },
    .gradient =
        [](const StepSums& sums, double lo, double hi) {
          return std::array{sums.inside + lo * sums.below + hi * sums.above, 0.0};
        },
    .gradient_scale =
        [](const QuantSpec& spec, double n) {
          const double highest = spec.qmax() - lsq_zero_point(spec);
          return 1.0 / std::sqrt(n * highest);
        }};

const LearnedScale::Policy LearnedScale::kLsqPlus = {
    .type = "LsqPlus",
    .names = {"step", "offset"},
    .results_only = true,
    .values_of =
        [](const QuantSpec& spec, const Step& step) {
          return Values{step.step, static_cast<float>(spec.qmin() - step.zero_point) * step.step};
        },
    .step_of =
        [](const QuantSpec& spec, const Values& values) {
          const float steps = round_half_away(-values[1] / values[0]);
          const auto from_lowest = clamp_to<std::int32_t>(steps, 0, steps_in(spec));
          return Step{values[0], spec.qmin() + from_lowest};
        },
    .gradient =
        [](const StepSums& sums, double lo, double hi) {
          return std::array{sums.inside + (hi - lo) * sums.above, sums.below + sums.above};
        },
    .gradient_scale = [](const QuantSpec& spec,
                         double n) { return 1.0 / std::sqrt(n * steps_in(spec)); }};

const LearnedScale::Policy LearnedScale::kPact = {
    .type = "Pact",
    .names = {"clip"},
    .results_only = true,
    .values_of =
        [](const QuantSpec& spec, const Step& step) {
          return Values{step.step * static_cast<float>(steps_in(spec))};
        },
    .step_of =
        [](const QuantSpec& spec, const Values& values) {
          return Step{values[0] / static_cast<float>(steps_in(spec)), spec.qmin()};
        },
    .gradient =
        [](const StepSums& sums, double /*lo*/, double /*hi*/) {
          return std::array{sums.above, 0.0};
        },
    .gradient_scale = [](const QuantSpec&, double /*n*/) { return 1.0; }};

LearnedScale::LearnedScale(const LearnedScale& other)
    : ScaleRule(other), policy_(other.policy_), values_per_step_(other.values_per_step_) {
  for (const auto& [name, value, start] : other.parameters_) {
    parameters_.push_back({name, clone_leaf(value), clone_leaf(start)});
  }
}

void LearnedScale::require_spec(const QuantSpec& spec) const {
  if (!policy_->results_only || (!spec.symmetric && spec.axis < 0)) return;
  throw InvalidArgument(fmt::format(
      "{}: expected a start with one range for the tensor that is not symmetric, found {}; it is "
      "for results of layers, LsqQuantizer for kernels",
      type(), spec.axis >= 0 ? "one range per channel" : "a symmetric one"));
}

void LearnedScale::do_build(const Shape& shape) {
  const int axis = spec().axis;
  const Shape channels = axis < 0 ? Shape{} : Shape{shape.dim(axis)};
  values_per_step_ = static_cast<double>(shape.size()) / static_cast<double>(channels.size());
  parameters_.clear();
  for (const std::string_view name : policy_->names) {
    if (name.empty()) continue;
    parameters_.push_back({std::string(name), Tensor::zeros(channels).set_requires_grad(true),
                           Tensor::zeros(channels)});
  }
}

void LearnedScale::start(const ObservedRange& range) {
  const std::span<const float> mins = range.min.span();
  const std::span<const float> maxs = range.max.span();
  std::vector<float> lows(mins.begin(), mins.end());
  std::vector<float> highs(maxs.begin(), maxs.end());
  // Without an offset the range is one from 0 on, whatever was measured below.
  if (!spec().symmetric && parameters_.size() == 1) {
    std::ranges::fill(lows, 0.0F);
    for (float& high : highs) high = std::max(high, 0.0F);
  }
  const QuantParams measured = choose_quant_params(lows, highs, spec(), owner());
  for (std::size_t c = 0; c < channels(); ++c) {
    const Values values = policy_->values_of(spec(), {measured.scale(c), measured.zero_point(c)});
    for (std::size_t p = 0; p < parameters_.size(); ++p) {
      set_unless_equal(parameters_[p].value, c, values.at(p));
      set_unless_equal(parameters_[p].start, c, values.at(p));
    }
  }
}

/// Whether start() was called, or a file has said where the parameters started.
bool LearnedScale::started() const { return parameters_.front().start.data()[0] > 0.0F; }

/// Whether no optimizer has moved a parameter yet.
bool LearnedScale::follows_range() const {
  return std::ranges::all_of(parameters_, [](const Parameter& each) {
    return std::ranges::equal(each.value.span(), each.start.span());
  });
}

/// A parameter as it is used, whatever the optimizer made of it.
float LearnedScale::repaired(std::size_t parameter, std::size_t channel) const {
  const Parameter& found = parameters_[parameter];
  const float value = found.value.data()[channel];
  if (!std::isfinite(value)) {
    throw NumericError(fmt::format(
        "{}: expected a finite parameter \"{}{}\", found {}; training has diverged: try a smaller "
        "learning rate",
        owner(), prefix(), found.name, value));
  }
  if (parameter > 0) return value;
  return std::max(value, found.start.data()[channel] * kLeastShare);
}

void LearnedScale::repair() {
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    for (std::size_t c = 0; c < channels(); ++c) {
      set_unless_equal(parameters_[p].value, c, repaired(p, c));
    }
  }
}

QuantParams LearnedScale::params() const {
  QuantParams params;
  params.qmin = spec().qmin();
  params.qmax = spec().qmax();
  params.quantized_dimension = std::max(spec().axis, 0);
  for (std::size_t c = 0; c < channels(); ++c) {
    Values values{};
    for (std::size_t p = 0; p < parameters_.size(); ++p) values.at(p) = repaired(p, c);
    const auto [step, zero_point] = policy_->step_of(spec(), values);
    if (!std::isfinite(step * static_cast<float>(params.qmax - params.qmin))) {
      throw NumericError(fmt::format(
          "{}: a step of {} makes a range too wide for float32; training has diverged: try a "
          "smaller learning rate",
          owner(), step));
    }
    params.scales.push_back(step);
    params.zero_points.push_back(zero_point);
  }
  params.validate(owner());
  return params;
}

std::vector<NamedTensor> LearnedScale::parameters() const {
  std::vector<NamedTensor> result;
  for (const Parameter& each : parameters_) result.push_back({each.name, each.value});
  return result;
}

std::vector<NamedTensor> LearnedScale::counters() const {
  std::vector<NamedTensor> result;
  for (const Parameter& each : parameters_) result.push_back({each.name + "_start", each.start});
  return result;
}

LearnedRange LearnedScale::learned_range() const {
  // Before there is a start, all that is asked is how many gradients there will be.
  const QuantParams quant = started() ? params() : QuantParams{};
  LearnedRange learned{.steps = {.steps = quant.scales, .passes = {}}};
  for (std::size_t c = 0; c < quant.channels(); ++c) {
    learned.steps.passes.push_back(values_between(quant.scale(c), quant.qmin - quant.zero_point(c),
                                                  quant.qmax - quant.zero_point(c)));
  }
  for (const Parameter& each : parameters_) learned.parameters.push_back(each.value);
  learned.from_sums = [quant, shape = parameters_.front().value.shape(), count = parameters_.size(),
                       gradient = policy_->gradient,
                       factor = policy_->gradient_scale(spec(), values_per_step_)](
                          std::span<const StepSums> sums) {
    std::vector<Tensor> result(count);
    for (std::size_t p = 0; p < count; ++p) {
      result[p] = Tensor(shape);
      float* to = result[p].mutable_data();
      for (std::size_t c = 0; c < sums.size(); ++c) {
        const auto slopes =
            gradient(sums[c], quant.qmin - quant.zero_point(c), quant.qmax - quant.zero_point(c));
        to[c] = static_cast<float>(factor * slopes.at(p));
      }
    }
    return result;
  };
  learned.gradients = [steps = learned.steps, from_sums = learned.from_sums](
                          const Tensor& x, const Tensor& upstream) {
    return from_sums(step_sums(x, upstream, steps));
  };
  return learned;
}

}  // namespace octet
