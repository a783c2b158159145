#pragma once

#include <octet/deploy/value_ranges.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

namespace octet::detail {

/// The indices of every tensor's last axis, its channels, in sets of which all or none can go.
class ChannelSets {
 public:
  explicit ChannelSets(const IntegerModel& model) : begins_{0} {
    for (const ModelTensor& tensor : model.tensors) {
      const std::int32_t channels = tensor.shape.empty() ? 1 : tensor.shape.back();
      begins_.push_back(begins_.back() + static_cast<std::size_t>(channels));
    }
    parents_.resize(begins_.back());
    std::iota(parents_.begin(), parents_.end(), std::size_t{0});
    stays_.resize(begins_.back());
    is_constant_.resize(begins_.back());
  }

  std::size_t channels(std::int32_t tensor) const {
    const auto i = static_cast<std::size_t>(tensor);
    return begins_[i + 1] - begins_[i];
  }
  std::size_t set_of(std::int32_t tensor, std::size_t channel) {
    std::size_t i = begins_[static_cast<std::size_t>(tensor)] + channel;
    while (parents_[i] != i) i = parents_[i] = parents_[parents_[i]];
    return i;
  }

  void tie(std::int32_t a, std::size_t i, std::int32_t b, std::size_t j) {
    const std::size_t first = set_of(a, i);
    const std::size_t second = set_of(b, j);
    parents_[second] = first;
    if (stays_[second]) stays_[first] = true;
    if (is_constant_[second]) is_constant_[first] = true;
  }
  void keep_set(std::size_t set) { stays_[set] = true; }
  void keep(std::int32_t tensor) {
    for (std::size_t i = 0; i < channels(tensor); ++i) keep_set(set_of(tensor, i));
  }
  bool is_kept(std::size_t set) const { return stays_[set]; }
  bool stays(std::int32_t tensor, std::size_t i) { return stays_[set_of(tensor, i)]; }
  /// The channels of a tensor that stay.
  std::vector<std::size_t> kept(std::int32_t tensor) {
    std::vector<std::size_t> result;
    for (std::size_t i = 0; i < channels(tensor); ++i) {
      if (stays(tensor, i)) result.push_back(i);
    }
    return result;
  }

  /// Marks a channel that an operator reads as one integer.
  void mark_constant(std::int32_t tensor, std::size_t i) { is_constant_[set_of(tensor, i)] = true; }
  bool is_constant(std::int32_t tensor, std::size_t i) { return is_constant_[set_of(tensor, i)]; }

 private:
  std::vector<std::size_t> begins_;
  std::vector<std::size_t> parents_;
  std::vector<bool> stays_;
  std::vector<bool> is_constant_;
};

/// Returns the sums of an operator that units can be taken from: one whose weights nothing else
/// reads, with one group or one for each channel, and with one axis of biases; none of another.
std::optional<UnitSums> prunable_sums(const IntegerModel& model, const Operator& op);

/// Returns the channels of a valid model, those that no output depends on as sets that go. What
/// FULLY_CONNECTED or CONV_2D reads goes where only one integer or weights of 0 are read, all else
/// with the channels that it makes or is made of. `ranges` are those of value_ranges().
ChannelSets find_channels(const IntegerModel& model,
                          const std::vector<std::vector<ActivationRange>>& ranges);

}  // namespace octet::detail
