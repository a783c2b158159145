#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/layers/quantize/config_description.h>
#include <octet/layers/quantize/quantizer_registry.h>

#include <utility>

namespace octet {
namespace {

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
  return description.set("simulation", to_string(options.simulation))
      .set("rounding", to_string(options.rounding))
      .set("weight_bits", options.weight_bits)
      .set("per_channel", options.per_channel)
      .set("range_start", to_string(options.range_start))
      .set("ema_decay", options.ema_decay);
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
  options.per_channel = description.flag("per_channel");
  options.range_start = parse_range_start(description.text("range_start"));
  options.ema_decay = description.number("ema_decay");
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
