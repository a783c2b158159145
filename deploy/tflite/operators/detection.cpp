#include <flatbuffers/flexbuffers.h>
#include <octet/deploy/tflite/operators.h>

#include <array>
#include <type_traits>

namespace octet::detail {
namespace {

/// Options that a file may lack.
constexpr std::array<std::string_view, 2> kOptionalFields = {"detections_per_class",
                                                             "use_regular_nms"};

template <class Field>
void read_field(Field& field, const flexbuffers::Map& options, std::string_view name,
                std::string_view who) {
  const flexbuffers::Reference found = options[std::string(name)];
  if (found.IsNull()) {
    if (std::ranges::find(kOptionalFields, name) != kOptionalFields.end()) return;
    fail_tflite("{}: its option {} is missing", who, name);
  }
  if (!found.IsNumeric() && !found.IsBool()) {
    fail_tflite("{}: expected a number as option {}", who, name);
  }
  if constexpr (std::is_same_v<Field, bool>) {
    field = found.AsBool();
  } else if constexpr (std::is_same_v<Field, float>) {
    field = found.AsFloat();
  } else {
    field = found.AsInt32();
  }
}

/// Options are a map of FlexBuffers, whose keys are the fields of the attributes.
OperatorAttributes read_detection(const TfliteOptions& from) {
  const auto* bytes = from.source.custom_options();
  const std::size_t size = bytes == nullptr ? 0 : bytes->size();
  if (size == 0) fail_tflite("{}: its options are missing", from.who);
  // The verifier remembers a byte for each of the buffer.
  from.budget.take(2 * size);
  std::vector<std::uint8_t> tracker;
  const bool is_sound = flexbuffers::VerifyBuffer(bytes->data(), size, &tracker) &&
                        flexbuffers::GetRoot(bytes->data(), size).IsMap();
  if (!is_sound) fail_tflite("{}: expected its options as a map of FlexBuffers", from.who);
  const flexbuffers::Map options = flexbuffers::GetRoot(bytes->data(), size).AsMap();
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

}  // namespace

TfliteOperator tflite_forms::detection_post_process() {
  return {.highest_version = 1,
          .required_version = always_first,
          .first_release = release_of_first,
          .options = {.read = read_detection, .write = write_detection},
          .custom_code = "TFLite_Detection_PostProcess"};
}

}  // namespace octet::detail
