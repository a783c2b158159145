#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/core/quant/packed_codes.h>
#include <octet/deploy/tflite/decode.h>
#include <octet/deploy/tflite/file_states.h>
#include <octet/deploy/tflite/operators.h>
#include <octet/deploy/tflite/writer.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

namespace octet {
namespace {

static_assert(std::endian::native == std::endian::little, "constants are written as they lie");

constexpr std::string_view kMinRuntimeVersion = "min_runtime_version";
constexpr std::size_t kMinRuntimeVersionBytes = 16;

using flatbuffers::Offset;
template <class T>
using Offsets = std::vector<Offset<T>>;

class Writer {
 public:
  explicit Writer(const IntegerModel& model, detail::FileStates states = {})
      : model_(model), states_(std::move(states)) {
    buffers_.push_back(tflite::CreateBuffer(builder_));
  }

  std::vector<std::uint8_t> write() {
    Offsets<tflite::SubGraph> subgraphs{write_subgraph()};
    if (!states_.resources.empty()) subgraphs.push_back(write_initializer());
    const auto metadata = write_metadata();
    const Offsets<tflite::SignatureDef> signatures{write_signature()};
    const std::string description =
        model_.description.empty() ? "Written by Octet." : model_.description;
    const auto root =
        tflite::CreateModelDirect(builder_, detail::kSchemaVersion, &codes_, &subgraphs,
                                  description.c_str(), &buffers_, nullptr, &metadata, &signatures);
    tflite::FinishModelBuffer(builder_, root);
    return {builder_.GetBufferPointer(), builder_.GetBufferPointer() + builder_.GetSize()};
  }

 private:
  std::uint32_t add_buffer(const std::uint8_t* data, std::size_t size) {
    builder_.ForceVectorAlignment(size, 1, 16);
    buffers_.push_back(tflite::CreateBuffer(builder_, builder_.CreateVector(data, size)));
    return static_cast<std::uint32_t>(buffers_.size() - 1);
  }

  Offset<tflite::QuantizationParameters> write_quantization(const ModelTensor& tensor) {
    if (!tensor.is_quantized()) return 0;
    const QuantParams& q = tensor.quantization;
    const std::vector<std::int64_t> zero_points(q.zero_points.begin(), q.zero_points.end());
    return tflite::CreateQuantizationParametersDirect(
        builder_, nullptr, nullptr, &q.scales, &zero_points, tflite::QuantizationDetails::NONE, 0,
        static_cast<std::int32_t>(q.quantized_dimension));
  }

  std::uint32_t add_data(const ModelTensor& tensor) {
    if (!tensor.is_constant() || tensor.decoded_bits > 0) return 0;
    if (tensor.stored_bits == 8) return add_buffer(tensor.data.data(), tensor.data.size());
    const std::span codes(reinterpret_cast<const std::int8_t*>(tensor.data.data()),
                          tensor.data.size());
    const std::vector<std::uint8_t> packed = pack_codes(codes, tensor.stored_bits);
    return add_buffer(packed.data(), packed.size());
  }

  static tflite::TensorType type_of(const ModelTensor& tensor) {
    if (tensor.stored_bits == 8) return static_cast<tflite::TensorType>(tensor.dtype);
    return tensor.stored_bits == 4 ? tflite::TensorType::INT4 : tflite::TensorType::INT2;
  }

  Offset<tflite::Tensor> write_tensor(const ModelTensor& tensor, bool is_changed = false) {
    const std::uint32_t buffer = add_data(tensor);
    const auto quantization = write_quantization(tensor);
    const auto* signature = tensor.shape_signature.empty() ? nullptr : &tensor.shape_signature;
    return tflite::CreateTensorDirect(builder_, &tensor.shape, type_of(tensor), buffer,
                                      tensor.name.c_str(), quantization, is_changed, 0, signature,
                                      true);
  }

  /// The position of (code, version) among the operator codes, which are in order of first use.
  std::uint32_t code_index(OpCode code, int version) {
    const auto index = static_cast<std::uint32_t>(codes_.size());
    const auto [found, is_new] = used_codes_.try_emplace({code, version}, index);
    if (!is_new) return found->second;
    if (const std::string_view name = definition(code).custom_code; !name.empty()) {
      codes_.push_back(custom_code(name, version));
      return index;
    }
    const auto number = static_cast<std::int32_t>(code);
    codes_.push_back(
        tflite::CreateOperatorCode(builder_, static_cast<std::int8_t>(std::min(number, 127)), 0,
                                   version, static_cast<tflite::BuiltinOperator>(number)));
    return index;
  }

