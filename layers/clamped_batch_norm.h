#pragma once

#include <octet/core/quant/activation_range.h>
#include <octet/layers/batch_norm.h>

namespace octet {

/// What `layer` makes of x and a clamp behind it, in one pass and with the same bits; undefined
/// where the layer does not train on the batch. Throws InvalidArgument for a batch without
/// examples.
Tensor clamped_batch_norm(BatchNorm& layer, const Tensor& x, const ForwardContext& context,
                          FusedActivation clamp);

}  // namespace octet
