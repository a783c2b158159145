#pragma once

#include <octet/layers/layers.h>
#include <octet/layers/model.h>
#include <octet/tests/core/quant/quant_testing.h>
#include <octet/tests/layers/quantize/quantize_testing.h>

namespace octet::test {

/// A random float network over sequences [steps, features]: one to three of Dense at each step,
/// PReLU, a GRU, LSTM or SimpleRNN of all states, SelfAttention beside its input, one layer that is
/// used twice, a part of an axis, and axes in another order; a GRU or a Flatten in front of the
/// end.
class RandomSequence {
 public:
  explicit RandomSequence(std::uint32_t seed) : random_(seed), model_("sequence") {
    features_ = random_.integer(1, 9);
    steps_ = random_.integer(1, 6);
    Value x = model_.input({steps_, features_});
    for (int i = random_.integer(1, 3); i > 0; --i) x = step(x);
    x = random_.integer(0, 1) == 1 ? model_.add(GRU(random_.integer(1, 9)), x)
                                   : model_.add(Flatten(), x);
    model_.output(model_.add(Dense(random_.integer(1, 5)), x));
    model_.build(seed);
    for (auto& [name, tensor] : model_.parameters()) {
      if (!name.ends_with("bias")) continue;
      for (float& value : tensor.mutable_span()) value = random_.positive(0.1F, 1.0F) - 0.5F;
    }
  }

  const Model& model() const { return model_; }
  QuantizeOptions options(Rounding rounding) {
    return {.rounding = rounding,
            .weight_bits = random_.integer(2, 8),
            .per_channel = random_.integer(0, 1) == 1};
  }
  Tensor batch(Index size) {
    return Tensor::uniform(model_.input_shape().with_batch(size), Random(random_.bits()),
                           -random_.positive(0.1F, 5.0F), random_.positive(0.1F, 5.0F));
  }

 private:
  Value step(const Value& x) {
    switch (random_.integer(0, 7)) {
      case 0:
        features_ = random_.integer(1, 9);
        return model_.add(Dense(features_, Activation::relu), x);
      case 1:
        return model_.add(PReLU(), x);
      case 2:
        return recurrent(x);
      case 3:
        return model_.add(
            Add(), {x, model_.add(SelfAttention(random_.integer(1, 3), random_.integer(1, 5)), x)});
      case 4: {
        const Index axis = random_.integer(0, 1);
        Index& extent = axis == 0 ? steps_ : features_;
        const Index begin = random_.integer(0, static_cast<int>(extent) - 1);
        extent = random_.integer(1, static_cast<int>(extent - begin));
        return model_.add(Slice({.axis = axis, .begin = begin, .size = extent}), x);
      }
      case 6: {
        const Index size = random_.integer(1, static_cast<int>(steps_));
        const Pool1DOptions options{
            .size = size,
            .stride = random_.integer(0, 3),
            .padding = random_.integer(0, 1) == 0 ? Padding::valid : Padding::same};
        const bool largest = random_.integer(0, 1) == 1;
        const Value y =
            largest ? model_.add(MaxPool1D(options), x) : model_.add(AveragePool1D(options), x);
        const Index stride = options.stride == 0 ? size : options.stride;
        steps_ = options.padding == Padding::same ? (steps_ + stride - 1) / stride
                                                  : (steps_ - size) / stride + 1;
        return y;
      }
      case 5:
        std::swap(steps_, features_);
        return model_.add(Permute({2, 1}), x);
      default: {
        const Value once = model_.add(Dense(features_), x);
        return model_.add(Add(), {once, model_.reuse(once, {once})});
      }
    }
  }

  Value recurrent(const Value& x) {
    features_ = random_.integer(1, 9);
    switch (random_.integer(0, 2)) {
      case 0:
        return model_.add(GRU(features_, {.return_sequences = true}), x);
      case 1:
        return model_.add(LSTM(features_, {.return_sequences = true}), x);
      default:
        return model_.add(SimpleRNN(features_, {.return_sequences = true}), x);
    }
  }

  PortableRandom random_;
  Model model_;
  Index steps_ = 0;
  Index features_ = 0;
};

}  // namespace octet::test
