#pragma once

#include <octet/core/ops/ops.h>
#include <octet/core/quant/rounding.h>
#include <octet/layers/dropout.h>
#include <octet/layers/reshape.h>
#include <octet/tests/core/quant/quant_testing.h>
#include <octet/tests/layers/quantize/quantize_testing.h>

#include <array>
#include <memory>
#include <utility>

namespace octet::test {

/// A random float network: 1 to 6 Dense layers of odd widths with any activation, of which some
/// read several rows of inputs, and between them clamps, other activations, Dropout, Reshape and
/// Flatten as layers of their own.
class RandomNet {
 public:
  explicit RandomNet(std::uint32_t seed) : random_(seed), model_("net") {
    make_input();
    depth_ = random_.integer(1, 6);
    for (int i = 0; i < depth_; ++i) {
      const bool softmax = i + 1 == depth_ ? one_in(2) : one_in(10);
      add_dense(softmax ? Activation::softmax : activation());
      while (one_in(3)) add_between();
    }
    model_.build(seed);
    widen_weights();
  }

  const Sequential& model() const { return model_; }
  /// The number of Dense layers.
  int depth() const { return depth_; }
  PortableRandom& random() { return random_; }

  QuantizeOptions options(Rounding rounding) {
    return {.rounding = rounding,
            .weight_bits = random_.integer(2, 8),
            .per_channel = one_in(2),
            .range_start = one_in(4) ? RangeStart::tfmot : RangeStart::first_batch};
  }

  /// Examples around 0, on one side of it, or few values many times over.
  Tensor batch(Index size) {
    const Shape shape = model_.input_shape().with_batch(size);
    const float lo = one_in(3) ? 0.0F : -random_.positive(0.1F, 5.0F);
    return Tensor::uniform(shape, Random(random_.bits()), lo, random_.positive(0.1F, 5.0F));
  }

 private:
  bool one_in(int count) { return random_.integer(1, count) == 1; }
  Index width() { return 2 * random_.integer(0, 33) + 1; }

  Activation activation() {
    constexpr std::array kChoices = {Activation::none,    Activation::relu, Activation::relu6,
                                     Activation::sigmoid, Activation::tanh, Activation::none};
    return kChoices[static_cast<std::size_t>(random_.integer(0, kChoices.size() - 1))];
  }

  void make_input() {
    rows_ = one_in(3) ? random_.integer(2, 5) : 1;
    units_ = width();
    if (rows_ == 1) {
      model_.add(Input({units_}));
      return;
    }
    model_.add(Input({rows_, units_}));
    if (one_in(2)) {
      std::swap(rows_, units_);
      model_.add(Reshape({rows_, units_}));
    }
    if (one_in(4)) model_.add(Reshape({rows_, 1, units_}));
    if (one_in(2)) flatten();
  }

  void flatten() {
    model_.add(Flatten());
    units_ *= std::exchange(rows_, 1);
  }

  void add_dense(Activation f) {
    units_ = width();
    model_.add(Dense(units_, f, DenseOptions{.use_bias = !one_in(4)}));
  }

  void add_between() {
    switch (random_.integer(0, 6)) {
      case 0:
        model_.add(ReLU());
        break;
      case 1:
        model_.add(ReLU6());
        break;
      case 2:
        model_.add(Dropout(0.25F));
        break;
      case 3:
        model_.add(ActivationLayer(Activation::tanh));
        break;
      case 4:
        model_.add(ActivationLayer(Activation::sigmoid));
        break;
      case 5:
        model_.add(Softmax());
        break;
      default:
        if (rows_ == 1) model_.add(Reshape({units_, 1}));
        flatten();
    }
  }

  /// Kernels and biases of very different sizes.
  void widen_weights() {
    for (auto& [name, tensor] : model_.parameters()) {
      const float factor = random_.positive(0.3F, 4.0F);
      const bool is_bias = name.ends_with("/bias");
      for (float& v : Tensor(tensor).mutable_span()) {
        v = is_bias ? random_.real(-factor, factor) : v * factor;
      }
    }
  }

  PortableRandom random_;
  Sequential model_;
  /// What the last layer gives: rows of units, a vector where it is one.
  Index rows_ = 1;
  Index units_ = 0;
  int depth_ = 0;
};

inline void train_a_little(Model& model, RandomNet& net, int steps) {
  train_a_little(model, steps, [&net] { return net.batch(net.random().integer(1, 33)); });
}

}  // namespace octet::test
