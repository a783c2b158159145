#pragma once

#include <octet/runtime/integer_model.h>

#include <string_view>

namespace octet::detail {

/// The lowest version of the operator's definition that covers its types and options: what a file
/// has to ask for, and what loads in the most runtimes.
int required_version(const IntegerModel& model, const Operator& op);

/// The highest version of an operator that Octet understands.
int highest_version(OpCode code);

/// The first release of TensorFlow Lite with this version of the operator, as a sortable number:
/// 1.14.0 is 11400, 2.3.0 is 20300.
int first_release(OpCode code, int version);

}  // namespace octet::detail
