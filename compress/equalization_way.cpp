#include <fmt/core.h>
#include <octet/compress/equalization_way.h>
#include <octet/layers/activation.h>
#include <octet/layers/activation_function.h>
#include <octet/layers/concatenate.h>
#include <octet/layers/dropout.h>
#include <octet/layers/global_pool2d.h>
#include <octet/layers/leaky_relu.h>
#include <octet/layers/pool2d.h>
#include <octet/layers/reshape.h>
#include <octet/layers/resizing.h>
#include <octet/layers/slice.h>
#include <octet/layers/upsampling2d.h>
#include <octet/layers/zero_padding2d.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

namespace octet {
namespace {

template <class... Layers>
bool is_one_of(const Layer& layer) {
  return ((dynamic_cast<const Layers*>(&layer) != nullptr) || ...);
}

/// Whether a factor above 0 on a channel of what the layer reads is one on that channel of its
/// result.
bool scales_alike(const Layer& layer) {
  if (is_activation(layer)) {
    return layer.activation() == Activation::none || layer.activation() == Activation::relu;
  }
  return is_one_of<LeakyReLU, Dropout, Pool2D, GlobalAveragePool2D, GlobalMaxPool2D, Reshape,
                   ZeroPadding2D, UpSampling2D, Resizing, Slice>(layer);
}

std::string named(const Layer& layer) {
  return fmt::format("\"{}\" ({})", layer.name(), layer.type());
}

/// The units that make the channels of a join of the last axis, of which input `from` has `units`.
std::vector<std::size_t> joined_units(const Model& model, std::size_t join, std::size_t from,
                                      std::span<const std::size_t> units) {
  std::vector<std::size_t> joined;
  for (const std::size_t input : model.inputs_of(join)) {
    const auto channels = static_cast<std::size_t>(model.layers()[input]->output_shape().dim(-1));
    if (input == from) {
      joined.insert(joined.end(), units.begin(), units.end());
    } else {
      joined.insert(joined.end(), channels, EqualizationWay::kOther);
    }
  }
  return joined;
}

/// The units that make the channels of a result of this shape, if the values in front of it were
/// made by `units`, over and over again; none where its channels are not theirs.
std::vector<std::size_t> reshaped_units(const Shape& shape, std::span<const std::size_t> units) {
  const auto channels = shape.rank() == 0 ? 0 : static_cast<std::size_t>(shape.dim(-1));
  const std::size_t least = std::min(channels, units.size());
  if (least == 0 || std::max(channels, units.size()) % least != 0) return {};
  for (std::size_t c = 0; c < units.size(); ++c) {
    if (units[c] != units[c % least]) return {};
  }
  std::vector<std::size_t> result(channels);
  for (std::size_t c = 0; c < channels; ++c) result[c] = units[c % units.size()];
  return result;
}

bool joins_channels(const Layer& join) {
  const Shape& shape = join.output_shape();
  return shape.normalize_axis(dynamic_cast<const Concatenate&>(join).axis()) == shape.rank() - 1;
}

}  // namespace

EqualizationWay equalization_way(const Model& model, std::size_t at, std::size_t count) {
  std::vector<std::size_t> units(count);
  std::iota(units.begin(), units.end(), std::size_t{0});
  for (;;) {
    const std::size_t from = at;
    const Layer& layer = *model.layers()[from];
    const std::vector<std::size_t> readers = model.readers(from);
    if (model.is_output(from)) {
      return {.why_not = fmt::format("{} gives an output of the model", named(layer))};
    }
    if (readers.size() != 1) {
      return {.why_not = fmt::format("{} layers read {}", readers.size(), named(layer))};
    }
    at = readers.front();
    const Layer& next = *model.layers()[at];
    if (model.used_layer(at) != at || model.is_reused(at)) {
      return {.why_not = fmt::format("{} behind it is used several times", named(next))};
    }
    if (next.weights()) return {.second = at, .units = std::move(units)};
    if (is_one_of<Concatenate>(next)) {
      if (!joins_channels(next)) {
        return {.why_not = fmt::format("{} joins it with others along another axis than channels",
                                       named(next))};
      }
      units = joined_units(model, at, from, units);
      continue;
    }
    if (!scales_alike(next)) {
      return {.why_not = fmt::format("{} behind it does not scale as what it reads", named(next))};
    }
    const bool cuts =
        is_one_of<Slice>(next) && next.output_shape().dim(-1) != next.input_shape().dim(-1);
    units = reshaped_units(next.output_shape(), units);
    if (cuts || units.empty()) {
      return {.why_not = fmt::format("{} tears its channels apart", named(next))};
    }
  }
}

}  // namespace octet
