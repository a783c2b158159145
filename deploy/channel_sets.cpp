#include <octet/deploy/channel_sets.h>
#include <octet/runtime/operators/concatenation.h>
#include <octet/runtime/operators/convolution_padding.h>
#include <octet/runtime/operators/definitions.h>

#include <algorithm>
#include <map>
#include <utility>

namespace octet::detail {
namespace {

class ChannelFinder {
 public:
  ChannelFinder(const IntegerModel& model, const std::vector<std::vector<ActivationRange>>& ranges)
      : model_(model), ranges_(ranges), sets_(model), least_(model.tensors.size(), 1) {}

  ChannelSets run() {
    tie_channels();
    choose();
    return std::move(sets_);
  }

 private:
  const ModelTensor& tensor(std::int32_t i) const {
    return model_.tensors[static_cast<std::size_t>(i)];
  }
  std::size_t& least(std::int32_t i) { return least_[static_cast<std::size_t>(i)]; }

  // ---- Which channels go together, and which stay

  void tie_channels() {
    for (const std::int32_t i : model_.inputs) sets_.keep(i);
    for (const std::int32_t i : model_.outputs) sets_.keep(i);
    for (std::size_t i = 0; i < model_.tensors.size(); ++i) {
      const ModelTensor& tensor = model_.tensors[i];
      // A batch is no axis of channels.
      const bool is_batch = !tensor.is_constant() &&
                            (tensor.shape.size() < 2 || (!tensor.shape_signature.empty() &&
                                                         tensor.shape_signature.back() == -1));
      if (ranges_[i].empty() || is_batch) sets_.keep(static_cast<std::int32_t>(i));
    }
    for (const Operator& op : model_.operators) tie_channels(op);
  }

  void tie_channels(const Operator& op) {
    const std::int32_t x = op.inputs[0];
    const std::int32_t y = op.outputs[0];
    if (definition(op.code).is_elementwise()) {
      for (const std::int32_t i : op.inputs) tie_each(i, y);
      return;
    }
    switch (op.code) {
      case OpCode::fully_connected:
      case OpCode::conv_2d:
      case OpCode::depthwise_conv_2d:
        return tie_sums(op);
      case OpCode::squeeze:
        // One that names no axes would squeeze an axis of one channel.
        if (op.as<SqueezeAttributes>().squeeze_dims.empty()) least(x) = least(y) = 2;
        return tie_reshaped(x, y);
      case OpCode::reshape:
        return tie_reshaped(x, y);
      case OpCode::concatenation:
        return tie_joined(op);
      case OpCode::pad:
        return sets_.channels(x) == sets_.channels(y) ? tie_each(x, y) : keep_all(op);
      case OpCode::average_pool_2d:
      case OpCode::max_pool_2d:
      case OpCode::mean:
      case OpCode::resize_bilinear:
      case OpCode::resize_nearest_neighbor:
        return tie_each(x, y);
      default:
        // Right for any operator, which then loses no channel.
        return keep_all(op);
    }
  }

  void keep_all(const Operator& op) {
    for (const std::int32_t i : op.inputs) {
      if (i != -1) sets_.keep(i);
    }
    for (const std::int32_t i : op.outputs) sets_.keep(i);
  }

  /// An operand of one channel is repeated along those of the output.
  void tie_each(std::int32_t x, std::int32_t y) {
    if (sets_.channels(x) != sets_.channels(y)) return sets_.keep(x);
    for (std::size_t i = 0; i < sets_.channels(y); ++i) sets_.tie(x, i, y, i);
  }

  void tie_reshaped(std::int32_t x, std::int32_t y) {
    const std::size_t from = sets_.channels(x);
    const std::size_t to = sets_.channels(y);
    if (from % to != 0 && to % from != 0) {
      sets_.keep(x);
      return sets_.keep(y);
    }
    for (std::size_t i = 0; i < std::max(from, to); ++i) sets_.tie(x, i % from, y, i % to);
  }

  void tie_joined(const Operator& op) {
    const Operands operands(model_, op);
    const bool along = concatenation_axis(operands) + 1 == operands.output().shape.size();
    std::size_t first = 0;
    for (const std::int32_t x : op.inputs) {
      for (std::size_t i = 0; i < sets_.channels(x); ++i) sets_.tie(x, i, op.outputs[0], first + i);
      if (along) first += sets_.channels(x);
    }
  }

