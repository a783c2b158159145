#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

class Model;

/// Parameters that an optimizer treats in another way than the rest.
struct ParameterGroup {
  /// Whether a parameter belongs to the group, by its name, e.g. "dense/kernel". See in_layers().
  std::function<bool(std::string_view name)> contains;
  /// Multiplies the learning rate.
  float rate_factor = 1.0F;
  /// Replaces the optimizer's own weight decay.
  std::optional<float> weight_decay{};
  /// Whether the group may be left without parameters, as earlier groups have them all.
  bool may_be_empty = false;
};

/// Contains the parameters of these layers, e.g. "dense/kernel" and "dense/bias" of "dense".
std::function<bool(std::string_view name)> in_layers(std::vector<std::string> layers);

/// Contains the parameters of these layers of `model`, which may be parts of others: the kernel and
/// the bias of "dense" in a model of quantize_model(), without what its quantizers learn. Throws
/// InvalidArgument for a layer that the model does not have.
std::function<bool(std::string_view name)> in_layers(const Model& model,
                                                     const std::vector<std::string>& layers);

/// What the quantizers of a model learn, e.g. "quant_dense/kernel_step" of an LsqQuantizer: without
/// weight decay, and at a rate that is `rate_factor` times the optimizer's. Trainer adds this group
/// by itself, see TrainerOptions::learned_scale_rate.
ParameterGroup learned_scales(const Model& model, float rate_factor = 0.1F);

namespace detail {

/// The group of each parameter: the first that contains it, groups.size() where none does. Throws
/// InvalidArgument for a group that is left empty.
std::vector<std::size_t> group_of_each(std::span<const ParameterGroup> groups,
                                       const std::vector<std::string>& parameters);

}  // namespace detail

}  // namespace octet
