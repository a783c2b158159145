#include <fmt/format.h>
#include <octet/core/printable.h>
#include <octet/deploy/tflite/file_access.h>
#include <octet/deploy/tflite/file_states.h>
#include <octet/deploy/tflite/variables.h>

#include <algorithm>
#include <utility>

namespace octet::detail {
namespace {

using Code = tflite::BuiltinOperator;

Code code_of(const tflite::Model& file, const tflite::Operator& op) {
  if (op.opcode_index() >= size_or_zero(file.operator_codes())) {
    fail_tflite("code index {} outside the {} operator codes", op.opcode_index(),
                size_or_zero(file.operator_codes()));
  }
  return builtin_of(*file.operator_codes()->Get(op.opcode_index()));
}

bool holds(const std::vector<std::int32_t>& tensors, std::int32_t tensor) {
  return std::ranges::find(tensors, tensor) != tensors.end();
}

/// Whether an operator gives the tensor, so that it may be an output of its own.
bool is_computed(const IntegerModel& model, std::int32_t tensor) {
  return std::ranges::any_of(model.operators,
                             [&](const Operator& op) { return holds(op.outputs, tensor); });
}

}  // namespace

bool is_variable_operator(Code code) {
  return code == Code::CALL_ONCE || code == Code::VAR_HANDLE || code == Code::READ_VARIABLE ||
         code == Code::ASSIGN_VARIABLE;
}

const tflite::Tensor* Variables::tensor_of(std::int32_t index) const {
  if (index < 0 || static_cast<std::size_t>(index) >= size_or_zero(graph_->tensors())) {
    return nullptr;
  }
  return graph_->tensors()->Get(static_cast<flatbuffers::uoffset_t>(index));
}

bool Variables::is_handle(std::int32_t index) const {
  const tflite::Tensor* tensor = tensor_of(index);
  return tensor != nullptr && tensor->type() == tflite::TensorType::RESOURCE;
}

void Variables::require_no_handles(std::span<const std::int32_t> tensors,
                                   std::string_view who) const {
  for (const std::int32_t i : tensors) {
    if (!is_handle(i)) continue;
    fail_tflite("{}: tensor {} is a resource, which READ_VARIABLE and ASSIGN_VARIABLE alone take",
                who, i);
  }
}

bool Variables::is_changed(std::int32_t index) const {
  const tflite::Tensor* tensor = tensor_of(index);
  return tensor != nullptr && tensor->is_variable();
}

void Variables::require_states(const Operator& op, std::span<const std::size_t> states,
                               std::string_view who) const {
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const bool is_state = std::ranges::find(states, i) != states.end();
    const std::int32_t tensor = op.inputs[i];
    if (is_changed(tensor) == is_state) continue;
    fail_tflite("{}: expected {} as input {}, found tensor {}", who,
                is_state ? "a variable tensor" : "no variable tensor", i, tensor);
  }
}

void Variables::add_states(Operator& op, std::span<const std::size_t> states, std::string_view who,
                           Draft draft) {
  require_states(op, states, who);
  for (const std::size_t i : states) {
    // Not a reference: the tensors move.
    const std::vector<std::int32_t> shape = draft.tensor(op.inputs[i]).shape;
    const std::int32_t next = draft.add_tensor(op.inputs[i], shape, 0);
    budget_->take(2 * sizeof(next));
    op.outputs.push_back(next);
    changed_.emplace_back(op.inputs[i], next);
  }
}

std::int32_t Variables::operand(const TfliteOptions& source,
                                const flatbuffers::Vector<std::int32_t>* operands, std::size_t i,
                                std::size_t count) const {
  const auto all = read_values(operands, count, source.who, *budget_);
  if (all.size() == count) return all[i];
  fail_tflite("{}: expected {} operands, found {}", source.who, count, all.size());
}

void Variables::name_handle(const TfliteOptions& source, Handles& handles) {
  const auto* options = source.as<tflite::VarHandleOptions>();
  if (options == nullptr) fail_tflite("{}: its options are missing", source.who);
  // No name holds the character between the two.
  const std::string name =
      tensors_->text(options->container()) + '\0' + tensors_->text(options->shared_name());
  auto found = std::ranges::find(variables_, name, &Variable::name);
  if (found == variables_.end()) {
    budget_->take(sizeof(Variable) + name.size());
    variables_.push_back({.name = name});
    found = variables_.end() - 1;
  }
  budget_->take(sizeof(Handles::value_type));
  handles[operand(source, source.source.outputs(), 0, 1)] =
      static_cast<std::size_t>(found - variables_.begin());
}

