#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/quant/range_search.h>
#include <octet/layers/activation.h>
#include <octet/layers/quantize/quantize_config.h>
#include <octet/layers/quantize/result_rule.h>

#include <utility>

namespace octet {
namespace {

constexpr double kTfmotDecay = 0.999;
constexpr int kInt16Bits = 16;
/// Steps of so few bits are too wide to reach for outliers.
constexpr int kMostBitsByMse = 4;

Calibration weight_calibration(const QuantizeOptions& options) {
  const bool few_bits = options.weight_bits <= kMostBitsByMse;
  const Calibration chosen =
      options.weight_calibration.value_or(few_bits ? Calibration::mse : Calibration::min_max);
  if (chosen == Calibration::moving_average || chosen == Calibration::entropy) {
    throw InvalidArgument(fmt::format(
        "default_8bit: expected weights calibrated by min_max, percentile or mse, found {}, which "
        "is for activations",
        to_string(chosen)));
  }
  return chosen;
}

std::unique_ptr<Quantizer> measured_kernel(const QuantSpec& spec, const QuantizeOptions& options) {
  switch (weight_calibration(options)) {
    case Calibration::min_max:
      return std::make_unique<LastValueQuantizer>(spec, options.range_start);
    case Calibration::percentile:
      return std::make_unique<PercentileQuantizer>(spec, options.percentile);
    case Calibration::mse:
      return std::make_unique<MseQuantizer>(spec);
    case Calibration::moving_average:
    case Calibration::entropy:
      break;
  }
  throw InvalidArgument("default_8bit: a Calibration outside the enumeration");
}

/// For activations, whose range `calibration` finds.
std::unique_ptr<Quantizer> calibrated_by(Calibration calibration, const QuantizeOptions& options,
                                         const QuantSpec& spec) {
  switch (calibration) {
    case Calibration::min_max:
      return std::make_unique<AllValuesQuantizer>(spec, options.range_start);
    case Calibration::moving_average:
      return std::make_unique<MovingAverageQuantizer>(spec, options.range_start, options.ema_decay);
    case Calibration::percentile:
      return std::make_unique<HistogramPercentileQuantizer>(spec, options.percentile);
    case Calibration::mse:
      return std::make_unique<HistogramMseQuantizer>(spec);
    case Calibration::entropy:
      return std::make_unique<HistogramEntropyQuantizer>(spec);
  }
  throw InvalidArgument("default_8bit: a Calibration outside the enumeration");
}

Calibration input_calibration(const QuantizeOptions& options) {
  const bool averages = options.activation_calibration == Calibration::moving_average;
  return options.input_calibration.value_or(averages ? Calibration::min_max
                                                     : options.activation_calibration);
}

/// For the result of a layer, its activation included.
std::unique_ptr<Quantizer> for_result(const Layer& layer, const QuantizeOptions& options) {
  const bool from_zero = clamps_at_zero(layer.activation());
  QuantSpec spec = activation_spec(options);
  if (from_zero && options.activation_bits < spec.num_bits) {
    spec = {.num_bits = options.activation_bits, .top_of_int8 = true};
  }
  if (options.activation_scales == Scales::lsq) spec.symmetric = !from_zero;
  auto measured = default_activation_quantizer(options, spec);
  switch (options.activation_scales) {
    case Scales::measured:
      return measured;
    case Scales::lsq:
      return std::make_unique<LsqQuantizer>(std::move(measured));
    case Scales::lsq_plus:
      return std::make_unique<LsqPlusQuantizer>(std::move(measured));
    case Scales::pact:
      if (!from_zero) return measured;
      return std::make_unique<PactQuantizer>(std::move(measured));
  }
  throw InvalidArgument("default_8bit: Scales outside the enumeration");
}

std::unique_ptr<Quantizer> for_kernel(int unit_axis, const QuantizeOptions& options) {
  const QuantSpec spec{.num_bits = options.weight_bits,
                       .narrow_range = !options.full_weight_grid || options.weight_bits == 8,
                       .symmetric = true,
                       .axis = options.per_channel ? unit_axis : -1};
  auto measured = measured_kernel(spec, options);
  if (options.weight_scales == Scales::measured) return measured;
  return std::make_unique<LsqQuantizer>(std::move(measured));
}

/// Throws InvalidArgument for a choice outside its enumeration: it has no name.
void require_enumerators(const QuantizeOptions& options) {
  static_cast<void>(to_string(options.rounding));
  static_cast<void>(to_string(options.simulation));
  static_cast<void>(to_string(options.range_start));
  static_cast<void>(to_string(options.batch_norm));
  static_cast<void>(to_string(options.activation_calibration));
  if (options.input_calibration) static_cast<void>(to_string(*options.input_calibration));
  static_cast<void>(to_string(options.activation_scales));
}

/// Throws InvalidArgument unless 16 bits come with all that they need, and fewer do without.
void require_activation_bits(const QuantizeOptions& options) {
  const int bits = options.activation_bits;
  if (bits != kInt16Bits && (bits < 2 || bits > 8)) {
    throw InvalidArgument(
        fmt::format("default_8bit: expected 2 to 8 activation bits, or 16, found {}", bits));
  }
  const bool wide = bits == kInt16Bits;
  if (wide != (options.rounding == Rounding::q15)) {
    throw InvalidArgument(fmt::format(
        "default_8bit: expected rounding q15 with 16 activation bits and another with fewer, found "
        "{} with {}; set both",
        to_string(options.rounding), bits));
  }
  if (!wide) return;
  for (const auto& [tensors, calibration] : {std::pair{"results", options.activation_calibration},
                                             std::pair{"inputs", input_calibration(options)}}) {
    if (calibration != Calibration::mse && calibration != Calibration::entropy) continue;
    throw InvalidArgument(
        fmt::format("default_8bit: expected {} of 16 bits calibrated by min_max, moving_average or "
                    "percentile, found {}, whose histogram has fewer bins than int16 has values",
                    tensors, to_string(calibration)));
  }
  if (options.activation_scales != Scales::measured) {
    throw InvalidArgument(fmt::format(
        "default_8bit: expected results of 16 bits with measured scales, found {}; use 8 bits to "
        "learn them",
        to_string(options.activation_scales)));
  }
}

}  // namespace

std::string_view to_string(Calibration calibration) {
  switch (calibration) {
    case Calibration::min_max:
      return "min_max";
    case Calibration::moving_average:
      return "moving_average";
    case Calibration::percentile:
      return "percentile";
    case Calibration::mse:
      return "mse";
    case Calibration::entropy:
      return "entropy";
  }
  throw InvalidArgument("to_string: a Calibration outside the enumeration");
}

Calibration parse_calibration(std::string_view name) {
  for (const Calibration calibration :
       {Calibration::min_max, Calibration::moving_average, Calibration::percentile,
        Calibration::mse, Calibration::entropy}) {
    if (name == to_string(calibration)) return calibration;
  }
  throw FormatError(fmt::format(
      "calibration: expected \"min_max\", \"moving_average\", \"percentile\", \"mse\" or "
      "\"entropy\", found \"{}\"",
      name));
}

std::string_view to_string(Scales scales) {
  switch (scales) {
    case Scales::measured:
      return "measured";
    case Scales::lsq:
      return "lsq";
    case Scales::lsq_plus:
      return "lsq_plus";
    case Scales::pact:
      return "pact";
  }
  throw InvalidArgument("to_string: Scales outside the enumeration");
}

Scales parse_scales(std::string_view name) {
  for (const Scales each : {Scales::measured, Scales::lsq, Scales::lsq_plus, Scales::pact}) {
    if (name == to_string(each)) return each;
  }
  throw FormatError(fmt::format(
      "scales: expected \"measured\", \"lsq\", \"lsq_plus\" or \"pact\", found \"{}\"", name));
}

QuantizeOptions QuantizeOptions::tfmot_ranges() {
  return {.range_start = RangeStart::tfmot, .ema_decay = kTfmotDecay};
}

std::unique_ptr<Quantizer> Default8BitQuantizeConfig::kernel_quantizer(const Layer& layer) const {
  return for_kernel(layer.weights().value().unit_axis, options());
}

std::unique_ptr<Quantizer> QuantizeConfig::parameter_quantizer(const Layer& /*layer*/,
                                                               int unit_axis) const {
  if (unit_axis >= 0) return for_kernel(unit_axis, options());
  if (unit_axis == kOneScale) return for_kernel(-1, options());
  return std::make_unique<LastValueQuantizer>(activation_spec(options()), options().range_start);
}

QuantSpec activation_spec(const QuantizeOptions& options) {
  if (options.activation_bits != kInt16Bits) return {};
  return {.num_bits = kInt16Bits, .symmetric = true};
}

std::unique_ptr<Quantizer> default_activation_quantizer(const QuantizeOptions& options,
                                                        const QuantSpec& spec) {
  return calibrated_by(options.activation_calibration, options, spec);
}

std::unique_ptr<Quantizer> default_input_quantizer(const QuantizeOptions& options,
                                                   const QuantSpec& spec) {
  return calibrated_by(input_calibration(options), options, spec);
}

std::unique_ptr<Quantizer> Default8BitQuantizeConfig::activation_quantizer(
    const Layer& layer) const {
  return for_result(layer, options());
}

std::unique_ptr<Quantizer> Default8BitQuantizeConfig::output_quantizer(const Layer& layer) const {
  if (result_rule(layer, options().rounding) != ResultRule::measured) return nullptr;
  return for_result(layer, options());
}

std::unique_ptr<Quantizer> Default8BitQuantizeConfig::factor_quantizer(
    const Layer& /*layer*/) const {
  QuantSpec spec = activation_spec(options());
  spec.symmetric = true;
  auto measured = default_activation_quantizer(options(), spec);
  const Scales scales = options().activation_scales;
  // The offset of lsq_plus, and PACT's lower end at 0, would be zero points.
  if (scales == Scales::measured || scales == Scales::pact) return measured;
  return std::make_unique<LsqQuantizer>(std::move(measured));
}

std::unique_ptr<Quantizer> Default8BitQuantizeConfig::radicand_quantizer(
    const Layer& /*layer*/) const {
  auto measured = default_activation_quantizer(options());
  const Scales scales = options().activation_scales;
  if (scales == Scales::measured || scales == Scales::pact) return measured;
  return std::make_unique<LsqQuantizer>(std::move(measured));
}

std::shared_ptr<const QuantizeConfig> default_8bit(QuantizeOptions options) {
  require_enumerators(options);
  if (options.weight_bits < 2 || options.weight_bits > 8) {
    throw InvalidArgument(
        fmt::format("default_8bit: expected 2 to 8 weight bits, found {}", options.weight_bits));
  }
  require_activation_bits(options);
  if (options.activation_bits < 8 && options.activation_calibration == Calibration::entropy) {
    throw InvalidArgument(
        fmt::format("default_8bit: expected results of 8 bits to calibrate by entropy, found {}; "
                    "use mse or percentile",
                    options.activation_bits));
  }
  static_cast<void>(weight_calibration(options));
  require_percentile(options.percentile, "default_8bit");
  if (options.weight_scales != Scales::measured && options.weight_scales != Scales::lsq) {
    throw InvalidArgument(
        fmt::format("default_8bit: expected weight_scales measured or lsq, found {}, which is for "
                    "activation_scales",
                    to_string(options.weight_scales)));
  }
  return std::make_shared<Default8BitQuantizeConfig>(options);
}

}  // namespace octet
