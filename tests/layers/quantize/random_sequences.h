#pragma once

#include <octet/layers/layers.h>
#include <octet/layers/model.h>
#include <octet/tests/core/quant/quant_testing.h>
#include <octet/tests/layers/quantize/quantize_testing.h>

#include <array>

namespace octet::test {

/// A random float network over sequences [steps, features]: one to three of Dense at each step,
/// an activation or a normalization, a GRU, LSTM or SimpleRNN of all states, in one direction or
/// both, a convolution or an SVDF along time, MultiHeadAttention beside its input, two branches
/// that are merged, one layer that is used twice, a part of an axis, and axes in another order; a
/// GRU or a Flatten in front of the end.
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
    switch (random_.integer(0, 14)) {
      case 0:
        features_ = random_.integer(1, 9);
        return model_.add(Dense(features_, Activation::relu), x);
      case 1:
        return elementwise(x);
      case 2:
        return recurrent(x);
      case 3:
        return model_.add(Add(), {x, attention(x)});
      case 4: {
        const Index axis = random_.integer(0, 1);
        Index& extent = axis == 0 ? steps_ : features_;
        const Index begin = random_.integer(0, static_cast<int>(extent) - 1);
        extent = random_.integer(1, static_cast<int>(extent - begin));
        return model_.add(Slice({.axis = axis, .begin = begin, .size = extent}), x);
      }
      case 6: {
        const Index size = random_.integer(1, static_cast<int>(steps_));
        constexpr std::array kPaddings = {Padding::valid, Padding::same, Padding::causal};
        const Pool1DOptions options{
            .size = size,
            .stride = random_.integer(0, 3),
            .padding = kPaddings.at(static_cast<std::size_t>(random_.integer(0, 2)))};
        const bool largest = random_.integer(0, 1) == 1;
        const Value y =
            largest ? model_.add(MaxPool1D(options), x) : model_.add(AveragePool1D(options), x);
        const Index stride = options.stride == 0 ? size : options.stride;
        steps_ = options.padding == Padding::valid ? (steps_ - size) / stride + 1
                                                   : (steps_ + stride - 1) / stride;
        return y;
      }
      case 5:
        std::swap(steps_, features_);
        return model_.add(Permute({2, 1}), x);
      case 7:
        return merged(x, model_.add(Dense(features_), x));
      case 8:
        return bidirectional(x);
      case 9: {
        steps_ = random_.integer(1, 4);
        return model_.add(RepeatVector(steps_),
                          model_.add(Dense(features_), model_.add(Flatten(), x)));
      }
      case 10: {
        const Index behind = random_.integer(0, 2);
        steps_ += 1 + behind;
        return model_.add(ZeroPadding1D(1, behind), x);
      }
      case 11: {
        const Value rows = model_.add(UpSampling1D(random_.integer(1, 2)), x);
        const Value products = model_.add(Dot({1, 1}), {rows, rows});
        steps_ = features_;
        return products;
      }
      case 12:
        return convolution(x);
      case 13:
        features_ = random_.integer(1, 5);
        return model_.add(SVDF(features_, random_.integer(1, 4), Activation::relu,
                               {.rank = random_.integer(1, 2)}),
                          x);
      default: {
        const Value once = model_.add(Dense(features_), x);
        return model_.add(Add(), {once, model_.reuse(once, {once})});
      }
    }
  }

  Value elementwise(const Value& x) {
    switch (random_.integer(0, 6)) {
      case 0:
        return model_.add(ELU(), x);
      case 1:
        return model_.add(GELU({.approximate = random_.integer(0, 1) == 1}), x);
      case 2:
        return model_.add(SiLU(), x);
      case 3:
        return model_.add(LayerNormalization({.center = random_.integer(0, 1) == 1,
                                              .scale = random_.integer(0, 1) == 1}),
                          x);
      case 4:
        return model_.add(RMSNormalization(), x);
      case 5:
        return model_.add(PositionEmbedding(), x);
      default:
        return model_.add(PReLU(), x);
    }
  }

  /// To itself, or to sequences of other lengths and features.
  Value attention(const Value& x) {
    const bool masked = random_.integer(0, 2) == 0;
    MultiHeadAttention layer(random_.integer(1, 3), random_.integer(1, 5),
                             {.causal = random_.integer(0, 1) == 0, .masked = masked});
    std::vector<Value> inputs = {x};
    if (random_.integer(0, 1) == 0) {
      inputs.push_back(model_.add(Cropping1D(random_.integer(0, static_cast<int>(steps_) - 1), 0),
                                  model_.add(Dense(random_.integer(1, 5)), x)));
      if (random_.integer(0, 1) == 0) inputs.push_back(model_.add(Dense(3), inputs[1]));
    }
    if (masked) inputs.push_back(model_.add(Dense(1, Activation::sigmoid), inputs.back()));
    return model_.add(std::move(layer), inputs);
  }

  Value merged(const Value& x, const Value& y) {
    switch (random_.integer(0, 4)) {
      case 0:
        return model_.add(Subtract(), {x, y});
      case 1:
        return model_.add(Average(Activation::relu), {x, y});
      case 2:
        return model_.add(Maximum(), {x, y});
      case 3:
        return model_.add(Multiply(), {x, y});
      default:
        return model_.add(Minimum(), {x, y});
    }
  }

  Value bidirectional(const Value& x) {
    constexpr std::array kModes = {MergeMode::concat, MergeMode::sum, MergeMode::mul,
                                   MergeMode::ave};
    const MergeMode mode = kModes.at(static_cast<std::size_t>(random_.integer(0, 3)));
    const Index units = random_.integer(1, 5);
    features_ = mode == MergeMode::concat ? 2 * units : units;
    if (random_.integer(0, 1) == 0) {
      return model_.add(
          Bidirectional(LSTM(units, {.return_sequences = true}), {.merge_mode = mode}), x);
    }
    return model_.add(Bidirectional(GRU(units, {.return_sequences = true}), {.merge_mode = mode}),
                      x);
  }

  Value convolution(const Value& x) {
    const Index size = random_.integer(1, 3);
    const Index stride = random_.integer(1, 2);
    const Index dilation = random_.integer(1, 2);
    const Padding padding = random_.integer(0, 1) == 0 ? Padding::same : Padding::causal;
    const bool separable = random_.integer(0, 1) == 1;
    steps_ = (steps_ + stride - 1) / stride;
    features_ = random_.integer(1, 6);
    if (separable) {
      return model_.add(
          SeparableConv1D(features_, size, Activation::relu6,
                          {.stride = stride, .dilation = dilation, .padding = padding}),
          x);
    }
    return model_.add(Conv1D(features_, size, Activation::tanh,
                             {.stride = stride, .dilation = dilation, .padding = padding}),
                      x);
  }

  Value recurrent(const Value& x) {
    features_ = random_.integer(1, 9);
    const RecurrentOptions options{.return_sequences = true,
                                   .go_backwards = random_.integer(0, 2) == 0};
    switch (random_.integer(0, 2)) {
      case 0:
        return model_.add(GRU(features_, options), x);
      case 1:
        return model_.add(LSTM(features_, options), x);
      default:
        return model_.add(SimpleRNN(features_, options), x);
    }
  }

  PortableRandom random_;
  Model model_;
  Index steps_ = 0;
  Index features_ = 0;
};

}  // namespace octet::test