Variables::Variable& Variables::variable_of(const TfliteOptions& source, const Handles& handles) {
  const bool assigns = code_of(*file_, source.source) == Code::ASSIGN_VARIABLE;
  const std::int32_t handle = operand(source, source.source.inputs(), 0, assigns ? 2 : 1);
  const auto found = handles.find(handle);
  if (found != handles.end()) return variables_[found->second];
  fail_tflite("{}: expected a handle that a VAR_HANDLE before it gives, found tensor {}",
              source.who, handle);
}

void Variables::initialize(const tflite::SubGraph& graph, std::string_view who) {
  Handles handles;
  for (flatbuffers::uoffset_t i = 0; i < size_or_zero(graph.operators()); ++i) {
    const tflite::Operator& op = *graph.operators()->Get(i);
    const TfliteOptions source{op, who, *budget_};
    const Code code = code_of(*file_, op);
    if (code == Code::VAR_HANDLE) {
      name_handle(source, handles);
      continue;
    }
    if (code != Code::ASSIGN_VARIABLE) {
      fail_tflite("{}: expected a graph of VAR_HANDLE and ASSIGN_VARIABLE, found {}", who,
                  operator_name(*file_->operator_codes()->Get(op.opcode_index())));
    }
    Variable& variable = variable_of(source, handles);
    const std::int32_t value = operand(source, op.inputs(), 1, 2);
    if (value < 0 || static_cast<std::size_t>(value) >= size_or_zero(graph.tensors())) {
      fail_tflite("{}: tensor {} outside the {} tensors", who, value,
                  size_or_zero(graph.tensors()));
    }
    variable.initial =
        tensors_->read(static_cast<std::size_t>(value),
                       *graph.tensors()->Get(static_cast<flatbuffers::uoffset_t>(value)));
    if (!variable.initial->is_constant()) {
      fail_tflite("{}: expected constants as first values of variables, found tensor {} '{}'", who,
                  value, printable(variable.initial->name));
    }
  }
}

void Variables::require_value(std::int32_t tensor, std::string_view who, const Draft& draft) const {
  if (draft.exists(tensor) && !is_handle(tensor)) return;
  fail_tflite("{}: expected a tensor with values, found tensor {}", who, tensor);
}

void Variables::call_once(const TfliteOptions& source) {
  const auto* options = source.as<tflite::CallOnceOptions>();
  const int index = options == nullptr ? 0 : options->init_subgraph_index();
  const std::size_t graphs = size_or_zero(file_->subgraphs());
  if (index < 1 || static_cast<std::size_t>(index) >= graphs) {
    fail_tflite("{}: expected a graph behind the first of {}, found number {}", source.who, graphs,
                index);
  }
  if (!initializers_.insert(static_cast<std::size_t>(index)).second) return;
  initialize(*file_->subgraphs()->Get(static_cast<flatbuffers::uoffset_t>(index)), source.who);
}

void Variables::read(Code code, const TfliteOptions& source, Draft draft) {
  if (code == Code::CALL_ONCE) return call_once(source);
  if (code == Code::VAR_HANDLE) return name_handle(source, handles_);
  Variable& variable = variable_of(source, handles_);
  if (code == Code::ASSIGN_VARIABLE) {
    variable.assigned = operand(source, source.source.inputs(), 1, 2);
    return require_value(variable.assigned, source.who, draft);
  }
  const std::int32_t to = operand(source, source.source.outputs(), 0, 1);
  require_value(to, source.who, draft);
  if (variable.assigned >= 0) {
    draft.reshape(variable.assigned, to);
  } else if (variable.read >= 0) {
    draft.reshape(variable.read, to);
  } else {
    variable.read = to;
  }
}

