#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/json_text.h>
#include <octet/layers/quantize/quantizer_json.h>

#include <string>
#include <typeinfo>

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

const char* name_of(RangeStart start) {
  return start == RangeStart::tfmot ? "tfmot" : "first_batch";
}
RangeStart start_from(const json& name) {
  return one_of(name, "first_batch", RangeStart::first_batch, "tfmot", RangeStart::tfmot);
}

json spec_json(const QuantSpec& spec) {
  return {{"bits", spec.num_bits},       {"signed", spec.is_signed},
          {"narrow", spec.narrow_range}, {"symmetric", spec.symmetric},
          {"axis", spec.axis},           {"full_steps", spec.narrow_steps == NarrowSteps::full}};
}

int small_number(const json& entry) {
  const int number = whole_number<int>(entry);
  if (number < -1000 || number > 1000) {
    throw FormatError(fmt::format("architecture: {} is out of range", number));
  }
  return number;
}

QuantSpec spec_from(const json& entry) {
  return {.num_bits = small_number(entry.at("bits")),
          .is_signed = entry.at("signed"),
          .narrow_range = entry.at("narrow"),
          .symmetric = entry.at("symmetric"),
          .axis = small_number(entry.at("axis")),
          .narrow_steps = entry.at("full_steps") ? NarrowSteps::full : NarrowSteps::reduced};
}

/// What one of Octet's quantizers other than Fixed was made with.
RangeStart start_of(const Quantizer& quantizer) {
  return quantizer.usable_from_start() ? RangeStart::tfmot : RangeStart::first_batch;
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
  return {{"simulation", to_string(options.simulation)}, {"rounding", to_string(options.rounding)},
          {"weight_bits", options.weight_bits},          {"per_channel", options.per_channel},
          {"range_start", name_of(options.range_start)}, {"ema_decay", options.ema_decay}};
}

QuantizeOptions options_from(const json& entry) {
  QuantizeOptions options;
  options.simulation = one_of(entry.at("simulation"), "integer", Simulation::integer, "fake_quant",
                              Simulation::fake_quant);
  options.rounding = parse_rounding(entry.at("rounding").get<std::string>());
  options.weight_bits = small_number(entry.at("weight_bits"));
  options.per_channel = entry.at("per_channel");
  options.range_start = start_from(entry.at("range_start"));
  options.ema_decay = entry.at("ema_decay");
  return options;
}

json quantizer_json(const Quantizer* quantizer) {
  if (quantizer == nullptr) return nullptr;
  json result = spec_json(quantizer->spec());
  // Derived classes are the program's own: what they compute is not known here.
  const std::type_info& type = typeid(*quantizer);
  result["start"] = name_of(start_of(*quantizer));
  if (type == typeid(LastValueQuantizer)) {
    result["type"] = "LastValue";
  } else if (type == typeid(MovingAverageQuantizer)) {
    result["type"] = "MovingAverage";
    result["decay"] = static_cast<const MovingAverageQuantizer&>(*quantizer).decay();
  } else if (type == typeid(AllValuesQuantizer)) {
    result["type"] = "AllValues";
  } else if (type == typeid(FixedQuantizer)) {
    result["type"] = "Fixed";
    result["min"] = quantizer->initial_min();
    result["max"] = quantizer->initial_max();
  } else {
    throw InvalidArgument(
        "a quantizer of it is none of Octet's own, so a file cannot make it anew");
  }
  return result;
}

std::unique_ptr<Quantizer> quantizer_from(const json& entry) {
  if (entry.is_null()) return nullptr;
  const QuantSpec spec = spec_from(entry);
  const auto type = entry.at("type").get<std::string>();
  if (type == "Fixed") {
    return std::make_unique<FixedQuantizer>(entry.at("min").get<float>(),
                                            entry.at("max").get<float>(), spec);
  }
  const RangeStart start = start_from(entry.at("start"));
  if (type == "LastValue") return std::make_unique<LastValueQuantizer>(spec, start);
  if (type == "AllValues") return std::make_unique<AllValuesQuantizer>(spec, start);
  if (type == "MovingAverage") {
    return std::make_unique<MovingAverageQuantizer>(spec, start, entry.at("decay").get<double>());
  }
  throw FormatError(fmt::format("architecture: unknown quantizer \"{}\"", type));
}

std::shared_ptr<const QuantizeConfig> fixed_config(QuantizeOptions options,
                                                   std::unique_ptr<Quantizer> kernel,
                                                   std::unique_ptr<Quantizer> activation,
                                                   std::unique_ptr<Quantizer> output) {
  return std::make_shared<FixedConfig>(options, std::move(kernel), std::move(activation),
                                       std::move(output));
}

}  // namespace octet::detail
