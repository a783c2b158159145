#include <fmt/core.h>
#include <octet/core/autograd.h>
#include <octet/core/error.h>
#include <octet/core/quant/quantize.h>
#include <octet/layers/quantize/learned_quantizer.h>
#include <octet/layers/quantize/quantizer_registry.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace octet {
namespace {

std::unique_ptr<Observer> observer_of(const Quantizer* start) {
  if (start == nullptr) {
    throw InvalidArgument(
        "LearnedQuantizer: expected a quantizer whose range the grid starts from, found null");
  }
  if (dynamic_cast<const LearnedQuantizer*>(start) != nullptr) {
    throw InvalidArgument(
        fmt::format("LearnedQuantizer: expected a start from an observed range, found {}, whose "
                    "grid is learned",
                    start->type()));
  }
  return clone_of(start->observer(), start->type());
}

/// dequantize(quantize(x)), channels on the last axis.
Tensor rounded_to_grid(const Tensor& x, QuantParams grid) {
  grid.quantized_dimension = static_cast<int>(x.rank()) - 1;
  std::vector<std::int64_t> shape;
  for (Index i = 0; i < x.rank(); ++i) shape.push_back(x.dim(static_cast<int>(i)));
  std::vector<std::int32_t> codes(static_cast<std::size_t>(x.size()));
  Tensor y(x.shape());
  if (!grid.per_channel()) {
    quantize(x.span(), grid, codes);
    dequantize(codes, grid, y.span());
  } else {
    quantize(x.span(), shape, grid, codes);
    dequantize(codes, shape, grid, y.span());
  }
  return y;
}

}  // namespace

LearnedQuantizer::LearnedQuantizer(std::unique_ptr<Quantizer> start, std::vector<std::string> names)
    : Quantizer(start ? start->spec() : QuantSpec{}, observer_of(start.get())),
      origin_(std::move(start)),
      names_(std::move(names)) {}

LearnedQuantizer::LearnedQuantizer(const LearnedQuantizer& other)
    : Quantizer(other),
      origin_(clone_of(other.origin_)),
      names_(other.names_),
      values_per_step_(other.values_per_step_) {
  for (const Tensor& tensor : other.parameters_) parameters_.push_back(clone_leaf(tensor));
  for (const Tensor& tensor : other.starts_) starts_.push_back(clone_leaf(tensor));
}

void LearnedQuantizer::describe(Description& description) const {
  description.set("start", octet::describe(origin_.get()));
}

std::int32_t LearnedQuantizer::zero_point_of_spec() const {
  if (!spec().symmetric) return spec().qmin();
  return spec().is_signed ? 0 : 1 << (spec().num_bits - 1);
}

void LearnedQuantizer::do_build(const Shape& shape) {
  const int axis = spec().axis;
  const Shape channels = axis < 0 ? Shape{} : Shape{shape.dim(axis)};
  values_per_step_ = static_cast<double>(shape.size()) / static_cast<double>(channels.size());
  parameters_.clear();
  starts_.clear();
  for (std::size_t p = 0; p < names_.size(); ++p) {
    parameters_.push_back(Tensor::zeros(channels).set_requires_grad(true));
    starts_.push_back(Tensor::zeros(channels));
  }
  if (has_range()) range_changed();
}

/// Whether no optimizer has moved a parameter yet.
bool LearnedQuantizer::follows_range() const {
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    if (!std::ranges::equal(std::as_const(parameters_[p]).span(),
                            std::as_const(starts_[p]).span())) {
      return false;
    }
  }
  return true;
}

/// Starts anew from the observed range.
void LearnedQuantizer::range_changed() {
  const ObservedRange range = grid_range();
  std::vector<float> lows(std::as_const(range.min).span().begin(),
                          std::as_const(range.min).span().end());
  if (starts_at_zero()) std::ranges::fill(lows, 0.0F);
  std::vector<float> highs(std::as_const(range.max).span().begin(),
                           std::as_const(range.max).span().end());
  if (starts_at_zero()) {
    for (float& high : highs) high = std::max(high, 0.0F);
  }
  const QuantParams grid = choose_quant_params(lows, highs, spec(), owner());
  for (std::size_t c = 0; c < channels(); ++c) {
    const std::vector<float> values = values_of({grid.scale(c), grid.zero_point(c)});
    for (std::size_t p = 0; p < parameters_.size(); ++p) {
      parameters_[p].data()[c] = values[p];
      starts_[p].data()[c] = values[p];
    }
  }
}

/// A parameter as it is used, whatever the optimizer made of it.
float LearnedQuantizer::repaired(std::size_t parameter, std::size_t channel) const {
  const float value = std::as_const(parameters_[parameter]).data()[channel];
  if (!std::isfinite(value)) {
    throw NumericError(fmt::format(
        "{}: expected a finite parameter \"{}{}\", found {}; training has diverged: try a smaller "
        "learning rate",
        owner(), prefix(), names_[parameter], value));
  }
  if (!is_positive(parameter)) return value;
  return std::max(value, std::as_const(starts_[parameter]).data()[channel] * kLeastShare);
}

