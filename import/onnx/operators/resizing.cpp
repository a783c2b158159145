#include <fmt/format.h>
#include <octet/import/onnx/builder.h>
#include <octet/layers/resizing.h>
#include <octet/layers/upsampling2d.h>

#include <algorithm>
#include <cmath>

// Upsample, and Resize to more pixels, where each pixel is repeated, or to any number of pixels by
// bilinear interpolation.

namespace octet::detail::onnx_import {
namespace {

/// Throws unless a Resize by whole factors repeats each pixel: its default does, and others where
/// the pixel that they round to is the one that is repeated.
void require_repeating(const Node& node, const std::array<Index, 2>& factors) {
  if (node.text("mode", "nearest") != "nearest") {
    refuse("expected mode nearest or linear, found {}", node.text("mode", "nearest"));
  }
  if (node.op == "Upsample") return;
  const std::string place = node.text("coordinate_transformation_mode", "half_pixel");
  const std::string rounds = node.text("nearest_mode", "round_prefer_floor");
  const bool rounds_to_nearest = rounds == "round_prefer_floor" || rounds == "round_prefer_ceil";
  const bool centered =
      place == "half_pixel" || place == "pytorch_half_pixel" || place == "half_pixel_symmetric";
  const auto at_most_2 = [](Index factor) { return factor <= 2; };
  const bool repeats =
      (centered && rounds_to_nearest) ||
      ((place == "asymmetric" || place == "tf_half_pixel_for_nn") && rounds == "floor") ||
      (place == "asymmetric" && rounds == "round_prefer_floor" &&
       std::ranges::all_of(factors, at_most_2));
  if (repeats) return;
  refuse("expected a resize that repeats pixels, found coordinates {} with rounding {}", place,
         rounds);
}

constexpr double kMostPixels = 1 << 30;

std::vector<float> scales_of(const Builder& builder, const Node& node) {
  const std::size_t input = node.op == "Resize" && builder.opset() >= 11 ? 2 : 1;
  if (const Constant* scales = builder.constant(node, input)) return scales->floats();
  const auto given = node.attributes.find("scales");
  const auto* scales =
      given == node.attributes.end() ? nullptr : std::get_if<std::vector<float>>(&given->second);
  if (scales == nullptr) refuse("expected scales or sizes, found neither");
  return *scales;
}

/// The axes of [batch, channels, height, width] that `count` scales or sizes are of.
std::vector<std::size_t> axes_of(const Node& node, std::size_t count) {
  std::vector<std::int64_t> axes = node.integers("axes");
  if (axes.empty()) axes = {0, 1, 2, 3};
  if (axes.size() != count) {
    refuse("expected as many scales or sizes as axes of images, {}, found {}", axes.size(), count);
  }
  std::vector<std::size_t> counted;
  for (const std::int64_t axis : axes) {
    if (axis < -4 || axis > 3) refuse("expected axes of images, found {}", axis);
    counted.push_back(static_cast<std::size_t>(axis < 0 ? axis + 4 : axis));
  }
  return counted;
}

/// The extents that a node gives axes of [batch, channels, height, width], in the order of its
/// attribute `axes`; of the batch 1.
std::vector<Index> given_extents(const Builder& builder, const Node& node, const Imported& x) {
  if (node.op == "Resize" && builder.opset() >= 11 && node.has(3)) {
    if (node.text("keep_aspect_ratio_policy", "stretch") != "stretch") {
      refuse("expected keep_aspect_ratio_policy stretch");
    }
    std::vector<Index> extents = builder.required_constant(node, 3).integers();
    if (extents.size() == 4) extents[0] = 1;
    return extents;
  }
  const std::vector<float> scales = scales_of(builder, node);
  const std::vector<std::size_t> axes = axes_of(node, scales.size());
  std::vector<Index> extents;
  for (std::size_t i = 0; i < scales.size(); ++i) {
    const Index from = axes[i] == 0 ? 1 : x.logical[static_cast<Index>(axes[i]) - 1];
    const double extent = std::round(static_cast<double>(from) * static_cast<double>(scales[i]));
    // Else the places of pixels do not follow from the two extents.
    const double scale = extent / static_cast<double>(from);
    if (!(extent >= 1 && extent <= kMostPixels && std::abs(scale - scales[i]) <= 1e-6 * scale)) {
      refuse("expected scales to a whole number of pixels, found [{}] for {}",
             fmt::join(scales, ", "), x.logical.to_string());
    }
    extents.push_back(static_cast<Index>(extent));
  }
  return extents;
}

/// The height and the width of the result.
std::array<Index, 2> size_of_result(const Builder& builder, const Node& node, const Imported& x) {
  std::array<Index, 4> all{1, x.logical[0], x.logical[1], x.logical[2]};
  const std::vector<Index> extents = given_extents(builder, node, x);
  const std::vector<std::size_t> axes = axes_of(node, extents.size());
  for (std::size_t i = 0; i < extents.size(); ++i) all[axes[i]] = extents[i];
  if (all[0] != 1 || all[1] != x.logical[0] || all[2] < 1 || all[3] < 1) {
    refuse("expected another height and width of images alone, found [{}] for {}",
           fmt::join(extents, ", "), x.logical.to_string());
  }
  return {all[2], all[3]};
}

Imported repeat(Builder& builder, const Node& node, const Imported& x,
                const std::array<Index, 2>& size) {
  std::array<Index, 2> factors{};
  for (Index i = 0; i < 2; ++i) {
    const Index from = x.logical[i + 1];
    if (size[at(i)] % from != 0) {
      refuse(
          "expected mode linear, or height and width of images to grow by whole factors, found "
          "{} x {} from {} x {}",
          size[0], size[1], x.logical[1], x.logical[2]);
    }
    factors[at(i)] = size[at(i)] / from;
  }
  require_repeating(node, factors);
  return builder.add(node, std::make_unique<UpSampling2D>(factors), {x}, kImageAxes);
}

/// Where pixels lie: up to opset 10 always asymmetric.
ResizeCoordinates coordinates_of(const Builder& builder, const Node& node,
                                 const std::array<Index, 2>& size) {
  if (node.op == "Upsample" || builder.opset() < 11) return ResizeCoordinates::asymmetric;
  if (node.integer("antialias", 0) != 0) refuse("expected antialias 0");
  const std::string named = node.text("coordinate_transformation_mode", "half_pixel");
  // It differs for an extent of 1 alone.
  if (named == "pytorch_half_pixel" && size[0] > 1 && size[1] > 1) {
    return ResizeCoordinates::half_pixel;
  }
  for (const auto each : {ResizeCoordinates::half_pixel, ResizeCoordinates::align_corners,
                          ResizeCoordinates::asymmetric}) {
    if (named == to_string(each)) return each;
  }
  refuse("expected coordinates half_pixel, align_corners or asymmetric, found {}", named);
}

Imported import_resize(Builder& builder, const Node& node) {
  Imported x = builder.image(node, builder.input(node, 0));
  const std::array<Index, 2> size = size_of_result(builder, node, x);
  if (size == std::array<Index, 2>{x.logical[1], x.logical[2]}) return x;
  const std::string mode = node.text("mode", "nearest");
  const bool is_linear = mode == "linear" || mode == "bilinear";
  Imported result =
      is_linear
          ? builder.add(node, std::make_unique<Resizing>(size, coordinates_of(builder, node, size)),
                        {x}, kImageAxes)
          : repeat(builder, node, x, size);
  result.not_negative = x.not_negative;
  return result;
}

constexpr std::array<Operator, 2> kResizing = {
    {{"Resize", import_resize}, {"Upsample", import_resize}}};

}  // namespace

std::span<const Operator> resizing_operators() { return kResizing; }

}  // namespace octet::detail::onnx_import
