#include <octet/core/parallel.h>
#include <octet/core/random.h>
#include <octet/train/data/digit_glyphs.h>
#include <octet/train/data/digit_pen.h>
#include <octet/train/data/digits.h>

#include <array>
#include <span>
#include <utility>
#include <vector>

namespace octet {
namespace {

constexpr int kDigitClasses = 10;
constexpr std::size_t kGrainExamples = 64;
constexpr int kPiecesPerKnot = 4;

// Streams of the seed.
constexpr std::uint64_t kTrainStream = 1;
constexpr std::uint64_t kTestStream = 2;
// Streams of one set.
constexpr std::uint64_t kClassStream = 1;
constexpr std::uint64_t kStyleStream = 2;
constexpr std::uint64_t kNoiseStream = 3;

// How far hands differ, tuned so that a linear model stays well under 95 % while a small network
// gets well above 97 %. Lengths are in units of the digit's height unless in pixels.
constexpr float kNeatest = 0.5F;
constexpr float kSloppiest = 2.2F;
// These four are multiplied by the sloppiness.
constexpr float kKnotJitter = 0.040F;
constexpr float kBend = 0.13F;
constexpr float kTurn = 0.10F;  // the tangent of half the angle
constexpr float kShear = 0.25F;
constexpr float kMinHeight = 16.0F;  // pixels
constexpr float kMaxHeight = 21.0F;
constexpr float kMinAspect = 0.70F;
constexpr float kMaxAspect = 1.05F;
constexpr float kShift = 2.1F;  // pixels
constexpr float kMinRadius = 0.55F;
constexpr float kMaxRadius = 1.55F;
constexpr float kMinSoftness = 0.9F;
constexpr float kMaxSoftness = 1.9F;
constexpr float kMinPeak = 170.0F;
constexpr float kMaxPeak = 255.0F;
constexpr float kMaxNoise = 26.0F;

/// Numbers of one stream in order.
class Draws {
 public:
  explicit Draws(const Random& random) : random_(random) {}

  std::uint32_t bits() {
    if (next_ % 4 == 0) block_ = random_.block(next_ / 4);
    return block_[next_++ % 4];
  }
  float between(float lo, float hi) {
    return lo + (hi - lo) * (static_cast<float>(bits() >> 8) * 0x1.0p-24F);
  }
  float within(float bound) { return between(-bound, bound); }
  std::size_t below(std::size_t bound) { return (std::uint64_t{bits()} * bound) >> 32; }

 private:
  Random random_;
  std::uint64_t next_ = 0;
  std::array<std::uint32_t, 4> block_{};
};

struct Point {
  float x;
  float y;
};

/// One hand's distortion: a bend by random quadratic and cubic terms, then scale and shear, then a
/// turn, then a shift, which ends in pixels.
class Warp {
 public:
  Warp(Draws& draws, float sloppiness) {
    for (float& bend : bends_) bend = draws.within(sloppiness * kBend);
    const float t = draws.within(sloppiness * kTurn);
    // The angle whose half has tangent t, without trigonometry.
    cosine_ = (1.0F - t * t) / (1.0F + t * t);
    sine_ = 2.0F * t / (1.0F + t * t);
    shear_ = draws.within(sloppiness * kShear);
    height_ = draws.between(kMinHeight, kMaxHeight);
    width_ = height_ * draws.between(kMinAspect, kMaxAspect);
    shift_ = {draws.within(kShift), draws.within(kShift)};
  }

  Point operator()(float knot_x, float knot_y) const {
    const float u = 2.0F * knot_x - 1.0F;
    const float v = 2.0F * knot_y - 1.0F;
    const auto& b = bends_;
    const float bent_x =
        0.5F * u + b[0] * (v * v - 0.4F) + b[1] * u * v + b[2] * v * (v * v - 0.6F);
    const float bent_y =
        0.5F * v + b[3] * (u * u - 0.2F) + b[4] * u * v + b[5] * u * (u * u - 0.6F);
    const float x = width_ * (bent_x - shear_ * bent_y);
    const float y = height_ * bent_y;
    constexpr float kCentre = 0.5F * static_cast<float>(kDigitSide);
    return {kCentre + shift_.x + cosine_ * x - sine_ * y,
            kCentre + shift_.y + sine_ * x + cosine_ * y};
  }

