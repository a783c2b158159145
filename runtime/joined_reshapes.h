#pragma once

#include <octet/runtime/integer_model.h>

#include <cstdint>
#include <vector>

namespace octet {

/// Makes RESHAPEs in a row one, and none where the last gives the shape that the first one reads:
/// what the others write goes, where nothing else reads it. All other operators compute what they
/// did. Takes a model that validate() takes. Returns, by tensor of the model as it was, the tensor
/// that has its values from now on; -1 for the target shapes of RESHAPEs that have gone. A model
/// without such rows, whose RESHAPEs are all read, stays as it is.
std::vector<std::int32_t> join_reshapes(IntegerModel& model);

}  // namespace octet
