#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/layers/activation.h>
#include <octet/layers/quantize/quantize_config.h>

namespace octet {
namespace {

constexpr double kTfmotDecay = 0.999;
// Of a Dense kernel [inputs, units]: one range per unit.
constexpr int kUnitAxis = 1;

std::unique_ptr<Quantizer> moving_average(const QuantizeOptions& options) {
  return std::make_unique<MovingAverageQuantizer>(QuantSpec{}, options.range_start,
                                                  options.ema_decay);
}

}  // namespace

QuantizeOptions QuantizeOptions::tfmot_ranges() {
  return {.range_start = RangeStart::tfmot, .ema_decay = kTfmotDecay};
}

std::unique_ptr<Quantizer> Default8BitQuantizeConfig::kernel_quantizer(
    const Layer& /*layer*/) const {
  const QuantSpec spec{.num_bits = options().weight_bits,
                       .narrow_range = true,
                       .symmetric = true,
                       .axis = options().per_channel ? kUnitAxis : -1};
  return std::make_unique<LastValueQuantizer>(spec, options().range_start);
}

std::unique_ptr<Quantizer> Default8BitQuantizeConfig::activation_quantizer(
    const Layer& /*layer*/) const {
  return moving_average(options());
}

std::unique_ptr<Quantizer> Default8BitQuantizeConfig::output_quantizer(const Layer& layer) const {
  const auto* activation = dynamic_cast<const ActivationLayer*>(&layer);
  const bool clamps = activation != nullptr && activation->activation() != Activation::none &&
                      !quantizes_before(activation->activation());
  return clamps && !clamps_input_codes(layer, options().rounding) ? moving_average(options())
                                                                  : nullptr;
}

bool clamps_input_codes(const Layer& layer, Rounding rounding) {
  const auto* activation = dynamic_cast<const ActivationLayer*>(&layer);
  return rounding == Rounding::double_rounding && activation != nullptr &&
         activation->activation() == Activation::relu6;
}

std::shared_ptr<const QuantizeConfig> default_8bit(QuantizeOptions options) {
  if (options.weight_bits < 2 || options.weight_bits > 8) {
    throw InvalidArgument(
        fmt::format("default_8bit: expected 2 to 8 weight bits, found {}", options.weight_bits));
  }
  return std::make_shared<Default8BitQuantizeConfig>(options);
}

}  // namespace octet
