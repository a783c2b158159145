#pragma once

#include <octet/core/quant/activation_range.h>
#include <octet/core/window.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

namespace octet {

/// Every operator, with its number in .tflite files.
enum class OpCode : std::int32_t {
#define OCTET_ROW(name, number, ...) name = (number),
#include <octet/runtime/operators.def>
};

/// Every code.
inline constexpr auto kOpCodes = std::to_array<OpCode>({
#define OCTET_ROW(name, ...) OpCode::name,
#include <octet/runtime/operators.def>
});

/// "FULLY_CONNECTED", ...; "unknown operator" for a code that is none of kOpCodes.
std::string_view to_string(OpCode code);

/// Lists the fields of a struct of attributes, in the order in which they are shown: what
/// describes, reads and writes attributes follows from this list.
#define OCTET_FIELDS(...)                                   \
  static constexpr std::string_view kFields = #__VA_ARGS__; \
  auto fields() { return std::tie(__VA_ARGS__); }           \
  auto fields() const { return std::tie(__VA_ARGS__); }

/// Attributes of an operator that has none, as DEQUANTIZE, ELU, MAXIMUM, PAD, RELU or TRANSPOSE.
struct NoAttributes {
  OCTET_FIELDS()  // NOLINT(readability-redundant-string-init): the list is empty
  bool operator==(const NoAttributes&) const = default;
};

struct BatchMatmulAttributes {
  /// Whether the last two axes of the first operand are exchanged, and those of the second.
  bool adj_x = false;
  bool adj_y = false;
  OCTET_FIELDS(adj_x, adj_y)
  bool operator==(const BatchMatmulAttributes&) const = default;
};

/// ADD, MUL and SUB.
struct BinaryAttributes {
  FusedActivation activation = FusedActivation::none;
  OCTET_FIELDS(activation)
  bool operator==(const BinaryAttributes&) const = default;
};

struct ConcatenationAttributes {
  /// Counted from the back where negative.
  std::int32_t axis = 0;
  FusedActivation activation = FusedActivation::none;
  OCTET_FIELDS(axis, activation)
  bool operator==(const ConcatenationAttributes&) const = default;
};

struct Conv2DAttributes {
  Padding padding = Padding::valid;
  std::int32_t stride_h = 1;
  std::int32_t stride_w = 1;
  std::int32_t dilation_h = 1;
  std::int32_t dilation_w = 1;
  FusedActivation activation = FusedActivation::none;
  OCTET_FIELDS(padding, stride_h, stride_w, dilation_h, dilation_w, activation)
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
  OCTET_FIELDS(padding, stride_h, stride_w, dilation_h, dilation_w, depth_multiplier, activation)
  bool operator==(const DepthwiseConv2DAttributes&) const = default;
};

/// Attributes of TFLite_Detection_PostProcess, an end of detectors that runs in floats. Its
/// operands are the encodings (y, x, h, w) of boxes, [1, boxes, 4 or more], the scores of their
/// classes, [1, boxes, num_classes], the background's in front where there is one more, and
/// constant anchors (y, x, h, w), [boxes, 4]. With e an encoding and a its anchor, a box lies from
/// center - half to center + half:
///
///     center = e.y / y_scale a.h + a.y, e.x / x_scale a.w + a.x
///     half   = exp(e.h / h_scale) a.h / 2, exp(e.w / w_scale) a.w / 2
///
/// A box whose intersection with a better one, over their union, is above nms_iou_threshold is
/// left out. The results are boxes (ymin, xmin, ymax, xmax), classes, scores and their number, the
/// best first, with zeros behind them. Of equal scores the lower class comes first, then the lower
/// box.
struct DetectionAttributes {
  std::int32_t max_detections = 10;
  /// Classes of each box that are put out.
  std::int32_t max_classes_per_detection = 1;
  /// Boxes of each class at most; with use_regular_nms.
  std::int32_t detections_per_class = 100;
  /// Whether boxes are compared with those of their class alone. Else the best class of each box
  /// counts.
  bool use_regular_nms = false;
  /// The lowest score of a detection.
  float nms_score_threshold = 0.0F;
  float nms_iou_threshold = 0.6F;
  /// Classes without the background.
  std::int32_t num_classes = 1;
  float y_scale = 10.0F;
  float x_scale = 10.0F;
  float h_scale = 5.0F;
  float w_scale = 5.0F;
  OCTET_FIELDS(max_detections, max_classes_per_detection, detections_per_class, use_regular_nms,
               nms_score_threshold, nms_iou_threshold, num_classes, y_scale, x_scale, h_scale,
               w_scale)
  bool operator==(const DetectionAttributes&) const = default;
};

struct FullyConnectedAttributes {
  FusedActivation activation = FusedActivation::none;
  /// Whether the result has all axes of the input but the last; else it has two.
  bool keep_num_dims = false;
  OCTET_FIELDS(activation, keep_num_dims)
  bool operator==(const FullyConnectedAttributes&) const = default;
};

/// Attributes of GATHER, whose operands are indices of int32 and a constant table of rows.
struct GatherAttributes {
  /// The axis of the table along which the indices go, and leading axes that both operands share.
  std::int32_t axis = 0;
  std::int32_t batch_dims = 0;
  OCTET_FIELDS(axis, batch_dims)
  bool operator==(const GatherAttributes&) const = default;
};

struct GeluAttributes {
  /// Whether the normal distribution function is approximated by a tanh.
  bool approximate = false;
  OCTET_FIELDS(approximate)
  bool operator==(const GeluAttributes&) const = default;
};

struct LeakyReluAttributes {
  /// The slope below 0.
  float alpha = 0.0F;
  OCTET_FIELDS(alpha)
  bool operator==(const LeakyReluAttributes&) const = default;
};

/// Attributes of MEAN, whose second operand, a constant, holds the axes.
struct MeanAttributes {
  /// Whether an axis that is gone stays with an extent of 1.
  bool keep_dims = false;
  OCTET_FIELDS(keep_dims)
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
  OCTET_FIELDS(padding, stride_h, stride_w, filter_h, filter_w, activation)
  bool operator==(const PoolAttributes&) const = default;
};

struct ReshapeAttributes {
  /// The shape, where it is no second input; empty: the output's shape.
  std::vector<std::int32_t> new_shape{};
  OCTET_FIELDS(new_shape)
  bool operator==(const ReshapeAttributes&) const = default;
};

/// RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR.
struct ResizeAttributes {
  /// Whether the corners of both images lie on each other, rather than their edges.
  bool align_corners = false;
  /// Whether a pixel is taken from where its centre lies, rather than its corner.
  bool half_pixel_centers = false;
  OCTET_FIELDS(align_corners, half_pixel_centers)
  bool operator==(const ResizeAttributes&) const = default;
};

/// Attributes of UNIDIRECTIONAL_SEQUENCE_LSTM, whose operands are the sequences, four weights of
/// these, four of the hidden state and four biases, each for the gates input, forget, cell, output,
/// and the states, hidden and cell, before the first step. Its outputs are the hidden states of all
/// steps, and both states behind the last.
struct SequenceLstmAttributes {
  /// The largest magnitude of the cell state, as a real number; 0: no bound.
  float cell_clip = 0.0F;
  /// Whether the first axis of sequences is time and the second the batch.
  bool time_major = false;
  OCTET_FIELDS(cell_clip, time_major)
  bool operator==(const SequenceLstmAttributes&) const = default;
};

struct SoftmaxAttributes {
  float beta = 1.0F;
  OCTET_FIELDS(beta)
  bool operator==(const SoftmaxAttributes&) const = default;
};

/// Attributes of SPLIT, whose second operand, a constant, is the axis.
struct SplitAttributes {
  /// The number of equal parts, each an output.
  std::int32_t num_splits = 1;
  OCTET_FIELDS(num_splits)
  bool operator==(const SplitAttributes&) const = default;
};

struct SqueezeAttributes {
  /// The axes that go, whose extent is 1, counted from the back where negative; empty: all of that
  /// extent.
  std::vector<std::int32_t> squeeze_dims{};
  OCTET_FIELDS(squeeze_dims)
  bool operator==(const SqueezeAttributes&) const = default;
};

/// Attributes of STRIDED_SLICE, whose operands are the tensor and, as constants, where a slice of
/// each axis begins, where it ends and its step, counted from the back where negative.
struct StridedSliceAttributes {
  /// Bit i: the slice of axis i begins at the first element, whatever the operand says.
  std::int32_t begin_mask = 0;
  /// Bit i: the slice of axis i ends behind the last element, whatever the operand says.
  std::int32_t end_mask = 0;
  /// Bit i: axis i is dropped, and the element at its begin is taken.
  std::int32_t shrink_axis_mask = 0;
  OCTET_FIELDS(begin_mask, end_mask, shrink_axis_mask)
  bool operator==(const StridedSliceAttributes&) const = default;
};

/// Attributes of SVDF, one step of time, whose operands are the features [batch, features], the
/// weights of each filter over these and over the last steps, [filters, features] and [filters,
/// memory], the state [batch, filters memory] and a bias for each unit. Its outputs are the units
/// and the state behind the step:
///
///     state[f] = last memory - 1 of state[f], then sum over i of x[i] features[f, i]
///     y[u] = bias[u] + sum over the filters f of unit u and m of state[f, m] time[f, m]
///
/// Filters u rank .. u rank + rank - 1 are those of unit u.
struct SvdfAttributes {
  std::int32_t rank = 1;
  /// Applied to real values; no runtime applies RELU to integers, nor takes another.
  FusedActivation activation = FusedActivation::none;
  OCTET_FIELDS(rank, activation)
  bool operator==(const SvdfAttributes&) const = default;
};

/// Attributes of TRANSPOSE_CONV, whose operands are the image, the weights, the bias (-1 for none)
/// and the output's shape.
struct TransposeConvAttributes {
  Padding padding = Padding::valid;
  std::int32_t stride_h = 1;
  std::int32_t stride_w = 1;
  FusedActivation activation = FusedActivation::none;
  OCTET_FIELDS(padding, stride_h, stride_w, activation)
  bool operator==(const TransposeConvAttributes&) const = default;
};

#undef OCTET_FIELDS

/// The names of the fields of attributes, in the order of Attributes::fields().
template <class Attributes>
inline constexpr auto kFieldNames = [] {
  std::array<std::string_view, std::tuple_size_v<decltype(Attributes{}.fields())>> names{};
  std::string_view rest = Attributes::kFields;
  for (std::string_view& name : names) {
    name = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), name.size() + std::string_view(", ").size()));
  }
  return names;
}();

