#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/kernels/bilinear.h>
#include <octet/core/resize_coordinates.h>

#include <algorithm>

namespace octet {

std::string_view to_string(ResizeCoordinates coordinates) {
  switch (coordinates) {
    case ResizeCoordinates::half_pixel:
      return "half_pixel";
    case ResizeCoordinates::align_corners:
      return "align_corners";
    case ResizeCoordinates::asymmetric:
      return "asymmetric";
  }
  throw InvalidArgument("a ResizeCoordinates outside the enumeration");
}

ResizeCoordinates parse_resize_coordinates(std::string_view name) {
  for (const auto coordinates : {ResizeCoordinates::half_pixel, ResizeCoordinates::align_corners,
                                 ResizeCoordinates::asymmetric}) {
    if (name == to_string(coordinates)) return coordinates;
  }
  throw InvalidArgument(fmt::format(
      "coordinates: expected half_pixel, align_corners or asymmetric, found \"{}\"", name));
}

std::vector<detail::BilinearTap<float>> detail::bilinear_taps(Index input, Index output,
                                                              ResizeCoordinates coordinates) {
  const bool aligns = coordinates == ResizeCoordinates::align_corners && output > 1;
  const float scale = aligns ? static_cast<float>(input - 1) / static_cast<float>(output - 1)
                             : static_cast<float>(input) / static_cast<float>(output);
  const float offset = coordinates == ResizeCoordinates::half_pixel ? 0.5F * scale - 0.5F : 0.0F;
  const auto last = static_cast<float>(input - 1);
  std::vector<BilinearTap<float>> taps;
  taps.reserve(static_cast<std::size_t>(output));
  for (Index o = 0; o < output; ++o) {
    const float place = std::clamp(static_cast<float>(o) * scale + offset, 0.0F, last);
    const Index lower = std::min(static_cast<Index>(place), input - 1);
    const Index upper = std::min(lower + 1, input - 1);
    taps.push_back({lower, upper, place - static_cast<float>(lower)});
  }
  return taps;
}

}  // namespace octet
