#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/layers/quantize/config_description.h>
#include <octet/layers/quantize/quantizer_registry.h>

#include <utility>

namespace octet {
namespace {

constexpr const char* kWeightCalibration = "weight_calibration";
constexpr const char* kActivationCalibration = "activation_calibration";
constexpr const char* kInputCalibration = "input_calibration";
constexpr const char* kPercentile = "percentile";

class GivenQuantizers : public QuantizeConfig {
 public:
  GivenQuantizers(QuantizeOptions options, std::unique_ptr<Quantizer> kernel,
                  std::unique_ptr<Quantizer> result)
      : QuantizeConfig(options), kernel_(std::move(kernel)), result_(std::move(result)) {}

  std::unique_ptr<Quantizer> kernel_quantizer(const Layer& /*layer*/) const override {
    return clone_of(kernel_);
  }
  std::unique_ptr<Quantizer> activation_quantizer(const Layer& /*layer*/) const override {
    return clone_of(result_);
  }
  std::unique_ptr<Quantizer> output_quantizer(const Layer& /*layer*/) const override {
    return clone_of(result_);
  }

 private:
  std::unique_ptr<Quantizer> kernel_;
  std::unique_ptr<Quantizer> result_;
};

Simulation simulation_from(const std::string& name) {
  for (const Simulation simulation : {Simulation::integer, Simulation::fake_quant}) {
    if (name == to_string(simulation)) return simulation;
  }
  throw FormatError(fmt::format(
      "description: expected \"integer\" or \"fake_quant\" as \"simulation\", found \"{}\"", name));
}

}  // namespace

Description describe_config(const QuantizeConfig& config) {
  return describe_options(config.options());
}

Description describe_options(const QuantizeOptions& options) {
  Description description;
  // Left out, so that files of models without are as they were.
  if (options.weight_scales != Scales::measured) {
    description.set("weight_scales", to_string(options.weight_scales));
  }
  if (options.activation_scales != Scales::measured) {
    description.set("activation_scales", to_string(options.activation_scales));
  }
  if (options.full_weight_grid) description.set("full_weight_grid", true);
  if (options.activation_bits != QuantizeOptions().activation_bits) {
    description.set("activation_bits", options.activation_bits);
  }
  if (options.count_oscillations) description.set("count_oscillations", true);
  if (options.freeze_oscillations_above != 0.0F) {
    description.set("freeze_oscillations_above", double{options.freeze_oscillations_above});
  }
  description.set("simulation", to_string(options.simulation))
      .set("rounding", to_string(options.rounding))
      .set("weight_bits", options.weight_bits)
      .set("per_channel", options.per_channel)
      .set("range_start", to_string(options.range_start))
      .set("ema_decay", options.ema_decay);
  // Absent where they are as always, which is what files from before they were options say too.
  const QuantizeOptions usual;
  if (options.weight_calibration) {
    description.set(kWeightCalibration, to_string(*options.weight_calibration));
  }
  if (options.activation_calibration != usual.activation_calibration) {
    description.set(kActivationCalibration, to_string(options.activation_calibration));
  }
  if (options.input_calibration) {
    description.set(kInputCalibration, to_string(*options.input_calibration));
  }
  if (options.percentile != usual.percentile) description.set(kPercentile, options.percentile);
  return description;
}

QuantizeOptions options_from(const Description& description) {
  QuantizeOptions options;
  options.simulation = simulation_from(description.text("simulation"));
  options.rounding = parse_rounding(description.text("rounding"));
  const Index bits = description.integer("weight_bits");
  if (bits < 2 || bits > 16) {
    throw FormatError(fmt::format("description: expected 2 to 16 weight bits, found {}", bits));
  }
  options.weight_bits = static_cast<int>(bits);
  options.full_weight_grid =
      description.has("full_weight_grid") && description.flag("full_weight_grid");
  if (description.has("activation_bits")) {
    const Index activation_bits = description.integer("activation_bits");
    if (activation_bits < 2 || (activation_bits > 8 && activation_bits != 16)) {
      throw FormatError(fmt::format("description: expected 2 to 8 activation bits, or 16, found {}",
                                    activation_bits));
    }
    options.activation_bits = static_cast<int>(activation_bits);
  }
  options.per_channel = description.flag("per_channel");
  const auto scales = [&](std::string_view key) {
    return description.has(key) ? parse_scales(description.text(key)) : Scales::measured;
  };
  options.weight_scales = scales("weight_scales");
  options.activation_scales = scales("activation_scales");
  options.count_oscillations =
      description.has("count_oscillations") && description.flag("count_oscillations");
  if (description.has("freeze_oscillations_above")) {
    options.freeze_oscillations_above = description.float_number("freeze_oscillations_above");
  }
  options.range_start = parse_range_start(description.text("range_start"));
  options.ema_decay = description.number("ema_decay");
  if (description.has(kWeightCalibration)) {
    options.weight_calibration = parse_calibration(description.text(kWeightCalibration));
  }
  if (description.has(kActivationCalibration)) {
    options.activation_calibration = parse_calibration(description.text(kActivationCalibration));
  }
  if (description.has(kInputCalibration)) {
    options.input_calibration = parse_calibration(description.text(kInputCalibration));
  }
  if (description.has(kPercentile)) options.percentile = description.number(kPercentile);
  return options;
}

std::unique_ptr<Quantizer> quantizer_in(const Description& description, std::string_view key) {
  std::unique_ptr<Quantizer> quantizer = make_quantizer(description.part(key));
  if (quantizer != nullptr) return quantizer;
  throw FormatError(fmt::format("description: expected a quantizer as \"{}\", found no type", key));
}

std::shared_ptr<const QuantizeConfig> given_quantizers(QuantizeOptions options,
                                                       std::unique_ptr<Quantizer> kernel,
                                                       std::unique_ptr<Quantizer> result) {
  return std::make_shared<GivenQuantizers>(options, std::move(kernel), std::move(result));
}

}  // namespace octet
