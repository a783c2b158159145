#include <fmt/core.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/layers/image_layer.h>

#include <algorithm>
#include <utility>

namespace octet::detail {

void require_images(const Layer& layer, const Shape& input_shape) {
  const bool has_pixels = std::ranges::all_of(input_shape, [](Index n) { return n > 0; });
  if (input_shape.rank() == 3 && has_pixels) return;
  const std::string which =
      input_shape.rank() == 2
          ? fmt::format(
                ": for {0} steps of {1} channels Reshape({{1, {0}, {1}}}), with windows such "
                "as {{1, 2}}; for images of one channel Reshape({{{0}, {1}, 1}}), or begin "
                "with Input({{{0}, {1}, 1}}), which takes the same data",
                input_shape[0], input_shape[1])
          : "";
  const std::string cure = input_shape.rank() == 3 ? "" : "; put a Reshape layer in front" + which;
  throw InvalidArgument(fmt::format(
      "{} \"{}\": expected images [height, width, channels], each at least 1, found examples of "
      "shape {}{}",
      layer.type(), layer.name(), input_shape.to_string(), cure));
}

void require_sequences(const Layer& layer, const Shape& input_shape) {
  if (input_shape.rank() == 2) return;
  const std::string which =
      input_shape.rank() == 1
          ? fmt::format(": for steps of one channel Reshape({{{}, 1}})", input_shape[0])
          : "";
  throw InvalidArgument(fmt::format(
      "{} \"{}\": expected sequences [steps, channels], found examples of shape {}; put "
      "a Reshape layer in front{}",
      layer.type(), layer.name(), input_shape.to_string(), which));
}

std::int32_t as_int32(const Layer& layer, Index number) {
  if (std::in_range<std::int32_t>(number)) return static_cast<std::int32_t>(number);
  throw InvalidArgument(
      fmt::format("{} \"{}\": expected a number of 32 bits, as operators have, found {}",
                  layer.type(), layer.name(), number));
}

void require_above_0(std::string_view type, std::string_view what,
                     const std::array<Index, 2>& pair) {
  if (pair[0] > 0 && pair[1] > 0) return;
  const std::string likely =
      pair[0] > 0 && pair[1] == 0 ? fmt::format("; for both axes write {{{0}, {0}}}", pair[0]) : "";
  throw InvalidArgument(fmt::format("{}: expected {} above 0, found {} x {}{}", type, what, pair[0],
                                    pair[1], likely));
}

void require_above_0(std::string_view type, std::string_view what, Index number) {
  if (number > 0) return;
  throw InvalidArgument(fmt::format("{}: expected {} above 0, found {}", type, what, number));
}

Shape as_shape(const std::array<Index, 2>& pair) { return {pair[0], pair[1]}; }

std::array<Index, 2> pair_in(const Description& description, std::string_view key) {
  const Shape found = description.shape(key);
  if (found.rank() == 2) return {found[0], found[1]};
  throw FormatError(
      fmt::format("description: expected two numbers, height and width, in \"{}\", "
                  "found {}",
                  key, found.rank()));
}

void describe(const Padding2D& sides, Description& description) {
  description.set("top", sides.top)
      .set("bottom", sides.bottom)
      .set("left", sides.left)
      .set("right", sides.right);
}

Padding2D padding_in(const Description& d) {
  return {.top = d.integer("top"),
          .bottom = d.integer("bottom"),
          .left = d.integer("left"),
          .right = d.integer("right")};
}

}  // namespace octet::detail
