#pragma once

#include <octet/core/conv2d_geometry.h>
#include <octet/core/quant/activation_range.h>
#include <octet/runtime/kernel.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace octet::detail {

/// The sums of an integer FULLY_CONNECTED, CONV_2D or DEPTHWISE_CONV_2D as those of a convolution:
/// unit u adds up bias[u] and (x[c] - input zero point) (w - weight zero point) over the taps
/// inside the image and the channels c of its group, where w is weight number at(u, tap, c -
/// first(u)). FULLY_CONNECTED has a tap for each time that the last axis of its input fits into a
/// row.
struct UnitSums {
  Conv2DGeometry geometry;
  /// Whether weights are [taps, units], not [units, taps, channels of a group].
  bool units_last = false;

  std::size_t at(Index unit, Index tap, Index channel) const {
    const Index taps = geometry.window.taps();
    return static_cast<std::size_t>(
        units_last ? tap * geometry.filters + unit
                   : (unit * taps + tap) * geometry.channels_per_group() + channel);
  }
  /// The first channel that a unit reads.
  Index first(Index unit) const {
    return unit / geometry.filters_per_group() * geometry.channels_per_group();
  }
};

/// Returns the sums of a valid operator; none of another operator and of floats.
std::optional<UnitSums> unit_sums(const Operands& operands);

/// Weight number `i` less the zero point.
std::int32_t centred_weight(const ModelTensor& weights, std::size_t i);

/// One number per unit: a bias of int32 or int64, or zeros where there is none.
std::vector<std::int64_t> wide_bias(const Operands& operands, Index units);

/// Returns, by tensor of a valid model and by index of the tensor's last axis (one for a tensor
/// without axes), quantized values between which all elements lie, whatever the model's inputs are.
/// Empty for tensors that are not int8, uint8 or int16. Sums, and what is monotone in each of its
/// operands, have the exact range that follows from those of their operands; results of
/// BATCH_MATMUL, SOFTMAX, SPLIT, STRIDED_SLICE, TRANSPOSE and TRANSPOSE_CONV have the range of
/// their type.
std::vector<std::vector<ActivationRange>> value_ranges(const IntegerModel& model,
                                                       Rounding rounding);

}  // namespace octet::detail
