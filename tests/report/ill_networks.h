#pragma once

#include <octet/octet.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

// Small trained networks, each with one thing that quantization takes badly.

namespace octet::test {

struct IllNetwork {
  Model model;
  DataSplit data;
};

/// Normal numbers that do not depend on the library's distributions.
class Normal {
 public:
  explicit Normal(std::uint64_t seed) : bits_(seed) {}
  float operator()() {
    const double radius = std::sqrt(-2.0 * std::log(uniform() + 1e-300));
    return static_cast<float>(radius * std::cos(6.283185307179586 * uniform()));
  }
  double uniform() { return static_cast<double>(bits_() >> 11U) * 0x1.0p-53; }

 private:
  std::mt19937_64 bits_;
};

/// Six columns of which z0 - z1 + z2 z5 / 2 + z3 / 2 - z4 / 3 decides between two classes.
inline Dataset columns_data(std::uint64_t seed, int count, const std::vector<float>& unit,
                            const std::vector<float>& offset) {
  Normal normal(seed);
  std::vector<float> values;
  Labels labels;
  for (int i = 0; i < count; ++i) {
    std::vector<float> z;
    for (std::size_t k = 0; k < unit.size(); ++k) {
      z.push_back(normal());
      values.push_back(z.back() * unit[k] + offset[k]);
    }
    const float sum = z[0] - z[1] + 0.5F * z[2] * z[5] + 0.5F * z[3] - 0.3F * z[4];
    labels.push_back(sum > 0.0F ? 1 : 0);
  }
  const auto columns = static_cast<Index>(unit.size());
  return Dataset::from_floats("columns", {columns}, std::move(values), std::move(labels), 2);
}

inline DataSplit columns_of(const std::vector<float>& unit, const std::vector<float>& offset) {
  return {columns_data(19, 2000, unit, offset), columns_data(20, 1000, unit, offset)};
}

inline DataSplit alike_columns() {
  return columns_of(std::vector<float>(6, 1.0F), std::vector<float>(6, 0.0F));
}

inline void train(Model& model, const DataSplit& data) {
  Trainer(model, Adam(5e-3F), {.batch_size = 64}).fit(data.train, 12);
}

inline Sequential columns_network(Activation activation = Activation::relu) {
  Sequential model("columns", Input({6}), Dense(24, activation, "first"),
                   Dense(16, Activation::relu, "second"), Dense(2, Activation::softmax, "last"));
  model.build(1);
  return model;
}

/// A network that nothing is wrong with.
inline IllNetwork sound_network(Activation activation = Activation::relu) {
  IllNetwork result{columns_network(activation), alike_columns()};
  train(result.model, result.data);
  return result;
}

/// Multiplies what unit `unit` of "first" gives by `factor`, and what "second" makes of it by its
/// inverse: in float nothing changes.
inline void widen_unit(Model& model, std::size_t unit, float factor) {
  const LayerWeights first = *model.layer("first").weights();
  const LayerWeights second = *model.layer("second").weights();
  const auto units = static_cast<std::size_t>(first.kernel.dim(-1));
  const auto next = static_cast<std::size_t>(second.kernel.dim(-1));
  const std::span<float> made = Tensor(first.kernel).mutable_span();
  for (std::size_t i = unit; i < made.size(); i += units) made[i] *= factor;
  Tensor(first.bias).mutable_span()[unit] *= factor;
  for (float& weight : Tensor(second.kernel).mutable_span().subspan(unit * next, next))
    weight /= factor;
}

/// One unit in far larger units than the others.
inline IllNetwork wide_unit(float factor) {
  IllNetwork result = sound_network();
  widen_unit(result.model, 3, factor);
  return result;
}

/// One unit of far larger weights, behind a ReLU6, which takes no factors; it is dead besides.
inline IllNetwork wide_kernel() {
  IllNetwork result = sound_network(Activation::relu6);
  widen_unit(result.model, 3, 1000.0F);
  Tensor(result.model.layer("first").weights()->bias).mutable_span()[3] = -1e5F;
  return result;
}

/// Units that are dead: behind a ReLU of what is below 0 throughout.
inline IllNetwork dead_units() {
  IllNetwork result = sound_network();
  const LayerWeights first = *result.model.layer("first").weights();
  for (const std::size_t unit : {2U, 7U, 11U}) Tensor(first.bias).mutable_span()[unit] = -1000.0F;
  return result;
}

/// One value in 500 of the input is a thousand times too large.
inline IllNetwork outliers_in_the_input() {
  const auto with_outliers = [](const Dataset& data) {
    const Tensor x = data.features(0, data.size());
    std::vector<float> values(x.span().begin(), x.span().end());
    for (std::size_t i = 0; i < values.size(); i += 497) values[i] = i % 2 == 0 ? 300.0F : -300.0F;
    const auto labels = data.labels();
    return Dataset::from_floats("outliers", data.example_shape(), std::move(values),
                                {labels.begin(), labels.end()}, data.classes());
  };
  IllNetwork result = sound_network();
  result.data = {with_outliers(result.data.train), with_outliers(result.data.test)};
  return result;
}

/// One example in 200 makes a unit of "first", which matters little, a hundred times larger.
inline IllNetwork outliers_in_a_result() {
  const auto flagged = [](const Dataset& data) {
    const Tensor x = data.features(0, data.size());
    std::vector<float> values;
    for (std::size_t i = 0; i < data.size(); ++i) {
      const auto row = x.span().subspan(i * 6, 6);
      values.insert(values.end(), row.begin(), row.end());
      values.push_back(i % 199 == 5 ? 4.0F : 0.0F);
    }
    const auto labels = data.labels();
    return Dataset::from_floats("flagged", {7}, std::move(values), {labels.begin(), labels.end()},
                                data.classes());
  };
  const DataSplit plain = alike_columns();
  Sequential model("flagged", Input({7}), Dense(24, Activation::relu, "first"),
                   Dense(16, Activation::relu, "second"), Dense(2, Activation::softmax, "last"));
  model.build(1);
  IllNetwork result{std::move(model), {flagged(plain.train), flagged(plain.test)}};
  train(result.model, result.data);
  const LayerWeights first = *result.model.layer("first").weights();
  const LayerWeights second = *result.model.layer("second").weights();
  const std::span<float> made = Tensor(first.kernel).mutable_span();
  for (std::size_t input = 0; input < 7; ++input) made[input * 24 + 3] = input == 6 ? 500.0F : 0.0F;
  for (float& weight : Tensor(second.kernel).mutable_span().subspan(std::size_t{3} * 16, 16)) {
    weight *= 1e-4F;
  }
  return result;
}

/// Columns in units that one grid does not fit.
inline IllNetwork unlike_columns() {
  Sequential model("norm", Input({6}), BatchNorm({.momentum = 0.9F, .name = "norm"}),
                   Dense(24, Activation::relu, "first"), Dense(2, Activation::softmax, "last"));
  model.build(1);
  IllNetwork result{std::move(model), columns_of({1e-3F, 1.0F, 30.0F, 1e3F, 1e5F, 0.1F},
                                                 {0.0F, 0.0F, 300.0F, 0.0F, 1e5F, 5.0F})};
  train(result.model, result.data);
  return result;
}

/// Two branches, one in units 300 times those of the other, on one grid.
inline IllNetwork unlike_branches() {
  Model model("branches");
  const Value in = model.input({6});
  const Value small = model.add(Dense(24, Activation::relu, "small"), in);
  const Value large = model.add(Dense(4, Activation::relu, "large"), in);
  const Value both = model.add(Concatenate(-1, "both"), {small, large});
  const Value mid = model.add(Dense(16, Activation::relu, "mid"), both);
  model.output(model.add(Dense(2, Activation::softmax, "last"), mid));
  model.build(2);
  IllNetwork result{std::move(model), alike_columns()};
  train(result.model, result.data);
  const LayerWeights branch = *result.model.layer("large").weights();
  const LayerWeights reader = *result.model.layer("mid").weights();
  for (float& weight : Tensor(branch.kernel).mutable_span()) weight *= 300.0F;
  for (float& bias : Tensor(branch.bias).mutable_span()) bias *= 300.0F;
  for (float& weight : Tensor(reader.kernel).mutable_span().subspan(std::size_t{24} * 16))
    weight /= 300.0F;
  return result;
}

}  // namespace octet::test