  Offset<tflite::OperatorCode> custom_code(std::string_view name, int version) {
    return tflite::CreateOperatorCode(
        builder_, static_cast<std::int8_t>(tflite::BuiltinOperator::CUSTOM),
        builder_.CreateString(name.data(), name.size()), version, tflite::BuiltinOperator::CUSTOM);
  }

  Offset<tflite::Tensor> write_bytes(const std::string& name,
                                     const std::vector<std::uint8_t>& bytes) {
    const std::vector<std::int32_t> shape{static_cast<std::int32_t>(bytes.size())};
    return tflite::CreateTensorDirect(builder_, &shape, tflite::TensorType::UINT8,
                                      add_buffer(bytes.data(), bytes.size()), name.c_str());
  }

  /// The operator that makes tensor `index` of two more tensors, which are added to `tensors`.
  Offset<tflite::Operator> write_decode(std::int32_t index, Offsets<tflite::Tensor>& tensors) {
    if (!decode_code_) {
      decode_code_ = static_cast<std::uint32_t>(codes_.size());
      codes_.push_back(custom_code(detail::kTflmDecode, 1));
    }
    const ModelTensor& tensor = model_.tensors[static_cast<std::size_t>(index)];
    const detail::DecodeInputs bytes = detail::decode_inputs(tensor);
    const auto first = static_cast<std::int32_t>(tensors.size());
    tensors.push_back(write_bytes(tensor.name + "/indices", bytes.indices));
    tensors.push_back(write_bytes(tensor.name + "/table", bytes.tables));
    const std::vector<std::int32_t> inputs{first, first + 1};
    const std::vector<std::int32_t> outputs{index};
    return tflite::CreateOperatorDirect(builder_, *decode_code_, &inputs, &outputs);
  }

  Offset<tflite::Operator> write_operator(const Operator& op, Offsets<tflite::Tensor>& tensors) {
    const OperatorDefinition& rules = definition(op.code);
    const std::uint32_t code = code_index(op.code, rules.version_of({model_, op}));
    const auto [type, options, custom] = detail::tflite_form(op.code).write(builder_, {model_, op});
    const std::vector<std::int32_t> inputs = detail::inputs_for_file(op);
    std::vector<std::int32_t> intermediates;
    if (!rules.file_states.empty()) intermediates = add_intermediates(op.outputs[0], tensors);
    const auto written_inputs = builder_.CreateVector(inputs);
    const auto written_outputs = builder_.CreateVector(op.outputs);
    return tflite::CreateOperator(builder_, code, written_inputs, written_outputs, type, options,
                                  custom, 0, 0,
                                  intermediates.empty() ? 0 : builder_.CreateVector(intermediates));
  }

  /// What LiteRT's interpreter asks of an LSTM of integers: tensors without values, of which the
  /// fifth has the scale of the hidden state, that of output `hidden`.
  std::vector<std::int32_t> add_intermediates(std::int32_t hidden,
                                              Offsets<tflite::Tensor>& tensors) {
    constexpr int kSums = 4;
    const ModelTensor& like = model_.tensors[static_cast<std::size_t>(hidden)];
    std::vector<std::int32_t> made;
    for (int i = 0; i <= kSums; ++i) {
      ModelTensor tensor;
      tensor.name = fmt::format("{}/intermediate{}", like.name, i);
      tensor.dtype = i < kSums ? DType::float32 : like.dtype;
      if (i == kSums) tensor.quantization = like.quantization;
      tensor.shape = {0};
      made.push_back(static_cast<std::int32_t>(tensors.size()));
      tensors.push_back(write_tensor(tensor));
    }
    return made;
  }

  /// The place among the operator codes of one that is about resource variables.
  std::uint32_t variable_code(tflite::BuiltinOperator code) {
    const auto [found, is_new] =
        variable_codes_.try_emplace(code, static_cast<std::uint32_t>(codes_.size()));
    if (is_new) codes_.push_back(tflite::CreateOperatorCode(builder_, 127, 0, 1, code));
    return found->second;
  }

  template <class Options>
  Offset<tflite::Operator> write_variable(tflite::BuiltinOperator code,
                                          const std::vector<std::int32_t>& inputs,
                                          const std::vector<std::int32_t>& outputs,
                                          Offset<Options> options) {
    return tflite::CreateOperatorDirect(builder_, variable_code(code), &inputs, &outputs,
                                        tflite::BuiltinOptionsTraits<Options>::enum_value,
                                        options.Union());
  }

