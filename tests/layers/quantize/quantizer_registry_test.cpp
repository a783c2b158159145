#include <octet/core/description_json.h>
#include <octet/layers/quantize/quantizer_registry.h>
#include <octet/tests/layers/quantize/quantizer_testing.h>

#include <nlohmann/json.hpp>

// Quantizers in files.

namespace octet::test::quantizer_registry_test {
namespace {

using nlohmann::json;

std::vector<std::unique_ptr<Quantizer>> of_every_class() {
  std::vector<std::unique_ptr<Quantizer>> all;
  const QuantSpec odd{.num_bits = 5,
                      .is_signed = false,
                      .narrow_range = true,
                      .symmetric = true,
                      .axis = 1,
                      .narrow_steps = NarrowSteps::full};
  for (const QuantSpec& spec : {QuantSpec{}, odd}) {
    for (const RangeStart start : {RangeStart::first_batch, RangeStart::tfmot}) {
      all.push_back(std::make_unique<LastValueQuantizer>(spec, start));
      all.push_back(std::make_unique<MovingAverageQuantizer>(spec, start, 0.123456789));
      all.push_back(std::make_unique<AllValuesQuantizer>(spec, start));
    }
    all.push_back(std::make_unique<FixedQuantizer>(-0.1F, 3.3F, spec));
    all.push_back(std::make_unique<MseQuantizer>(spec));
    all.push_back(std::make_unique<PercentileQuantizer>(spec, 87.5));
    all.push_back(std::make_unique<MeanMagnitudeQuantizer>(spec));
    all.push_back(std::make_unique<LsqQuantizer>(std::make_unique<MeanMagnitudeQuantizer>(spec)));
  }
  QuantSpec one_range = odd;
  one_range.axis = -1;
  all.push_back(std::make_unique<HistogramMseQuantizer>(one_range));
  all.push_back(std::make_unique<HistogramPercentileQuantizer>(one_range, 87.5));
  all.push_back(std::make_unique<HistogramEntropyQuantizer>());
  all.push_back(std::make_unique<LsqPlusQuantizer>(
      std::make_unique<MovingAverageQuantizer>(QuantSpec{}, RangeStart::tfmot, 0.5)));
  all.push_back(
      std::make_unique<PactQuantizer>(std::make_unique<FixedQuantizer>(0.0F, 2.0F, QuantSpec{})));
  return all;
}

Description parsed(const json& object) {
  Description description;
  DescriptionAccess::own(description) = object;
  return description;
}

TEST(QuantizerRegistry, MakesEveryClassAnewFromItsDescription) {
  for (const auto& quantizer : of_every_class()) {
    const Description description = describe(quantizer.get());
    // As a file holds it.
    const auto made = make_quantizer(parsed(json::parse(description.to_json())));
    ASSERT_NE(made, nullptr);
    EXPECT_EQ(made->type(), quantizer->type());
    EXPECT_EQ(made->spec(), quantizer->spec());
    EXPECT_EQ(describe(made.get()).to_json(), description.to_json());
    // It goes through the same batches alike.
    for (Quantizer* q : {quantizer.get(), made.get()}) {
      q->build("layer/tensor", "t_", {4, 3}, Quantizer::ZeroPoint::hidden);
      q->observe(random_tensor({4, 3}, 1));
      q->observe(random_tensor({4, 3}, 2));
    }
    EXPECT_EQ(everything_in(*made), everything_in(*quantizer));
  }
}

TEST(QuantizerRegistry, NullHasNoType) {
  const Description description = describe(nullptr);
  EXPECT_FALSE(description.has("type"));
  EXPECT_EQ(make_quantizer(description), nullptr);
}

TEST(QuantizerRegistry, RefusesALearnedQuantizerWithoutASoundStart) {
  const LsqQuantizer lsq(std::make_unique<LastValueQuantizer>(QuantSpec{}));
  const json whole = json::parse(describe(&lsq).to_json());
  json without = whole;
  without["start"] = json::object();
  expect_throws<FormatError>([&] { make_quantizer(parsed(without)); }, {"found null"});
  json nested = whole;
  nested["start"] = whole;
  expect_throws<FormatError>([&] { make_quantizer(parsed(nested)); }, {"observed range"});
}

TEST(QuantizerRegistry, RefusesABrokenDescription) {
  const MovingAverageQuantizer average{QuantSpec{}};
  const FixedQuantizer fixed(-1.0F, 1.0F);
  const json whole_average = json::parse(describe(&average).to_json());
  const json whole_fixed = json::parse(describe(&fixed).to_json());
  const HistogramPercentileQuantizer percentile;
  const json whole_percentile = json::parse(describe(&percentile).to_json());
  const HistogramEntropyQuantizer entropy;
  const json whole_entropy = json::parse(describe(&entropy).to_json());
  const auto refused = [](json whole, const char* key, const json& value, const std::string& part) {
    whole[key] = value;
    expect_throws<FormatError>([&] { make_quantizer(parsed(whole)); }, {part});
  };
  refused(whole_average, "type", "Magic", "\"Magic\"");
  refused(whole_average, "type", 7, "type");
  for (const json& bits : {json(1), json(17), json(-8), json(std::int64_t{1} << 40), json(8.5)}) {
    refused(whole_average, "bits", bits, "bits");
  }
  for (const json& axis : {json(-2), json(1 << 20), json("x")}) {
    refused(whole_average, "axis", axis, "axis");
  }
  for (const json& decay : {json(1.0), json(-0.5), json(1e300), json("NaN"), json(nullptr)}) {
    refused(whole_average, "decay", decay, "decay");
  }
  refused(whole_average, "start", "never", "never");
  refused(whole_fixed, "min", 1.0, "min < max");
  refused(whole_fixed, "min", 2.0, "min < max");
  refused(whole_fixed, "max", 1e300, "float32");
  refused(whole_percentile, "percentile", 0.0, "percentile");
  refused(whole_entropy, "bits", 4, "8 bits");
  for (const json& whole : {whole_average, whole_fixed, whole_percentile, whole_entropy}) {
    for (const auto& [key, value] : whole.items()) {
      if (key == "type") continue;
      json without = whole;
      without.erase(key);
      expect_throws<FormatError>([&] { make_quantizer(parsed(without)); }, {key});
    }
  }
}

/// A subclass that computes something else under the name of its base.
class Hidden : public LastValueObserver {};

/// One with a name of its own.
class Named : public LastValueObserver {
 public:
  std::string_view type() const override { return "RegistryTest.Named"; }
};

TEST(QuantizerRegistry, RefusesAClassThatIsNotRegistered) {
  const Quantizer hidden{QuantSpec{}, std::make_unique<Hidden>()};
  const Quantizer named{QuantSpec{}, std::make_unique<Named>()};
  expect_throws<InvalidArgument>([&] { describe(&hidden); }, {"Hidden", "LastValue"});
  expect_throws<InvalidArgument>([&] { describe(&named); },
                                 {"register_observer<", "Named>(\"RegistryTest.Named\""});
  register_observer<Named>("RegistryTest.Named",
                           [](const Description&) { return std::make_unique<Named>(); });
  EXPECT_EQ(make_quantizer(describe(&named))->type(), "RegistryTest.Named");
  EXPECT_THROW(register_observer<Hidden>(
                   "LastValue", [](const Description&) { return std::make_unique<Hidden>(); }),
               InvalidArgument);
  // A file tells an observer from a scale rule by its name.
  expect_throws<InvalidArgument>(
      [] {
        register_observer<Hidden>("Lsq",
                                  [](const Description&) { return std::make_unique<Hidden>(); });
      },
      {"register_observer", "\"Lsq\""});
}

}  // namespace
}  // namespace octet::test::quantizer_registry_test
