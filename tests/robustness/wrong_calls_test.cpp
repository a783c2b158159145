// Objects that are not there, were moved from or do not copy: each is refused by an exception that
// says what was wrong, and nothing crashes. The sanitizers run it too.

#include <octet/core/ops/ops.h>
#include <octet/layers/layers.h>
#include <octet/layers/quantize/quantizers.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/robustness/wrong_calls.h>
#include <octet/train/callbacks.h>
#include <octet/train/run/progress_bar.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

namespace octet::test::wrong_calls_test {
namespace {

/// A layer, a scale rule and an observer whose clone() forgets to return the copy.
class Unclonable : public Dense {
 public:
  Unclonable() : Dense(3, Activation::none, DenseOptions{.name = "own"}) {}
  std::unique_ptr<Layer> clone() const override { return nullptr; }
};

class UnclonableObserver : public Observer {
 public:
  std::string_view type() const override { return "Unclonable"; }
  std::unique_ptr<Observer> clone() const override { return nullptr; }
  void observe(const Tensor& x) override { set_updates(static_cast<float>(x.dim(0))); }
};

class UnclonableRule : public ScaleRule {
 public:
  std::string_view type() const override { return "Unclonable"; }
  QuantParams params() const override { return QuantParams::per_tensor(1.0F, 0); }
  std::vector<NamedTensor> parameters() const override { return {}; }
  std::unique_ptr<ScaleRule> clone() const override { return nullptr; }
};

class UnclonableOptimizer : public Sgd {
 public:
  std::unique_ptr<Optimizer> clone() const override { return nullptr; }
};

Sequential with_unclonable() {
  Sequential model("m", Input({4}), Unclonable());
  model.build(0);
  return model;
}

class OwnConfig : public Default8BitQuantizeConfig {
 public:
  explicit OwnConfig(bool of_observer) : of_observer_(of_observer) {}
  std::unique_ptr<Quantizer> activation_quantizer(const Layer& /*layer*/) const override {
    if (of_observer_) {
      return std::make_unique<Quantizer>(QuantSpec{}, std::make_unique<UnclonableObserver>());
    }
    return std::make_unique<Quantizer>(std::make_unique<LastValueQuantizer>(QuantSpec{}),
                                       std::make_unique<UnclonableRule>());
  }

