#pragma once

#include <octet/deploy/tflite/expand.h>
#include <octet/deploy/tflite/tensor_reader.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

// Resource variables of .tflite files: values that VAR_HANDLE names, READ_VARIABLE reads,
// ASSIGN_VARIABLE writes, and a graph that CALL_ONCE runs initializes.

namespace octet::detail {

/// Whether operators of that kind are about resource variables.
bool is_variable_operator(tflite::BuiltinOperator code);

/// The resource variables of a graph that is being read, which become states: inputs and outputs
/// that keep_states() names. All arguments must outlive it.
class Variables {
 public:
  Variables(const tflite::Model& file, const tflite::SubGraph& graph, const TensorReader& tensors,
            Budget& budget)
      : file_(&file), graph_(&graph), tensors_(&tensors), budget_(&budget) {}

  /// Whether tensor `index` of the graph is a handle of a variable, and has no values.
  bool is_handle(std::int32_t index) const;

  /// Reads an operator about variables. Appends a RESHAPE where a value is read once more. Throws
  /// FormatError for what Octet does not take.
  void read(tflite::BuiltinOperator code, const TfliteOptions& source, Draft draft);

  /// Ends reading: makes constants of variables that nothing writes, and states of the others that
  /// are read. Throws FormatError for a graph of the file that nothing runs, a variable whose value
  /// is of another type, shape or scale than what reads it, and one that begins with another value
  /// than 0.
  void finish(Draft draft);

 private:
  struct Variable {
    std::string name;
    /// The value before the first run.
    std::optional<ModelTensor> initial{};
    /// The tensor that the value of the run before is read into, and the last that is assigned.
    std::int32_t read = -1;
    std::int32_t assigned = -1;
  };
  /// The variables of the handles of a graph.
  using Handles = std::map<std::int32_t, std::size_t>;

  void call_once(const TfliteOptions& source);
  void initialize(const tflite::SubGraph& graph, std::string_view who);
  void name_handle(const TfliteOptions& source, Handles& handles);
  Variable& variable_of(const TfliteOptions& source, const Handles& handles);
  /// Input or output number `i` of an operator that has to have `count` of them.
  std::int32_t operand(const TfliteOptions& source,
                       const flatbuffers::Vector<std::int32_t>* operands, std::size_t i,
                       std::size_t count) const;
  void read_value(Variable& variable, std::int32_t to, Draft draft);
  static void check_initial(const Variable& variable, const ModelTensor& read);

  const tflite::Model* file_;
  const tflite::SubGraph* graph_;
  const TensorReader* tensors_;
  Budget* budget_;
  std::vector<Variable> variables_;
  Handles handles_;
  /// Graphs that CALL_ONCE runs.
  std::set<std::size_t> initializers_;
};

}  // namespace octet::detail
