#include <octet/deploy/channel_sets.h>
#include <octet/deploy/constant_units.h>
#include <octet/runtime/operators/fully_connected.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <numeric>
#include <utility>

namespace octet {
namespace {

using detail::Operands;
using detail::UnitSums;

/// Files of a few bytes may have shapes of any size.
constexpr std::int64_t kMostChannels = std::int64_t{1} << 22;

/// The extents of the last axes of all tensors.
std::int64_t channels_of(const IntegerModel& model) {
  std::int64_t channels = 0;
  for (const ModelTensor& tensor : model.tensors) {
    if (!tensor.shape.empty()) channels += tensor.shape.back();
  }
  return channels;
}

/// Leaves the elements at `kept` of an axis.
void slice(ModelTensor& tensor, std::size_t axis, const std::vector<std::size_t>& kept) {
  const auto extent = static_cast<std::size_t>(tensor.shape[axis]);
  const std::size_t inner = std::accumulate(
      tensor.shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, tensor.shape.end(),
      size_of(tensor.dtype),
      [](std::size_t a, std::int32_t b) { return a * static_cast<std::size_t>(b); });
  std::vector<std::uint8_t> data;
  for (std::size_t row = 0; row < tensor.data.size(); row += extent * inner) {
    for (const std::size_t i : kept) {
      const auto from = tensor.data.begin() + static_cast<std::ptrdiff_t>(row + i * inner);
      data.insert(data.end(), from, from + static_cast<std::ptrdiff_t>(inner));
    }
  }
  tensor.data = std::move(data);
  tensor.shape[axis] = static_cast<std::int32_t>(kept.size());
  if (!tensor.shape_signature.empty()) tensor.shape_signature[axis] = tensor.shape[axis];
  QuantParams& q = tensor.quantization;
  if (!q.per_channel() || static_cast<std::size_t>(q.quantized_dimension) != axis) return;
  QuantParams all = std::exchange(q, QuantParams{{}, {}, q.quantized_dimension, q.qmin, q.qmax});
  for (const std::size_t i : kept) {
    q.scales.push_back(all.scales[i]);
    q.zero_points.push_back(all.zero_points[i]);
  }
}

/// Removes the channels of one model that no output depends on.
class UnitPruner {
 public:
  UnitPruner(IntegerModel& model, Rounding rounding)
      : model_(model),
        ranges_(detail::value_ranges(model, rounding)),
        sets_(detail::find_channels(model, ranges_)) {}

  /// Adds what goes to `pruned`, by operator; whether anything does.
  bool run(std::map<std::size_t, PrunedUnits>& pruned) {
    const bool any = std::ranges::any_of(model_.operators,
                                         [&](const Operator& op) { return loses(op.outputs[0]); });
    add_to(pruned);
    if (any) remove();
    return any;
  }

 private:
  ModelTensor& tensor(std::int32_t i) { return model_.tensors[static_cast<std::size_t>(i)]; }
  bool loses(std::int32_t i) { return sets_.kept(i).size() < sets_.channels(i); }

  void add_to(std::map<std::size_t, PrunedUnits>& pruned) {
    for (std::size_t i = 0; i < model_.operators.size(); ++i) {
      const Operator& op = model_.operators[i];
      const std::int32_t y = op.outputs[0];
      if (!detail::prunable_sums(model_, op) || !loses(y)) continue;
      const auto units = static_cast<std::int64_t>(sets_.channels(y));
      PrunedUnits& of = pruned.try_emplace(i, PrunedUnits{tensor(y).name, units}).first->second;
      for (std::size_t unit = 0; unit < sets_.channels(y); ++unit) {
        if (!sets_.stays(y, unit)) ++(sets_.is_constant(y, unit) ? of.constant : of.unread);
      }
    }
  }

  // ---- Removal

  void remove() {
    for (Operator& op : model_.operators) {
      if (const auto sums = detail::prunable_sums(model_, op)) {
        shrink_sums(op, *sums);
      } else if (op.code == OpCode::reshape && loses(op.outputs[0])) {
        shrink_target(op);
      }
    }
    for (std::int32_t i = 0; i < std::ssize(ranges_); ++i) {
      if (loses(i)) slice(tensor(i), tensor(i).shape.size() - 1, sets_.kept(i));
    }
  }

  void shrink_sums(Operator& op, const UnitSums& sums) {
    const std::int32_t x = op.inputs[0];
    const std::int32_t y = op.outputs[0];
    const std::int32_t w = op.inputs[1];
    if (!sums.units_last && loses(x)) {
      add_constants(op, sums);
      const std::size_t axis = tensor(w).shape.size() - 1;
      const auto depth = static_cast<std::size_t>(tensor(w).shape.back());
      std::vector<std::size_t> kept;
      for (std::size_t first = 0; first < depth; first += sets_.channels(x)) {
        for (const std::size_t i : sets_.kept(x)) kept.push_back(first + i);
      }
      slice(tensor(w), axis, kept);
    }
    if (!loses(y)) return;
    slice(tensor(w), sums.units_last ? 3 : 0, sets_.kept(y));
    if (Operands(model_, op).has_input(2)) slice(own(op, 2), 0, sets_.kept(y));
  }

