#pragma once

#include <octet/core/tensor.h>

namespace octet {

// A NaN element gives a NaN result in all of these, so that it is seen downstream.

/// max(x, 0). The gradient at 0 is 0.
Tensor relu(const Tensor& x);
/// min(max(x, 0), 6). The gradient is 0 at both ends and outside.
Tensor relu6(const Tensor& x);
/// 1 / (1 + e^-x), computed without overflow.
Tensor sigmoid(const Tensor& x);
/// (e^x - e^-x) / (e^x + e^-x).
Tensor tanh(const Tensor& x);

/// e^(beta (x - m)) / sum(e^(beta (x - m))) over the last axis, m its largest element: no finite x
/// overflows where beta is above 0. A row that holds NaN or +inf, or nothing but -inf, comes out as
/// NaN. A scalar throws InvalidArgument.
Tensor softmax(const Tensor& x, float beta = 1.0F);
/// x - m - log(sum(e^(x - m))) over the last axis: the logarithm of softmax, without its underflow.
/// NaN and errors as in softmax.
Tensor log_softmax(const Tensor& x);

}  // namespace octet
