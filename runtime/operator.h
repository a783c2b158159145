#pragma once

#include <octet/core/quant/activation_range.h>
#include <octet/core/window.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace octet {

/// Every operator, with its number in .tflite files.
enum class OpCode : std::int32_t {
#define OCTET_ROW(name, number) name = (number),
#include <octet/runtime/operators.def>
};

/// Every code.
inline constexpr auto kOpCodes = std::to_array<OpCode>({
#define OCTET_ROW(name, number) OpCode::name,
#include <octet/runtime/operators.def>
});

/// "FULLY_CONNECTED", ...; "unknown operator" for a code that is none of kOpCodes.
std::string_view to_string(OpCode code);

// The attributes of each operator, which list themselves: for_each() calls visit(name, value) for
// each of them.

/// DEQUANTIZE, HARD_SWISH, LOGISTIC, PAD, PADV2, QUANTIZE, RELU, RELU6, RELU_N1_TO_1 and TANH have
/// none.
struct NoAttributes {
  template <class Visit>
  void for_each(Visit&& /*visit*/) const {}
  bool operator==(const NoAttributes&) const = default;
};

/// ADD, MUL and SUB.
struct BinaryAttributes {
  FusedActivation activation = FusedActivation::none;
  template <class Visit>
  void for_each(Visit&& visit) const {
    visit("activation", activation);
  }
  bool operator==(const BinaryAttributes&) const = default;
};

struct ConcatenationAttributes {
  /// Counted from the back where negative.
  std::int32_t axis = 0;
  FusedActivation activation = FusedActivation::none;
  template <class Visit>
  void for_each(Visit&& visit) const {
    visit("axis", axis);
    visit("activation", activation);
  }
  bool operator==(const ConcatenationAttributes&) const = default;
};

struct Conv2DAttributes {
  Padding padding = Padding::valid;
  std::int32_t stride_h = 1;
  std::int32_t stride_w = 1;
  std::int32_t dilation_h = 1;
  std::int32_t dilation_w = 1;
  FusedActivation activation = FusedActivation::none;
  template <class Visit>
  void for_each(Visit&& visit) const {
    visit("padding", padding);
    visit("stride_h", stride_h);
    visit("stride_w", stride_w);
    visit("dilation_h", dilation_h);
    visit("dilation_w", dilation_w);
    visit("activation", activation);
  }
  bool operator==(const Conv2DAttributes&) const = default;
};

struct DepthwiseConv2DAttributes {
  Padding padding = Padding::valid;
  std::int32_t stride_h = 1;
  std::int32_t stride_w = 1;
  std::int32_t dilation_h = 1;
  std::int32_t dilation_w = 1;
  /// Outputs of each channel.
  std::int32_t depth_multiplier = 1;
  FusedActivation activation = FusedActivation::none;
  template <class Visit>
  void for_each(Visit&& visit) const {
    visit("padding", padding);
    visit("stride_h", stride_h);
    visit("stride_w", stride_w);
    visit("dilation_h", dilation_h);
    visit("dilation_w", dilation_w);
    visit("depth_multiplier", depth_multiplier);
    visit("activation", activation);
  }
  bool operator==(const DepthwiseConv2DAttributes&) const = default;
};

struct FullyConnectedAttributes {
  FusedActivation activation = FusedActivation::none;
  bool keep_num_dims = false;
  template <class Visit>
  void for_each(Visit&& visit) const {
    visit("activation", activation);
    visit("keep_num_dims", keep_num_dims);
  }
  bool operator==(const FullyConnectedAttributes&) const = default;
};

struct LeakyReluAttributes {
  /// The slope below 0.
  float alpha = 0.0F;
  template <class Visit>
  void for_each(Visit&& visit) const {
    visit("alpha", alpha);
  }
  bool operator==(const LeakyReluAttributes&) const = default;
};

/// Its second operand, a constant, are the axes.
struct MeanAttributes {
  /// Whether an axis that is gone stays with an extent of 1.
  bool keep_dims = false;
  template <class Visit>
  void for_each(Visit&& visit) const {
    visit("keep_dims", keep_dims);
  }
  bool operator==(const MeanAttributes&) const = default;
};

