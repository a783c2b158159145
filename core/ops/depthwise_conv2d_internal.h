#pragma once

#include <octet/core/conv2d_geometry.h>
#include <octet/core/ops/depthwise_conv2d.h>
#include <octet/core/ops/gradients_internal.h>

namespace octet {

/// The geometry with as many groups as channels: the kernel [kh, kw, c, multiplier] is that of
/// conv2d(), [kh, kw, 1, c * multiplier], in another shape. Throws what depthwise_conv2d(x, kernel,
/// options) throws.
Conv2DGeometry depthwise_conv2d_geometry(const Tensor& x, const Tensor& kernel,
                                         const DepthwiseConv2DOptions& options);

/// depthwise_conv2d() with a bias [c * multiplier], from which the sums start; undefined for none.
Tensor depthwise_conv2d(const Tensor& x, const Tensor& kernel, const Tensor& bias,
                        const DepthwiseConv2DOptions& options);

// The gradients of depthwise_conv2d() from that of its result, for ops that compute the result
// differently, with the kernel in either shape; its gradient is [kh, kw, 1, c * multiplier]. All
// compute outside the tape.

Tensor depthwise_conv2d_input_gradient(const Conv2DGeometry& geometry, const Tensor& kernel,
                                       const Tensor& g);
Tensor depthwise_conv2d_kernel_gradient(const Conv2DGeometry& geometry, const Tensor& x,
                                        const Tensor& g);

/// Computes the gradients that are wanted from a gradient g that may be lazy: where there are
/// enough images, g is read an image at a time, and is never in memory as a whole.
ConvGradients depthwise_conv2d_gradients(const Conv2DGeometry& geometry, const Tensor& x,
                                         const Tensor& kernel, const Tensor& g,
                                         const WantedGradients& wanted);

}  // namespace octet
