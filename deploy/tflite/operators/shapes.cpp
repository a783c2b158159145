#include <octet/deploy/tflite/operators.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace octet::detail {
namespace {

WrittenOptions write_reshape(flatbuffers::FlatBufferBuilder& builder, const Operands& o) {
  auto attributes = o.op.as<ReshapeAttributes>();
  if (attributes.new_shape.empty()) attributes.new_shape = o.output().shape;
  return options_of<tflite::ReshapeOptions>(builder, attributes);
}

int squeeze_release(int /*version*/) { return 10600; }

/// 4 where there are more axes than the first versions take.
int version_of_axes(const Operands& o) {
  constexpr std::size_t kFirstMostRank = 4;
  return o.input().shape.size() > kFirstMostRank ? 4 : version_of_types(o);
}

int pad_version(const Operands& o) {
  return std::max(version_of_axes(o), o.input().dtype == DType::int16 ? 3 : 1);
}

int pad_release(int version) {
  if (version >= 3) return version == 3 ? 20400 : 20600;
  return release_of_types(version);
}

int padv2_release(int version) { return version == 1 ? 10900 : pad_release(version); }

int split_version(const Operands& o) {
  return o.input().dtype == DType::int16 ? 4 : version_of_types(o);
}

int split_release(int version) { return version >= 4 ? 20300 : release_of_types(version); }

/// A file has the axis in front.
constexpr std::array<std::size_t, 2> kSplitOrder = {1, 0};

int slice_release(int version) {
  if (version >= 3) return version == 3 ? 20100 : 20200;
  return version == 2 ? 11400 : 10600;
}

int transpose_version(const Operands& o) {
  return o.input().dtype == DType::int16 ? 5 : version_of_axes(o);
}

int transpose_release(int version) {
  if (version >= 4) return version == 4 ? 20300 : 20400;
  if (version == 3) return 11500;
  return version == 2 ? 11400 : 10600;
}

int bilinear_version(const Operands& o) {
  if (o.input().dtype == DType::int16) return 4;
  return o.op.as<ResizeAttributes>().half_pixel_centers ? 3 : version_of_types(o);
}

int bilinear_release(int version) {
  if (version >= 3) return version == 3 ? 20200 : 20500;
  return version == 2 ? 11400 : 10700;
}

int resize_version(const Operands& o) {
  const auto& a = o.op.as<ResizeAttributes>();
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
          .options = {kOptional<tflite::ReshapeOptions, ReshapeAttributes>.read, write_reshape}};
}

TfliteOperator tflite_forms::squeeze() {
  return {.highest_version = 2,
          .required_version = always_first,
          .first_release = squeeze_release,
          .options = kOptional<tflite::SqueezeOptions, SqueezeAttributes>};
}

TfliteOperator tflite_forms::pad() {
  return {.highest_version = 4,
          .required_version = pad_version,
          .first_release = pad_release,
          .options = kEmpty<tflite::PadOptions>};
}

TfliteOperator tflite_forms::padv2() {
  return {.highest_version = 4,
          .required_version = version_of_axes,
          .first_release = padv2_release,
          .options = kEmpty<tflite::PadV2Options>};
}

TfliteOperator tflite_forms::split() {
  return {.highest_version = 4,
          .required_version = split_version,
          .first_release = split_release,
          .options = kOptional<tflite::SplitOptions, SplitAttributes>,
          .order = kSplitOrder};
}

TfliteOperator tflite_forms::strided_slice() {
  return {.highest_version = 4,
          .required_version = version_of_axes,
          .first_release = slice_release,
          .options = kOptional<tflite::StridedSliceOptions, StridedSliceAttributes>};
}

TfliteOperator tflite_forms::transpose() {
  return {.highest_version = 5,
          .required_version = transpose_version,
          .first_release = transpose_release,
          .options = kEmpty<tflite::TransposeOptions>};
}

TfliteOperator tflite_forms::resize_bilinear() {
  return {.highest_version = 4,
          .required_version = bilinear_version,
          .first_release = bilinear_release,
          .options = kOptional<tflite::ResizeBilinearOptions, ResizeAttributes>};
}

TfliteOperator tflite_forms::resize_nearest_neighbor() {
  return {.highest_version = 3,
          .required_version = resize_version,
          .first_release = resize_release,
          .options = kOptional<tflite::ResizeNearestNeighborOptions, ResizeAttributes>};
}

}  // namespace octet::detail