  /// Adds to the biases what channels of one integer give.
  void add_constants(Operator& op, const UnitSums& sums) {
    const Operands operands(model_, op);
    const std::vector<std::int64_t> before = detail::wide_bias(operands, sums.geometry.filters);
    std::vector<std::int64_t> bias = before;
    const ModelTensor& weights = operands.input(1);
    const std::int32_t x = op.inputs[0];
    for (std::size_t channel = 0; channel < sets_.channels(x); ++channel) {
      if (sets_.stays(x, channel)) continue;
      const std::int64_t steps = ranges_[static_cast<std::size_t>(x)][channel].lo -
                                 std::int64_t{operands.input().quantization.zero_point()};
      for (Index unit = 0; unit < sums.geometry.filters; ++unit) {
        for (Index tap = 0; tap < sums.geometry.window.taps(); ++tap) {
          const auto at = sums.at(unit, tap, static_cast<Index>(channel));
          bias[static_cast<std::size_t>(unit)] += steps * detail::centred_weight(weights, at);
        }
      }
    }
    if (bias != before) set_bias(op, bias);
  }

  /// Values fit the type: the bound of the sums has not grown.
  void set_bias(Operator& op, const std::vector<std::int64_t>& values) {
    if (!Operands(model_, op).has_input(2)) {
      op.inputs.resize(3);
      op.inputs[2] = static_cast<std::int32_t>(model_.tensors.size());
      const auto units = static_cast<std::int32_t>(values.size());
      model_.tensors.push_back(
          {tensor(op.outputs[0]).name + "/bias", DType::int32, {units}, {}, {}, {}});
    }
    ModelTensor& bias = own(op, 2);
    // One of zeros may have had any scale.
    if (std::ranges::count(bias.data, 0) == std::ssize(bias.data)) {
      bias.quantization =
          detail::bias_quantization(tensor(op.inputs[0]), tensor(op.inputs[1]), bias.dtype);
    }
    // Little-endian: the lower bytes come first.
    bias.data.clear();
    for (const std::int64_t value : values) {
      std::array<std::uint8_t, sizeof value> bytes;
      std::memcpy(bytes.data(), &value, sizeof value);
      bias.data.insert(bias.data.end(), bytes.begin(), bytes.begin() + size_of(bias.dtype));
    }
  }

  /// Writes the last extent that a RESHAPE asks for.
  void shrink_target(Operator& op) {
    const auto last = static_cast<std::int32_t>(sets_.kept(op.outputs[0]).size());
    auto& wanted = op.as<ReshapeAttributes>().new_shape;
    if (!wanted.empty() && wanted.back() != -1) wanted.back() = last;
    if (!Operands(model_, op).has_input(1)) return;
    auto target = detail::values_of<std::int32_t>(tensor(op.inputs[1]));
    if (target.back() == -1) return;
    target.back() = last;
    std::memcpy(own(op, 1).data.data(), target.data(), target.size() * sizeof(std::int32_t));
  }

  /// Makes operand `i`, a constant, one that nothing else reads.
  ModelTensor& own(Operator& op, std::size_t i) {
    if (detail::readers_of(model_, op.inputs[i]) > 1) {
      ModelTensor copy = tensor(op.inputs[i]);
      copy.name += "/" + tensor(op.outputs[0]).name;
      op.inputs[i] = static_cast<std::int32_t>(model_.tensors.size());
      model_.tensors.push_back(std::move(copy));
    }
    return tensor(op.inputs[i]);
  }

  IntegerModel& model_;
  std::vector<std::vector<ActivationRange>> ranges_;
  detail::ChannelSets sets_;
};

}  // namespace

std::vector<PrunedUnits> prune_constant_units(IntegerModel& model) {
  model.validate();
  const Rounding rounding = rounding_of(model);
  for (std::size_t i = 0; i < model.operators.size(); ++i) {
    // Refuses factors and sums that are out of bounds.
    detail::make_kernel(model, i, rounding);
  }
  if (channels_of(model) > kMostChannels) return {};
  std::map<std::size_t, PrunedUnits> pruned;
  while (UnitPruner(model, rounding).run(pruned)) {
  }
  std::vector<PrunedUnits> result;
  result.reserve(pruned.size());
  for (auto& [i, units] : pruned) result.push_back(std::move(units));
  if (!result.empty()) model.metadata[kRoundingKey] = to_string(rounding);
  return result;
}

}  // namespace octet
