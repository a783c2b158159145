#pragma once

#include <octet/deploy/c/row_schedule.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace octet::detail {

/// How an operator's function makes rows of its output.
struct CRowwise {
  /// The rows of an input that a row of the output reads.
  WindowAxis axis;
  /// Whether it has to be told which rows are there: it then has the parameters `band_height` and
  /// `band_top` in front of `band_rows`, as RowCall has them.
  bool slides = false;
};

/// Operators of a model that run by rows, one behind the other.
struct CRowChain {
  /// By operator of the schedule, and by image: that of the model.
  std::vector<std::size_t> model_operators;
  std::vector<std::int32_t> tensors;

  std::vector<RowImage> images;
  std::vector<RowOperator> operators;
  RowSchedule schedule;

  bool contains(std::size_t model_operator) const {
    return model_operator >= model_operators.front() && model_operator <= model_operators.back();
  }
  /// The images that no operator of it makes.
  std::vector<std::size_t> whole_inputs() const;
};

}  // namespace octet::detail