 private:
  std::array<float, 6> bends_{};
  float cosine_ = 1;
  float sine_ = 0;
  float shear_ = 0;
  float width_ = 0;
  float height_ = 0;
  Point shift_{};
};

/// The Catmull-Rom curve from p1 to p2 with neighbours p0 and p3, at t in [0, 1].
float catmull_rom(float p0, float p1, float p2, float p3, float t) {
  const float a = 2.0F * p1;
  const float b = p2 - p0;
  const float c = 2.0F * p0 - 5.0F * p1 + 4.0F * p2 - p3;
  const float d = 3.0F * (p1 - p2) + p3 - p0;
  return 0.5F * (a + t * (b + t * (c + t * d)));
}

/// Draws one stroke through `knots`; the radius runs from `first` to `last`.
void draw_stroke(std::span<const Knot> knots, const Warp& warp, float first, float last,
                 DigitCanvas& canvas) {
  const std::size_t spans = knots.size() - 1;
  const auto pen_at = [&](std::size_t span, int piece) {
    const Knot& p1 = knots[span];
    const Knot& p2 = knots[span + 1];
    // At an end or a corner the curve has no neighbour to be smooth with.
    const Knot& p0 = span == 0 || p1.corner ? p1 : knots[span - 1];
    const Knot& p3 = span + 1 == spans || p2.corner ? p2 : knots[span + 2];
    const float t = static_cast<float>(piece) / static_cast<float>(kPiecesPerKnot);
    const Point at =
        warp(catmull_rom(p0.x, p1.x, p2.x, p3.x, t), catmull_rom(p0.y, p1.y, p2.y, p3.y, t));
    const float way = (static_cast<float>(span) + t) / static_cast<float>(spans);
    return PenPoint{at.x, at.y, first + way * (last - first)};
  };
  PenPoint from = pen_at(0, 0);
  for (std::size_t span = 0; span < spans; ++span) {
    for (int piece = 1; piece <= kPiecesPerKnot; ++piece) {
      const PenPoint to = pen_at(span, piece);
      canvas.draw(from, to);
      from = to;
    }
  }
}

void draw_glyph(const Glyph& glyph, Draws& draws, DigitCanvas& canvas) {
  // Few hands are sloppy: the cube keeps most near the neat end.
  const float u = draws.between(0.0F, 1.0F);
  const float sloppiness = kNeatest + (kSloppiest - kNeatest) * (u * u * u);
  const Warp warp(draws, sloppiness);
  const float radius = draws.between(kMinRadius, kMaxRadius);
  Stroke hand;
  for (const Stroke& stroke : glyph) {
    hand = stroke;
    for (Knot& knot : hand) {
      knot.x += draws.within(sloppiness * kKnotJitter);
      knot.y += draws.within(sloppiness * kKnotJitter);
    }
    const float first = radius * draws.between(0.8F, 1.2F);
    const float last = radius * draws.between(0.7F, 1.2F);
    draw_stroke(hand, warp, first, last, canvas);
  }
}

/// ink + amplitude * noise, rounded into a byte. The noise of a pixel is the sum of two uniform
/// bytes, less its mean, over its largest value.
void add_noise(std::span<const float, kDigitPixels> ink, float amplitude, Draws draws,
               std::span<std::uint8_t, kDigitPixels> out) {
  const float scale = amplitude / 255.0F;
  for (std::size_t i = 0; i < kDigitPixels; i += 2) {
    const std::uint32_t word = draws.bits();
    for (std::size_t half = 0; half < 2; ++half) {
      const std::uint32_t bytes = word >> (16 * half);
      const auto sum = static_cast<int>((bytes & 255U) + (bytes >> 8 & 255U)) - 255;
      const float value = ink[i + half] + scale * static_cast<float>(sum) + 0.5F;
      out[i + half] =
          static_cast<std::uint8_t>(value < 0.0F ? 0.0F : (value > 255.0F ? 255.0F : value));
    }
  }
}

/// The digit of example i: every ten in a row hold each digit once, in random order.
int class_of(const Random& set, std::size_t i) {
  const auto order = set.fork(kClassStream).fork(i / kDigitClasses).permutation(kDigitClasses);
  return static_cast<int>(order[i % kDigitClasses]);
}

void draw_example(const Random& set, std::size_t i, int digit,
                  std::span<std::uint8_t, kDigitPixels> out) {
  Draws draws(set.fork(kStyleStream).fork(i));
  const auto& glyphs = digit_glyphs(digit);
  DigitCanvas canvas;
  draw_glyph(glyphs[draws.below(glyphs.size())], draws, canvas);
  const Ink ink{draws.between(kMinSoftness, kMaxSoftness), draws.between(kMinPeak, kMaxPeak)};
  std::array<float, kDigitPixels> image;
  canvas.develop(ink, image);
  add_noise(image, draws.between(0.0F, kMaxNoise), Draws(set.fork(kNoiseStream).fork(i)), out);
}

Dataset make_set(const Random& set, std::size_t count) {
  std::vector<std::uint8_t> pixels(count * kDigitPixels);
  std::vector<std::int32_t> labels(count);
  parallel_for(count, kGrainExamples, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      labels[i] = class_of(set, i);
      draw_example(set, i, labels[i],
                   std::span(pixels).subspan(i * kDigitPixels).first<kDigitPixels>());
    }
  });
  constexpr auto kDigitExtent = static_cast<Index>(kDigitSide);
  return Dataset::from_bytes("digits (drawn by octet)", {kDigitExtent, kDigitExtent},
                             std::move(pixels), std::move(labels), kDigitClasses);
}

}  // namespace

DataSplit make_digits(std::uint64_t seed, std::size_t train_count, std::size_t test_count) {
  const Random random(seed);
  return {make_set(random.fork(kTrainStream), train_count),
          make_set(random.fork(kTestStream), test_count)};
}

}  // namespace octet
