#pragma once

#include <octet/core/tensor.h>

namespace octet {

// Operands of two-sided ops broadcast as in numpy: shapes are aligned at the last axis, and an
// extent of 1 is repeated. Shapes that do not fit throw InvalidArgument. A float operand is a
// constant. Arithmetic is IEEE float32: a NaN operand gives a NaN result, in every op here.

/// a + b.
Tensor add(const Tensor& a, const Tensor& b);
/// a - b.
Tensor sub(const Tensor& a, const Tensor& b);
/// a b.
Tensor mul(const Tensor& a, const Tensor& b);
/// a / b.
Tensor div(const Tensor& a, const Tensor& b);
/// The larger of a and b. Where they are equal, each gets half of the gradient, as in PyTorch.
Tensor maximum(const Tensor& a, const Tensor& b);
/// The smaller of a and b. Where they are equal, each gets half of the gradient, as in PyTorch.
Tensor minimum(const Tensor& a, const Tensor& b);
/// max(x, 0) + alpha min(x, 0). The gradient at 0 is that below it.
Tensor prelu(const Tensor& x, const Tensor& alpha);

/// -x.
Tensor neg(const Tensor& x);
/// e^x.
Tensor exp(const Tensor& x);
/// The natural logarithm; NaN below 0, -inf at 0.
Tensor log(const Tensor& x);
/// The square root; NaN below 0. The gradient at 0 is infinite.
Tensor sqrt(const Tensor& x);
/// 1 / sqrt(x); NaN below 0. Infinite at 0, as its gradient is.
Tensor rsqrt(const Tensor& x);
/// x^2.
Tensor square(const Tensor& x);
/// |x|. The gradient at 0 is 0.
Tensor abs(const Tensor& x);
/// min(max(x, lo), hi). The gradient passes where lo <= x <= hi, ends included, and is 0 elsewhere
/// (also where x is NaN, which the result keeps). Throws InvalidArgument unless lo <= hi.
Tensor clamp(const Tensor& x, float lo, float hi);

inline Tensor add(const Tensor& a, float b) { return add(a, Tensor::scalar(b)); }
inline Tensor sub(const Tensor& a, float b) { return sub(a, Tensor::scalar(b)); }
inline Tensor sub(float a, const Tensor& b) { return sub(Tensor::scalar(a), b); }
inline Tensor mul(const Tensor& a, float b) { return mul(a, Tensor::scalar(b)); }
inline Tensor div(const Tensor& a, float b) { return div(a, Tensor::scalar(b)); }
inline Tensor div(float a, const Tensor& b) { return div(Tensor::scalar(a), b); }
inline Tensor maximum(const Tensor& a, float b) { return maximum(a, Tensor::scalar(b)); }
inline Tensor minimum(const Tensor& a, float b) { return minimum(a, Tensor::scalar(b)); }

inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator+(const Tensor& a, float b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, float b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, float b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, float b) { return div(a, b); }
inline Tensor operator+(float a, const Tensor& b) { return add(b, a); }
inline Tensor operator-(float a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(float a, const Tensor& b) { return mul(b, a); }
inline Tensor operator/(float a, const Tensor& b) { return div(a, b); }
inline Tensor operator-(const Tensor& x) { return neg(x); }

}  // namespace octet
