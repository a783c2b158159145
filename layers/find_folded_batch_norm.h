#pragma once

namespace octet {

class FoldedBatchNorm;
class Layer;

/// The layer, or the one that it quantizes, as a FoldedBatchNorm; null where it is none.
FoldedBatchNorm* folded_batch_norm(Layer& layer);

}  // namespace octet
