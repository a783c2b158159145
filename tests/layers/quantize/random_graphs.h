#pragma once

#include <octet/layers/add.h>
#include <octet/layers/concatenate.h>
#include <octet/layers/dense.h>
#include <octet/layers/dropout.h>
#include <octet/layers/quantize/quantize_config.h>
#include <octet/layers/slice.h>
#include <octet/tests/core/quant/quant_testing.h>
#include <octet/tests/layers/quantize/quantize_testing.h>

#include <string>
#include <vector>

namespace octet::test {

/// A random float graph of Dense layers, activations, sums, concatenations and parts of values:
/// forks whose branches meet again, residual blocks, diamonds, a value added to itself. Every
/// result is used.
class RandomGraph {
 public:
  explicit RandomGraph(std::uint32_t seed) : random_(seed), model_("graph") {
    inputs_ = width();
    open_.push_back({model_.input({inputs_}), inputs_});
    const int steps = random_.integer(2, 8);
    for (int i = 0; i < steps; ++i) step();
    while (open_.size() > 1) meet();
    model_.output(model_.add(Dense(width(), one_in(2) ? Activation::softmax : Activation::none),
                             take().value));
    model_.build(seed);
    for (auto& [name, tensor] : model_.parameters()) {
      const float factor = random_.positive(0.3F, 4.0F);
      for (float& v : Tensor(tensor).mutable_span())
        v = name.ends_with("bias") ? factor - 1.0F : v * factor;
    }
  }

  const Model& model() const { return model_; }

  QuantizeOptions options(Rounding rounding) {
    return {.rounding = rounding,
            .weight_bits = random_.integer(4, 8),
            .per_channel = one_in(2),
            .range_start = one_in(4) ? RangeStart::tfmot : RangeStart::first_batch};
  }

  Tensor batch(Index size) {
    const float lo = one_in(3) ? 0.0F : -random_.positive(0.1F, 5.0F);
    return Tensor::uniform({size, inputs_}, Random(random_.bits()), lo,
                           random_.positive(0.1F, 5.0F));
  }

 private:
  struct Branch {
    Value value;
    Index width;
  };

  bool one_in(int count) { return random_.integer(1, count) == 1; }
  Index width() { return 2 * random_.integer(0, 9) + 1; }

  Branch take() {
    const auto i = static_cast<std::size_t>(random_.integer(0, static_cast<int>(open_.size()) - 1));
    Branch branch = open_[i];
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(i));
    return branch;
  }

  Branch dense(const Branch& from, Index units) {
    constexpr std::array kChoices = {Activation::none,    Activation::none, Activation::relu,
                                     Activation::sigmoid, Activation::tanh, Activation::relu6};
    const Activation f = kChoices[static_cast<std::size_t>(random_.integer(0, 5))];
    return {model_.add(Dense(units, f, DenseOptions{.use_bias = !one_in(4)}), from.value), units};
  }

  Activation clamp() {
    return one_in(2) ? Activation::none : one_in(2) ? Activation::relu : Activation::relu6;
  }

  void step() {
    const Branch from = take();
    switch (random_.integer(0, 8)) {
      case 0:
        open_.push_back(dense(from, width()));
        break;
      case 1:  // a fork that stays open
        open_.push_back(from);
        open_.push_back(dense(from, width()));
        break;
      case 2: {  // a residual block, its clamp in the sum or behind it
        const Branch inner = dense(dense(from, width()), from.width);
        Value sum = model_.add(Add(clamp()), {inner.value, from.value});
        if (one_in(3)) sum = model_.add(ReLU(), sum);
        open_.push_back({sum, from.width});
        break;
      }
      case 3: {  // a diamond whose branches are joined
        const Branch a = dense(from, width());
        const Branch b = dense(from, width());
        join({a, b, from});
        break;
      }
      case 4:
        open_.push_back({model_.add(Add(clamp()), {from.value, from.value}), from.width});
        break;
      case 5:
        open_.push_back({model_.add(ReLU6(), model_.add(Dropout(0.2F), from.value)), from.width});
        break;
      case 6: {
        // Behind a layer: what a Concatenate or a sum reads has wider steps than the rest.
        const Branch wide = dense(from, from.width);
        open_.push_back({model_.add(Dropout(0.5F), wide.value), wide.width});
        break;
      }
      case 7:
        cut(from);
        break;
      default:
        open_.push_back({model_.add(ActivationLayer(Activation::tanh), from.value), from.width});
    }
  }

  /// Equal parts, which all stay open, or where the width has none one part of any size.
  void cut(const Branch& from) {
    const Index parts = from.width % 2 == 0 ? 2 : from.width % 3 == 0 ? 3 : 1;
    if (parts == 1) {
      const Index begin = random_.integer(0, static_cast<int>(from.width) - 1);
      const Index size = random_.integer(1, static_cast<int>(from.width - begin));
      const Slice slice({.begin = begin, .size = size});
      return open_.push_back({model_.add(slice, from.value), size});
    }
    for (const Value& part : model_.split(from.value, parts)) {
      open_.push_back({part, from.width / parts});
    }
  }

  /// Joins them: what a sigmoid or a tanh gives is quantized anew, the others share a scale.
  void join(const std::vector<Branch>& branches) {
    std::vector<Value> values;
    Index total = 0;
    for (const Branch& branch : branches) {
      values.push_back(branch.value);
      total += branch.width;
    }
    open_.push_back({model_.add(Concatenate(), values), total});
  }

  /// Two open branches become one.
  void meet() {
    const Branch a = take();
    const Branch b = take();
    if (one_in(2)) return join({a, b});
    const Branch same = a.width == b.width ? b : dense(b, a.width);
    open_.push_back({model_.add(Add(clamp()), {a.value, same.value}), a.width});
  }

  PortableRandom random_;
  Model model_;
  Index inputs_ = 0;
  std::vector<Branch> open_;
};

inline void train_a_little(Model& model, RandomGraph& graph, int steps) {
  train_a_little(model, steps, [&graph] { return graph.batch(9); });
}

}  // namespace octet::test
