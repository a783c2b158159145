#pragma once

#include <octet/tests/runtime/detection_models.h>
#include <octet/tests/runtime/lookup_models.h>
#include <octet/tests/runtime/lstm_models.h>
#include <octet/tests/runtime/operator_fault.h>
#include <octet/tests/runtime/svdf_models.h>

#include <bit>
#include <cmath>

// What operators of sequences and of detectors, and those on integers without scales, refuse.

namespace octet::test::faults {

// ---- Integers without scales

inline FaultyOperator cast() {
  return {"Cast",
          cast_model(DType::int32, DType::float32),
          {{dtype(0, DType::int64), "are not supported"},
           {dtype(1, DType::int32), "are not supported"},
           {shape(1, {1, 2}), "differ"}}};
}

inline FaultyOperator gather() {
  return {"Gather",
          gather_model(DType::int8, quant(0.1F, 3)),
          {{dtype(0, DType::int64), "expected indices of int32, found 'indices' of int64"},
           {operand(1, 0), "expected a constant table of one axis or more, found 'indices'"},
           {attribute(&GatherAttributes::axis, 1), "axis 0 and batch_dims 0, found 1 and 0"},
           {attribute(&GatherAttributes::batch_dims, 1), "found 0 and 1"},
           {uint8(2), "are not supported"},
           {zero_point(2, 4), "expected one scale and zero point of table 'table' and its output"},
           {shape(2, {1, 3, 3}), "expected output shape [1, 3, 2], found [1, 3, 3]"}}};
}

inline FaultyOperator arg_max() {
  return {"ArgMax",
          arg_max_model({}),
          {{number(1, 0, 3), "axis 3 outside of rank 3"},
           {number(1, 0, -4), "axis -4 outside of rank 3"},
           {number(1, 0, 0), "expected output shape [3, 4], found [2, 4]"},
           {operand(1, 0),
            "expected the axis as an int32 constant, found 'x' of int8, shape [2, 3, 4]"},
           {dtype(0, DType::int16), "types (int16, int32) -> int32 are not supported"},
           {uint8(0), "types (uint8, int32) -> int32 are not supported"},
           {dtype(2, DType::int64), "types (int8, int32) -> int64 are not supported"},
           {[](IntegerModel& m) { m.tensors[0].quantization = {}; },
            "expected one scale for its input 'x', found 0"},
           {signature(0, {2, -1, 4}), "axis 1 is the batch, which cannot be reduced"}}};
}

// ---- Recurrent operators

inline FaultyOperator lstm() {
  using Attributes = SequenceLstmAttributes;
  return {"SequenceLstm",
          lstm_model({}),
          {{attribute(&Attributes::cell_clip, -1.0F), "expected a cell_clip of 0 or more"},
           {attribute(&Attributes::cell_clip, std::nanf("")), "found nan"},
           {shape(0, {3, 4}), "[time, batch, values], and weights [cells, values], found [3, 4]"},
           {uint8(0), "are not supported"},
           {dtype(0, DType::int16), "expected the zero point 0 of int16 for 'x'"},
           {dtype(2, DType::uint8), "are not supported"},
           {constant(1, {2, 3}, 6), "expected 'weights1' of shape [2, 4], found [2, 3]"},
           {constant(6, {2, 4}, 8), "expected 'weights6' of shape [2, 2], found [2, 4]"},
           {zero_point(3, 1), "expected zero point 0 of weights 'weights3', found 1"},
           {operand(5, 13), "weights 'hidden' are no constant"},
           {operand(9, 13), "expected a constant bias of int32 of the input gate, found 'hidden'"},
           {constant(12, {1}, 4), "expected 'bias3' of shape [2], found [1]"},
           {operand(10, -1), "input 10 is absent"},
           {shape(13, {1, 3}), "expected 'hidden' of shape [1, 2], found [1, 3]"},
           {dtype(14, DType::int8), "are not supported"},
           {scale(14, 0.001F), "expected a power of two, at most 1, as scale of the cell state"},
           {scale(14, 2.0F), "found 2"},
           {scale(17, 0.25F), "expected the type and scale of state 'cell' behind the last step"},
           {zero_point(15, 5), "expected the scale and zero point of the hidden state"},
           {shape(15, {1, 3, 4}), "expected output shape [1, 3, 2], found [1, 3, 4]"},
           {[](IntegerModel& m) { m.operators[0].outputs.pop_back(); }, "are not supported"}}};
}

inline FaultyOperator svdf() {
  using Attributes = SvdfAttributes;
  return {
      "Svdf",
      svdf_model(DType::int16),
      {{attribute(&Attributes::rank, 0), "expected a rank of which 2 filters are a multiple"},
       {attribute(&Attributes::rank, 3), "found 3"},
       {attribute(&Attributes::rank, 2), "expected 'bias' of shape [1], found [2]"},
       {attribute(&Attributes::activation, FusedActivation::relu6), "NONE or RELU on integers"},
       {attribute(&Attributes::activation, static_cast<FusedActivation>(4)),
        "fused activation 4 is not supported"},
       {operand(4, -1), "expected a bias, without which TFLite Micro crashes"},
       {[](IntegerModel& m) { m.operators[0].inputs.pop_back(); }, "expected a bias"},
       {operand(3, -1), "input 3 is absent"},
       {[](IntegerModel& m) { m.operators[0].outputs.pop_back(); }, "expected two outputs"},
       {uint8(0), "are not supported"},
       {uint8(5), "are not supported"},
       {uint8(1), "are not supported"},
       {both(dtype(2, DType::int8), constant(2, {2, 3}, 6)), "are not supported"},
       {dtype(3, DType::int32), "are not supported"},
       {both(dtype(4, DType::int64), constant(4, {2}, 16)), "are not supported"},
       {operand(1, 0), "expected constant weights and bias, found 'x'"},
       {operand(2, 3), "expected constant weights and bias, found 'state'"},
       {shape(0, {1, 2, 2}), "expected values [batch, features] and weights [filters, features]"},
       {shape(0, {1, 3}), "expected 'features' of shape [2, 3], found [2, 4]"},
       {constant(2, {3, 2}, 12), "expected 'time' of shape [2, 2], found [3, 2]"},
       {constant(4, {3}, 12), "expected 'bias' of shape [2], found [3]"},
       {shape(3, {1, 5}), "expected 'state' of shape [1, 6], found [1, 5]"},
       {shape(3, {2, 6}), "expected 'state' of shape [1, 6], found [2, 6]"},
       {shape(6, {6, 1}), "expected 'state/0' of shape [1, 6], found [6, 1]"},
       {shape(5, {2, 1}), "expected output shape [1, 2], found [2, 1]"},
       {zero_point(1, 1), "expected zero point 0 of 'features', found 1"},
       {zero_point(2, 1), "expected zero point 0 of 'time', found 1"},
       {both(zero_point(3, 1), zero_point(6, 1)), "expected zero point 0 of 'state', found 1"},
       {scale(6, 0.5F), "expected the type and scale of state 'state' behind the step"},
       {dtype(6, DType::int8), "expected the type and scale of state 'state'"},
       {[](IntegerModel& m) {
          m.tensors[1].quantization.scales = {0.1F, 0.2F};
          m.tensors[1].quantization.zero_points = {0, 0};
        },
        "expected one scale for its weights 'features', found 2"}}};
}

// ---- Detectors

inline FaultyOperator detection() {
  using A = DetectionAttributes;
  constexpr const char* kOperands =
      "expected encodings [1, boxes, 4 or more] and scores [1, boxes, 2 or one more for the "
      "background], found";
  return {
      "DetectionPostProcess",
      detection_model({}),
      {{attribute(&A::max_detections, 0), "expected a max_detections of 1 or more, found 0"},
       {attribute(&A::max_classes_per_detection, -1), "max_classes_per_detection of 1 or more"},
       {attribute(&A::detections_per_class, 0), "detections_per_class of 1 or more, found 0"},
       {attribute(&A::num_classes, 0), "expected a num_classes of 1 or more, found 0"},
       {attribute(&A::num_classes, 4), "scores [1, boxes, 4 or one more"},
       {attribute(&A::num_classes, 1), "found [1, 5, 4] and [1, 5, 3]"},
       {attribute(&A::max_detections, 1 << 30), "expected output shape [1, 1073741824, 4]"},
       {attribute(&A::nms_score_threshold, std::nanf("")), "a number as nms_score_threshold"},
       {attribute(&A::nms_iou_threshold, 0.0F), "nms_iou_threshold above 0, at most 1, found 0"},
       {attribute(&A::nms_iou_threshold, 1.5F), "found 1.5"},
       {attribute(&A::nms_iou_threshold, std::nanf("")), "found nan"},
       {attribute(&A::y_scale, 0.0F), "expected scales of encodings above 0, found 0"},
       {attribute(&A::x_scale, -1.0F), "found -1"},
       {attribute(&A::h_scale, INFINITY), "found inf"},
       {attribute(&A::w_scale, std::nanf("")), "found nan"},
       {[](IntegerModel& m) { m.operators[0].outputs.pop_back(); }, "expected 4 outputs, found 3"},
       {dtype(0, DType::int32), "are not supported"},
       {uint8(1), "are not supported"},
       {dtype(6, DType::int32), "are not supported"},
       {shape(0, {1, 5, 3}), kOperands},
       {shape(0, {1, 4, 4}), kOperands},
       {shape(0, {2, 5, 4}), kOperands},
       {shape(0, {5, 4}), kOperands},
       {shape(1, {1, 5, 4}), kOperands},
       {shape(1, {1, 15}), kOperands},
       {operand(2, 0), "expected constant anchors, found 'encodings'"},
       {constant(2, {4, 4}, 64), "expected 'anchors' of shape [5, 4], found [4, 4]"},
       {number(2, 2, std::bit_cast<std::int32_t>(-0.5F)), "without negative sizes, found -0.5"},
       {number(2, 19, std::bit_cast<std::int32_t>(-0.5F)), "without negative sizes, found -0.5"},
       {number(2, 4, std::bit_cast<std::int32_t>(INFINITY)), "expected finite anchors"},
       {shape(3, {1, 3, 5}), "expected output shape [1, 3, 4], found [1, 3, 5]"},
       {shape(4, {3}), "expected output shape [1, 3], found [3]"},
       {shape(5, {1, 4}), "expected output shape [1, 3], found [1, 4]"},
       {shape(6, {}), "expected output shape [1], found []"}}};
}

}  // namespace octet::test::faults
