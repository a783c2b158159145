#pragma once

#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/layers/layers.h>
#include <octet/layers/model.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/layers/step_model.h>
#include <octet/tests/core/quant/quant_testing.h>
#include <octet/tests/layers/layer_testing.h>
#include <octet/tests/layers/quantize/quantize_testing.h>

#include <array>
#include <string>
#include <vector>

namespace octet::test {

/// A random network of layers that compute each step alone, of recurrent ones, and of convolutions
/// and pools along time with any padding behind one another, whose outputs are a sequence and, of
/// some, what a last layer and a Dense make of all of it; of 16 bits, of layers that take them.
class RandomStream {
 public:
  explicit RandomStream(std::uint32_t seed, int activation_bits = 8)
      : random_(seed), model_("stream"), is_int16_(activation_bits == 16) {
    const bool is_delayed = random_.integer(0, 2) == 0;
    steps_ = length_ = 4 * random_.integer(1, 5) + (is_delayed ? 12 : 0);
    features_ = random_.integer(1, 9);
    Value x = model_.input({steps_, features_}, "x");
    for (int i = random_.integer(1, 4); i > 0; --i) x = layer(x);
    for (int i = is_delayed ? random_.integer(1, 4) : 0; i > 0; --i) x = delayed(x);
    model_.output(random_.integer(0, 1) == 1 ? x : recurrent(x, 5));
    if (!looks_ahead_ && random_.integer(0, 1) == 1) {
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
  /// Whether the last results of the whole sequence read zeros behind it, which a stream has not.
  bool looks_ahead() const { return looks_ahead_; }
  Tensor batch(Index size) {
    return Tensor::uniform({size, steps_, features_}, Random(random_.bits()),
                           -random_.positive(0.1F, 3.0F), random_.positive(0.1F, 3.0F));
  }

 private:
  Value layer(const Value& x) {
    const Index units = random_.integer(1, 9);
    switch (random_.integer(0, is_int16_ ? 8 : 12)) {
      case 0:
        return model_.add(Dense(units, Activation::relu), x);
      case 1:
        return model_.add(Conv1D(units, 1, Activation::relu6), x);
      case 2:
        return model_.add(GRU(units, {.return_sequences = true}), x);
      case 3:
        return model_.add(Concatenate(), {model_.add(Dense(units, Activation::sigmoid), x),
                                          model_.add(GRU(units, {.return_sequences = true}), x)});
      case 4:
        return model_.add(LSTM(units, {.return_sequences = true}), x);
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
      case 10: {
        const Value y = model_.add(Dense(units), x);
        return model_.add(Add(), {y, model_.add(LeakyReLU(0.2F), y)});
      }
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

  /// A window of any padding, whose first results may not be the whole sequence's, nor its last.
  Value delayed(const Value& x) {
    constexpr std::array kFunctions = {Activation::none, Activation::relu, Activation::tanh,
                                       Activation::sigmoid};
    const Index stride = length_ > 12 ? random_.integer(1, 2) : 1;
    const Index size = random_.integer(static_cast<int>(stride), 4);
    const Index dilation = random_.integer(1, 2);
    const bool pools = !is_int16_ && random_.integer(0, 3) == 0;
    const auto padding = static_cast<Padding>(random_.integer(0, 2));
    const Index span = pools ? size : (size - 1) * dilation + 1;
    const Index ready = (length_ - (padding == Padding::causal ? 1 : span)) / stride + 1;
    if (ready < 3 || (pools && padding == Padding::same)) return x;
    length_ = ready;
    looks_ahead_ = looks_ahead_ || padding == Padding::same;
    if (pools) {
      const Pool1DOptions options{.size = size, .stride = stride, .padding = padding};
      return random_.integer(0, 1) == 0 ? model_.add(MaxPool1D(options), x)
                                        : model_.add(AveragePool1D(options), x);
    }
    if (padding == Padding::same && stride == 1 && random_.integer(0, 1) == 0) {
      // A residual block, of which one branch comes later than the other.
      const Index units = random_.integer(1, 9);
      const Value y = model_.add(Dense(units), x);
      const Value z = model_.add(
          Conv1D(units, size, Activation::relu, {.dilation = dilation, .padding = padding}), y);
      return random_.integer(0, 1) == 0 ? model_.add(Add(), {y, z})
                                        : model_.add(Concatenate(), {z, y});
    }
    return model_.add(Conv1D(random_.integer(1, 9), size,
                             kFunctions[static_cast<std::size_t>(random_.integer(0, 3))],
                             {.stride = stride, .dilation = dilation, .padding = padding}),
                      x);
  }

  Value recurrent(const Value& x, Index units) {
    const RecurrentOptions options{.return_sequences = true};
    switch (random_.integer(0, 2)) {
      case 0:
        return model_.add(GRU(units, options), x);
      case 1:
        return model_.add(LSTM(units, options), x);
      default:
        return model_.add(SimpleRNN(units, options), x);
    }
  }

  /// One result of a whole sequence.
  Value last(const Value& x) {
    const int which = random_.integer(0, is_int16_ ? 2 : 4);
    if (which == 0) return model_.add(GRU(random_.integer(1, 9)), x);
    if (which == 1) return model_.add(LSTM(random_.integer(1, 9)), x);
    if (which == 3) return model_.add(GlobalMaxPool1D(), x);
    if (which == 4) return model_.add(GlobalAveragePool1D(), x);
    return model_.add(Flatten(), x);
  }

  PortableRandom random_;
  Model model_;
  bool is_int16_;
  Index steps_;
  Index features_ = 0;
  /// How many steps the sequence has that a layer reads, without those that look beyond its end.
  Index length_;
  bool looks_ahead_ = false;
};

/// Convolutions that look ahead, one behind the other, and an LSTM, quantized.
inline Model waiting_stream() {
  Model model("waiting");
  Value x = model.input({16, 3}, "x");
  for (const char* const name : {"first", "second"}) {
    x = model.add(Conv1D(4, 4, Activation::relu, {.padding = Padding::same, .name = name}), x);
  }
  model.output(model.add(LSTM(3, {.return_sequences = true, .name = "memory"}), x));
  model.build(1);
  Model quantized = quantize_model(model);
  calibrate(quantized, random_tensor({20, 16, 3}, 1));
  return quantized;
}

/// step_model(), or the model itself, which a network of which no layer remembers anything is.
inline StepModel streamed(const Model& model) {
  try {
    return step_model(model, {.delay = true});
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("found none"), std::string::npos) << error.what();
    return {model, {}, model.input_shape()[0], std::vector<Index>(model.output_layers().size())};
  }
}

}  // namespace octet::test
