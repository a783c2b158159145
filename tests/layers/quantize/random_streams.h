#pragma once

#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/layers/layers.h>
#include <octet/layers/model.h>
#include <octet/layers/step_model.h>
#include <octet/tests/core/quant/quant_testing.h>
#include <octet/tests/layers/quantize/quantize_testing.h>

#include <string>
#include <vector>

namespace octet::test {

/// A random network of layers that compute each step alone, of recurrent ones, and of convolutions
/// and pools along time, whose outputs are a sequence and, of some, what a last layer and a Dense
/// make of all of it.
class RandomStream {
 public:
  explicit RandomStream(std::uint32_t seed) : random_(seed), model_("stream") {
    steps_ = length_ = 4 * random_.integer(1, 5);
    features_ = random_.integer(1, 9);
    Value x = model_.input({steps_, features_}, "x");
    for (int i = random_.integer(1, 4); i > 0; --i) x = layer(x);
    if (length_ > 2 && random_.integer(0, 2) == 0) x = delayed(x);
    model_.output(is_delayed_ || random_.integer(0, 1) == 1
                      ? x
                      : model_.add(GRU(5, {.return_sequences = true}), x));
    if (random_.integer(0, 1) == 1) {
      model_.output(model_.add(Dense(random_.integer(1, 5), Activation::softmax), last(x)));
    }
    model_.build(seed);
    for (auto& [name, tensor] : model_.parameters()) {
      if (!name.ends_with("bias")) continue;
      for (float& value : tensor.mutable_span()) value = random_.positive(0.1F, 1.0F) - 0.3F;
    }
  }

  const Model& model() const { return model_; }
  Index steps() const { return steps_; }
  Tensor batch(Index size) {
    return Tensor::uniform({size, steps_, features_}, Random(random_.bits()),
                           -random_.positive(0.1F, 3.0F), random_.positive(0.1F, 3.0F));
  }

 private:
  Value layer(const Value& x) {
    const Index units = random_.integer(1, 9);
    switch (random_.integer(0, 12)) {
      case 0:
        return model_.add(Dense(units, Activation::relu), x);
      case 1:
        return model_.add(Conv1D(units, 1, Activation::relu6), x);
      case 2:
        return model_.add(GRU(units, {.return_sequences = true}), x);
      case 3:
        return model_.add(Concatenate(), {model_.add(Dense(units, Activation::sigmoid), x),
                                          model_.add(GRU(units, {.return_sequences = true}), x)});
      case 4: {
        const Value y = model_.add(Dense(units), x);
        return model_.add(Add(), {y, model_.add(LeakyReLU(0.2F), y)});
      }
      case 5:
        return model_.add(SimpleRNN(units, {.return_sequences = true}), x);
      case 6: {
        const Value y = model_.add(Dense(units), x);
        return model_.add(
            Add(),
            {y, model_.add(Conv1D(units, random_.integer(2, 4), Activation::relu, causal(1)), y)});
      }
      case 7: {
        const Conv1DLayerOptions options = causal(stride());
        const Activation f = random_.integer(0, 1) == 0 ? Activation::none : Activation::tanh;
        return model_.add(Conv1D(units, random_.integer(1, 4), f, options), x);
      }
      case 8:
        return model_.add(SeparableConv1D(units, random_.integer(1, 4), Activation::relu,
                                          {.stride = stride(),
                                           .dilation = random_.integer(1, 3),
                                           .padding = Padding::causal,
                                           .depth_multiplier = random_.integer(1, 2)}),
                          x);
      case 9: {
        const Index step = stride();
        Pool1DOptions options{.size = step};
        if (random_.integer(0, 1) == 0) {
          options = {.size = random_.integer(1, 4), .stride = step, .padding = Padding::causal};
        }
        return random_.integer(0, 1) == 0 ? model_.add(MaxPool1D(options), x)
                                          : model_.add(AveragePool1D(options), x);
      }
      case 10:
        return model_.add(LSTM(units, {.return_sequences = true}), x);
      case 11:
        return model_.add(PReLU(), model_.add(LayerNormalization(), x));
      default:
        return model_.add(Dropout(0.1F), model_.add(BatchNorm(), x));
    }
  }

  Conv1DLayerOptions causal(Index stride) {
    return {.stride = stride, .dilation = random_.integer(1, 3), .padding = Padding::causal};
  }

  /// 1 or 2, the lengths of all sequences being even until they are short.
  Index stride() {
    if (length_ % 2 != 0 || random_.integer(0, 1) == 0) return 1;
    length_ /= 2;
    return 2;
  }

  /// Windows whose first results are not the whole sequence's.
  Value delayed(const Value& x) {
    is_delayed_ = true;
    Value y = model_.add(Conv1D(3, 2, Activation::relu, {.stride = random_.integer(1, 2)}), x);
    const bool pools = model_.layers().back() != nullptr && length_ > 5;
    if (!pools) return y;
    return model_.add(MaxPool1D({.size = 2, .stride = random_.integer(1, 2)}), y);
  }

  /// One result of a whole sequence.
  Value last(const Value& x) {
    const int which = random_.integer(is_delayed_ ? 2 : 0, 4);
    if (which == 0) return model_.add(GRU(random_.integer(1, 9)), x);
    if (which == 1) return model_.add(LSTM(random_.integer(1, 9)), x);
    if (which == 2) return model_.add(GlobalMaxPool1D(), x);
    if (which == 3) return model_.add(GlobalAveragePool1D(), x);
    return model_.add(Flatten(), x);
  }

  PortableRandom random_;
  Model model_;
  Index steps_;
  Index features_ = 0;
  /// How many steps the sequence has that a layer reads.
  Index length_;
  bool is_delayed_ = false;
};

/// step_model(), or the model itself, which a network of which no layer remembers anything is.
inline StepModel streamed(const Model& model) {
  try {
    return step_model(model);
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("found none"), std::string::npos) << error.what();
    return {model, {}, model.input_shape()[0], std::vector<Index>(model.output_layers().size())};
  }
}

}  // namespace octet::test
