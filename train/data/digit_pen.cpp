#include <octet/train/data/digit_pen.h>

#include <algorithm>
#include <cmath>

namespace octet {
namespace {

/// Farther from the edge than this nothing is drawn; no softness is larger.
constexpr float kReach = 2.0F;
constexpr float kDrawnSide = static_cast<float>(kDigitSide);

/// Pixels whose centres may be within `reach` of [lo, hi], clamped while still a float.
struct PixelRange {
  std::size_t begin;
  std::size_t end;
};

PixelRange pixels_near(float lo, float hi, float reach) {
  const float begin = std::clamp(lo - reach, 0.0F, kDrawnSide);
  const float end = std::clamp(hi + reach + 1.0F, 0.0F, kDrawnSide);
  return {static_cast<std::size_t>(begin), static_cast<std::size_t>(end)};
}

}  // namespace

DigitCanvas::DigitCanvas() { distance_.fill(kReach); }

void DigitCanvas::draw(const PenPoint& from, const PenPoint& to) {
  const float radius = 0.5F * (from.radius + to.radius);
  const float reach = radius + kReach;
  const PixelRange columns = pixels_near(std::min(from.x, to.x), std::max(from.x, to.x), reach);
  const PixelRange rows = pixels_near(std::min(from.y, to.y), std::max(from.y, to.y), reach);
  const float along_x = to.x - from.x;
  const float along_y = to.y - from.y;
  // The small number keeps a segment without length from dividing by zero.
  const float inverse = 1.0F / (along_x * along_x + along_y * along_y + 1e-12F);
  for (std::size_t row = rows.begin; row < rows.end; ++row) {
    float* distance = distance_.data() + row * kDigitSide;
    const float y = static_cast<float>(row) + 0.5F - from.y;
    for (std::size_t column = columns.begin; column < columns.end; ++column) {
      const float x = static_cast<float>(static_cast<int>(column)) + 0.5F - from.x;
      const float t = (x * along_x + y * along_y) * inverse;
      const float nearest = t < 0.0F ? 0.0F : (t > 1.0F ? 1.0F : t);
      const float dx = x - nearest * along_x;
      const float dy = y - nearest * along_y;
      const float d = std::sqrt(dx * dx + dy * dy) - radius;
      distance[column] = d < distance[column] ? d : distance[column];
    }
  }
}

void DigitCanvas::develop(const Ink& ink, std::span<float, kDigitPixels> out) const {
  const float inverse = 1.0F / ink.softness;
  for (std::size_t i = 0; i < kDigitPixels; ++i) {
    const float u = 0.5F - distance_[i] * inverse;
    const float c = u < 0.0F ? 0.0F : (u > 1.0F ? 1.0F : u);
    out[i] = ink.peak * (c * c * (3.0F - 2.0F * c));
  }
}

}  // namespace octet
