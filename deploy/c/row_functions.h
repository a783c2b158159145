#pragma once

#include <octet/deploy/c/plan.h>

#include <string>
#include <vector>

namespace octet::detail {

/// The chains of up to 24 operators on images whose values are read within the chain alone, but for
/// the last one's. `needed` says by tensor whether an output of the model is made of it.
std::vector<CRowChain> row_chains(const CPlan& plan, const std::vector<bool>& needed);

/// The function that runs the plan's chain, and one that moves rows; empty where there is none.
std::string c_row_functions(const CPlan& plan);
/// The call of it.
std::string c_row_call(const CPlan& plan);

}  // namespace octet::detail
