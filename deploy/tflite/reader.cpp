#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/core/printable.h>
#include <octet/deploy/tflite/composites.h>
#include <octet/deploy/tflite/cut.h>
#include <octet/deploy/tflite/decode.h>
#include <octet/deploy/tflite/drop_tensors.h>
#include <octet/deploy/tflite/expand.h>
#include <octet/deploy/tflite/file_access.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/real_constants.h>
#include <octet/deploy/tflite/tensor_reader.h>
#include <octet/deploy/tflite/uint8_codes.h>
#include <octet/deploy/tflite/variables.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace octet {
namespace {

constexpr std::size_t kMaxOperands = detail::kMostInputs;
/// Memory is planned in time that grows with the square of this.
constexpr std::size_t kMaxOperators = 10000;

template <class T>
using Vector = flatbuffers::Vector<T>;

using detail::size_or_zero;

/// `what` without the operator's name in front, which whoever reads it knows.
std::string without_owner(std::string_view what) {
  const std::size_t end = what.starts_with("operator ") ? what.find(": ") : std::string_view::npos;
  return std::string(end == std::string_view::npos ? what : what.substr(end + 2));
}

class Reader {
 public:
  Reader(const tflite::Model& file, std::size_t file_bytes)
      : file_(file), budget_(file_bytes), tensors_(file, budget_) {}
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  IntegerModel read(const TfliteReading& reading) {
    if (file_.version() != detail::kSchemaVersion) {
      detail::fail_tflite("expected schema version {}, found {}", detail::kSchemaVersion,
                          file_.version());
    }
    if (size_or_zero(file_.subgraphs()) == 0) {
      detail::fail_tflite("expected one subgraph, found 0");
    }
    const tflite::SubGraph& graph = *file_.subgraphs()->Get(0);
    model_.name = tensors_.text(graph.name());
    model_.description = tensors_.text(file_.description());
    require_few_operators(graph);
    std::optional<detail::Cut> cut;
    if (!reading.from.empty() || !reading.to.empty()) cut = detail::cut_of(graph, reading, budget_);
    variables_.emplace(file_, graph, tensors_, budget_);
    shifted_ = detail::uint8_values(file_, graph, budget_);
    read_tensors(graph, cut ? &*cut : nullptr);
    reserve(model_.operators, size_or_zero(graph.operators()));
    const detail::Composites composites(file_, graph, budget_);
    for (std::size_t i = 0; i < size_or_zero(graph.operators()); ++i) {
      if (cut && !cut->operators[i]) continue;
      if (read_composite(composites, i)) continue;
      read_operator_or_decode(i, *graph.operators()->Get(narrow(i)));
    }
    const std::size_t most = model_.tensors.size();
    model_.inputs = cut ? cut->inputs : read_values(graph.inputs(), most, "model inputs");
    model_.outputs = cut ? cut->outputs : read_values(graph.outputs(), most, "model outputs");
    require_no_handles(model_.inputs, "model inputs");
    require_no_handles(model_.outputs, "model outputs");
    read_metadata();
    variables_->finish({model_, budget_});
    detail::keep_uint8_ends(model_, shifted_, budget_);
    drop_decode_inputs();
    if (reading.hybrid == HybridWeights::as_floats) {
      detail::make_hybrid_weights_real(model_, budget_);
    }
    model_.validate();
    return std::move(model_);
  }

  /// See tflite_refusals().
  std::vector<std::string> refusals(const tflite::SubGraph& graph) {
    model_ = {};
    read_tensors_.clear();
    decode_inputs_.clear();
    variables_.emplace(file_, graph, tensors_, budget_);
    shifted_ = detail::uint8_values(file_, graph, budget_);
    std::vector<std::string> of_tensors;
    for (std::size_t i = 0; i < size_or_zero(graph.tensors()); ++i) {
      of_tensors.push_back(refusal_of([&] {
        read_tensor(i, graph);
        detail::check_tensor(model_, i);
      }));
      model_.tensors.resize(i + 1);
    }
    require_few_operators(graph);
    std::vector<std::string> result;
    const detail::Composites composites(file_, graph, budget_);
    for (std::size_t i = 0; i < size_or_zero(graph.operators()); ++i) {
      result.push_back(refusal_of([&] {
        const tflite::Operator& source = *graph.operators()->Get(narrow(i));
        const std::size_t before = model_.operators.size();
        if (!read_composite(composites, i)) read_operator_or_decode(i, source);
        // Inputs that are left out are -1.
        std::vector<std::int32_t> operands = values_of(source.inputs());
        std::erase(operands, -1);
        require_readable(operands, of_tensors);
        require_readable(values_of(source.outputs()), of_tensors);
        for (std::size_t k = before; k < model_.operators.size(); ++k) {
          detail::check_operator(model_, k);
        }
      }));
    }
    return result;
  }

