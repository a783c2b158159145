#pragma once

#include <octet/layers/model.h>

#include <span>

namespace octet::detail {

/// calibrate() without a warning: for one of several batches, or one of many models.
void show_samples(Model& model, std::span<const Tensor> inputs);

}  // namespace octet::detail
