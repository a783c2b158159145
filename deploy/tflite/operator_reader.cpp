#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/deploy/tflite/decode.h>
#include <octet/deploy/tflite/drop_tensors.h>
#include <octet/deploy/tflite/file_access.h>
#include <octet/deploy/tflite/operator_reader.h>
#include <octet/deploy/tflite/operators.h>
#include <octet/deploy/tflite/uint8_codes.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace octet::detail {
namespace {

const tflite::OperatorCode& code_of(const tflite::Model& file, std::size_t index,
                                    const tflite::Operator& source) {
  if (source.opcode_index() >= size_or_zero(file.operator_codes())) {
    fail_tflite("operator {}: code index {} outside the {} operator codes", index,
                source.opcode_index(), size_or_zero(file.operator_codes()));
  }
  return *file.operator_codes()->Get(source.opcode_index());
}

}  // namespace

OperatorReader::OperatorReader(const tflite::Model& file, const tflite::SubGraph& graph,
                               Variables& variables, const std::vector<bool>& shifted,
                               IntegerModel& model, Budget& budget)
    : file_(file),
      graph_(graph),
      composites_(file, graph, budget),
      variables_(variables),
      shifted_(shifted),
      model_(model),
      budget_(budget) {}

void OperatorReader::read(std::size_t index) {
  if (composites_.covers(index)) {
    // The last part of a composite is read as the whole.
    if (const Operator* op = composites_.ending_at(index)) {
      mark(op->inputs, read_tensors_);
      model_.operators.push_back(*op);
    }
    return;
  }
  const tflite::Operator& source =
      *graph_.operators()->Get(static_cast<flatbuffers::uoffset_t>(index));
  const std::size_t before = model_.operators.size();
  read_parts(index, source, code_of(file_, index, source));
  for (std::size_t i = before; i < model_.operators.size(); ++i) {
    const Operator& op = model_.operators[i];
    require_known_shapes(index, op);
    const std::string who = fmt::format("operator {} ({})", index, to_string(op.code));
    variables_.require_no_handles(op.inputs, who);
    variables_.require_states(op, definition(op.code).file_states, who);
    mark(op.inputs, read_tensors_);
  }
}

void OperatorReader::read_parts(std::size_t index, const tflite::Operator& source,
                                const tflite::OperatorCode& entry) {
  const tflite::BuiltinOperator code = builtin_of(entry);
  const flatbuffers::String* custom = entry.custom_code();
  if (is_variable_operator(code)) return read_variable(index, source, entry);
  if (is_expanded(code)) return expand(index, source, entry);
  if (code == tflite::BuiltinOperator::CUSTOM && custom != nullptr &&
      custom->string_view() == kTflmDecode) {
    return decode(index, source);
  }
  read_one(index, source, entry);
}

void OperatorReader::read_one(std::size_t index, const tflite::Operator& source,
                              const tflite::OperatorCode& entry) {
  Operator op = read_operator(index, source, entry);
  if (const auto complete = tflite_form(op.code).complete; complete != nullptr) {
    drop(complete(op, {model_, budget_}));
  }
  if (!op.inputs.empty() && is_marked(op.inputs[0], shifted_)) require_same_on_int8(op, index);
  if (makes_constant(op) || folds(op)) return;
  if (mean_of_steps(op, {model_, budget_}) || mean_of_rows(op, {model_, budget_})) return;
  model_.operators.push_back(std::move(op));
}

Operator OperatorReader::read_operator(std::size_t index, const tflite::Operator& source,
                                       const tflite::OperatorCode& entry) {
  const std::optional<OpCode> code = known_code(entry);
  if (!code) {
    fail_tflite("operator {}: {} is not supported", index, operator_name(entry));
  }
  Operator op;
  op.code = *code;
  op.version = entry.version();
  const OperatorDefinition& rules = definition(op.code);
  const std::string who = fmt::format("operator {} ({})", index, to_string(op.code));
  if (op.version < 1 || op.version > rules.highest_version()) {
    fail_tflite("{}: version {} is not supported, only 1 to {}", who, op.version,
                rules.highest_version());
  }
  const std::size_t most = std::max(kMostInputs, rules.file_order.size());
  op.inputs = inputs_from_file(op.code, read_values(source.inputs(), most, who, budget_), who);
  op.outputs = read_values(source.outputs(), kMostInputs, who, budget_);
  variables_.add_states(op, rules.file_states, who, {model_, budget_});
  drop(read_operands(source.intermediates(), budget_));
  op.attributes = tflite_form(op.code).read({source, who, budget_});
  return op;
}

void OperatorReader::read_variable(std::size_t index, const tflite::Operator& source,
                                   const tflite::OperatorCode& entry) {
  const std::string who = fmt::format("operator {} ({})", index, operator_name(entry));
  variables_.read(builtin_of(entry), {source, who, budget_}, {model_, budget_});
  for (const auto* operands : {source.inputs(), source.outputs()}) {
    std::vector<std::int32_t> handles = read_operands(operands, budget_);
    std::erase_if(handles, [&](std::int32_t i) { return !variables_.is_handle(i); });
    drop(handles);
  }
}