/// AVERAGE_POOL_2D and MAX_POOL_2D.
struct PoolAttributes {
  Padding padding = Padding::valid;
  std::int32_t stride_h = 1;
  std::int32_t stride_w = 1;
  std::int32_t filter_h = 1;
  std::int32_t filter_w = 1;
  FusedActivation activation = FusedActivation::none;
  template <class Visit>
  void for_each(Visit&& visit) const {
    visit("padding", padding);
    visit("stride_h", stride_h);
    visit("stride_w", stride_w);
    visit("filter_h", filter_h);
    visit("filter_w", filter_w);
    visit("activation", activation);
  }
  bool operator==(const PoolAttributes&) const = default;
};

struct ReshapeAttributes {
  /// The shape, where it is no second input; empty: the output's shape.
  std::vector<std::int32_t> new_shape{};
  template <class Visit>
  void for_each(Visit&& visit) const {
    visit("new_shape", new_shape);
  }
  bool operator==(const ReshapeAttributes&) const = default;
};

struct ResizeNearestNeighborAttributes {
  /// Whether the corners of both images lie on each other, rather than their edges.
  bool align_corners = false;
  /// Whether a pixel is taken from where its centre lies, rather than its corner.
  bool half_pixel_centers = false;
  template <class Visit>
  void for_each(Visit&& visit) const {
    visit("align_corners", align_corners);
    visit("half_pixel_centers", half_pixel_centers);
  }
  bool operator==(const ResizeNearestNeighborAttributes&) const = default;
};

struct SoftmaxAttributes {
  float beta = 1.0F;
  template <class Visit>
  void for_each(Visit&& visit) const {
    visit("beta", beta);
  }
  bool operator==(const SoftmaxAttributes&) const = default;
};

struct SqueezeAttributes {
  /// The axes that go, whose extent is 1, counted from the back where negative; empty: all of that
  /// extent.
  std::vector<std::int32_t> squeeze_dims{};
  template <class Visit>
  void for_each(Visit&& visit) const {
    visit("squeeze_dims", squeeze_dims);
  }
  bool operator==(const SqueezeAttributes&) const = default;
};

/// Its operands are the image, the weights, the bias (-1 for none) and the output's shape.
struct TransposeConvAttributes {
  Padding padding = Padding::valid;
  std::int32_t stride_h = 1;
  std::int32_t stride_w = 1;
  FusedActivation activation = FusedActivation::none;
  template <class Visit>
  void for_each(Visit&& visit) const {
    visit("padding", padding);
    visit("stride_h", stride_h);
    visit("stride_w", stride_w);
    visit("activation", activation);
  }
  bool operator==(const TransposeConvAttributes&) const = default;
};

/// What an operator has beside its operands, by its code.
using OperatorAttributes =
    std::variant<NoAttributes, BinaryAttributes, ConcatenationAttributes, Conv2DAttributes,
                 DepthwiseConv2DAttributes, FullyConnectedAttributes, LeakyReluAttributes,
                 MeanAttributes, PoolAttributes, ReshapeAttributes, ResizeNearestNeighborAttributes,
                 SoftmaxAttributes, SqueezeAttributes, TransposeConvAttributes>;

/// The default attributes of an operator. Throws FormatError for an unknown code.
OperatorAttributes default_attributes(OpCode code);

/// One operator: reads `inputs`, writes `outputs` (indices of tensors; -1 for an absent input).
struct Operator {
  OpCode code = OpCode::fully_connected;
  /// The version that the file said; files are written with the lowest that suffices.
  int version = 1;
  std::vector<std::int32_t> inputs;
  std::vector<std::int32_t> outputs;
  /// Of the struct that belongs to `code`: see default_attributes().
  OperatorAttributes attributes{};

  /// The attributes as those of one code: op.as<SoftmaxAttributes>().beta. Throws FormatError that
  /// names the operator where they are of another.
  template <class Attributes>
  const Attributes& as() const {
    if (const auto* mine = std::get_if<Attributes>(&attributes)) return *mine;
    fail_attributes();
  }
  template <class Attributes>
  Attributes& as() {
    if (auto* mine = std::get_if<Attributes>(&attributes)) return *mine;
    fail_attributes();
  }

  /// The activation that is fused into the operator; none where it can have none.
  FusedActivation activation() const;

 private:
  [[noreturn]] void fail_attributes() const;
};

}  // namespace octet
