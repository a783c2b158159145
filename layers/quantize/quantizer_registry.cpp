#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/layers/quantize/calibrated_observers.h>
#include <octet/layers/quantize/learned_scale.h>
#include <octet/layers/quantize/observers.h>
#include <octet/layers/quantize/quantizer_registry.h>

#include <utility>

namespace octet {
namespace {

constexpr const char* kType = "type";
constexpr const char* kStart = "start";

int small_integer(const Description& description, std::string_view key) {
  const Index value = description.integer(key);
  if (!std::in_range<std::int16_t>(value)) {
    throw FormatError(fmt::format("quantizer: \"{}\" is out of range: {}", key, value));
  }
  return static_cast<int>(value);
}

RangeStart start_from(const Description& description) {
  return parse_range_start(description.text(kStart));
}

struct Observers : Registry<Observer> {
  Observers() : Registry("range observer", "register_observer") {
    add<LastValueObserver>("LastValue", [](const Description& d) {
      return std::make_unique<LastValueObserver>(start_from(d));
    });
    add<MovingAverageObserver>("MovingAverage", [](const Description& d) {
      return std::make_unique<MovingAverageObserver>(start_from(d), d.number("decay"));
    });
    add<AllValuesObserver>("AllValues", [](const Description& d) {
      return std::make_unique<AllValuesObserver>(start_from(d));
    });
    add<FixedObserver>("Fixed", [](const Description& d) {
      return std::make_unique<FixedObserver>(d.float_number("min"), d.float_number("max"));
    });
    add<PercentileObserver>("Percentile", [](const Description& d) {
      return std::make_unique<PercentileObserver>(d.number("percentile"));
    });
    add<HistogramPercentileObserver>("HistogramPercentile", [](const Description& d) {
      return std::make_unique<HistogramPercentileObserver>(d.number("percentile"));
    });
    add_plain<MeanMagnitudeObserver>();
    add_plain<MseObserver>();
    add_plain<HistogramMseObserver>();
    add_plain<HistogramEntropyObserver>();
  }
  /// Adds an observer without arguments.
  template <class T>
  void add_plain() {
    add<T>(std::string(T().type()), [](const Description&) { return std::make_unique<T>(); });
  }
};

struct ScaleRules : Registry<ScaleRule> {
  ScaleRules() : Registry("scale rule", "register_scale_rule") {
    for (const LearnedScale::Policy* policy :
         {&LearnedScale::kLsq, &LearnedScale::kLsqPlus, &LearnedScale::kPact}) {
      add<LearnedScale>(std::string(policy->type), [policy](const Description&) {
        return std::make_unique<LearnedScale>(*policy);
      });
    }
  }
};

Description describe_spec(const QuantSpec& spec) {
  Description description;
  description.set("bits", spec.num_bits)
      .set("signed", spec.is_signed)
      .set("narrow", spec.narrow_range)
      .set("symmetric", spec.symmetric)
      .set("axis", spec.axis)
      .set("full_steps", spec.narrow_steps == NarrowSteps::full);
  // Left out, so that files of models without are as they were.
  if (spec.top_of_int8) description.set("top_of_int8", true);
  return description;
}

/// The spec in a quantizer's description. Throws FormatError for one that no quantizer can have.
QuantSpec spec_from(const Description& description) {
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

/// Adds what `part`, an observer or a scale rule, says of itself.
template <class Part>
void add_part(Description& description, const Registry<Part>& registry, const Part& part) {
  registry.check(part);
  part.describe(description);
  if (description.has(kType)) {
    throw InvalidArgument(
        fmt::format("quantizer: describe() of {} writes an entry \"{}\", which the file has for "
                    "itself; give it another name",
                    part.type(), kType));
  }
  description.set(kType, part.type());
}

/// A quantizer of these parts. Throws FormatError where they do not go together.
template <class First, class Second>
std::unique_ptr<Quantizer> quantizer_of(const std::string& type, First first, Second second) {
  try {
    return std::make_unique<Quantizer>(std::move(first), std::move(second));
  } catch (const InvalidArgument& error) {
    detail::throw_refused("quantizer", type, error);
  }
}

}  // namespace

Registry<Observer>& observer_registry() {
  static Observers observers;
  return observers;
}

Registry<ScaleRule>& scale_rule_registry() {
  static ScaleRules rules;
  return rules;
}

void require_unused(bool used, std::string_view call, std::string_view type) {
  if (!used) return;
  throw InvalidArgument(fmt::format(
      "{}: expected a name that neither observers nor scale rules have, found \"{}\"", call, type));
}

Description describe(const Quantizer* quantizer) {
  if (quantizer == nullptr) return {};
  Description measured = describe_spec(quantizer->spec());
  add_part(measured, observer_registry(), quantizer->observer());
  const ScaleRule* rule = quantizer->scale_rule();
  if (rule == nullptr) return measured;
  Description learned;
  add_part(learned, scale_rule_registry(), *rule);
  if (learned.has(kStart)) {
    throw InvalidArgument(
        fmt::format("describe: scale rule {}: expected no entry \"{}\" from its describe(), which "
                    "holds how the "
                    "range is measured, found one",
                    rule->type(), kStart));
  }
  learned.set(kStart, measured);
  return learned;
}

std::unique_ptr<Quantizer> make_quantizer(const Description& description) {
  if (!description.has(kType)) return nullptr;
  const std::string type = description.text(kType);
  if (!scale_rule_registry().has(type)) {
    return quantizer_of(type, spec_from(description), observer_registry().make(type, description));
  }
  return quantizer_of(type, make_quantizer(description.part(kStart)),
                      scale_rule_registry().make(type, description));
}

}  // namespace octet