  /// Appends the handle of resource number `i` and the VAR_HANDLE that gives it.
  std::int32_t add_handle(std::size_t i, Offsets<tflite::Tensor>& tensors,
                          Offsets<tflite::Operator>& operators) {
    const auto handle = static_cast<std::int32_t>(tensors.size());
    const std::string name = fmt::format("state{}", i);
    const std::vector<std::int32_t> shape{1};
    tensors.push_back(tflite::CreateTensorDirect(builder_, &shape, tflite::TensorType::RESOURCE, 0,
                                                 (name + "/handle").c_str()));
    operators.push_back(
        write_variable(tflite::BuiltinOperator::VAR_HANDLE, {}, {handle},
                       tflite::CreateVarHandleOptionsDirect(builder_, "", name.c_str())));
    return handle;
  }

  void add_assignment(std::int32_t handle, std::int32_t value,
                      Offsets<tflite::Operator>& operators) {
    operators.push_back(write_variable(tflite::BuiltinOperator::ASSIGN_VARIABLE, {handle, value},
                                       {}, tflite::CreateAssignVariableOptions(builder_)));
  }

  /// Reads all variables in front of the operators. Returns their handles.
  std::vector<std::int32_t> read_variables(Offsets<tflite::Tensor>& tensors,
                                           Offsets<tflite::Operator>& operators) {
    std::vector<std::int32_t> handles;
    if (states_.resources.empty()) return handles;
    operators.push_back(write_variable(tflite::BuiltinOperator::CALL_ONCE, {}, {},
                                       tflite::CreateCallOnceOptions(builder_, 1)));
    for (std::size_t i = 0; i < states_.resources.size(); ++i) {
      handles.push_back(add_handle(i, tensors, operators));
      operators.push_back(write_variable(tflite::BuiltinOperator::READ_VARIABLE, {handles.back()},
                                         {states_.resources[i].read},
                                         tflite::CreateReadVariableOptions(builder_)));
    }
    return handles;
  }

  /// The graph that CALL_ONCE runs, which gives every variable the real value 0.
  Offset<tflite::SubGraph> write_initializer() {
    Offsets<tflite::Tensor> tensors;
    Offsets<tflite::Operator> operators;
    for (std::size_t i = 0; i < states_.resources.size(); ++i) {
      const std::int32_t handle = add_handle(i, tensors, operators);
      ModelTensor zero = model_.tensors[static_cast<std::size_t>(states_.resources[i].read)];
      zero.shape_signature.clear();
      zero.name += "/zero";
      const bool is_byte = zero.dtype == DType::int8 || zero.dtype == DType::uint8;
      zero.data.assign(static_cast<std::size_t>(zero.size()) * size_of(zero.dtype),
                       static_cast<std::uint8_t>(is_byte ? zero.quantization.zero_point() : 0));
      const auto value = static_cast<std::int32_t>(tensors.size());
      tensors.push_back(write_tensor(zero));
      add_assignment(handle, value, operators);
    }
    const std::vector<std::int32_t> none;
    return tflite::CreateSubGraphDirect(builder_, &tensors, &none, &none, &operators, "initialize");
  }

  Offset<tflite::SubGraph> write_subgraph() {
    Offsets<tflite::Tensor> tensors;
    for (std::size_t i = 0; i < model_.tensors.size(); ++i) {
      const bool is_changed = states_.changed.contains(static_cast<std::int32_t>(i));
      tensors.push_back(write_tensor(model_.tensors[i], is_changed));
    }
    Offsets<tflite::Operator> operators;
    const std::vector<std::int32_t> handles = read_variables(tensors, operators);
    for (const Operator& op : model_.operators) {
      for (const std::int32_t input : op.inputs) {
        if (input < 0 || model_.tensors[static_cast<std::size_t>(input)].decoded_bits == 0)
          continue;
        if (decoded_.insert(input).second) operators.push_back(write_decode(input, tensors));
      }
      operators.push_back(write_operator(op, tensors));
    }
    for (std::size_t i = 0; i < handles.size(); ++i) {
      add_assignment(handles[i], states_.resources[i].assigned, operators);
    }
    return tflite::CreateSubGraphDirect(builder_, &tensors, &model_.inputs, &model_.outputs,
                                        &operators, model_.name.c_str());
  }

  Offset<tflite::Metadata> write_entry(std::string_view name, std::string_view value) {
    const std::uint32_t buffer =
        add_buffer(reinterpret_cast<const std::uint8_t*>(value.data()), value.size());
    return tflite::CreateMetadata(builder_, builder_.CreateString(name.data(), name.size()),
                                  buffer);
  }

  Offsets<tflite::Metadata> write_metadata() {
    constexpr int kReleaseOfVariables = 20600;
    int release = states_.resources.empty() ? 0 : kReleaseOfVariables;
    for (const auto& [used, index] : used_codes_) {
      const auto [code, version] = used;
      release = std::max(release, definition(code).release_of(version));
    }
    std::string text = fmt::format("{}.{}.{}", release / 10000, release / 100 % 100, release % 100);
    text.resize(kMinRuntimeVersionBytes);
    Offsets<tflite::Metadata> entries{write_entry(kMinRuntimeVersion, text)};
    for (const auto& [name, value] : model_.metadata) {
      if (name != kMinRuntimeVersion) entries.push_back(write_entry(name, value));
    }
    return entries;
  }

