#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/layers/quantize/calibrated_quantizers.h>
#include <octet/layers/quantize/learned_quantizers.h>
#include <octet/layers/quantize/mean_magnitude.h>
#include <octet/layers/quantize/quantizer_registry.h>
#include <octet/layers/quantize/quantizers.h>

#include <utility>

namespace octet {
namespace {

constexpr const char* kType = "type";

int small_integer(const Description& description, std::string_view key) {
  const Index value = description.integer(key);
  if (!std::in_range<std::int16_t>(value)) {
    throw FormatError(fmt::format("quantizer: \"{}\" is out of range: {}", key, value));
  }
  return static_cast<int>(value);
}

RangeStart start_from(const Description& description) {
  return parse_range_start(description.text("start"));
}

struct Quantizers : Registry<Quantizer> {
  Quantizers() : Registry("quantizer", "register_quantizer") {
    add<LastValueQuantizer>("LastValue", [](const Description& d) {
      return std::make_unique<LastValueQuantizer>(quant_spec_from(d), start_from(d));
    });
    add<MovingAverageQuantizer>("MovingAverage", [](const Description& d) {
      return std::make_unique<MovingAverageQuantizer>(quant_spec_from(d), start_from(d),
                                                      d.number("decay"));
    });
    add<AllValuesQuantizer>("AllValues", [](const Description& d) {
      return std::make_unique<AllValuesQuantizer>(quant_spec_from(d), start_from(d));
    });
    add<FixedQuantizer>("Fixed", [](const Description& d) {
      return std::make_unique<FixedQuantizer>(d.float_number("min"), d.float_number("max"),
                                              quant_spec_from(d));
    });
    add<MseQuantizer>("Mse", [](const Description& d) {
      return std::make_unique<MseQuantizer>(quant_spec_from(d));
    });
    add<PercentileQuantizer>("Percentile", [](const Description& d) {
      return std::make_unique<PercentileQuantizer>(quant_spec_from(d), d.number("percentile"));
    });
    add<HistogramMseQuantizer>("HistogramMse", [](const Description& d) {
      return std::make_unique<HistogramMseQuantizer>(quant_spec_from(d));
    });
    add<HistogramPercentileQuantizer>("HistogramPercentile", [](const Description& d) {
      return std::make_unique<HistogramPercentileQuantizer>(quant_spec_from(d),
                                                            d.number("percentile"));
    });
    add<HistogramEntropyQuantizer>("HistogramEntropy", [](const Description& d) {
      return std::make_unique<HistogramEntropyQuantizer>(quant_spec_from(d));
    });
    add<MeanMagnitudeQuantizer>("MeanMagnitude", [](const Description& d) {
      return std::make_unique<MeanMagnitudeQuantizer>(quant_spec_from(d));
    });
    add<LsqQuantizer>("Lsq", [](const Description& d) {
      return std::make_unique<LsqQuantizer>(make_quantizer(d.part("start")));
    });
    add<LsqPlusQuantizer>("LsqPlus", [](const Description& d) {
      return std::make_unique<LsqPlusQuantizer>(make_quantizer(d.part("start")));
    });
    add<PactQuantizer>("Pact", [](const Description& d) {
      return std::make_unique<PactQuantizer>(make_quantizer(d.part("start")));
    });
  }
};

}  // namespace

Registry<Quantizer>& quantizer_registry() {
  static Quantizers quantizers;
  return quantizers;
}

QuantSpec quant_spec_from(const Description& description) {
  const QuantSpec spec{
      .num_bits = small_integer(description, "bits"),
      .is_signed = description.flag("signed"),
      .narrow_range = description.flag("narrow"),
      .symmetric = description.flag("symmetric"),
      .axis = small_integer(description, "axis"),
      .narrow_steps = description.flag("full_steps") ? NarrowSteps::full : NarrowSteps::reduced,
      .top_of_int8 = description.has("top_of_int8") && description.flag("top_of_int8")};
  try {
    spec.validate("quantizer");
  } catch (const InvalidArgument& error) {
    throw FormatError(error.what());
  }
  return spec;
}

Description describe(const Quantizer* quantizer) {
  Description description;
  if (quantizer == nullptr) return description;
  quantizer_registry().check(*quantizer);
  quantizer->describe(description);
  if (description.has(kType)) {
    throw InvalidArgument(
        fmt::format("quantizer: describe() of {} writes an entry \"{}\", which the file has for "
                    "itself; give it "
                    "another name",
                    quantizer->type(), kType));
  }
  return description.set(kType, quantizer->type());
}

std::unique_ptr<Quantizer> make_quantizer(const Description& description) {
  if (!description.has(kType)) return nullptr;
  return quantizer_registry().make(description.text(kType), description);
}

}  // namespace octet
