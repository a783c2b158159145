#include <octet/deploy/tflite/operators.h>

namespace octet::detail {
namespace {

OperatorAttributes read_reshape(const TfliteOptions& from) {
  const auto* options = from.as<tflite::ReshapeOptions>();
  if (options == nullptr) return ReshapeAttributes{};
  return ReshapeAttributes{.new_shape =
                               read_values(options->new_shape(), kMaxRank, from.who, from.budget)};
}

WrittenOptions write_reshape(flatbuffers::FlatBufferBuilder& builder, const Operands& o) {
  const auto& wanted = o.op.as<ReshapeAttributes>().new_shape;
  const auto& shape = wanted.empty() ? o.output().shape : wanted;
  return {tflite::BuiltinOptions::ReshapeOptions,
          tflite::CreateReshapeOptionsDirect(builder, &shape).Union()};
}

OperatorAttributes read_squeeze(const TfliteOptions& from) {
  const auto* options = from.as<tflite::SqueezeOptions>();
  if (options == nullptr) return SqueezeAttributes{};
  return SqueezeAttributes{
      .squeeze_dims = read_values(options->squeeze_dims(), kMaxRank, from.who, from.budget)};
}

WrittenOptions write_squeeze(flatbuffers::FlatBufferBuilder& builder, const Operands& o) {
  const auto& dims = o.op.as<SqueezeAttributes>().squeeze_dims;
  return {tflite::BuiltinOptions::SqueezeOptions,
          tflite::CreateSqueezeOptionsDirect(builder, &dims).Union()};
}

int squeeze_release(int /*version*/) { return 10600; }

WrittenOptions write_pad(flatbuffers::FlatBufferBuilder& builder, const Operands& /*operands*/) {
  return {tflite::BuiltinOptions::PadOptions, tflite::CreatePadOptions(builder).Union()};
}

WrittenOptions write_padv2(flatbuffers::FlatBufferBuilder& builder, const Operands& /*operands*/) {
  return {tflite::BuiltinOptions::PadV2Options, tflite::CreatePadV2Options(builder).Union()};
}

int pad_version(const Operands& o) {
  constexpr std::size_t kFirstMostRank = 4;
  return o.input().shape.size() > kFirstMostRank ? 4 : version_of_types(o);
}

int pad_release(int version) { return version >= 4 ? 20600 : release_of_types(version); }

int padv2_release(int version) { return version == 1 ? 10900 : pad_release(version); }

OperatorAttributes read_resize(const TfliteOptions& from) {
  const auto* options = from.as<tflite::ResizeNearestNeighborOptions>();
  if (options == nullptr) return ResizeNearestNeighborAttributes{};
  return ResizeNearestNeighborAttributes{.align_corners = options->align_corners(),
                                         .half_pixel_centers = options->half_pixel_centers()};
}

WrittenOptions write_resize(flatbuffers::FlatBufferBuilder& builder, const Operands& o) {
  const auto& a = o.op.as<ResizeNearestNeighborAttributes>();
  return {tflite::BuiltinOptions::ResizeNearestNeighborOptions,
          tflite::CreateResizeNearestNeighborOptions(builder, a.align_corners, a.half_pixel_centers)
              .Union()};
}

int resize_version(const Operands& o) {
  const auto& a = o.op.as<ResizeNearestNeighborAttributes>();
  return a.align_corners || a.half_pixel_centers ? 3 : version_of_types(o);
}

int resize_release(int version) {
  if (version >= 3) return 20300;
  return version == 2 ? 11400 : 11301;
}

}  // namespace

TfliteOperator tflite_forms::reshape() {
  return {.highest_version = 1,
          .required_version = always_first,
          .first_release = release_of_first,
          .read = read_reshape,
          .write = write_reshape};
}

TfliteOperator tflite_forms::squeeze() {
  return {.highest_version = 2,
          .required_version = always_first,
          .first_release = squeeze_release,
          .read = read_squeeze,
          .write = write_squeeze};
}

TfliteOperator tflite_forms::pad() {
  return {.highest_version = 4,
          .required_version = pad_version,
          .first_release = pad_release,
          .read = read_none,
          .write = write_pad};
}

TfliteOperator tflite_forms::padv2() {
  return {.highest_version = 4,
          .required_version = pad_version,
          .first_release = padv2_release,
          .read = read_none,
          .write = write_padv2};
}

TfliteOperator tflite_forms::resize_nearest_neighbor() {
  return {.highest_version = 3,
          .required_version = resize_version,
          .first_release = resize_release,
          .read = read_resize,
          .write = write_resize};
}

}  // namespace octet::detail
