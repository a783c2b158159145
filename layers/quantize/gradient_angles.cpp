#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/layers/quantize/gradient_angles.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace octet {

/// Returns 90 for a gradient of 0 and another one, and 0 for two of 0, which are equal.
double GradientAngles::Products::degrees() const {
  if (int8 == 0.0 && floats == 0.0) return 0.0;
  if (int8 == 0.0 || floats == 0.0) return 90.0;
  // One root of both: that of a square is exact, so that equal gradients have an angle of 0.
  const double cosine = std::clamp(both / std::sqrt(int8 * floats), -1.0, 1.0);
  return std::acos(cosine) * 180.0 / std::numbers::pi;
}

void GradientAngles::begin_step(std::uint64_t step) {
  step_ = step;
  first_ = entries_.size();
}

void GradientAngles::add(const std::string& layer, GradientProduct product,
                         std::span<const float> on_int8, std::span<const float> in_floats) {
  if (on_int8.size() != in_floats.size()) {
    throw InvalidArgument(
        fmt::format("GradientAngles::add: expected two gradients of one size for layer '{}', found "
                    "{} and {} values",
                    layer, on_int8.size(), in_floats.size()));
  }
  Products sums{};
  for (std::size_t i = 0; i < on_int8.size(); ++i) {
    const auto a = static_cast<double>(on_int8[i]);
    const auto b = static_cast<double>(in_floats[i]);
    sums.both += a * b;
    sums.int8 += a * a;
    sums.floats += b * b;
  }
  if (!std::isfinite(sums.int8) || !std::isfinite(sums.floats)) return;
  std::optional<Products>& all = products_of(layer, product);
  if (!all) all = Products{};
  all->both += sums.both;
  all->int8 += sums.int8;
  all->floats += sums.floats;
}

std::optional<GradientAngles::Products>& GradientAngles::products_of(const std::string& layer,
                                                                     GradientProduct product) {
  const auto begin = entries_.begin() + static_cast<std::ptrdiff_t>(first_);
  auto found =
      std::find_if(begin, entries_.end(), [&](const Entry& entry) { return entry.layer == layer; });
  // The backward pass comes to the last layer first.
  if (found == entries_.end()) found = entries_.insert(begin, {.step = step_, .layer = layer});
  return found->products[static_cast<std::size_t>(product)];
}

std::vector<GradientAngle> GradientAngles::angles() const {
  const auto degrees = [](const Entry& entry, GradientProduct product) {
    const std::optional<Products>& products = entry.products[static_cast<std::size_t>(product)];
    return products ? std::optional(products->degrees()) : std::nullopt;
  };
  std::vector<GradientAngle> result;
  for (const Entry& entry : entries_) {
    result.push_back({.step = entry.step,
                      .layer = entry.layer,
                      .input = degrees(entry, GradientProduct::input),
                      .kernel = degrees(entry, GradientProduct::kernel)});
  }
  return result;
}

}  // namespace octet
