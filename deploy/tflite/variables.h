#pragma once

#include <octet/deploy/tflite/expand.h>
#include <octet/deploy/tflite/tensor_reader.h>
#include <octet/runtime/streaming_interpreter.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// State of .tflite files: resource variables, which VAR_HANDLE names, READ_VARIABLE reads,
// ASSIGN_VARIABLE writes, and a graph that CALL_ONCE runs initializes; and variable tensors, which
// an operator changes.

namespace octet::detail {

/// Whether operators of that kind are about resource variables.
bool is_variable_operator(tflite::BuiltinOperator code);

/// The variables of a graph that is being read, which become states: inputs and outputs that
/// keep_states() names. All arguments must outlive it.
class Variables {
 public:
  Variables(const tflite::Model& file, const tflite::SubGraph& graph, const TensorReader& tensors,
            Budget& budget)
      : file_(&file), graph_(&graph), tensors_(&tensors), budget_(&budget) {}

  /// Whether tensor `index` of the graph is a handle of a variable, and has no values.
  bool is_handle(std::int32_t index) const;

  /// Throws FormatError, naming `who`, where one of the tensors is a handle.
  void require_no_handles(std::span<const std::int32_t> tensors, std::string_view who) const;

  /// Whether tensor `index` of the graph is one that an operator changes.
  bool is_changed(std::int32_t index) const;

  /// Throws FormatError, naming `who`, where one of the inputs `states` of an operator is no
  /// variable tensor, or another input is one.
  void require_states(const Operator& op, std::span<const std::size_t> states,
                      std::string_view who) const;
  /// Gives an operator an output for the next value of each variable tensor that it changes, its
  /// inputs `states`. Throws as require_states().
  void add_states(Operator& op, std::span<const std::size_t> states, std::string_view who,
                  Draft draft);

  /// Reads an operator about resource variables. Appends a RESHAPE where a value is read once more.
  /// Throws FormatError for what Octet does not take.
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
  void require_value(std::int32_t tensor, std::string_view who, const Draft& draft) const;
  const tflite::Tensor* tensor_of(std::int32_t index) const;
  static void add_state(std::int32_t before, std::int32_t next, CarriedStates& states, Draft draft);
  void finish_resources(CarriedStates& states, Draft draft);
  void make_zero(ModelTensor& tensor);
  static void check_initial(const Variable& variable, const ModelTensor& read);

  const tflite::Model* file_;
  const tflite::SubGraph* graph_;
  const TensorReader* tensors_;
  Budget* budget_;
  std::vector<Variable> variables_;
  Handles handles_;
  /// Variable tensors and their next values.
  std::vector<std::pair<std::int32_t, std::int32_t>> changed_;
  /// Graphs that CALL_ONCE runs.
  std::set<std::size_t> initializers_;
};

}  // namespace octet::detail
