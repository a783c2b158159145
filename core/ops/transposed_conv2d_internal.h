#pragma once

#include <octet/core/conv2d_geometry.h>
#include <octet/core/ops/transposed_conv2d.h>

namespace octet {

/// The convolution that leads from the result of transposed_conv2d() back to the extents of its
/// images: input_shape() is that of the result, output_shape() that of x, kernel_shape() that of
/// the kernel. Throws what transposed_conv2d(x, kernel, options) throws for a kernel of this shape.
Conv2DGeometry transposed_conv2d_geometry(const Tensor& x, const Shape& kernel,
                                          const TransposedConv2DOptions& options);

// The gradients of transposed_conv2d() from that of its result, for ops that compute the result
// differently. Both compute outside the tape.

Tensor transposed_conv2d_input_gradient(const Conv2DGeometry& geometry, const Tensor& kernel,
                                        const Tensor& g);
Tensor transposed_conv2d_kernel_gradient(const Conv2DGeometry& geometry, const Tensor& x,
                                         const Tensor& g);

}  // namespace octet