 private:
  void read_tensor(std::size_t i, const tflite::SubGraph& graph) {
    model_.tensors.push_back(read_tensor(i, *graph.tensors()->Get(narrow(i))));
    if (shifted_[i]) detail::make_int8(model_.tensors.back());
    detail::make_symmetric(model_.tensors.back());
  }

  /// In place of tensors outside of the part that is read stand empty ones, which go in the end.
  void read_tensors(const tflite::SubGraph& graph, const detail::Cut* cut) {
    const std::size_t count = size_or_zero(graph.tensors());
    reserve(model_.tensors, count);
    std::vector<std::int32_t> outside;
    for (std::size_t i = 0; i < count; ++i) {
      if (cut == nullptr || cut->tensors[i]) {
        read_tensor(i, graph);
      } else {
        model_.tensors.emplace_back();
        outside.push_back(static_cast<std::int32_t>(i));
      }
    }
    if (!outside.empty()) mark(outside, decode_inputs_);
  }

  static flatbuffers::uoffset_t narrow(std::size_t i) {
    return static_cast<flatbuffers::uoffset_t>(i);
  }

  /// Tables may be shared as bytes may: a vector of offsets can name one of them many times.
  template <class T>
  void reserve(std::vector<T>& parts, std::size_t count) {
    budget_.take(count * sizeof(T));
    parts.reserve(count);
  }

  /// A handle of a variable becomes a tensor that nothing reads, which is dropped in the end.
  ModelTensor read_tensor(std::size_t index, const tflite::Tensor& source) {
    const auto i = static_cast<std::int32_t>(index);
    if (!variables_->is_handle(i)) return tensors_.read(index, source);
    ModelTensor handle;
    handle.name = tensors_.text(source.name());
    return handle;
  }

  void require_no_handles(const std::vector<std::int32_t>& tensors, std::string_view who) const {
    for (const std::int32_t i : tensors) {
      if (!variables_->is_handle(i)) continue;
      detail::fail_tflite(
          "{}: tensor {} is a resource, which READ_VARIABLE and ASSIGN_VARIABLE "
          "alone take",
          who, i);
    }
  }

  template <class T>
  std::vector<T> read_values(const Vector<T>* values, std::size_t most, std::string_view who) {
    return detail::read_values(values, most, who, budget_);
  }

  /// What `work` throws, as text; empty where it throws nothing.
  template <class Work>
  std::string refusal_of(const Work& work) {
    constexpr std::string_view kFormat = ".tflite: ";
    std::string refusal;
    try {
      work();
    } catch (const detail::BudgetSpent&) {
      throw;
    } catch (const FormatError& error) {
      const std::string_view what = error.what();
      refusal = without_owner(what.starts_with(kFormat) ? what.substr(kFormat.size()) : what);
    }
    budget_.take(sizeof(std::string) + refusal.size());
    return refusal;
  }

  static void require_few_operators(const tflite::SubGraph& graph) {
    if (size_or_zero(graph.operators()) <= kMaxOperators) return;
    detail::fail_tflite("{} operators, more than {}", size_or_zero(graph.operators()),
                        kMaxOperators);
  }

  std::vector<std::int32_t> values_of(const flatbuffers::Vector<std::int32_t>* operands) {
    return read_values(operands, 2 * kMaxOperands, "operands");
  }

  /// Throws for the first operand that does not exist or was refused.
  static void require_readable(const std::vector<std::int32_t>& operands,
                               const std::vector<std::string>& refusals) {
    for (const std::int32_t i : operands) {
      if (i < 0 || static_cast<std::size_t>(i) >= refusals.size()) {
        detail::fail_tflite("tensor {} outside the {} tensors", i, refusals.size());
      }
      const std::string& refusal = refusals[static_cast<std::size_t>(i)];
      if (!refusal.empty()) throw FormatError(refusal);
    }
  }

