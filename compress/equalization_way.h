#pragma once

#include <octet/layers/model.h>

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace octet {

/// Where factors on the units of a layer go: to one other layer with a kernel, or why they cannot.
struct EqualizationWay {
  /// Stands for the unit of another layer.
  static constexpr std::size_t kOther = std::numeric_limits<std::size_t>::max();

  std::optional<std::size_t> second{};
  /// By channel that the second layer reads: the unit that makes it, or kOther.
  std::vector<std::size_t> units{};
  std::string why_not{};
};

/// The way from the result of layer `at`, whose channels are `count` units, over layers that scale
/// as what they read: ReLU, pools and the like, and joins of channels.
EqualizationWay equalization_way(const Model& model, std::size_t at, std::size_t count);

}  // namespace octet
