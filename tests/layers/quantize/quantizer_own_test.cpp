#include <octet/core/archive.h>
#include <octet/layers/architecture.h>
#include <octet/layers/quantize/quantizer_registry.h>
#include <octet/tests/layers/quantize/quantize_testing.h>
#include <octet/tests/layers/quantize/quantizer_testing.h>
#include <octet/train/trainer.h>

#include <algorithm>
#include <cmath>

// A quantizer of an observer as a user would write it, from what is installed: it trains, is saved
// and is loaded.

namespace octet::test::quantizer_own_test {
namespace {

/// Spans the values that are left without the `cut` smallest and largest share of them, and counts
/// those that it cut off.
class PercentileObserver : public Observer {
 public:
  explicit PercentileObserver(double cut) : cut_(cut) {
    if (!(cut >= 0.0 && cut < 0.5)) {
      throw InvalidArgument("PercentileObserver: expected a share in [0, 0.5)");
    }
  }
  std::string_view type() const override { return "OwnTest.Percentile"; }
  PercentileObserver(const PercentileObserver& other)
      : Observer(other), cut_(other.cut_), clipped_(clone_leaf(other.clipped_)) {}

  void observe(const Tensor& x) override {
    std::vector<float> sorted(x.span().begin(), x.span().end());
    std::ranges::sort(sorted);
    const auto cut = static_cast<std::size_t>(cut_ * static_cast<double>(sorted.size()));
    // Counted before limits_of() throws for NaN: what it throws must leave no trace.
    clipped_.mutable_data()[0] += static_cast<float>(2 * cut);
    static_cast<void>(limits_of(x));
    const Range range = widened({sorted[cut], sorted[sorted.size() - 1 - cut]});
    mins()[0] = std::min(mins()[0], range.min);
    maxs()[0] = std::max(maxs()[0], range.max);
    set_updates(updates() + 1.0F);
  }
  std::vector<NamedTensor> counters() const override { return {{"clipped", clipped_}}; }
  void describe(Description& description) const override { description.set("cut", cut_); }
  std::unique_ptr<Observer> clone() const override {
    return std::make_unique<PercentileObserver>(*this);
  }

 protected:
  void do_build(const Shape& /*shape*/) override { clipped_ = Tensor::scalar(0.0F); }

 private:
  double cut_;
  Tensor clipped_;
};

std::unique_ptr<Quantizer> percentile(double cut) {
  return std::make_unique<Quantizer>(QuantSpec{}, std::make_unique<PercentileObserver>(cut));
}

void register_percentile() {
  register_observer<PercentileObserver>("OwnTest.Percentile", [](const Description& d) {
    return std::make_unique<PercentileObserver>(d.number("cut"));
  });
}

/// A network whose hidden layer's result has the range of a percentile.
Sequential percentile_net() {
  auto config = std::make_shared<CustomConfig>();
  config->activation = [] { return percentile(0.01); };
  Sequential net("net", Input({6}));
  net.add(quantize_annotate_layer(Dense(16, Activation::relu, "hidden"), config));
  net.add(quantize_annotate_layer(Dense(3, Activation::none, "logits")));
  net.build(1);
  return quantize_apply(net);
}

/// Points of three classes: the one coordinate that is large says which.
Dataset corners(std::size_t count) {
  std::vector<float> values(count * 6);
  Labels labels(count);
  for (std::size_t i = 0; i < count; ++i) {
    labels[i] = static_cast<std::int32_t>(i % 3);
    for (std::size_t j = 0; j < 6; ++j) {
      values[i * 6 + j] = Random(1).uniform(i * 6 + j) + (j == i % 3 ? 1.0F : 0.0F);
    }
  }
  return Dataset::from_floats("corners", {6}, values, labels, 3);
}

Archive archive_of(const Sequential& model) {
  Archive archive;
  for (const auto& [name, tensor] : model.saved_tensors()) archive.add(name, tensor);
  add_architecture(archive, model);
  return archive;
}

const Quantizer& percentile_of(const Sequential& model) {
  return *dense_wrapper(model, "quant_hidden").activation_quantizer();
}

TEST(OwnQuantizer, SeesTheWholeTensor) {
  const auto quantizer = ready(*percentile(0.25));
  quantizer->observe(vector_of({-100.0F, -2.0F, 1.0F, 90.0F}));
  expect_range(*quantizer, -2.0F, 1.0F);
  EXPECT_EQ(names_of(quantizer->counters()),
            (std::vector<std::string>{"t_updates", "t_frozen", "t_clipped"}));
  EXPECT_EQ(tensor_named(quantizer->counters(), "t_clipped").item(), 2.0F);
  const auto before = everything_in(*quantizer);
  EXPECT_THROW(quantizer->observe(vector_of({1, 2, 3, 4, kInf})), NumericError);
  EXPECT_EQ(everything_in(*quantizer), before);
  // A clone's tensors are its own.
  quantizer->clone()->observe(vector_of({-100.0F, -2.0F, 1.0F, 90.0F}));
  EXPECT_EQ(everything_in(*quantizer), before);
}

TEST(OwnQuantizer, TrainsIsSavedAndGoesOnAsTheOriginal) {
  register_percentile();
  const Dataset data = corners(300);
  Sequential model = percentile_net();
  Trainer trainer(model, Adam(0.01F), {.batch_size = 30});
  const History history = trainer.fit(data, data, 4);
  EXPECT_GT(history.back().test_accuracy.value(), 0.9);
  // It is used: values of a batch lie beyond its range, which spans most of them.
  const Quantizer& quantizer = percentile_of(model);
  EXPECT_GT(tensor_named(quantizer.counters(), quantizer.prefix() + "clipped").item(), 0.0F);
  Sequential loaded = model_from_archive(archive_of(model));
  EXPECT_EQ(percentile_of(loaded).type(), "OwnTest.Percentile");
  EXPECT_EQ(architecture_json(loaded), architecture_json(model));
  EXPECT_EQ(archive_of(loaded).to_bytes(), archive_of(model).to_bytes());
  const Tensor x = random_tensor({40, 6}, 1);
  EXPECT_EQ(values_of(loaded.forward(x, training())), values_of(model.forward(x, training())));
  EXPECT_EQ(archive_of(loaded).to_bytes(), archive_of(model).to_bytes());
}

TEST(OwnQuantizer, FrozenRangesStayFrozenInALoadedModel) {
  register_percentile();
  Sequential model = percentile_net();
  calibrate(model, random_tensor({40, 6}, 1));
  freeze_ranges(model, true);
  Sequential loaded = model_from_archive(archive_of(model));
  EXPECT_TRUE(percentile_of(loaded).frozen());
  const Tensor wide = random_tensor({40, 6}, 2, -50.0F, 50.0F);
  model.forward(wide, training());
  loaded.forward(wide, training());
  EXPECT_EQ(archive_of(loaded).to_bytes(), archive_of(model).to_bytes());
}

TEST(OwnQuantizer, WhatItRefusesInAFileIsTheFilesFault) {
  register_percentile();
  Description description = describe(ready(*percentile(0.25)).get());
  description.set("cut", 0.75);
  expect_throws<FormatError>([&] { make_quantizer(description); },
                             {"\"OwnTest.Percentile\"", "[0, 0.5)"});
}

}  // namespace
}  // namespace octet::test::quantizer_own_test
