#pragma once

#include <octet/core/kernels/min_max.h>
#include <octet/train/optimizer.h>

namespace octet::detail {

/// An Optimizer::update() that measures what it writes in its own pass.
class MeasuredUpdate {
 public:
  virtual ~MeasuredUpdate() = default;

  /// Does what update() does and returns min_max(part.parameter) of the new elements.
  virtual MinMax run(const ParameterPart& part) const = 0;
};

}  // namespace octet::detail
