#pragma once

#include <octet/core/conv2d_geometry.h>
#include <octet/core/ops/conv2d.h>
#include <octet/core/ops/gradients_internal.h>

namespace octet {

/// Throws what conv2d(x, kernel, options) throws.
Conv2DGeometry conv2d_geometry(const Tensor& x, const Tensor& kernel, const Conv2DOptions& options);

// Parts of conv2d(), outside the tape: its result, but for a group for each of several channels,
// and its gradients from that of its result.

Tensor conv2d_result(const Conv2DGeometry& geometry, const Tensor& x, const Tensor& kernel);
Tensor conv2d_input_gradient(const Conv2DGeometry& geometry, const Tensor& kernel, const Tensor& g);
Tensor conv2d_kernel_gradient(const Conv2DGeometry& geometry, const Tensor& x, const Tensor& g);

/// Computes the gradients that are wanted from a gradient g that may be lazy: where an output reads
/// one pixel, g is read once, and is never in memory as a whole.
ConvGradients conv2d_gradients(const Conv2DGeometry& geometry, const Tensor& x,
                               const Tensor& kernel, const Tensor& g,
                               const WantedGradients& wanted);

/// window_gradient() for rows that are pixels of lines of `pixels` each. Bias gradients of few
/// units are summed line by line.
SumsGradient window_gradient_of_lines(const Tensor& y, const Tensor& g, Index pixels,
                                      const GradientWindow& window, const Tensor& to);
/// Computes the bias gradient of window_gradient_of_lines() alone, where all of g passes: the sums
/// of g over all pixels.
Tensor column_sums_of_lines(const Tensor& g, Index pixels);

}  // namespace octet