void Variables::check_initial(const Variable& variable, const ModelTensor& read) {
  const ModelTensor& initial = *variable.initial;
  const std::string name = printable(variable.name.substr(variable.name.find('\0') + 1));
  if (initial.dtype != read.dtype || initial.shape != read.shape) {
    fail_tflite("variable '{}': expected a first value of {} [{}], as it is read, found {} [{}]",
                name, to_string(read.dtype), fmt::join(read.shape, ", "), to_string(initial.dtype),
                fmt::join(initial.shape, ", "));
  }
  if (variable.assigned < 0) return;
  const bool is_byte = read.dtype == DType::int8 || read.dtype == DType::uint8;
  const auto zero = static_cast<std::uint8_t>(
      is_byte && read.is_quantized() ? read.quantization.zero_point() : 0);
  const auto other =
      std::ranges::find_if(initial.data, [&](std::uint8_t byte) { return byte != zero; });
  if (other == initial.data.end()) return;
  fail_tflite(
      "variable '{}': expected a first value of zeros, which a reset gives, found other numbers; "
      "variables that begin with others are not supported",
      name);
}

/// A value of its own is the output of each state: what no operator computes, or is another
/// state's, is copied; a result of the model may be a state, too.
void Variables::add_state(std::int32_t before, std::int32_t next, CarriedStates& states,
                          Draft draft) {
  IntegerModel& model = draft.model();
  const auto result = std::ranges::find(model.outputs, next) - model.outputs.begin();
  const auto number = static_cast<std::size_t>(result);
  states.states.push_back({.input = model.inputs.size(), .output = model.outputs.size()});
  model.inputs.push_back(before);
  if (is_computed(model, next) && number < states.results) {
    states.states.back().output = number;
    return;
  }
  if (!is_computed(model, next) || number < model.outputs.size()) {
    const std::vector<std::int32_t> shape = draft.tensor(before).shape;
    const std::int32_t copied = draft.add_tensor(before, shape, 0);
    draft.reshape(next, copied);
    next = copied;
  }
  model.outputs.push_back(next);
}

void Variables::finish_resources(CarriedStates& states, Draft draft) {
  for (const Variable& variable : variables_) {
    if (variable.read < 0) continue;
    ModelTensor& read = draft.tensor(variable.read);
    if (variable.initial) check_initial(variable, read);
    if (variable.assigned < 0) {
      if (!variable.initial) fail_tflite("tensor '{}': of a variable without value", read.name);
      budget_->take(variable.initial->data.size());
      read.data = variable.initial->data;
      continue;
    }
    add_state(variable.read, variable.assigned, states, draft);
  }
}

/// Makes a constant of the real value 0 of a variable tensor.
void Variables::make_zero(ModelTensor& tensor) {
  const bool is_quantized = tensor.dtype == DType::int8 || tensor.dtype == DType::int16;
  if (!is_quantized || tensor.quantization.zero_points.size() != 1) {
    fail_tflite(
        "variable tensor '{}': expected int8 or int16 with one scale as the state of one call, "
        "found {}",
        tensor.name, to_string(tensor.dtype));
  }
  const std::size_t bytes = static_cast<std::size_t>(tensor.size()) * size_of(tensor.dtype);
  budget_->take(bytes);
  // The zero point of int16 is 0.
  const bool is_narrow = tensor.dtype == DType::int8;
  const std::int32_t zero_point = is_narrow ? tensor.quantization.zero_point() : 0;
  tensor.data.assign(bytes, static_cast<std::uint8_t>(zero_point));
}

void Variables::finish(Draft draft) {
  const std::size_t graphs = size_or_zero(file_->subgraphs());
  if (graphs != initializers_.size() + 1) {
    fail_tflite("expected one subgraph beside those that CALL_ONCE runs, found {}",
                graphs - initializers_.size());
  }
  IntegerModel& model = draft.model();
  if (variables_.empty() && changed_.empty()) return;
  for (const std::int32_t input : model.inputs) require_value(input, "model inputs", draft);
  for (const std::int32_t output : model.outputs) require_value(output, "model outputs", draft);
  CarriedStates states = kept_states(model);
  if (states.states.empty()) states.results = model.outputs.size();
  finish_resources(states, draft);
  const bool begin_anew = model.metadata.erase(kStatesOfOneCall) > 0;
  for (const auto& [tensor, next] : changed_) {
    if (begin_anew) {
      make_zero(draft.tensor(tensor));
    } else {
      add_state(tensor, next, states, draft);
    }
  }
  if (states.states.empty()) return;
  try {
    keep_states(model, states);
  } catch (const InvalidArgument& error) {
    fail_tflite("variables: {}", error.what());
  }
}

}  // namespace octet::detail
