#pragma once

#include <octet/core/function_ref.h>
#include <octet/train/evaluate.h>

#include <cstddef>
#include <vector>

// What evaluate(), measure() and Trainer have in common.

namespace octet::detail {

/// Rows that are scored at a time.
inline constexpr std::size_t kRowsPerPass = 1000;
inline constexpr Index kInterpreterBatch = kRowsPerPass;

/// Throws InvalidArgument, which names the function, for a data set without examples.
void check_not_empty(const char* function, const Dataset& data);
/// Throws InvalidArgument where the data set is for another number of outputs.
void check_outputs(const char* function, const Dataset& data, std::size_t outputs);
/// Throws InvalidArgument where there are several.
void check_one_output(const char* function, std::size_t outputs, const char* instead);

/// Calls add(begin, end) for the pieces of rows that are this rank's, in ascending order.
void each_own_piece(const Dataset& data, const ProcessGroup& group,
                    FunctionRef<void(std::size_t begin, std::size_t end)> add);

/// The integer engine's outputs as real values.
std::vector<Tensor> real_outputs(Interpreter& interpreter, const Batch& batch);

}  // namespace octet::detail