  void tie_sums(const Operator& op) {
    const auto sums = prunable_sums(model_, op);
    if (!sums) return keep_all(op);
    const std::int32_t x = op.inputs[0];
    const std::int32_t y = op.outputs[0];
    for (std::size_t i = 1; i < op.inputs.size(); ++i) {
      if (op.inputs[i] != -1) sets_.keep(op.inputs[i]);
    }
    // With one scale, FULLY_CONNECTED computes its factor otherwise.
    if (tensor(op.inputs[1]).quantization.per_channel()) least(y) = 2;
    if (sums->units_last) {
      for (std::size_t unit = 0; unit < sets_.channels(y); ++unit) {
        sets_.tie(x, static_cast<std::size_t>(sums->first(static_cast<Index>(unit))), y, unit);
      }
    } else if (static_cast<std::size_t>(sums->geometry.channels) != sets_.channels(x)) {
      sets_.keep(x);
    } else {
      for (std::size_t i = 0; i < sets_.channels(x); ++i) judge(op, *sums, i);
    }
  }

  /// Keeps a channel of the input that has a part in the sums other than a constant.
  void judge(const Operator& op, const UnitSums& sums, std::size_t channel) {
    if (is_unread(op, sums, channel)) return;
    const std::int32_t x = op.inputs[0];
    const ActivationRange& values = ranges_[static_cast<std::size_t>(x)][channel];
    const bool is_zero = values.lo == tensor(x).quantization.zero_point();
    if (values.lo == values.hi && (is_zero || pads_nothing(sums.geometry.window))) {
      sets_.mark_constant(x, channel);
    } else {
      sets_.keep_set(sets_.set_of(x, channel));
    }
  }

  bool is_unread(const Operator& op, const UnitSums& sums, std::size_t channel) {
    for (Index unit = 0; unit < sums.geometry.filters; ++unit) {
      for (Index tap = 0; tap < sums.geometry.window.taps(); ++tap) {
        const auto at = sums.at(unit, tap, static_cast<Index>(channel));
        if (centred_weight(tensor(op.inputs[1]), at) != 0) return false;
      }
    }
    return true;
  }

  // ---- What goes

  /// How many channels of each tensor a set holds.
  using Counts = std::map<std::int32_t, std::size_t>;

  /// Keeps sets without which a tensor would have too few channels.
  void choose() {
    std::map<std::size_t, Counts> sets;
    Counts left;
    for (std::int32_t i = 0; i < std::ssize(model_.tensors); ++i) {
      left[i] = sets_.channels(i);
      for (std::size_t channel = 0; channel < sets_.channels(i); ++channel) {
        if (!sets_.stays(i, channel)) ++sets[sets_.set_of(i, channel)][i];
      }
    }
    for (const auto& [set, counts] : sets) {
      const auto fits = [&](const auto& count) {
        return left[count.first] >= count.second + least(count.first);
      };
      if (std::ranges::all_of(counts, fits)) {
        for (const auto& [i, count] : counts) left[i] -= count;
      } else {
        sets_.keep_set(set);
      }
    }
    const auto keeps = [&](const Operator& op) { return keep_multiple(op, sets); };
    while (std::ranges::any_of(model_.operators, keeps)) {
    }
  }

  /// Keeps sets so that a FULLY_CONNECTED of packed weights loses a multiple of 4 of its inputs, by
  /// whose number contract_of_weights() decides; whether there was need to.
  bool keep_multiple(const Operator& op, const std::map<std::size_t, Counts>& sets) {
    if (op.code != OpCode::fully_connected || tensor(op.inputs[1]).stored_bits == 8) return false;
    const std::int32_t x = op.inputs[0];
    const auto depth = static_cast<std::size_t>(tensor(op.inputs[1]).shape[1]);
    bool any = false;
    for (const auto& [set, counts] : sets) {
      const std::size_t lost = sets_.channels(x) - sets_.kept(x).size();
      if (lost * (depth / sets_.channels(x)) % 4 == 0) break;
      if (!counts.contains(x) || sets_.is_kept(set)) continue;
      sets_.keep_set(set);
      any = true;
    }
    return any;
  }

  const IntegerModel& model_;
  const std::vector<std::vector<ActivationRange>>& ranges_;
  ChannelSets sets_;
  /// The fewest channels of each tensor.
  std::vector<std::size_t> least_;
};

}  // namespace

std::optional<UnitSums> prunable_sums(const IntegerModel& model, const Operator& op) {
  const Operands operands(model, op);
  auto sums = unit_sums(operands);
  if (!sums || readers_of(model, op.inputs[1]) > 1) return std::nullopt;
  const bool grouped = sums->geometry.groups > 1 && !sums->units_last;
  const bool odd_bias = operands.has_input(2) && operands.input(2).shape.size() != 1;
  return grouped || odd_bias ? std::nullopt : sums;
}

ChannelSets find_channels(const IntegerModel& model,
                          const std::vector<std::vector<ActivationRange>>& ranges) {
  return ChannelFinder(model, ranges).run();
}

}  // namespace octet::detail
