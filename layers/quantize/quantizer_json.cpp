#include <fmt/format.h>
#include <octet/core/description_json.h>
#include <octet/core/error.h>
#include <octet/core/json_text.h>
#include <octet/layers/quantize/quantizer_json.h>
#include <octet/layers/quantize/quantizer_registry.h>

#include <string>

namespace octet::detail {
namespace {

using nlohmann::json;

/// Of two values of an enumeration, the one that is named; FormatError for a third.
template <class T>
T one_of(const json& name, const char* first_name, T first, const char* second_name, T second) {
  // nlohmann's comparison with a text allocates where it must not throw.
  const std::string text = name.is_string() ? name.get<std::string>() : "";
  if (text == first_name) return first;
  if (text == second_name) return second;
  throw FormatError(fmt::format("architecture: expected \"{}\" or \"{}\", found {}", first_name,
                                second_name, name.dump()));
}

int small_number(const json& entry) {
  const int number = whole_number<int>(entry);
  if (number < -1000 || number > 1000) {
    throw FormatError(fmt::format("architecture: {} is out of range", number));
  }
  return number;
}

class FixedConfig : public QuantizeConfig {
 public:
  FixedConfig(QuantizeOptions options, std::unique_ptr<Quantizer> kernel,
              std::unique_ptr<Quantizer> activation, std::unique_ptr<Quantizer> output)
      : QuantizeConfig(options),
        kernel_(std::move(kernel)),
        activation_(std::move(activation)),
        output_(std::move(output)) {}

  std::unique_ptr<Quantizer> kernel_quantizer(const Layer& /*layer*/) const override {
    return clone_of(kernel_);
  }
  std::unique_ptr<Quantizer> activation_quantizer(const Layer& /*layer*/) const override {
    return clone_of(activation_);
  }
  std::unique_ptr<Quantizer> output_quantizer(const Layer& /*layer*/) const override {
    return clone_of(output_);
  }

 private:
  std::unique_ptr<Quantizer> kernel_;
  std::unique_ptr<Quantizer> activation_;
  std::unique_ptr<Quantizer> output_;
};

}  // namespace

json options_json(const QuantizeOptions& options) {
  return {{"simulation", to_string(options.simulation)},
          {"rounding", to_string(options.rounding)},
          {"weight_bits", options.weight_bits},
          {"per_channel", options.per_channel},
          {"range_start", to_string(options.range_start)},
          {"ema_decay", options.ema_decay}};
}

QuantizeOptions options_from(const json& entry) {
  QuantizeOptions options;
  options.simulation = one_of(entry.at("simulation"), "integer", Simulation::integer, "fake_quant",
                              Simulation::fake_quant);
  options.rounding = parse_rounding(entry.at("rounding").get<std::string>());
  options.weight_bits = small_number(entry.at("weight_bits"));
  options.per_channel = entry.at("per_channel");
  options.range_start = parse_range_start(entry.at("range_start").get<std::string>());
  options.ema_decay = entry.at("ema_decay");
  return options;
}

json quantizer_json(const Quantizer* quantizer) {
  if (quantizer == nullptr) return nullptr;
  return DescriptionAccess::json_of(describe(quantizer));
}

std::unique_ptr<Quantizer> quantizer_from(const json& entry) {
  if (entry.is_null()) return nullptr;
  const Description description = DescriptionAccess::from_json(entry);
  static_cast<void>(description.text("type"));
  return make_quantizer(description);
}

std::shared_ptr<const QuantizeConfig> fixed_config(QuantizeOptions options,
                                                   std::unique_ptr<Quantizer> kernel,
                                                   std::unique_ptr<Quantizer> activation,
                                                   std::unique_ptr<Quantizer> output) {
  return std::make_shared<FixedConfig>(options, std::move(kernel), std::move(activation),
                                       std::move(output));
}

}  // namespace octet::detail
