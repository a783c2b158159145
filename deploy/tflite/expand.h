#pragma once

#include <octet/deploy/tflite/operators.h>

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

// Operators of .tflite files that are others of Octet: DEPTH_TO_SPACE, a DIV of floats by a
// constant, EMBEDDING_LOOKUP, EXPAND_DIMS, PACK, SLICE, SPACE_TO_DEPTH, SPLIT_V,
// SQUARED_DIFFERENCE, UNPACK, a MEAN of float rows, and one over time; and SHAPE with what moves
// its numbers, which is constant.

namespace octet::detail {

/// A model that is being read, to which operators and tensors are appended.
class Draft {
 public:
  Draft(IntegerModel& model, Budget& budget) : model_(model), budget_(budget) {}

  IntegerModel& model() { return model_; }
  bool exists(std::int32_t index) const {
    return index >= 0 && static_cast<std::size_t>(index) < model_.tensors.size();
  }
  ModelTensor& tensor(std::int32_t index) {
    return model_.tensors[static_cast<std::size_t>(index)];
  }

  /// Appends a tensor of the type and the grid of another, whose batch is open where that one's is.
  std::int32_t add_tensor(std::int32_t like, std::vector<std::int32_t> shape, std::size_t part);
  /// Appends a constant with a name made of that of tensor `of`.
  template <class T>
  std::int32_t add_constant(std::int32_t of, DType dtype, std::vector<std::int32_t> shape,
                            const std::vector<T>& values) {
    ModelTensor made;
    made.name = tensor(of).name + "/numbers";
    made.dtype = dtype;
    made.shape = std::move(shape);
    set_data(made, values);
    return append(std::move(made));
  }
  template <class T>
  void set_data(ModelTensor& made, const std::vector<T>& values) {
    budget_.take(values.size() * sizeof(T));
    made.data.resize(values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(made.data.data(), values.data(), made.data.size());
  }
  void take(std::size_t bytes) { budget_.take(bytes); }
  void add(OpCode code, std::vector<std::int32_t> inputs, std::int32_t output,
           OperatorAttributes attributes);
  /// Appends a RESHAPE to the shape of `to`.
  void reshape(std::int32_t from, std::int32_t to);

 private:
  std::int32_t append(ModelTensor made);

  IntegerModel& model_;
  Budget& budget_;
};

/// Whether operators of that kind are expanded.
bool is_expanded(tflite::BuiltinOperator code);

/// Appends the operators, and the tensors between them, that compute what `source` does. None,
/// where the result is a constant: its tensor gets its numbers. Throws FormatError for operands and
/// options that the operator does not take.
void expand(tflite::BuiltinOperator code, const TfliteOptions& source, Draft draft);

/// Whether `op`, which has been read, moves numbers of a constant that SHAPE began: its result is a
/// constant then.
bool fold_shape(const Operator& op, Draft draft);

/// Whether `op` is a MEAN over the steps of sequences [n, steps, values]: that of images of one
/// column is appended then.
bool mean_of_steps(const Operator& op, Draft draft);

/// Whether `op` is a MEAN over the last axis of n floats: the sum over the weights 1 / n is
/// appended then.
bool mean_of_rows(const Operator& op, Draft draft);

}  // namespace octet::detail
