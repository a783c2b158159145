#include <fmt/core.h>

#include "networks.h"

namespace octet::networks {
namespace {

/// Adds the model's input. Throws InvalidArgument unless examples are sequences.
Value sequence_input(Model& model, const Shape& sequence) {
  if (sequence.rank() == 2) return model.input(sequence);
  throw InvalidArgument(
      fmt::format("network {}: expected sequences [steps, features], found examples {}; images "
                  "have networks of their own, such as lenet5",
                  model.name(), sequence.to_string()));
}

Value normalized_relu(Model& model, const Value& x) {
  return model.add(ReLU(), model.add(BatchNorm(), x));
}

void classify_mean(Model& model, Index outputs, Activation end, const Value& x) {
  const Value means = model.add(GlobalAveragePool1D(), x);
  model.output(model.add(Dense(outputs, end), model.add(Dropout(0.2F), means)));
}

}  // namespace

Model gru(const Shape& sequence, Index outputs, Activation end) {
  Model model("gru");
  Value x = sequence_input(model, sequence);
  x = normalized_relu(model,
                      model.add(Conv1D(32, 5, Activation::none, {.padding = Padding::same}), x));
  x = model.add(GRU(48, {.return_sequences = true}), model.add(Dropout(0.2F), x));
  classify_mean(model, outputs, end, x);
  return model;
}

Model masked_gru(const Shape& sequence, Index outputs, Activation end) {
  Model model{std::string(kMaskedGru)};
  const Value x = sequence_input(model, sequence);
  const Index features = sequence[1] - 1;
  if (features < 1) {
    throw InvalidArgument(fmt::format(
        "network {}: expected at least one feature and behind it the mask, found sequences {}",
        kMaskedGru, sequence.to_string()));
  }
  const Value values = model.add(Slice({.axis = 1, .begin = 0, .size = features}), x);
  const Value mask = model.add(Slice({.axis = 1, .begin = features, .size = 1}), x);
  const Value read = model.add(Dense(32, Activation::relu), values);
  const Value state = model.add(GRU(48, {.masked = true, .dropout = 0.2F}), {read, mask});
  model.output(model.add(Dense(outputs, end), model.add(Dropout(0.2F), state)));
  return model;
}

Model tcn(const Shape& sequence, Index outputs, Activation end) {
  constexpr Index kFilters = 48;
  Model model("tcn");
  const auto convolved = [&](const Value& in, Index kernel, Index dilation) {
    return normalized_relu(model,
                           model.add(Conv1D(kFilters, kernel, Activation::none,
                                            {.dilation = dilation, .padding = Padding::causal}),
                                     in));
  };
  Value x = convolved(sequence_input(model, sequence), 5, 1);
  for (const Index dilation : {1, 2, 4, 8}) {
    const Value y = convolved(convolved(x, 3, dilation), 1, 1);
    x = model.add(Add(), {x, y});
  }
  classify_mean(model, outputs, end, x);
  return model;
}

Model attention(const Shape& sequence, Index outputs, Activation end) {
  constexpr Index kFeatures = 48;
  Model model("attention");
  Value x = sequence_input(model, sequence);
  x = normalized_relu(model, model.add(Conv1D(kFeatures, 5, Activation::none,
                                              {.stride = 2, .padding = Padding::same}),
                                       x));
  x = model.add(PositionEmbedding(), x);
  for (int block = 0; block < 2; ++block) {
    const Value y = model.add(MultiHeadAttention(4, 12), model.add(LayerNormalization(), x));
    x = model.add(Add(), {x, y});
    Value z = model.add(Dense(2 * kFeatures, Activation::relu), model.add(LayerNormalization(), x));
    x = model.add(Add(), {x, model.add(Dense(kFeatures), z)});
  }
  classify_mean(model, outputs, end, model.add(LayerNormalization(), x));
  return model;
}

}  // namespace octet::networks
