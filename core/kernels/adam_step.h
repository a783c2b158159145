#pragma once

namespace octet {

/// One step of Adam or AdamW: w -= shrink * w + rate * m / (sqrt(v) * spread + epsilon), where
/// m and v are the running means of the slope g + coupled * w and of its square; subnormal means
/// become 0. A slope below least_slope in magnitude counts as 0 in v, a mean below least_mean as 0
/// in w: below these bounds the products would be subnormal. If coupled and shrink are 0, an
/// infinite weight stays infinite; otherwise it becomes NaN.
struct AdamStep {
  float beta1;
  float beta2;
  float coupled;
  float shrink;
  float rate;
  float spread;
  float epsilon;
  float least_slope = 0.0F;
  float least_mean = 0.0F;
};

}  // namespace octet
