#pragma once

#include <octet/layers/layers.h>
#include <octet/tests/core/quant/quant_testing.h>

#include <cstdint>

// Networks of random LSTMs of which many are fused.

namespace octet::test {

/// One to three layers, fused or not, behind one another or behind a Dense, and a Dense at the end.
class RandomLstms {
 public:
  explicit RandomLstms(std::uint32_t seed)
      : random_(seed), input_({random_.integer(1, 7), random_.integer(1, 9)}), model_("lstms") {
    Value x = model_.input(input_);
    if (random_.integer(0, 1) == 1) x = model_.add(Dense(random_.integer(1, 9)), x);
    for (int layers = random_.integer(1, 3); layers > 0; --layers) {
      const bool all = layers > 1 || random_.integer(0, 1) == 1;
      const bool is_fused = layers == 1 || random_.integer(0, 2) > 0;
      x = model_.add(
          LSTM(random_.integer(1, 12), {.return_sequences = all,
                                        .dropout = random_.integer(0, 3) == 0 ? 0.2F : 0.0F,
                                        .fused = is_fused}),
          x);
    }
    model_.output(model_.add(Dense(3), x));
    model_.build(seed);
  }

  const Model& model() const { return model_; }
  Tensor batch(Index count) {
    return Tensor::uniform(input_.with_batch(count), Random(++drawn_), -2.0F, 2.0F);
  }

 private:
  PortableRandom random_;
  Shape input_;
  Model model_;
  std::uint64_t drawn_ = 0;
};

}  // namespace octet::test