  /// Values outside of the tensors are validate()'s to refuse.
  void mark(std::span<const std::int32_t> tensors, std::vector<bool>& marks) const {
    marks.resize(model_.tensors.size());
    for (const std::int32_t i : tensors) {
      if (i >= 0 && static_cast<std::size_t>(i) < marks.size()) {
        marks[static_cast<std::size_t>(i)] = true;
      }
    }
  }

  static bool is_marked(std::int32_t tensor, const std::vector<bool>& marks) {
    return static_cast<std::size_t>(tensor) < marks.size() &&
           marks[static_cast<std::size_t>(tensor)];
  }

  const tflite::OperatorCode& code_of(std::size_t index, const tflite::Operator& source) const {
    if (source.opcode_index() >= size_or_zero(file_.operator_codes())) {
      detail::fail_tflite("operator {}: code index {} outside the {} operator codes", index,
                          source.opcode_index(), size_or_zero(file_.operator_codes()));
    }
    return *file_.operator_codes()->Get(source.opcode_index());
  }

  /// Whether the operator is a part of a composite; the last part is read as the whole.
  bool read_composite(const detail::Composites& composites, std::size_t index) {
    if (!composites.covers(index)) return false;
    if (const Operator* op = composites.ending_at(index)) {
      mark(op->inputs, read_tensors_);
      model_.operators.push_back(*op);
    }
    return true;
  }

  void read_operator_or_decode(std::size_t index, const tflite::Operator& source) {
    const tflite::OperatorCode& entry = code_of(index, source);
    const flatbuffers::String* custom = entry.custom_code();
    const std::size_t before = model_.operators.size();
    if (detail::is_variable_operator(detail::builtin_of(entry))) {
      const std::string who = fmt::format("operator {} ({})", index, detail::operator_name(entry));
      variables_->read(detail::builtin_of(entry), {source, who, budget_}, {model_, budget_});
      mark_handles(values_of(source.inputs()));
      mark_handles(values_of(source.outputs()));
    } else if (detail::is_expanded(detail::builtin_of(entry))) {
      expand(index, source, entry);
    } else if (detail::builtin_of(entry) == tflite::BuiltinOperator::CUSTOM && custom != nullptr &&
               custom->string_view() == detail::kTflmDecode) {
      decode(index, source);
    } else {
      Operator op = read_operator(index, source, entry);
      if (const auto complete = detail::tflite_form(op.code).complete; complete != nullptr) {
        mark(complete(op, {model_, budget_}), decode_inputs_);
      }
      if (!op.inputs.empty() && is_marked(op.inputs[0], shifted_)) {
        detail::require_same_on_int8(op, index);
      }
      if (makes_constant(op) || folds(op)) return;
      if (!detail::mean_of_steps(op, {model_, budget_}) &&
          !detail::mean_of_rows(op, {model_, budget_})) {
        model_.operators.push_back(std::move(op));
      }
    }
    for (std::size_t i = before; i < model_.operators.size(); ++i) {
      const Operator& op = model_.operators[i];
      require_known_shapes(index, op);
      const std::string who = fmt::format("operator {} ({})", index, to_string(op.code));
      require_no_handles(op.inputs, who);
      variables_->require_states(op, definition(op.code).file_states, who);
      mark(op.inputs, read_tensors_);
    }
  }

  void mark_handles(std::vector<std::int32_t> tensors) {
    std::erase_if(tensors, [&](std::int32_t i) { return !variables_->is_handle(i); });
    mark(tensors, decode_inputs_);
  }

  void expand(std::size_t index, const tflite::Operator& source,
              const tflite::OperatorCode& entry) {
    const std::string who = fmt::format("operator {} ({})", index, detail::operator_name(entry));
    const std::size_t before = model_.operators.size();
    detail::expand(detail::builtin_of(entry), {source, who, budget_}, {model_, budget_});
    if (model_.operators.size() != before) return;
    mark_folded(values_of(source.outputs()));
    if (detail::builtin_of(entry) != tflite::BuiltinOperator::SHAPE) {
      mark(values_of(source.inputs()), decode_inputs_);
    }
  }

