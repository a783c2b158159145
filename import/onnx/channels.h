#pragma once

#include <octet/import/onnx/builder.h>
#include <octet/layers/math_function.h>

// Layers that work on each element, and constants with a value for each channel.

namespace octet::detail::onnx_import {

/// Adds a layer that computes each element by itself: its result lies as `x` does.
Imported elementwise(Builder& builder, const Node& node, std::unique_ptr<Layer> layer,
                     const Imported& x, bool not_negative, Weights weights = {});

/// Adds a layer that computes each element from those of `a` and `b`, which lie alike.
Imported of_two(Builder& builder, const Node& node, std::unique_ptr<Layer> layer, const Imported& a,
                const Imported& b, bool not_negative);

/// Adds exp, log or sqrt of each element.
Imported function_of(Builder& builder, const Node& node, UnaryFunction function, const Imported& x);

/// `x` with that axis last, where the model has its channels, along which a constant varies that
/// broadcasts to `x`. Throws InvalidArgument for a constant that varies along several axes, or that
/// repeats `x`.
Imported with_channels(Builder& builder, const Node& node, const Imported& x,
                       const Constant& constant);

/// `x` with an axis of ONNX last in the model.
Imported with_axis_last(Builder& builder, const Node& node, const Imported& x, Index axis);
/// `x` with its last axis last in the model, as layers read the features of a vector or of rows.
Imported with_last_axis_last(Builder& builder, const Node& node, const Imported& x);

/// x gamma + beta, one of each for each channel of the model, as a layer; `x` itself where gamma is
/// 1 and beta 0.
Imported affine(Builder& builder, const Node& node, const Imported& x, Tensor gamma, Tensor beta);
/// `x` times one number.
Imported scaled(Builder& builder, const Node& node, const Imported& x, float by);

/// A node of its own for a part of `node`.
Node part_of(const Node& node, std::string_view part);

/// Adds a constant of the shape of `x` itself, which is a sequence, to each example.
Imported with_positions(Builder& builder, const Node& node, const Imported& x,
                        const Constant& constant);

/// The values of a constant of one value, or of one for each channel of `x`, as the channels of
/// `x` lie.
Tensor channels_of(const Constant& constant, const Imported& x);

}  // namespace octet::detail::onnx_import
