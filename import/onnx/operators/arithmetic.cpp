#include <octet/core/ops/elementwise.h>
#include <octet/import/onnx/channels.h>
#include <octet/layers/activation.h>
#include <octet/layers/add.h>
#include <octet/layers/leaky_relu.h>
#include <octet/layers/maximum.h>
#include <octet/layers/multiply.h>
#include <octet/layers/smooth_activations.h>
#include <octet/layers/subtract.h>

#include <algorithm>
#include <cmath>
#include <limits>

// Arithmetic of two values, one of which may be a constant: one value, or one per channel; and
// functions of one value that are made of such.

namespace octet::detail::onnx_import {
namespace {

/// Returns both inputs with their axes in one order, that of the input with more axes.
std::vector<Imported> matched(Builder& builder, const Node& node) {
  Imported a = builder.with_batch_at(builder.value(node, 0), 0);
  Imported b = builder.with_batch_at(builder.value(node, 1), a.batch.axis);
  if (a.logical.rank() != b.logical.rank() || a.batch != b.batch) {
    refuse("expected two values of the same axes, found {} and {}", written(a.onnx_extents()),
           written(b.onnx_extents()));
  }
  if (a.flattened != b.flattened) {
    a = builder.ordered(node, a);
    b = builder.ordered(node, b);
  }
  const bool first = a.physical.rank() >= b.physical.rank();
  const std::vector<Index>& axes = first ? a.axes : b.axes;
  return {builder.arranged(node, a, axes), builder.arranged(node, b, axes)};
}

/// `keeps`: whether values that are not below 0 give such.
Imported add_merge(Builder& builder, const Node& node, std::unique_ptr<Layer> layer,
                   bool keeps = true) {
  const std::vector<Imported> inputs = matched(builder, node);
  std::vector<Index> logical;
  for (Index i = 0; i < inputs[0].logical.rank(); ++i) {
    logical.push_back(std::max(inputs[0].logical[i], inputs[1].logical[i]));
  }
  Imported result = builder.add(node, std::move(layer), inputs, inputs[0].axes);
  result.logical = Shape(std::move(logical));
  result.batch = inputs[0].batch;
  result.flattened = inputs[0].flattened;
  result.not_negative = keeps && inputs[0].not_negative && inputs[1].not_negative;
  return result;
}

/// Whether `constant` varies along both axes of sequences `x`.
bool is_of_positions(const Constant& constant, const Imported& x) {
  const Index rank = constant.shape.rank();
  return x.batch == BatchPlace{} && x.logical.rank() == 2 && rank >= 2 && x.logical[0] > 1 &&
         x.logical[1] > 1 && constant.shape[rank - 2] == x.logical[0] &&
         constant.shape[rank - 1] == x.logical[1] &&
         static_cast<Index>(constant.size()) == x.logical.size();
}

/// `node` with a constant as input `1 - computed`.
Imported with_constant(Builder& builder, const Node& node, std::size_t computed) {
  const Constant& constant = builder.required_constant(node, 1 - computed);
  const Imported given = builder.value(node, computed);
  if (node.op == "Add" && is_of_positions(constant, given)) {
    return with_positions(builder, node, given, constant);
  }
  const Imported x = with_channels(builder, node, given, constant);
  Tensor value = channels_of(constant, x);
  const Tensor ones = Tensor::ones(value.shape());
  const Tensor zeros = Tensor::zeros(value.shape());
  if (node.op == "Add") return affine(builder, node, x, ones, value);
  if (node.op == "Mul") return affine(builder, node, x, value, zeros);
  if (node.op == "Sub" && computed == 0) return affine(builder, node, x, ones, value * -1.0F);
  if (node.op == "Sub") return affine(builder, node, x, ones * -1.0F, value);
  if (computed == 1) refuse("divides a constant by a value: Octet has no such layer");
  for (float& v : value.mutable_span()) v = 1.0F / v;
  if (!std::ranges::all_of(value.span(), [](float v) { return std::isfinite(v); })) {
    refuse("divides by 0");
  }
  return affine(builder, node, x, value, zeros);
}

Imported import_arithmetic(Builder& builder, const Node& node) {
  for (const std::size_t computed : {0U, 1U}) {
    if (builder.is_constant(node, 1 - computed)) return with_constant(builder, node, computed);
  }
  if (node.op == "Add") return add_merge(builder, node, std::make_unique<Add>());
  if (node.op == "Mul") return add_merge(builder, node, std::make_unique<Multiply>());
  if (node.op == "Sub") return add_merge(builder, node, std::make_unique<Subtract>(), false);
  refuse("expected a constant operand, found two computed values");
}

/// max(x, c) = relu(x - c) + c for `sign` 1, min(x, c) = c - relu(c - x) for -1.
Imported extreme(Builder& builder, const Node& node, const Imported& x, const Tensor& c,
                 float sign) {
  const Tensor signs = Tensor::full(c.shape(), sign);
  const Imported apart = affine(builder, part_of(node, "/apart"), x, signs, c * -sign);
  const Imported clamped =
      elementwise(builder, part_of(node, "/clamp"), std::make_unique<ReLU>(), apart, true);
  return affine(builder, node, clamped, signs, c);
}

Imported extreme_of_constant(Builder& builder, const Node& node, std::size_t computed) {
  const Constant& constant = builder.required_constant(node, 1 - computed);
  const Imported x = with_channels(builder, node, builder.value(node, computed), constant);
  return extreme(builder, node, x, channels_of(constant, x), node.op == "Max" ? 1.0F : -1.0F);
}

/// Max or Min of two values.
Imported import_extreme(Builder& builder, const Node& node) {
  if (node.inputs.size() == 1) return builder.value(node, 0);
  if (node.inputs.size() != 2) refuse("expected two values, found {}", node.inputs.size());
  for (const std::size_t computed : {0U, 1U}) {
    if (builder.is_constant(node, 1 - computed))
      return extreme_of_constant(builder, node, computed);
  }
  if (node.op == "Max") return add_merge(builder, node, std::make_unique<Maximum>());
  return add_merge(builder, node, std::make_unique<Minimum>());
}

/// One value for each channel of x.
Tensor all_channels(const Imported& x, float value) {
  return Tensor::full({x.physical.rank() == 0 ? 1 : x.physical.dim(-1)}, value);
}

/// A bound of Clip: an attribute up to opset 10, an input since.
float bound(const Builder& builder, const Node& node, std::size_t i, std::string_view key,
            float otherwise) {
  const Constant* given = builder.constant(node, i);
  return given == nullptr ? node.real(key, otherwise) : given->real();
}

Imported import_clip(Builder& builder, const Node& node) {
  constexpr float kMost = std::numeric_limits<float>::max();
  const float lo = bound(builder, node, 1, "min", -kMost);
  const float hi = bound(builder, node, 2, "max", kMost);
  if (!(lo <= hi)) refuse("expected bounds in order, found {} and {}", lo, hi);
  Imported x = builder.value(node, 0);
  const auto function = [&](std::unique_ptr<Layer> layer) {
    return elementwise(builder, node, std::move(layer), x, true);
  };
  if (lo == 0 && hi == 6) return function(std::make_unique<ReLU6>());
  if (lo == 0 && hi >= kMost) return function(std::make_unique<ReLU>());
  const bool is_below = hi < kMost;
  if (lo > -kMost) {
    const Node lower = is_below ? part_of(node, "/lower") : node;
    x = lo == 0 ? elementwise(builder, lower, std::make_unique<ReLU>(), x, true)
                : extreme(builder, lower, x, all_channels(x, lo), 1.0F);
  }
  if (is_below) x = extreme(builder, node, x, all_channels(x, hi), -1.0F);
  x.not_negative = lo >= 0;
  return x;
}

/// max(0, min(1, alpha x + beta)): 6 times that is a ReLU6.
Imported import_hard_sigmoid(Builder& builder, const Node& node) {
  const Imported& x = builder.value(node, 0);
  const Imported scaled =
      affine(builder, part_of(node, "/scaled"), x, all_channels(x, 6.0F * node.real("alpha", 0.2F)),
             all_channels(x, 6.0F * node.real("beta", 0.5F)));
  const Imported clamped =
      elementwise(builder, part_of(node, "/clamp"), std::make_unique<ReLU6>(), scaled, true);
  return affine(builder, node, clamped, all_channels(x, 1.0F / 6.0F), all_channels(x, 0.0F));
}

/// Elu, or gamma times it: alpha (e^x - 1) below 0 is alpha times the ELU of alpha 1.
Imported import_elu(Builder& builder, const Node& node) {
  const bool is_selu = node.op == "Selu";
  const float alpha = node.real("alpha", is_selu ? 1.67326319217681884765625F : 1.0F);
  const float gamma = is_selu ? node.real("gamma", 1.05070102214813232421875F) : 1.0F;
  if (!(alpha > 0 && gamma > 0)) {
    refuse("expected alpha and gamma above 0, found {} and {}", alpha, gamma);
  }
  Imported x = builder.value(node, 0);
  const auto named = [&](bool is_last, std::string_view part) {
    return is_last ? node : part_of(node, part);
  };
  x = elementwise(builder, named(alpha == 1.0F && gamma == 1.0F, "/elu"), std::make_unique<ELU>(),
                  x, false);
  if (alpha != 1.0F) {
    x = elementwise(builder, named(gamma == 1.0F, "/alpha"), std::make_unique<LeakyReLU>(alpha), x,
                    false);
  }
  return affine(builder, node, x, all_channels(x, gamma), all_channels(x, 0.0F));
}

Imported import_negative(Builder& builder, const Node& node) {
  const Imported& x = builder.value(node, 0);
  return scaled(builder, node, x, -1.0F);
}

/// |x| = max(x, -x).
Imported absolute(Builder& builder, const Node& node, const Imported& x) {
  const Imported negative = scaled(builder, part_of(node, "/negative"), x, -1.0F);
  return of_two(builder, node, std::make_unique<Maximum>(), x, negative, true);
}

Imported import_absolute(Builder& builder, const Node& node) {
  return absolute(builder, node, builder.value(node, 0));
}

/// log(1 + e^x) = max(x, 0) - log(sigmoid(|x|)): integers hold a sigmoid from 1/2 to 1, and not an
/// e^x, which has no bound.
Imported softplus(Builder& builder, const Node& node, const Imported& x) {
  const Imported share = elementwise(builder, part_of(node, "/share"),
                                     std::make_unique<ActivationLayer>(Activation::sigmoid),
                                     absolute(builder, part_of(node, "/absolute"), x), true);
  const Imported log = function_of(builder, part_of(node, "/log"), UnaryFunction::log, share);
  const Imported above =
      elementwise(builder, part_of(node, "/above"), std::make_unique<ReLU>(), x, true);
  return of_two(builder, node, std::make_unique<Subtract>(), above, log, true);
}

Imported import_softplus(Builder& builder, const Node& node) {
  return softplus(builder, node, builder.value(node, 0));
}

/// x tanh(softplus(x)).
Imported import_mish(Builder& builder, const Node& node) {
  const Imported x = builder.value(node, 0);
  const Imported gate = elementwise(builder, part_of(node, "/gate"),
                                    std::make_unique<ActivationLayer>(Activation::tanh),
                                    softplus(builder, part_of(node, "/softplus"), x), true);
  return of_two(builder, node, std::make_unique<Multiply>(), x, gate, false);
}

/// x, x x, or the root of x.
Imported import_power(Builder& builder, const Node& node) {
  const Constant& given = builder.required_constant(node, 1);
  const Imported& x = builder.value(node, 0);
  const float exponent = given.is_float() || given.size() != 1
                             ? given.real()
                             : static_cast<float>(given.integers().front());
  if (exponent == 1.0F) return x;
  if (exponent == 0.5F) return function_of(builder, node, UnaryFunction::sqrt, x);
  if (exponent != 2.0F) refuse("expected an exponent of 0.5, 1 or 2, found {}", exponent);
  return of_two(builder, node, std::make_unique<Multiply>(), x, x, true);
}

constexpr std::array<Operator, 15> kArithmetic = {{{"Abs", import_absolute},
                                                   {"Add", import_arithmetic},
                                                   {"Clip", import_clip},
                                                   {"Div", import_arithmetic},
                                                   {"Elu", import_elu},
                                                   {"HardSigmoid", import_hard_sigmoid},
                                                   {"Max", import_extreme},
                                                   {"Min", import_extreme},
                                                   {"Mish", import_mish},
                                                   {"Mul", import_arithmetic},
                                                   {"Neg", import_negative},
                                                   {"Pow", import_power},
                                                   {"Selu", import_elu},
                                                   {"Softplus", import_softplus},
                                                   {"Sub", import_arithmetic}}};

}  // namespace

std::span<const Operator> arithmetic_operators() { return kArithmetic; }

}  // namespace octet::detail::onnx_import