  /// Whether the operator moves the numbers of a shape, which are then constant.
  bool folds(const Operator& op) {
    if (!detail::fold_shape(op, {model_, budget_})) return false;
    mark(op.inputs, decode_inputs_);
    mark_folded(op.outputs);
    return true;
  }

  /// Marks shapes in which -1 stands for the batch.
  void mark_folded(std::span<const std::int32_t> outputs) {
    mark(outputs, decode_inputs_);
    for (const std::int32_t i : outputs) {
      const auto extents = detail::values_of<std::int32_t>(tensor_at(i, "shape"));
      if (std::ranges::find(extents, -1) != extents.end()) mark({&i, 1}, open_shapes_);
    }
  }

  /// Throws FormatError where an operator other than RESHAPE reads a shape whose batch is open.
  void require_known_shapes(std::size_t index, const Operator& op) const {
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const bool reshapes = op.code == OpCode::reshape && i == 1;
      if (op.inputs[i] < 0 || reshapes || !is_marked(op.inputs[i], open_shapes_)) continue;
      detail::fail_tflite("operator {} ({}): computes with the number of examples", index,
                          to_string(op.code));
    }
  }

  /// The tensor that a value of a TFLM_DECODE names.
  ModelTensor& tensor_at(std::int32_t index, std::string_view who) {
    if (index < 0 || static_cast<std::size_t>(index) >= model_.tensors.size()) {
      detail::fail_tflite("{}: tensor {} outside the {} tensors", who, index,
                          model_.tensors.size());
    }
    return model_.tensors[static_cast<std::size_t>(index)];
  }

  /// Whether `op` is the DEQUANTIZE of a constant of float16, which is read as float32: its result
  /// is that constant then.
  bool makes_constant(const Operator& op) {
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
    mark(op.inputs, decode_inputs_);
    return true;
  }

  /// Makes constants of the outputs of TFLM_DECODE: all that it reads is constant.
  void decode(std::size_t index, const tflite::Operator& source) {
    const std::string who = fmt::format("operator {} ({})", index, detail::kTflmDecode);
    const auto inputs = read_values(source.inputs(), 2 * kMaxOperands, who);
    const auto outputs = read_values(source.outputs(), kMaxOperands, who);
    if (outputs.empty() || inputs.size() != 2 * outputs.size()) {
      detail::fail_tflite("{}: expected two inputs for every output, found {} and {}", who,
                          inputs.size(), outputs.size());
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      ModelTensor& output = tensor_at(outputs[i], who);
      const ModelTensor& indices = tensor_at(inputs[2 * i], who);
      const ModelTensor& tables = tensor_at(inputs[2 * i + 1], who);
      if (indices.dtype != DType::uint8 || tables.dtype != DType::uint8) {
        detail::fail_tflite("{}: expected inputs of uint8", who);
      }
      if (is_marked(outputs[i], read_tensors_)) {
        detail::fail_tflite("{}: tensor {} is read before it is made", who, outputs[i]);
      }
      budget_.take(static_cast<std::size_t>(output.size()));
      detail::decode(indices.data, tables.data, who, output);
    }
    mark(inputs, decode_inputs_);
  }

  /// Removes what was decoded, and counts the other tensors anew.
  void drop_decode_inputs() {
    if (decode_inputs_.empty()) return;
    mark(model_.inputs, read_tensors_);
    mark(model_.outputs, read_tensors_);
    const auto is_dropped = [&](std::int32_t tensor) {
      return is_marked(tensor, decode_inputs_) && !is_marked(tensor, read_tensors_);
    };
    detail::drop_tensors(model_, is_dropped);
  }

  Operator read_operator(std::size_t index, const tflite::Operator& source,
                         const tflite::OperatorCode& entry) {
    const std::optional<OpCode> code = detail::known_code(entry);
    if (!code) {
      detail::fail_tflite("operator {}: {} is not supported", index, detail::operator_name(entry));
    }
    Operator op;
    op.code = *code;
    op.version = entry.version();
    const OperatorDefinition& rules = definition(op.code);
    const std::string who = fmt::format("operator {} ({})", index, to_string(op.code));
    if (op.version < 1 || op.version > rules.highest_version()) {
      detail::fail_tflite("{}: version {} is not supported, only 1 to {}", who, op.version,
                          rules.highest_version());
    }
    const std::size_t most = std::max(kMaxOperands, rules.file_order.size());
    op.inputs = detail::inputs_from_file(op.code, read_values(source.inputs(), most, who), who);
    op.outputs = read_values(source.outputs(), kMaxOperands, who);
    variables_->add_states(op, rules.file_states, who, {model_, budget_});
    mark(values_of(source.intermediates()), decode_inputs_);
    op.attributes = detail::tflite_form(op.code).read({source, who, budget_});
    return op;
  }