 private:
  bool of_observer_;
};

// NOLINTBEGIN(performance-unnecessary-copy-initialization): copies are what is tested
void copy_quantized(bool of_observer) {
  Sequential model("m", Input({4}), Dense(3, Activation::none, DenseOptions{.name = "own"}));
  quantize_annotate_layer(model.layer("own"), std::make_shared<OwnConfig>(of_observer));
  model.build(0);
  const Model quantized = quantize_apply(model);
  const Model copy(quantized);
}

TEST(WrongCalls, ClonesThatAreNull) {
  const Sequential model = with_unclonable();
  expect_refused("copy of a model", "\"own\"", [&] { Model copy(model); });
  expect_refused("quantize_model", "\"own\"", [&] { quantize_model(model); });
  expect_refused("lower_float", "\"own\"", [&] { static_cast<void>(lower_float(model)); });
  expect_refused("FoldedBatchNorm", "\"own\"", [] {
    const FoldedBatchNorm folded(std::make_unique<Unclonable>(), std::make_unique<BatchNorm>());
    const FoldedBatchNorm copy(folded);
  });
  expect_refused("QuantizeWrapper", "\"quant_own\"", [] {
    const QuantizeWrapper wrapper(std::make_unique<Unclonable>(), default_8bit());
    const QuantizeWrapper copy(wrapper);
  });
  expect_refused("ScaleRule", "quant_own", [] { copy_quantized(false); });
  expect_refused("Observer", "quant_own", [] { copy_quantized(true); });
  expect_refused("Optimizer", "an optimizer, found none", [] {
    Sequential small = small_mlp();
    Trainer trainer(small, UnclonableOptimizer());
  });
}

// NOLINTEND(performance-unnecessary-copy-initialization)

TEST(WrongCalls, NothingWhereSomethingIsExpected) {
  Sequential model = small_mlp();
  expect_refused("layer", "found null", [] { Sequential("m").add(std::unique_ptr<Layer>()); });
  expect_refused("wrapped layer", "found null", [] { QuantizeWrapper(nullptr, default_8bit()); });
  expect_refused("config of a wrapper", "found null",
                 [] { QuantizeWrapper(std::make_unique<Dense>(2), nullptr); });
  expect_refused("observer", "found null", [] { Quantizer quantizer(QuantSpec{}, nullptr); });
  expect_refused("start of a learned range", "null", [] { LsqQuantizer quantizer(nullptr); });
  expect_refused("reader of a data set", "found null",
                 [] { static_cast<void>(Dataset::from_reader("d", nullptr)); });
  expect_refused("optimizer", "found none", [&] { Trainer(model, std::unique_ptr<Optimizer>()); });
  expect_refused("loss", "found none", [&] { Trainer(model, Adam(), {.loss = {}}); });
  expect_refused("callback", "found null",
                 [&] { Trainer(model, Adam()).add_callback(std::shared_ptr<Callback>()); });
  expect_refused("score of the best", "score", [] { BestCheckpoint("best", {}); });
  expect_refused("stream", "found null", [] { ProgressBar(nullptr); });
  expect_refused("model of an interpreter", "found a null pointer",
                 [] { Interpreter(std::shared_ptr<const IntegerModel>()); });
  expect_refused("kernel", "", [] {
    static_cast<void>(conv2d(Tensor::ones({1, 4, 4, 1}), Tensor()));
  });
  expect_refused("features", "predict: expected features",
                 [&] { static_cast<void>(predict(model, Tensor())); });
  expect_refused("input", "", [&] { static_cast<void>(model.forward(Tensor())); });
  expect_refused("samples", "", [] {
    Model quantized = quantize_model(small_mlp());
    calibrate(quantized, Tensor());
  });
  expect_refused("loss of nothing", "", [] { Tensor().backward(); });
  expect_refused("log-softmax of nothing", "", [] { static_cast<void>(octet::softmax(Tensor())); });
}

TEST(WrongCalls, WhatWasMovedFrom) {
  Sequential model = small_mlp();
  Trainer trainer(model, Adam());
  Trainer moved = std::move(trainer);
  Interpreter interpreter(integers());
  const Interpreter taken = std::move(interpreter);
  Sequential source = small_mlp();
  const Sequential target = std::move(source);
  const ScratchDirectory scratch;
  // NOLINTBEGIN(bugprone-use-after-move): what is tested
  expect_refused("fit", "moved from", [&] { trainer.fit(clouds(10), 1); });
  expect_refused("save_checkpoint", "moved from",
                 [&] { trainer.save_checkpoint(scratch.path() / "c"); });
  expect_refused("load_checkpoint", "moved from", [&] {
    moved.save_checkpoint(scratch.path() / "c");
    trainer.load_checkpoint(scratch.path() / "c");
  });
  expect_refused("run", "moved", [&] { interpreter.run(std::vector<float>(6)); });
  expect_refused("forward", "no tensors", [&] {
    static_cast<void>(source.forward(Tensor::ones({1, 6})));
  });
  expect_refused("quantize_model", "has no tensors yet", [&] { quantize_model(source); });
  expect_refused("build", "found no layer", [&] { source.build(0); });

  // NOLINTEND(bugprone-use-after-move)
}

TEST(WrongCalls, AModelMovedToItselfIsAsItWas) {
  Sequential model = small_mlp();
  const Tensor x = clouds(4).features(0, 4);
  const Tensor expected = model.forward(x);
  Sequential& same = model;
  model = std::move(same);
  ASSERT_EQ(model.layers().size(), 3U);
  const Tensor found = model.forward(x);
  EXPECT_TRUE(std::ranges::equal(found.span(), expected.span()));
}

}  // namespace
}  // namespace octet::test::wrong_calls_test
