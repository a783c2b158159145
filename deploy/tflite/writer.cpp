#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/core/quant/packed_codes.h>
#include <octet/deploy/tflite/decode.h>
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
  explicit Writer(const IntegerModel& model) : model_(model) {
    buffers_.push_back(tflite::CreateBuffer(builder_));
  }

  std::vector<std::uint8_t> write() {
    const auto subgraph = write_subgraph();
    const auto metadata = write_metadata();
    const Offsets<tflite::SubGraph> subgraphs{subgraph};
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

  Offset<tflite::Tensor> write_tensor(const ModelTensor& tensor) {
    const std::uint32_t buffer = add_data(tensor);
    const auto quantization = write_quantization(tensor);
    const auto* signature = tensor.shape_signature.empty() ? nullptr : &tensor.shape_signature;
    return tflite::CreateTensorDirect(builder_, &tensor.shape, type_of(tensor), buffer,
                                      tensor.name.c_str(), quantization, false, 0, signature, true);
  }

  /// The position of (code, version) among the operator codes, which are in order of first use.
  std::uint32_t code_index(OpCode code, int version) {
    const auto index = static_cast<std::uint32_t>(codes_.size());
    const auto [found, is_new] = used_codes_.try_emplace({code, version}, index);
    if (is_new) {
      const auto number = static_cast<std::int32_t>(code);
      codes_.push_back(
          tflite::CreateOperatorCode(builder_, static_cast<std::int8_t>(std::min(number, 127)), 0,
                                     version, static_cast<tflite::BuiltinOperator>(number)));
    }
    return found->second;
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
      codes_.push_back(tflite::CreateOperatorCode(
          builder_, static_cast<std::int8_t>(tflite::BuiltinOperator::CUSTOM),
          builder_.CreateString(detail::kTflmDecode.data(), detail::kTflmDecode.size()), 1,
          tflite::BuiltinOperator::CUSTOM));
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

  Offset<tflite::Operator> write_operator(const Operator& op) {
    const detail::TfliteOperator& format = detail::tflite_operator(op.code);
    const std::uint32_t code = code_index(op.code, format.required_version({model_, op}));
    const auto [type, options] = format.options.write(builder_, {model_, op});
    const std::vector<std::int32_t> inputs = detail::inputs_for_file(format, op.inputs);
    return tflite::CreateOperatorDirect(builder_, code, &inputs, &op.outputs, type, options);
  }

  Offset<tflite::SubGraph> write_subgraph() {
    Offsets<tflite::Tensor> tensors;
    for (const ModelTensor& tensor : model_.tensors) tensors.push_back(write_tensor(tensor));
    Offsets<tflite::Operator> operators;
    for (const Operator& op : model_.operators) {
      for (const std::int32_t input : op.inputs) {
        if (input < 0 || model_.tensors[static_cast<std::size_t>(input)].decoded_bits == 0)
          continue;
        if (decoded_.insert(input).second) operators.push_back(write_decode(input, tensors));
      }
      operators.push_back(write_operator(op));
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
    int release = 0;
    for (const auto& [used, index] : used_codes_) {
      const auto [code, version] = used;
      release = std::max(release, detail::tflite_operator(code).first_release(version));
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
  flatbuffers::FlatBufferBuilder builder_;
  Offsets<tflite::Buffer> buffers_;
  Offsets<tflite::OperatorCode> codes_;
  /// The places of operators by code and version among `codes_`, which are in order of first use,
  /// and that of TFLM_DECODE.
  std::map<std::pair<OpCode, int>, std::uint32_t> used_codes_;
  std::optional<std::uint32_t> decode_code_;
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
    bytes += kTables + 4 * (op.inputs.size() + op.outputs.size() + extents);
  }
  for (const auto& [name, value] : model.metadata) bytes += kTables + name.size() + value.size();
  return bytes;
}

}  // namespace

std::vector<std::uint8_t> detail::to_tflite_within(const IntegerModel& model,
                                                   std::uint64_t max_bytes) {
  model.validate();
  if (const std::uint64_t bytes = most_bytes(model); bytes > max_bytes) {
    throw InvalidArgument(
        fmt::format("to_tflite: expected a model of at most {} bytes, as the offsets of a .tflite "
                    "file reach, found {}; make its layers smaller",
                    max_bytes, bytes));
  }
  return Writer(model).write();
}

std::vector<std::uint8_t> to_tflite(const IntegerModel& model) {
  return detail::to_tflite_within(model, FLATBUFFERS_MAX_BUFFER_SIZE);
}

void write_tflite(const IntegerModel& model, const std::filesystem::path& path) {
  write_file_atomic(path, to_tflite(model));
}

}  // namespace octet
