#include <octet/core/plot.h>
#include <octet/report/example_view.h>
#include <octet/report/png.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>

namespace octet::detail {
namespace {

constexpr Index kMostSide = 96;
constexpr Index kMostLines = 16;
/// Points of all lines of an example, and of one: two for each pixel of the room that it gets.
constexpr Index kMostPoints = 1200;
constexpr Index kMostPointsOfLine = 320;

std::vector<std::uint8_t> shades_of(std::span<const float> values) {
  auto [low, high] = std::ranges::minmax(values);
  if (low >= 0.0F && high <= 1.0F) {
    low = 0.0F;
    high = 1.0F;
  }
  // The difference of two floats may lie beyond what a float holds.
  const double least = low;
  const double span = high > low ? double{high} - least : 1.0;
  std::vector<std::uint8_t> shades;
  shades.reserve(values.size());
  for (const float value : values) {
    const double shade = std::clamp((value - least) / span * 255.0, 0.0, 255.0);
    shades.push_back(static_cast<std::uint8_t>(std::lround(shade)));
  }
  return shades;
}

ExampleView picture_of(std::span<const float> values, const PixelSize& size) {
  const Index longest = std::max({size.height, size.width, kMostSide});
  const auto shown = [&](Index side) { return std::max<Index>(side * kMostSide / longest, 1); };
  const bool fits = longest == kMostSide;
  const PixelSize small{fits ? size.height : shown(size.height),
                        fits ? size.width : shown(size.width), size.channels};
  return {.png = png_file(resize_image(shades_of(values), size, small.height, small.width), small)};
}

/// Features [frames, features], turned so that time goes to the right and the first one is lowest.
ExampleView map_of(std::span<const float> values, Index frames, Index features) {
  const std::vector<std::uint8_t> shades = shades_of(values);
  std::vector<std::uint8_t> turned;
  turned.reserve(shades.size());
  for (Index feature = features - 1; feature >= 0; --feature) {
    for (Index frame = 0; frame < frames; ++frame) {
      turned.push_back(shades[static_cast<std::size_t>(frame * features + feature)]);
    }
  }
  const PixelSize small{std::min(features, kMostSide), std::min(frames, kMostSide), 1};
  return {.png = png_file(resize_image(turned, {features, frames, 1}, small.height, small.width),
                          small),
          .is_map = true};
}

/// The points of one channel of [steps, channels].
PlotPoints line_of(std::span<const float> values, Index channels, Index channel, Index most) {
  const Index steps = std::ssize(values) / channels;
  const auto at = [&](Index step) {
    return values[static_cast<std::size_t>(step * channels + channel)];
  };
  PlotPoints points;
  const auto add = [&](Index step) { points.emplace_back(static_cast<double>(step), at(step)); };
  if (steps <= most) {
    for (Index step = 0; step < steps; ++step) add(step);
    return points;
  }
  const Index stretches = most / 2;
  for (Index i = 0; i < stretches; ++i) {
    Index least = i * steps / stretches;
    Index largest = least;
    for (Index step = least; step < (i + 1) * steps / stretches; ++step) {
      if (at(step) < at(least)) least = step;
      if (at(step) > at(largest)) largest = step;
    }
    add(std::min(least, largest));
    if (least != largest) add(std::max(least, largest));
  }
  return points;
}

ExampleView lines_of(std::span<const float> values, Index channels) {
  const Index most = std::min(kMostPointsOfLine, kMostPoints / channels);
  ExampleView view;
  view.steps = values.size() / static_cast<std::size_t>(channels);
  for (Index channel = 0; channel < channels; ++channel) {
    view.lines.push_back(line_of(values, channels, channel, most));
  }
  return view;
}

}  // namespace

ExampleView view_of(const Dataset& test, std::size_t example) {
  const Shape& shape = test.example_shape();
  const Tensor features = test.features(example, example + 1);
  const std::span<const float> values = features.span();
  if (shape.rank() == 0 || values.size() < 2 ||
      !std::ranges::all_of(values, [](float x) { return std::isfinite(x); })) {
    return {};
  }
  if (!test.front_end().empty()) return map_of(values, shape[0], shape.size() / shape[0]);
  if (shape.rank() == 1) return lines_of(values, 1);
  if (shape.rank() == 2) {
    const bool is_picture = !test.bytes().empty() || shape[1] > kMostLines;
    return is_picture ? picture_of(values, {shape[0], shape[1], 1}) : lines_of(values, shape[1]);
  }
  const bool is_picture = shape.rank() == 3 && (shape[2] == 1 || shape[2] == 3);
  return is_picture ? picture_of(values, {shape[0], shape[1], shape[2]}) : ExampleView();
}

}  // namespace octet::detail
