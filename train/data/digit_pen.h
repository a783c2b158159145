#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace octet {

constexpr std::size_t kDigitSide = 28;
constexpr std::size_t kDigitPixels = kDigitSide * kDigitSide;

/// A point of a drawn line in pixels, the centre of the first pixel at (0.5, 0.5), and the pen's
/// radius there.
struct PenPoint {
  float x = 0;
  float y = 0;
  float radius = 1;
};

/// How ink meets paper. `softness` is the width in pixels over which an edge fades.
struct Ink {
  float softness = 1;
  float peak = 255;
};

/// A field of signed distances from the ink's edge, out of which a picture is made.
class DigitCanvas {
 public:
  DigitCanvas();

  /// Draws a segment with round ends; its radius is the mean of the ends'.
  void draw(const PenPoint& from, const PenPoint& to);

  /// The ink at each pixel, 0 to `ink.peak`: the edge falls off as the smoothstep 3u^2 - 2u^3 of
  /// the distance. Row-major.
  void develop(const Ink& ink, std::span<float, kDigitPixels> out) const;

 private:
  std::array<float, kDigitPixels> distance_;
};

}  // namespace octet
