#include <flatbuffers/flexbuffers.h>
#include <octet/deploy/tflite/expand.h>
#include <octet/deploy/tflite/operators.h>
#include <octet/deploy/tflite/real_constants.h>
#include <octet/runtime/operators/detection_post_process.h>

#include <array>
#include <utility>

namespace octet::detail {
namespace {

/// Options that a file may lack.
constexpr std::array<std::string_view, 2> kOptionalFields = {"detections_per_class",
                                                             "use_regular_nms"};

void read_value(bool& field, const flexbuffers::Reference& found, std::string_view name,
                std::string_view who) {
  if (!found.IsBool() && !found.IsIntOrUint()) {
    fail_tflite("{}: expected true or false as option {}", who, name);
  }
  field = found.AsBool();
}

void read_value(float& field, const flexbuffers::Reference& found, std::string_view name,
                std::string_view who) {
  if (!found.IsNumeric()) fail_tflite("{}: expected a number as option {}", who, name);
  field = found.AsFloat();
}

void read_value(std::int32_t& field, const flexbuffers::Reference& found, std::string_view name,
                std::string_view who) {
  const bool fits = found.IsUInt() ? std::in_range<std::int32_t>(found.AsUInt64())
                                   : std::in_range<std::int32_t>(found.AsInt64());
  if (!found.IsIntOrUint() || !fits) {
    fail_tflite("{}: expected an integer of 32 bits as option {}", who, name);
  }
  field = found.AsInt32();
}

template <class Field>
void read_field(Field& field, const flexbuffers::Map& options, std::string_view name,
                std::string_view who) {
  const flexbuffers::Reference found = options[std::string(name)];
  if (!found.IsNull()) return read_value(field, found, name, who);
  if (std::ranges::find(kOptionalFields, name) == kOptionalFields.end()) {
    fail_tflite("{}: its option {} is missing", who, name);
  }
}

/// Options are a map of FlexBuffers, whose keys are the fields of the attributes.
OperatorAttributes read_detection(const TfliteOptions& from) {
  const auto* source = from.source.custom_options();
  const std::size_t size = source == nullptr ? 0 : source->size();
  if (size == 0) fail_tflite("{}: its options are missing", from.who);
  // The bytes, a zero behind them, and what the verifier remembers: a byte for each.
  from.budget.take(3 * size);
  std::vector<std::uint8_t> bytes(source->begin(), source->end());
  // The verifier lets the last key lack its end, up to which lookups read.
  bytes.push_back(0);
  std::vector<std::uint8_t> tracker;
  const bool is_sound = flexbuffers::VerifyBuffer(bytes.data(), size, &tracker) &&
                        flexbuffers::GetRoot(bytes.data(), size).IsMap();
  if (!is_sound) fail_tflite("{}: expected its options as a map of FlexBuffers", from.who);
  const flexbuffers::Map options = flexbuffers::GetRoot(bytes.data(), size).AsMap();
  DetectionAttributes attributes;
  std::apply(
      [&](auto&... field) {
        auto name = kFieldNames<DetectionAttributes>.begin();
        (read_field(field, options, *name++, from.who), ...);
      },
      attributes.fields());
  return attributes;
}

WrittenOptions write_detection(flatbuffers::FlatBufferBuilder& builder, const Operands& o) {
  flexbuffers::Builder options;
  options.Map([&] {
    for_each_field(o.op.as<DetectionAttributes>(), [&](std::string_view name, auto value) {
      options.Add(std::string(name).c_str(), value);
    });
  });
  options.Finish();
  return {.custom = builder.CreateVector(options.GetBuffer())};
}

/// Returns a tensor of the floats that operand `part`, of integers, stands for: a constant, or the
/// result of a DEQUANTIZE.
std::int32_t as_floats(std::int32_t index, std::size_t part, Draft& draft) {
  const std::int32_t made = draft.add_tensor(index, draft.tensor(index).shape, part);
  ModelTensor& floats = draft.tensor(made);
  if (draft.tensor(index).is_constant()) {
    draft.set_data(floats, draft.tensor(index).data);
    draft.take(floats.data.size() * sizeof(float));
    make_real(floats);
    return made;
  }
  floats.dtype = DType::float32;
  floats.quantization = {};
  draft.add(OpCode::dequantize, {index}, made, default_attributes(OpCode::dequantize));
  return made;
}

/// Gives the results their shapes, and the operator floats in place of operands of integers.
std::vector<std::int32_t> complete_detection(Operator& op, Draft draft) {
  std::vector<std::int32_t> replaced;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const std::int32_t input = op.inputs[i];
    if (!draft.exists(input)) continue;
    const bool is_quantized = draft.tensor(input).is_quantized();
    if (!is_quantized || !is_byte(draft.tensor(input).dtype)) continue;
    op.inputs[i] = as_floats(input, i, draft);
    if (draft.tensor(input).is_constant()) replaced.push_back(input);
  }
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    if (!draft.exists(op.outputs[i])) continue;
    ModelTensor& output = draft.tensor(op.outputs[i]);
    output.shape = detection_shape(op.as<DetectionAttributes>(), i);
    output.shape_signature.clear();
  }
  return replaced;
}

}  // namespace

TfliteForm tflite_forms::detection_post_process() {
  return {.read = read_detection, .write = write_detection, .complete = complete_detection};
}

}  // namespace octet::detail
