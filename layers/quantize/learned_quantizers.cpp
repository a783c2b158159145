#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/quant/round.h>
#include <octet/layers/quantize/learned_quantizers.h>

#include <array>
#include <cmath>
#include <utility>

namespace octet {
namespace {

/// The number of steps between the lowest and the highest code.
std::int32_t steps_of(const QuantSpec& spec) { return spec.qmax() - spec.qmin(); }

/// Throws InvalidArgument unless the zero point may be any code of one grid.
void require_one_free_grid(const QuantSpec& spec, std::string_view type) {
  if (!spec.symmetric && spec.axis < 0) return;
  throw InvalidArgument(fmt::format(
      "{}: expected a start with one range for the tensor that is not symmetric, found {}; it is "
      "for results of layers, LsqQuantizer for kernels",
      type, spec.axis >= 0 ? "one range per channel" : "a symmetric one"));
}

}  // namespace

LsqQuantizer::LsqQuantizer(std::unique_ptr<Quantizer> start)
    : LearnedQuantizer(std::move(start), {"step"}) {}

std::unique_ptr<Quantizer> LsqQuantizer::clone() const {
  return std::make_unique<LsqQuantizer>(*this);
}

std::vector<float> LsqQuantizer::values_of(const Grid& grid) const { return {grid.step}; }

LearnedQuantizer::Grid LsqQuantizer::grid_of(Values values) const {
  return {values[0], zero_point_of_spec()};
}

LearnedQuantizer::Gradient LsqQuantizer::gradient() const {
  return [](const StepSums& sums, double lo, double hi) {
    return std::array{sums.inside + lo * sums.below + hi * sums.above, 0.0};
  };
}

double LsqQuantizer::gradient_scale() const {
  const double highest = spec().qmax() - zero_point_of_spec();
  return 1.0 / std::sqrt(values_per_step() * highest);
}

LsqPlusQuantizer::LsqPlusQuantizer(std::unique_ptr<Quantizer> start)
    : LearnedQuantizer(std::move(start), {"step", "offset"}) {
  require_one_free_grid(spec(), type());
}

std::unique_ptr<Quantizer> LsqPlusQuantizer::clone() const {
  return std::make_unique<LsqPlusQuantizer>(*this);
}

std::vector<float> LsqPlusQuantizer::values_of(const Grid& grid) const {
  return {grid.step, static_cast<float>(spec().qmin() - grid.zero_point) * grid.step};
}

LearnedQuantizer::Grid LsqPlusQuantizer::grid_of(Values values) const {
  const float codes = round_half_away(-values[1] / values[0]);
  const std::int32_t from_lowest = clamp_to<std::int32_t>(codes, 0, steps_of(spec()));
  return {values[0], spec().qmin() + from_lowest};
}

LearnedQuantizer::Gradient LsqPlusQuantizer::gradient() const {
  return [](const StepSums& sums, double lo, double hi) {
    return std::array{sums.inside + (hi - lo) * sums.above, sums.below + sums.above};
  };
}

double LsqPlusQuantizer::gradient_scale() const {
  return 1.0 / std::sqrt(values_per_step() * steps_of(spec()));
}

PactQuantizer::PactQuantizer(std::unique_ptr<Quantizer> start)
    : LearnedQuantizer(std::move(start), {"clip"}) {
  require_one_free_grid(spec(), type());
}

std::unique_ptr<Quantizer> PactQuantizer::clone() const {
  return std::make_unique<PactQuantizer>(*this);
}

std::vector<float> PactQuantizer::values_of(const Grid& grid) const {
  return {grid.step * static_cast<float>(steps_of(spec()))};
}

LearnedQuantizer::Grid PactQuantizer::grid_of(Values values) const {
  return {values[0] / static_cast<float>(steps_of(spec())), spec().qmin()};
}

LearnedQuantizer::Gradient PactQuantizer::gradient() const {
  return [](const StepSums& sums, double /*lo*/, double /*hi*/) {
    return std::array{sums.above, 0.0};
  };
}

}  // namespace octet
