#include <octet/deploy/tflite/operators.h>

namespace octet::detail {
namespace {

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

TfliteOperator tflite_forms::resize_nearest_neighbor() {
  return {.highest_version = 3,
          .required_version = resize_version,
          .first_release = resize_release,
          .read = read_resize,
          .write = write_resize};
}

}  // namespace octet::detail
