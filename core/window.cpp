#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/window.h>

#include <algorithm>
#include <limits>

namespace octet {
namespace {

constexpr Index kMost = std::numeric_limits<std::int32_t>::max();

void require_extent(std::string_view what, Index value) {
  if (value >= 1 && value <= kMost) return;
  throw InvalidArgument(
      fmt::format("window: expected {} between 1 and {}, found {}", what, kMost, value));
}

}  // namespace

std::string_view to_string(Padding padding) {
  switch (padding) {
    case Padding::valid:
      return "valid";
    case Padding::same:
      return "same";
    case Padding::causal:
      return "causal";
  }
  throw InvalidArgument(fmt::format("a Padding outside the enumeration: {}", int(padding)));
}

Padding parse_padding(std::string_view name) {
  for (const Padding padding : {Padding::valid, Padding::same, Padding::causal}) {
    if (name == to_string(padding)) return padding;
  }
  throw InvalidArgument(fmt::format("padding: expected valid, same or causal, found \"{}\"", name));
}

WindowAxis slide_window(Index input, Index kernel, Index stride, Index dilation, Padding padding) {
  require_extent("an image extent", input);
  require_extent("a kernel size", kernel);
  require_extent("a stride", stride);
  require_extent("a dilation", dilation);
  WindowAxis axis{.input = input, .kernel = kernel, .stride = stride, .dilation = dilation};
  const Index span = (kernel - 1) * dilation + 1;
  switch (padding) {
    case Padding::valid:
      if (span > input) {
        throw InvalidArgument(fmt::format(
            "window: expected one that fits into the image, found a span of {} elements (kernel "
            "{}, dilation {}) and an extent of {}; use a smaller kernel, or padding same",
            span, kernel, dilation, input));
      }
      axis.output = (input - span) / stride + 1;
      return axis;
    case Padding::same:
      axis.output = divided_up(input, stride);
      axis.before = std::max<Index>((axis.output - 1) * stride + span - input, 0) / 2;
      return axis;
    case Padding::causal:
      require_extent("an image extent with its padding", input + span - 1);
      axis.output = divided_up(input, stride);
      axis.before = span - 1;
      return axis;
  }
  throw InvalidArgument(fmt::format("window: a Padding outside the enumeration: {}", int(padding)));
}

}  // namespace octet
