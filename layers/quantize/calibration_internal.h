#pragma once

#include <octet/layers/model.h>

namespace octet::detail {

/// calibrate() without a warning: for one of several batches, or one of many models.
void show_samples(Model& model, const Tensor& samples);

}  // namespace octet::detail
