#pragma once

#include <octet/core/autograd.h>
#include <octet/core/function_ref.h>
#include <octet/core/ops/map.h>
#include <octet/layers/program/program.h>

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace octet {

/// An operator that is computed on real values.
struct FloatCall {
  const Step& step;
  /// The shape of one example of what it gives.
  const Shape& result;
  std::span<const Tensor> x;

  /// The step's attributes, of that type.
  template <class Attributes>
  const Attributes& as() const {
    return std::get<Attributes>(step.attributes);
  }
  /// The step's layer, as errors name it.
  std::string owner() const;
};

/// What each operator computes on real values, with its gradients: one that a single layer emits in
/// that layer's file, all others in float_operators.cpp.
namespace float_forms {
#define OCTET_ROW(name, ...) Tensor name(const FloatCall& call);
#include <octet/runtime/operators.def>
}  // namespace float_forms

/// function(x), with the derivative `slope` at x.
template <class F, class Slope>
Tensor smooth(std::string_view name, Work work, const Tensor& x, F function, Slope slope) {
  const Tensor y = detail::map(work, function, x);
  return record(name, y, {x}, [x = x.detach(), work, slope](const Tensor& g) {
    return std::vector<Tensor>{detail::map(
        work, [slope](float gv, float v) { return gv * slope(v); }, g, x)};
  });
}

/// Computes the operator of a step on real values, with its gradients; `result` is the shape of one
/// example of what it gives. Throws InvalidArgument that names the layer for an operator that Graph
/// does not take down.
Tensor float_operator(const Step& step, const Shape& result, std::span<const Tensor> x);

/// The shape of one example of what `compute` gives. Throws what that throws, naming the layer and,
/// behind it, `what`.
Shape shape_given(const Layer& layer, const std::string& what, FunctionRef<Tensor()> compute);

/// The shape of what the operator gives for `inputs`, each the shape of an example or of a
/// parameter. Throws what float_operator() does for shapes that do not fit.
Shape result_shape(const Step& step, std::span<const Shape> inputs);

}  // namespace octet