/// Writes what is used into the parameters.
void LearnedQuantizer::repair() {
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    for (std::size_t c = 0; c < channels(); ++c) {
      const float value = repaired(p, c);
      if (std::as_const(parameters_[p]).data()[c] != value) parameters_[p].data()[c] = value;
    }
  }
}

void LearnedQuantizer::observe(const Tensor& x) {
  if (!built() || follows_range()) return Quantizer::observe(x);
  if (x.size() > 0) observer().require_finite(x);
  repair();
  keep_zero_point(params());
}

void LearnedQuantizer::calibrate(const Tensor& x) {
  if (!built() || follows_range()) return show(x, &Observer::calibrate);
  observe(x);
}

QuantParams LearnedQuantizer::params() const {
  require_range();
  QuantParams params;
  params.qmin = spec().qmin();
  params.qmax = spec().qmax();
  params.quantized_dimension = std::max(spec().axis, 0);
  std::vector<float> values(parameters_.size());
  for (std::size_t c = 0; c < channels(); ++c) {
    for (std::size_t p = 0; p < values.size(); ++p) values[p] = repaired(p, c);
    const Grid grid = grid_of(values);
    const auto codes = static_cast<float>(params.qmax - params.qmin);
    if (!std::isfinite(grid.step * codes)) {
      throw NumericError(fmt::format(
          "{}: a step of {} makes a range too wide for float32; training has diverged: try a "
          "smaller learning rate",
          owner(), grid.step));
    }
    params.scales.push_back(grid.step);
    params.zero_points.push_back(grid.zero_point);
  }
  params.validate(owner());
  return params;
}

std::vector<NamedTensor> LearnedQuantizer::parameters() const {
  std::vector<NamedTensor> result;
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    result.push_back({prefix() + names_[p], parameters_[p]});
  }
  return result;
}

std::vector<NamedTensor> LearnedQuantizer::counters() const {
  std::vector<NamedTensor> result = Quantizer::counters();
  for (std::size_t p = 0; p < starts_.size(); ++p) {
    result.push_back({prefix() + names_[p] + "_start", starts_[p]});
  }
  return result;
}

LearnedRange LearnedQuantizer::learned_range() const {
  // Before there is a range, all that is asked is how many gradients there will be.
  const QuantParams grid = has_range() ? params() : QuantParams{};
  LearnedSteps steps{.steps = grid.scales, .passes = {}};
  for (std::size_t c = 0; c < grid.channels(); ++c) {
    steps.passes.push_back(values_between(grid.scale(c), grid.qmin - grid.zero_point(c),
                                          grid.qmax - grid.zero_point(c)));
  }
  const auto of_parameters = [grid, shape = parameters_.front().shape(), count = parameters_.size(),
                              gradient = gradient(),
                              factor = gradient_scale()](const std::vector<StepSums>& sums) {
    std::vector<Tensor> result(count);
    for (std::size_t p = 0; p < count; ++p) {
      result[p] = Tensor(shape);
      float* to = result[p].data();
      for (std::size_t c = 0; c < sums.size(); ++c) {
        const auto slopes =
            gradient(sums[c], grid.qmin - grid.zero_point(c), grid.qmax - grid.zero_point(c));
        to[c] = static_cast<float>(factor * slopes.at(p));
      }
    }
    return result;
  };
  return {.parameters = parameters_,
          .gradients =
              [steps, of_parameters](const Tensor& x, const Tensor& upstream) {
                return of_parameters(step_sums(x, upstream, steps));
              },
          .gradients_and_mask =
              [steps, of_parameters](const Tensor& x, Tensor& upstream) {
                return of_parameters(step_sums_and_mask(x, upstream, steps));
              },
          .gradients_and_passed =
              [steps, of_parameters](const Tensor& x, const Tensor& upstream, const Tensor& to) {
                return of_parameters(step_sums_and_passed(x, upstream, steps, to));
              },
          .passes = steps.passes};
}

Tensor LearnedQuantizer::fake_quant(const Tensor& x) const {
  if (!enabled()) return x;
  const QuantParams grid = params();
  const LearnedRange learned = learned_range();
  return with_channels_last(x, [&](const Tensor& from) {
    std::vector<Tensor> inputs = {from};
    learned.append_to(inputs);
    return record("learned_quantization", rounded_to_grid(from, grid), inputs,
                  [from = from.detach(), learned](const Tensor& g) {
                    std::vector<Tensor> gradients = {
                        passed_gradient(from, g, {.steps = {}, .passes = learned.passes})};
                    learned.append_gradients(gradients, from, g);
                    return gradients;
                  });
  });
}

}  // namespace octet
