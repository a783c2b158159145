#pragma once

#include <octet/layers/model.h>

#include <span>
#include <string_view>

namespace octet::detail {

/// Throws InvalidArgument, naming `operation`, unless every input has an example to take ranges or
/// statistics from.
void require_samples(std::string_view operation, const Model& model,
                     std::span<const Tensor> inputs);

/// calibrate() without a warning: for one of several batches, or one of many models.
void show_samples(Model& model, std::span<const Tensor> inputs);

}  // namespace octet::detail