void OperatorReader::expand(std::size_t index, const tflite::Operator& source,
                            const tflite::OperatorCode& entry) {
  const std::string who = fmt::format("operator {} ({})", index, operator_name(entry));
  const std::size_t before = model_.operators.size();
  detail::expand(builtin_of(entry), {source, who, budget_}, {model_, budget_});
  if (model_.operators.size() != before) return;
  mark_folded(read_operands(source.outputs(), budget_));
  if (builtin_of(entry) != tflite::BuiltinOperator::SHAPE) {
    drop(read_operands(source.inputs(), budget_));
  }
}

/// Whether the operator moves the numbers of a shape, which are then constant.
bool OperatorReader::folds(const Operator& op) {
  if (!fold_shape(op, {model_, budget_})) return false;
  drop(op.inputs);
  mark_folded(op.outputs);
  return true;
}

/// Marks shapes in which -1 stands for the batch.
void OperatorReader::mark_folded(std::span<const std::int32_t> outputs) {
  drop(outputs);
  for (const std::int32_t i : outputs) {
    const auto extents = values_of<std::int32_t>(tensor_at(i, "shape"));
    if (std::ranges::find(extents, -1) != extents.end()) mark({&i, 1}, open_shapes_);
  }
}

/// Throws FormatError where an operator other than RESHAPE reads a shape whose batch is open.
void OperatorReader::require_known_shapes(std::size_t index, const Operator& op) const {
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const bool reshapes = op.code == OpCode::reshape && i == 1;
    if (op.inputs[i] < 0 || reshapes || !is_marked(op.inputs[i], open_shapes_)) continue;
    fail_tflite("operator {} ({}): computes with the number of examples", index,
                to_string(op.code));
  }
}

/// Whether `op` is the DEQUANTIZE of a constant of float16, which is read as float32: its result
/// is that constant then.
bool OperatorReader::makes_constant(const Operator& op) {
  const auto is_float = [&](std::int32_t tensor) {
    return tensor >= 0 && static_cast<std::size_t>(tensor) < model_.tensors.size() &&
           model_.tensors[static_cast<std::size_t>(tensor)].dtype == DType::float32;
  };
  if (op.code != OpCode::dequantize || op.inputs.size() != 1 || op.outputs.size() != 1 ||
      !is_float(op.inputs[0]) || !is_float(op.outputs[0]) ||
      is_marked(op.outputs[0], read_tensors_)) {
    return false;
  }
  const ModelTensor& constant = model_.tensors[static_cast<std::size_t>(op.inputs[0])];
  ModelTensor& output = model_.tensors[static_cast<std::size_t>(op.outputs[0])];
  if (!constant.is_constant() || output.is_constant() || output.shape != constant.shape) {
    return false;
  }
  budget_.take(constant.data.size());
  output.data = constant.data;
  drop(op.inputs);
  return true;
}

/// Makes constants of the outputs of TFLM_DECODE: all that it reads is constant.
void OperatorReader::decode(std::size_t index, const tflite::Operator& source) {
  const std::string who = fmt::format("operator {} ({})", index, kTflmDecode);
  const auto inputs = read_values(source.inputs(), 2 * kMostInputs, who, budget_);
  const auto outputs = read_values(source.outputs(), kMostInputs, who, budget_);
  if (outputs.empty() || inputs.size() != 2 * outputs.size()) {
    fail_tflite("{}: expected two inputs for every output, found {} and {}", who, inputs.size(),
                outputs.size());
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    ModelTensor& output = tensor_at(outputs[i], who);
    const ModelTensor& indices = tensor_at(inputs[2 * i], who);
    const ModelTensor& tables = tensor_at(inputs[2 * i + 1], who);
    if (indices.dtype != DType::uint8 || tables.dtype != DType::uint8) {
      fail_tflite("{}: expected inputs of uint8", who);
    }
    if (is_marked(outputs[i], read_tensors_)) {
      fail_tflite("{}: tensor {} is read before it is made", who, outputs[i]);
    }
    budget_.take(static_cast<std::size_t>(output.size()));
    detail::decode(indices.data, tables.data, who, output);
  }
  drop(inputs);
}

void OperatorReader::finish() {
  if (dropped_.empty()) return;
  mark(model_.inputs, read_tensors_);
  mark(model_.outputs, read_tensors_);
  const auto is_dropped = [&](std::int32_t tensor) {
    return is_marked(tensor, dropped_) && !is_marked(tensor, read_tensors_);
  };
  drop_tensors(model_, is_dropped);
}

void OperatorReader::mark(std::span<const std::int32_t> tensors, std::vector<bool>& marks) const {
  marks.resize(model_.tensors.size());
  // Values outside of the tensors are for validate() to refuse.
  for (const std::int32_t i : tensors) {
    if (i >= 0 && static_cast<std::size_t>(i) < marks.size()) {
      marks[static_cast<std::size_t>(i)] = true;
    }
  }
}

bool OperatorReader::is_marked(std::int32_t tensor, const std::vector<bool>& marks) {
  return static_cast<std::size_t>(tensor) < marks.size() && marks[static_cast<std::size_t>(tensor)];
}

ModelTensor& OperatorReader::tensor_at(std::int32_t index, std::string_view who) {
  if (index < 0 || static_cast<std::size_t>(index) >= model_.tensors.size()) {
    fail_tflite("{}: tensor {} outside the {} tensors", who, index, model_.tensors.size());
  }
  return model_.tensors[static_cast<std::size_t>(index)];
}

}  // namespace octet::detail
