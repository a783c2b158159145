#include <fmt/format.h>
#include <octet/import/onnx/builder.h>
#include <octet/layers/upsampling2d.h>

#include <algorithm>
#include <cmath>

// Upsample, and Resize to more pixels, where each pixel is repeated.

namespace octet::detail::onnx_import {
namespace {

/// Throws unless a Resize by whole factors repeats each pixel: its default does, and others where
/// the pixel that they round to is the one that is repeated.
void require_repeating(const Node& node, const std::array<Index, 2>& factors) {
  if (node.text("mode", "nearest") != "nearest") {
    refuse("expected mode nearest, found {}", node.text("mode", "nearest"));
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

/// By how much each axis of [batch, channels, height, width] grows.
std::vector<float> factors_of(const Builder& builder, const Node& node, const Imported& x) {
  const bool has_sizes = node.op == "Resize" && builder.opset() >= 11 && node.has(3);
  if (has_sizes) {
    if (node.text("keep_aspect_ratio_policy", "stretch") != "stretch") {
      refuse("expected keep_aspect_ratio_policy stretch");
    }
    std::vector<float> factors;
    const auto& sizes = builder.required_constant(node, 3).integers();
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const Index from =
          i > 0 && i <= at(x.logical.rank()) ? x.logical[static_cast<Index>(i) - 1] : 0;
      const Index factor = from > 0 && sizes[i] % from == 0 ? sizes[i] / from : 0;
      factors.push_back(static_cast<float>(factor));
    }
    if (!factors.empty()) factors[0] = 1.0F;  // The number of examples.
    return factors;
  }
  const std::size_t input = node.op == "Resize" && builder.opset() >= 11 ? 2 : 1;
  if (const Constant* scales = builder.constant(node, input)) return scales->floats();
  const auto given = node.attributes.find("scales");
  const auto* scales =
      given == node.attributes.end() ? nullptr : std::get_if<std::vector<float>>(&given->second);
  if (scales == nullptr) refuse("expected scales or sizes, found neither");
  return *scales;
}

Imported import_resize(Builder& builder, const Node& node) {
  Imported x = builder.image(node, builder.input(node, 0));
  std::vector<float> factors = factors_of(builder, node, x);
  const std::vector<std::int64_t> axes = node.integers("axes");
  if (!axes.empty()) {
    std::vector<float> all(4, 1.0F);
    for (std::size_t i = 0; i < std::min(axes.size(), factors.size()); ++i) {
      const std::int64_t axis = axes[i] < 0 ? axes[i] + 4 : axes[i];
      if (axis < 0 || axis > 3) refuse("expected axes of images, found {}", axes[i]);
      all[at(axis)] = factors[i];
    }
    factors = all;
  }
  constexpr float kMost = 1 << 20;
  const auto is_whole = [](float factor) {
    return factor >= 1.0F && factor <= kMost && std::floor(factor) == factor;
  };
  if (factors.size() != 4 || factors[0] != 1.0F || factors[1] != 1.0F || !is_whole(factors[2]) ||
      !is_whole(factors[3])) {
    refuse("expected height and width of images to grow by whole factors, found [{}]",
           fmt::join(factors, ", "));
  }
  const std::array<Index, 2> grown = {static_cast<Index>(factors[2]),
                                      static_cast<Index>(factors[3])};
  require_repeating(node, grown);
  if (grown == std::array<Index, 2>{1, 1}) return x;
  Imported result = builder.add(node, std::make_unique<UpSampling2D>(grown), {x}, kImageAxes);
  result.not_negative = x.not_negative;
  return result;
}

constexpr std::array<Operator, 2> kResizing = {
    {{"Resize", import_resize}, {"Upsample", import_resize}}};

}  // namespace

std::span<const Operator> resizing_operators() { return kResizing; }

}  // namespace octet::detail::onnx_import
