#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/layers/quantize/quantize_config.h>

namespace octet {
namespace {

constexpr double kTfmotDecay = 0.999;
std::unique_ptr<Quantizer> moving_average(const QuantizeOptions& options) {
  return std::make_unique<MovingAverageQuantizer>(QuantSpec{}, options.range_start,
                                                  options.ema_decay);
}

}  // namespace

QuantizeOptions QuantizeOptions::tfmot_ranges() {
  return {.range_start = RangeStart::tfmot, .ema_decay = kTfmotDecay};
}

std::unique_ptr<Quantizer> Default8BitQuantizeConfig::kernel_quantizer(const Layer& layer) const {
  const QuantSpec spec{.num_bits = options().weight_bits,
                       .narrow_range = true,
                       .symmetric = true,
                       .axis = options().per_channel ? layer.weights().value().unit_axis : -1};
  return std::make_unique<LastValueQuantizer>(spec, options().range_start);
}

std::unique_ptr<Quantizer> Default8BitQuantizeConfig::activation_quantizer(
    const Layer& /*layer*/) const {
  return moving_average(options());
}

std::unique_ptr<Quantizer> Default8BitQuantizeConfig::output_quantizer(const Layer& layer) const {
  return layer.result_grid(options().rounding) == ResultGrid::measured ? moving_average(options())
                                                                       : nullptr;
}

std::shared_ptr<const QuantizeConfig> default_8bit(QuantizeOptions options) {
  if (options.weight_bits < 2 || options.weight_bits > 8) {
    throw InvalidArgument(
        fmt::format("default_8bit: expected 2 to 8 weight bits, found {}", options.weight_bits));
  }
  return std::make_shared<Default8BitQuantizeConfig>(options);
}

}  // namespace octet
