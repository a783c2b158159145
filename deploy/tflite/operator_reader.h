#pragma once

#include <octet/deploy/tflite/budget.h>
#include <octet/deploy/tflite/composites.h>
#include <octet/deploy/tflite/expand.h>
#include <octet/deploy/tflite/variables.h>
#include <octet/runtime/integer_model.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tflite_schema_generated.h"

namespace octet::detail {

/// Reads the operators of a graph of a .tflite file, in order, into a model that has its tensors.
/// All arguments must outlive it.
class OperatorReader {
 public:
  /// `shifted`: by tensor of the file, whether it is one of uint8 that is read as int8.
  OperatorReader(const tflite::Model& file, const tflite::SubGraph& graph, Variables& variables,
                 const std::vector<bool>& shifted, IntegerModel& model, Budget& budget);

  /// Appends what operator `index` of the graph becomes: operators, or constants in place of its
  /// outputs. Throws FormatError, naming the operator, for what Octet does not take.
  void read(std::size_t index);

  /// Marks tensors that finish() removes unless an operator reads them.
  void drop(std::span<const std::int32_t> tensors) { mark(tensors, dropped_); }

  /// Removes the tensors of drop() that nothing reads, and numbers the others anew.
  void finish();

 private:
  void mark(std::span<const std::int32_t> tensors, std::vector<bool>& marks) const;
  static bool is_marked(std::int32_t tensor, const std::vector<bool>& marks);
  ModelTensor& tensor_at(std::int32_t index, std::string_view who);

  void read_parts(std::size_t index, const tflite::Operator& source,
                  const tflite::OperatorCode& entry);
  void read_one(std::size_t index, const tflite::Operator& source,
                const tflite::OperatorCode& entry);
  Operator read_operator(std::size_t index, const tflite::Operator& source,
                         const tflite::OperatorCode& entry);
  void read_variable(std::size_t index, const tflite::Operator& source,
                     const tflite::OperatorCode& entry);
  void expand(std::size_t index, const tflite::Operator& source, const tflite::OperatorCode& entry);
  bool folds(const Operator& op);
  void mark_folded(std::span<const std::int32_t> outputs);
  void require_known_shapes(std::size_t index, const Operator& op) const;
  bool makes_constant(const Operator& op);
  void decode(std::size_t index, const tflite::Operator& source);

  const tflite::Model& file_;
  const tflite::SubGraph& graph_;
  Composites composites_;
  Variables& variables_;
  const std::vector<bool>& shifted_;
  IntegerModel& model_;
  Budget& budget_;
  /// By tensor: those that the operators so far read. Empty where there are none.
  std::vector<bool> read_tensors_;
  /// By tensor: those that finish() removes unless they are read.
  std::vector<bool> dropped_;
  /// By tensor: shapes, and parts of them, in which -1 stands for the batch.
  std::vector<bool> open_shapes_;
};

}  // namespace octet::detail
