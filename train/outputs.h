#pragma once

#include <octet/core/tensor.h>
#include <octet/runtime/interpreter.h>
#include <octet/train/data/dataset.h>
#include <octet/train/distributed/process_group.h>

#include <vector>

namespace octet {

/// Runs a model on all examples; returns a tensor [n, ...] of real values for each output.
/// With a group, all of whose ranks call the function, each runs some of the examples. Throws
/// InvalidArgument for an empty data set and for examples of another size.
std::vector<Tensor> outputs_on(Interpreter& interpreter, const Dataset& data,
                               ProcessGroup* group = nullptr);

}  // namespace octet
