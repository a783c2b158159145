#pragma once

#include <octet/train/loss.h>

#include <cstdint>
#include <span>
#include <vector>

namespace octet {

/// The weight n / (classes count) of each class, of which `count` of the n labels are: each class
/// then weighs as much as any other, and all examples together as before. A class without examples
/// has weight 0. Throws InvalidArgument for no labels and for labels outside [0, classes).
std::vector<float> balanced_class_weights(std::span<const std::int32_t> labels, int classes);

/// The mean over the rows of -weight[label] log softmax(logits)[label]. Throws InvalidArgument for
/// weights that are negative or not finite, and for fewer than two; the loss throws it for outputs
/// of another number of classes.
Loss class_weighted_cross_entropy(std::vector<float> weights);

}  // namespace octet
