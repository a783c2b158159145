#pragma once

#include <octet/core/function_ref.h>
#include <octet/runtime/integer_model.h>

#include <cstdint>

namespace octet::detail {

/// Removes the tensors that `is_dropped`, which nothing reads, and numbers the others anew. Numbers
/// outside of the tensors stay outside: IntegerModel::validate() refuses them.
void drop_tensors(IntegerModel& model, FunctionRef<bool(std::int32_t tensor)> is_dropped);

}  // namespace octet::detail
