#pragma once

#include <octet/core/tensor.h>

namespace octet {

/// How a kernel starts. With fan_in inputs and fan_out outputs a unit:
/// glorot_uniform: uniform in +-sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio, AISTATS 2010);
/// he_normal: normal of deviation sqrt(2 / fan_in); he_uniform: uniform in +-sqrt(6 / fan_in)
/// (He et al., ICCV 2015); orthogonal: as a matrix [all other axes, last axis], rows, or columns
/// where there are fewer, are orthogonal and of length 1 (Saxe et al., ICLR 2014); zeros.
enum class Initializer { glorot_uniform, he_normal, he_uniform, orthogonal, zeros };

Tensor initialize(Initializer initializer, const Shape& shape, Index fan_in, Index fan_out,
                  const Random& random);

}  // namespace octet
