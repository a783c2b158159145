#include <fmt/format.h>
#include <octet/import/onnx/channels.h>
#include <octet/layers/dense.h>
#include <octet/layers/matmul.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace octet::detail::onnx_import {
namespace {

/// What Gemm multiplies by.
struct Factors {
  bool transposed = false;
  /// Which input of the node holds the weights.
  std::size_t weights = 1;
  float alpha = 1;
  float beta = 1;
};

/// Row i of the kernel multiplies element i of the model's vector, which ONNX may have elsewhere.
Tensor kernel_of(const Constant& weights, const Factors& by, const std::vector<Index>& order,
                 Index units) {
  const auto inputs = static_cast<Index>(order.size());
  const std::vector<float>& from = weights.floats();
  Tensor kernel({inputs, units});
  float* to = kernel.mutable_data();
  for (Index i = 0; i < inputs; ++i) {
    const Index row = order[at(i)];
    for (Index u = 0; u < units; ++u) {
      const float w = from[at(by.transposed ? u * inputs + row : row * units + u)];
      to[i * units + u] = by.alpha * w;
    }
  }
  return kernel;
}

Tensor bias_of(const Constant& bias, const Factors& by, Index units) {
  const auto size = static_cast<Index>(bias.size());
  const bool fits = size == 1 || (size == units && bias.shape.dim(-1) == units);
  if (!fits) refuse("expected a bias of {}, found {}", units, bias.shape.to_string());
  Tensor result({units});
  for (Index u = 0; u < units; ++u) {
    result.mutable_data()[u] = by.beta * bias.floats()[at(size == 1 ? 0 : u)];
  }
  return result;
}

/// The weights of a layer that reads `x`, whose last axis is its features.
Imported import_dense(Builder& builder, const Node& node, const Imported& x, const Factors& by) {
  const Constant& weights = builder.required_constant(node, by.weights);
  const Shape& shape = weights.shape;
  // Axes of one element in front of a matrix broadcast.
  const bool fits = shape.rank() >= 2 && shape.rank() <= std::max<Index>(x.logical.rank() + 1, 2) &&
                    std::all_of(shape.begin(), shape.end() - 2, [](Index n) { return n == 1; });
  if (!fits) refuse("expected weights of two axes, found {}", shape.to_string());
  const Index units = shape.dim(by.transposed ? -2 : -1);
  const Index inputs = shape.dim(by.transposed ? -1 : -2);
  const Index features = x.logical.dim(-1);
  if (inputs != features || weights.floats().empty()) {
    refuse("expected weights for {} features, found {}", features, weights.shape.to_string());
  }
  std::vector<Index> order(at(features));
  std::iota(order.begin(), order.end(), 0);
  if (x.logical.rank() == 1) order = x.order();
  Weights tensors = {{"kernel", kernel_of(weights, by, order, units)}};
  const Constant* bias = builder.constant(node, 2);
  if (bias != nullptr) tensors.emplace_back("bias", bias_of(*bias, by, units));
  auto layer =
      std::make_unique<Dense>(units, Activation::none, DenseOptions{.use_bias = bias != nullptr});
  Imported result = builder.add(node, std::move(layer), {x}, x.axes, std::move(tensors));
  result.batch = x.batch;
  return result;
}

/// The rows that Gemm reads, each of features.
Imported gemm_rows(Builder& builder, const Node& node) {
  if (node.integer("transA", 0) != 0) {
    // Vectors as columns, behind a Transpose.
    Imported x = builder.value(node, 0);
    if (x.logical.rank() != 1 || x.batch != BatchPlace{.axis = 1}) {
      refuse("expected vectors [features, batch] for transA 1, found {}",
             written(x.onnx_extents()));
    }
    x.batch = {};
    return builder.vector(node, x);
  }
  const Imported x = builder.with_batch_at(builder.value(node, 0), 0);
  if (!x.batch.joins()) return builder.vector(node, builder.input(node, 0));
  if (x.onnx_rank() != 2) {
    refuse("expected rows [.. * batch, features], found {}", written(x.onnx_extents()));
  }
  // Throws where the batch is last.
  static_cast<void>(example_axis(1, x));
  return with_last_axis_last(builder, node, x);
}

Imported import_gemm(Builder& builder, const Node& node) {
  return import_dense(builder, node, gemm_rows(builder, node),
                      {.transposed = node.integer("transB", 0) != 0,
                       .alpha = node.real("alpha", 1),
                       .beta = node.real("beta", 1)});
}

/// `x` with the axes of its matrices last in the model, as [.., n, k] or [.., k, n], and which of
/// these.
std::pair<Imported, bool> matrices(Builder& builder, const Node& node, const Imported& given) {
  const Imported x = builder.ordered(node, given);
  const Index rank = x.logical.rank();
  if (x.batch.axis != 0 || x.onnx_rank() < 3) {
    refuse("expected matrices [batch, .., n, k], found {}", written(x.onnx_extents()));
  }
  std::vector<Index> axes(at(rank));
  std::iota(axes.begin(), axes.end(), 0);
  const bool transposed = x.axes.back() == rank - 2;
  if (transposed) std::swap(axes[at(rank - 2)], axes[at(rank - 1)]);
  return {builder.arranged(node, x, axes), transposed};
}

/// A product of two values that are computed.
Imported product(Builder& builder, const Node& node) {
  const auto [a, first] = matrices(builder, node, builder.with_batch_at(builder.value(node, 0), 0));
  const auto [b, second] =
      matrices(builder, node, builder.with_batch_at(builder.value(node, 1), 0));
  if (a.batch != b.batch) {
    refuse("expected matrices of the same examples, found {} and {}", written(a.onnx_extents()),
           written(b.onnx_extents()));
  }
  std::vector<Index> axes(at(a.logical.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  auto layer =
      std::make_unique<MatMul>(MatMulOptions{.transpose_first = first, .transpose_second = second});
  Imported result = builder.add(node, std::move(layer), {a, b}, axes);
  result.batch = a.batch;
  return result;
}

/// `x` with its last two axes exchanged: another way to read it.
Imported turned(const Imported& x) {
  Imported result = x;
  const Index last = x.logical.rank() - 1;
  for (Index& axis : result.axes) axis = axis == last ? last - 1 : axis == last - 1 ? last : axis;
  result.logical =
      x.logical.with_dim(last, x.logical[last - 1]).with_dim(last - 1, x.logical[last]);
  return result;
}

/// w x = (x' w')'.
Imported product_with_left(Builder& builder, const Node& node) {
  const Imported& x = builder.input(node, 1);
  if (x.logical.rank() < 2) {
    refuse("expected matrices [batch, .., n, k] behind weights, found [batch, {}]",
           fmt::join(x.logical, ", "));
  }
  return turned(import_dense(builder, node, with_last_axis_last(builder, node, turned(x)),
                             {.transposed = true, .weights = 0}));
}

Imported import_mat_mul(Builder& builder, const Node& node) {
  if (builder.is_constant(node, 0)) return product_with_left(builder, node);
  if (!builder.is_constant(node, 1)) return product(builder, node);
  const Imported& x = builder.value(node, 0);
  // Throws where the batch is last.
  static_cast<void>(example_axis(-1, x));
  return import_dense(
      builder, node,
      x.logical.rank() == 1 ? builder.vector(node, x) : with_last_axis_last(builder, node, x), {});
}

constexpr std::array<Operator, 2> kDenseOperators = {
    {{"Gemm", import_gemm}, {"MatMul", import_mat_mul}}};

}  // namespace

std::span<const Operator> dense_operators() { return kDenseOperators; }

}  // namespace octet::detail::onnx_import
