#pragma once

#include <octet/runtime/integer_model.h>

#include <cstdint>
#include <string>
#include <vector>

namespace octet {

/// What prune_constant_units() took from an operator with weights.
struct PrunedUnits {
  /// The operator's output.
  std::string layer;
  /// Units before.
  std::int64_t units = 0;
  /// Units that went because what becomes of them is one integer, whatever the inputs are.
  std::int64_t constant = 0;
  /// Units that went because no weight other than 0 reads them.
  std::int64_t unread = 0;
};

/// Removes units of FULLY_CONNECTED, CONV_2D and DEPTHWISE_CONV_2D that no output depends on, in
/// rounding_of(model), which the model's metadata then name: outputs keep every byte for every
/// input. Ranges of all values follow from those of the inputs' types by interval arithmetic. Where
/// one integer q is left of what a FULLY_CONNECTED or a CONV_2D of one group reads, w (q - zero
/// point) joins the bias, and units and weights go; where that operator pads, q has to be the zero
/// point. A unit goes with its channel in all operators between, and stays where one of them cannot
/// lose it (an output of the model, a SPLIT, a CONV_2D of several groups), as do the last unit of
/// an operator and what is read with weights that several operators share. Returns the operators
/// that lost units, in their order. A model without such units, or with more than 2^22 channels in
/// all of its tensors, stays as it is. Throws FormatError where an Interpreter would.
std::vector<PrunedUnits> prune_constant_units(IntegerModel& model);

}  // namespace octet
