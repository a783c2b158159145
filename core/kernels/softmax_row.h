#pragma once

#include <octet/core/shape.h>

#include <cmath>

namespace octet::detail {

/// What a row of logits is normalised by: its largest element, and the sum of e^(x - largest).
struct RowNorm {
  float largest;
  double sum;

  double log_softmax(float x) const {
    return static_cast<double>(x) - static_cast<double>(largest) - std::log(sum);
  }
};

/// The largest of at least one element. Any other where there is a NaN: e^NaN makes the sum NaN.
inline float row_max(const float* x, Index count) {
  float largest = x[0];
  for (Index j = 1; j < count; ++j) largest = x[j] > largest ? x[j] : largest;
  return largest;
}

inline RowNorm row_norm(const float* x, Index count) {
  RowNorm norm{row_max(x, count), 0.0};
  for (Index j = 0; j < count; ++j) norm.sum += static_cast<double>(std::exp(x[j] - norm.largest));
  return norm;
}

/// softmax of beta x for one row into `out`, which may be x. Returns the norm of beta x, with the
/// largest element of x. Of training and of the interpreter.
inline RowNorm softmax_row(const float* x, Index count, float* out, float beta = 1.0F) {
  RowNorm norm{row_max(x, count), 0.0};
  for (Index j = 0; j < count; ++j) {
    out[j] = std::exp(beta * (x[j] - norm.largest));
    norm.sum += static_cast<double>(out[j]);
  }
  const auto scale = static_cast<float>(1.0 / norm.sum);
  for (Index j = 0; j < count; ++j) out[j] *= scale;
  return norm;
}

}  // namespace octet::detail
