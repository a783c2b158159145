#include <fmt/format.h>
#include <octet/core/window.h>
#include <octet/import/onnx/builder.h>

#include <algorithm>

namespace octet::detail::onnx_import {
namespace {

constexpr Index kLargestInt32 = (Index{1} << 31) - 1;

/// One axis: what ONNX computes of its pads.
struct Axis {
  Index before;
  Index after;
  Index output;
};

Axis onnx_axis(const WindowAxis& window, std::array<Index, 2> pads, bool ceil) {
  const Index span = (window.kernel - 1) * window.dilation + 1;
  const Index room = window.input + pads[0] + pads[1] - span;
  if (room < 0) refuse("the window of {} does not fit into the image of {}", span, window.input);
  Index output = room / window.stride + 1;
  if (ceil && room % window.stride != 0) {
    // A last window that would begin behind the image and its front padding is left out.
    if (output * window.stride < window.input + pads[0]) ++output;
  }
  const Index reached = (output - 1) * window.stride + span;
  return {pads[0], std::max(reached - window.input - pads[0], Index{0}), output};
}

/// The pads of SAME_LOWER.
std::array<Index, 2> larger_half_in_front(const WindowAxis& window) {
  const WindowAxis same =
      slide_window(window.input, window.kernel, window.stride, window.dilation, Padding::same);
  return {same.after(), same.before};
}

}  // namespace

std::array<Index, 2> pair_of(const Node& node, std::string_view key, std::size_t rank,
                             Index otherwise) {
  const auto list = node.integers(key);
  if (list.empty()) return {otherwise, otherwise};
  const bool fits = list.size() == rank && std::ranges::all_of(list, [=](std::int64_t n) {
                      return n >= otherwise && n <= kLargestInt32;
                    });
  if (!fits) {
    refuse("expected {} numbers {} as {}, found [{}]", rank,
           otherwise > 0 ? "above 0" : "of 0 or more", key, fmt::join(list, ", "));
  }
  return rank == 1 ? std::array{otherwise, Index{list[0]}} : std::array<Index, 2>{list[0], list[1]};
}

std::array<std::array<Index, 2>, 2> pads_of(const Node& node, std::size_t rank) {
  const auto list = node.integers("pads");
  if (list.empty()) return {};
  const bool fits = list.size() == 2 * rank && std::ranges::all_of(list, [](std::int64_t n) {
                      return n >= 0 && n <= kLargestInt32;
                    });
  if (!fits) refuse("expected {} pads of 0 or more, found [{}]", 2 * rank, fmt::join(list, ", "));
  if (rank == 1) return {{{0, 0}, {list[0], list[1]}}};
  return {{{list[0], list[2]}, {list[1], list[3]}}};
}

WindowOptions window_of(const Node& node, const std::array<Index, 2>& size,
                        const std::array<Index, 2>& image, std::size_t rank) {
  WindowOptions options{.strides = pair_of(node, "strides", rank, 1),
                        .dilations = pair_of(node, "dilations", rank, 1)};
  const std::string automatic = node.text("auto_pad", "NOTSET");
  if (automatic == "SAME_UPPER" || automatic == "VALID") {
    options.padding = automatic == "VALID" ? Padding::valid : Padding::same;
    return options;
  }
  if (automatic != "NOTSET" && automatic != "SAME_LOWER") {
    refuse("expected auto_pad NOTSET, VALID, SAME_UPPER or SAME_LOWER, found {}", automatic);
  }
  auto pads = pads_of(node, rank);
  const bool ceil = node.integer("ceil_mode", 0) != 0;
  std::array<Axis, 2> axes{};
  std::array<bool, 2> fits = {true, true};
  for (std::size_t i = 0; i < 2; ++i) {
    const WindowAxis window{.input = image[i],
                            .kernel = size[i],
                            .stride = options.strides[i],
                            .dilation = options.dilations[i]};
    if (automatic == "SAME_LOWER") pads[i] = larger_half_in_front(window);
    axes[i] = onnx_axis(window, pads[i], ceil);
    if (axes[i].after > pads[i][1]) options.overhangs = true;
    for (const auto& [padding, k] : {std::pair(Padding::valid, 0U), std::pair(Padding::same, 1U)}) {
      const Index span = (size[i] - 1) * window.dilation + 1;
      const bool possible = padding == Padding::same || span <= image[i];
      const WindowAxis ours =
          possible ? slide_window(image[i], size[i], window.stride, window.dilation, padding)
                   : WindowAxis{.before = -1};
      if (ours.before != axes[i].before || ours.output != axes[i].output) fits[k] = false;
    }
  }
  if (fits[0] || fits[1]) {
    options.padding = fits[0] ? Padding::valid : Padding::same;
  } else {
    options.around = {axes[0].before, axes[0].after, axes[1].before, axes[1].after};
  }
  return options;
}

}  // namespace octet::detail::onnx_import