  void read_metadata() {
    constexpr std::size_t kBytesOfEntry = 128;
    for (std::size_t i = 0; i < size_or_zero(file_.metadata()); ++i) {
      const tflite::Metadata& entry = *file_.metadata()->Get(narrow(i));
      const std::string name = tensors_.text(entry.name());
      const auto* data = tensors_.buffer_data(entry.buffer(), fmt::format("metadata '{}'", name));
      // The writer makes this one from the operators.
      if (name == "min_runtime_version") continue;
      budget_.take(size_or_zero(data) + kBytesOfEntry);
      std::string value;
      if (data != nullptr) value.assign(data->begin(), data->end());
      model_.metadata.emplace(name, std::move(value));
    }
  }

  const tflite::Model& file_;
  detail::Budget budget_;
  detail::TensorReader tensors_;
  IntegerModel model_;
  /// The variables of the graph that is being read.
  std::optional<detail::Variables> variables_;
  /// By tensor: those that operators before the next one read, and the inputs of TFLM_DECODE. Empty
  /// where there are none.
  std::vector<bool> read_tensors_;
  std::vector<bool> decode_inputs_;
  /// By tensor: shapes, and parts of them, in which -1 stands for the batch.
  std::vector<bool> open_shapes_;
  /// By tensor of the file: those of uint8 that are read as int8.
  std::vector<bool> shifted_;
};

/// The names of values that leave out what is refused, by trying; none where there are no such.
std::vector<std::string> tried_ends(const tflite::Model& file, std::size_t file_bytes,
                                    TfliteReading reading) {
  try {
    reading.to = detail::readable_ends(file, file_bytes);
    if (!reading.to.empty()) Reader(file, file_bytes).read(reading);
    return reading.to;
  } catch (const FormatError&) {
    return {};
  }
}

IntegerModel read_or_propose(const tflite::Model& file, std::size_t file_bytes,
                             const TfliteReading& reading) {
  try {
    return Reader(file, file_bytes).read(reading);
  } catch (const detail::BudgetSpent&) {
    throw;
  } catch (const FormatError& error) {
    if (!reading.to.empty()) throw;
    const std::vector<std::string> ends = tried_ends(file, file_bytes, reading);
    if (ends.empty()) throw;
    throw FormatError(error.what() + detail::proposal(ends));
  }
}

}  // namespace

std::vector<std::vector<std::string>> detail::tflite_refusals(const tflite::Model& file,
                                                              std::size_t file_bytes) {
  Reader reader(file, file_bytes);
  std::vector<std::vector<std::string>> result;
  for (flatbuffers::uoffset_t i = 0; i < size_or_zero(file.subgraphs()); ++i) {
    result.push_back(reader.refusals(*file.subgraphs()->Get(i)));
  }
  return result;
}

IntegerModel detail::read_part(std::span<const std::uint8_t> bytes, const TfliteReading& reading) {
  IntegerModel model;
  detail::with_tflite(
      bytes, [&](const tflite::Model& file) { model = Reader(file, bytes.size()).read(reading); });
  return model;
}

IntegerModel from_tflite(std::span<const std::uint8_t> bytes, const TfliteReading& reading) {
  IntegerModel model;
  detail::with_tflite(bytes, [&](const tflite::Model& file) {
    model = read_or_propose(file, bytes.size(), reading);
  });
  return model;
}

IntegerModel read_tflite(const std::filesystem::path& path, const TfliteReading& reading) {
  const MappedFile file(path);
  try {
    return from_tflite(file.bytes(), reading);
  } catch (const FormatError& error) {
    throw FormatError(fmt::format("'{}': {}", path.string(), error.what()));
  }
}

}  // namespace octet