  /// Signature names must differ: a tensor without a name of its own gets one by position.
  Offsets<tflite::TensorMap> write_maps(std::span<const std::int32_t> tensors,
                                        std::string_view role) {
    Offsets<tflite::TensorMap> maps;
    std::set<std::string> taken;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      std::string name = model_.tensors[static_cast<std::size_t>(tensors[i])].name;
      if (name.empty() || taken.contains(name)) name = fmt::format("{}_{}", role, i);
      taken.insert(name);
      maps.push_back(tflite::CreateTensorMapDirect(builder_, name.c_str(),
                                                   static_cast<std::uint32_t>(tensors[i])));
    }
    return maps;
  }

  Offset<tflite::SignatureDef> write_signature() {
    const auto inputs = write_maps(model_.inputs, "input");
    const auto outputs = write_maps(model_.outputs, "output");
    return tflite::CreateSignatureDefDirect(builder_, &inputs, &outputs, "serving_default");
  }

  const IntegerModel& model_;
  detail::FileStates states_;
  flatbuffers::FlatBufferBuilder builder_;
  Offsets<tflite::Buffer> buffers_;
  Offsets<tflite::OperatorCode> codes_;
  /// The places of operators by code and version among `codes_`, which are in order of first use,
  /// and that of TFLM_DECODE.
  std::map<std::pair<OpCode, int>, std::uint32_t> used_codes_;
  std::optional<std::uint32_t> decode_code_;
  std::map<tflite::BuiltinOperator, std::uint32_t> variable_codes_;
  /// Tensors whose TFLM_DECODE is written.
  std::set<std::int32_t> decoded_;
};

/// No file is larger: what the parts of the model hold, and more than tables and padding add.
std::uint64_t most_bytes(const IntegerModel& model) {
  constexpr std::uint64_t kTables = 512;
  std::uint64_t bytes = 4 * kTables + model.name.size() + model.description.size();
  for (const ModelTensor& tensor : model.tensors) {
    // A name may stand in the signature too, a channel has a scale and a zero point of 8 bytes.
    // A tensor that is decoded is three, and an operator.
    const std::uint64_t parts = tensor.decoded_bits > 0 ? 4 : 1;
    bytes += parts * (kTables + 2 * tensor.name.size()) + tensor.data.size() +
             8 * tensor.shape.size() + 12 * tensor.quantization.scales.size();
  }
  for (const Operator& op : model.operators) {
    const auto* reshape = std::get_if<ReshapeAttributes>(&op.attributes);
    const std::size_t extents = reshape == nullptr ? 0 : reshape->new_shape.size();
    // Those with states have five tensors more.
    const std::uint64_t parts = op.outputs.size() > 1 ? 8 : 1;
    bytes += parts * kTables + 8 * (op.inputs.size() + op.outputs.size() + extents);
  }
  if (!model.metadata.contains("octet.states")) return bytes;
  // A state that is a variable has a constant, two handles and five operators.
  for (const std::int32_t input : model.inputs) {
    const ModelTensor& tensor = model.tensors[static_cast<std::size_t>(input)];
    bytes += 8 * (kTables + tensor.name.size()) +
             static_cast<std::uint64_t>(tensor.size()) * size_of(tensor.dtype);
  }
  for (const auto& [name, value] : model.metadata) bytes += kTables + name.size() + value.size();
  return bytes;
}

}  // namespace

std::vector<std::uint8_t> detail::to_tflite_within(const IntegerModel& model,
                                                   std::uint64_t max_bytes, TfliteStates states) {
  model.validate();
  if (const std::uint64_t bytes = most_bytes(model); bytes > max_bytes) {
    throw InvalidArgument(
        fmt::format("to_tflite: expected a model of at most {} bytes, as the offsets of a .tflite "
                    "file reach, found {}; make its layers smaller",
                    max_bytes, bytes));
  }
  if (!has_file_states(model, states)) return Writer(model).write();
  IntegerModel of_file = model;
  FileStates taken = take_states(of_file, states);
  return Writer(of_file, std::move(taken)).write();
}

std::vector<std::uint8_t> to_tflite(const IntegerModel& model, TfliteStates states) {
  return detail::to_tflite_within(model, FLATBUFFERS_MAX_BUFFER_SIZE, states);
}

void write_tflite(const IntegerModel& model, const std::filesystem::path& path,
                  TfliteStates states) {
  write_file_atomic(path, to_tflite(model, states));
}

}  // namespace octet
