#pragma once

#include <octet/core/function_ref.h>
#include <octet/layers/program/program.h>

#include <span>
#include <string>

namespace octet {

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