/// Calls visit(name, value) for each field of attributes.
template <class Attributes, class Visit>
void for_each_field(const Attributes& attributes, Visit&& visit) {
  std::apply(
      [&](const auto&... field) {
        auto name = kFieldNames<Attributes>.begin();
        (visit(*name++, field), ...);
      },
      attributes.fields());
}

/// What an operator has beside its operands, by its code.
using OperatorAttributes =
    std::variant<NoAttributes, BatchMatmulAttributes, BinaryAttributes, ConcatenationAttributes,
                 Conv2DAttributes, DepthwiseConv2DAttributes, DetectionAttributes,
                 FullyConnectedAttributes, GatherAttributes, GeluAttributes, LeakyReluAttributes,
                 MeanAttributes, PoolAttributes, ReshapeAttributes, ResizeAttributes,
                 SequenceLstmAttributes, SoftmaxAttributes, SplitAttributes, SqueezeAttributes,
                 StridedSliceAttributes, SvdfAttributes, TransposeConvAttributes>;

/// The default attributes of an operator. Throws FormatError for an unknown code.
OperatorAttributes default_attributes(OpCode code);

/// One operator: reads `inputs`, writes `outputs` (indices of tensors; -1 for an absent input).
struct Operator {
  OpCode code = OpCode::fully_connected;
  /// The version that the file said; files are written with the lowest that suffices.
  int version = 1;
  std::vector<std::int32_t> inputs;
  std::vector<std::int32_t> outputs;
  /// A value of the struct that belongs to `code`: see default_attributes().
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
