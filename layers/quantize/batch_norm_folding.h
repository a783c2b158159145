#pragma once

#include <octet/core/function_ref.h>
#include <octet/layers/folded_batch_norm.h>
#include <octet/layers/model.h>

namespace octet {

/// A copy of a built model whose every BatchNorm is a FoldedBatchNorm of this mode, with the layer
/// in front where it can be: that layer has a kernel and no activation, nothing else reads it, and
/// `is_quantized` says the same of both; the BatchNorm is quantized in no way of its own. Elsewhere
/// it is folded into a ChannelIdentity. Throws InvalidArgument that names the layer for examples
/// that such a one does not take.
Model with_folded_batch_norm(const Model& model, BatchNormMode mode,
                             FunctionRef<bool(const Layer&)> is_quantized);

}  // namespace octet
