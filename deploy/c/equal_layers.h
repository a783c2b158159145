#pragma once

#include <octet/deploy/c/plan.h>

#include <vector>

namespace octet::detail {

/// Lets layers with equal constants, or equal functions, have those of the first one: the steps of
/// a recurrent layer, or a layer that a network uses twice.
void share_equal_layers(CPlan& plan, std::vector<CLayer>& layers);

}  // namespace octet::detail
