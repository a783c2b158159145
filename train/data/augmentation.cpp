#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/json_text.h>
#include <octet/core/parallel.h>
#include <octet/core/printable.h>
#include <octet/train/data/augmentation.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <type_traits>
#include <utility>

namespace octet {
namespace {

constexpr double kMostSteps = 1 << 30;

/// Calls visit(name, member, least, most) for every member.
template <class Visit>
void for_each_change(const Visit& visit) {
  visit("rotate", &Augmentation::rotate, 0.0, 180.0);
  visit("scale", &Augmentation::scale, 0.0, 10.0);
  visit("crop", &Augmentation::crop, 0.0, 0.95);
  visit("shift", &Augmentation::shift, 0.0, kMostSteps);
  visit("flip", &Augmentation::flip, 0.0, 1.0);
  visit("cutout", &Augmentation::cutout, 0.0, kMostSteps);
  visit("brightness", &Augmentation::brightness, 0.0, 1.0);
  visit("contrast", &Augmentation::contrast, 0.0, 1.0);
  visit("saturation", &Augmentation::saturation, 0.0, 1.0);
  visit("speed", &Augmentation::speed, 0.0, 10.0);
  visit("time_shift", &Augmentation::time_shift, 0.0, kMostSteps);
  visit("time_mask", &Augmentation::time_mask, 0.0, kMostSteps);
  visit("frequency_mask", &Augmentation::frequency_mask, 0.0, kMostSteps);
  visit("noise", &Augmentation::noise, 0.0, 1e6);
  visit("mixup", &Augmentation::mixup, 0.0, 100.0);
  visit("fill", &Augmentation::fill, -1e6, 1e6);
}

/// The stream of a change. Fixed, so that switching one on leaves the others as they are.
enum class ChangeStream : std::uint64_t {
  affine = 101,
  colour,
  speed,
  time_shift,
  mask,
  noise,
  mixup
};

Random stream_of(const Random& random, ChangeStream change) {
  return random.fork(static_cast<std::uint64_t>(change));
}

/// From 1 / (1 + most) to 1 + most, uniform in the logarithm.
double factor_around_one(float most, float uniform) {
  return std::exp((2.0 * double{uniform} - 1.0) * std::log1p(double{most}));
}

/// From 1 - most to 1 + most.
float factor_beside_one(float most, float uniform) { return 1.0F + most * (2.0F * uniform - 1.0F); }

/// Calls change(row, values) for every example on all threads.
template <class Change>
void change_rows(Tensor& features, const Change& change) {
  const auto rows = static_cast<std::size_t>(features.dim(0));
  const std::span<float> all = features.mutable_span();
  const std::size_t each = all.size() / rows;
  parallel_for(rows, parallel_grain(Work::write_floats, each),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t row = begin; row < end; ++row) {
                   change(row, all.subspan(row * each, each));
                 }
               });
}

void require_rank(const Tensor& features, std::initializer_list<Index> ranks, const char* change,
                  const char* expected) {
  if (std::ranges::find(ranks, features.rank()) != ranks.end()) return;
  throw InvalidArgument(fmt::format("augment: {}: expected {}, found features {}", change, expected,
                                    features.shape().to_string()));
}

/// Height, width and channels of images.
struct Extents {
  Index height;
  Index width;
  Index channels;
};

Extents image_extents(const Tensor& features, const char* change) {
  require_rank(features, {3, 4}, change, "images [height, width] or [height, width, channels]");
  return {features.dim(1), features.dim(2), features.rank() == 4 ? features.dim(3) : 1};
}

/// Where a pixel of the new image lies in the old one: row = a y + b x + c, column = d y + e x + f.
struct Affine {
  double a, b, c, d, e, f;
};

Affine draw_affine(const Augmentation& how, const Extents& size, const Random& own) {
  const double angle =
      (2.0 * double{own.uniform(0)} - 1.0) * double{how.rotate} * std::numbers::pi / 180.0;
  const double side = 1.0 - double{how.crop} * double{own.uniform(2)};
  const double zoom = side / factor_around_one(how.scale, own.uniform(1));
  const auto h = static_cast<double>(size.height - 1);
  const auto w = static_cast<double>(size.width - 1);
  // The middle of the window, within the image.
  const double row = h / 2.0 + (1.0 - side) * h * (double{own.uniform(3)} - 0.5);
  const double column = w / 2.0 + (1.0 - side) * w * (double{own.uniform(4)} - 0.5);
  const double cosine = std::cos(angle) * zoom;
  const double sine = std::sin(angle) * zoom;
  return {cosine, sine,   row - cosine * h / 2.0 - sine * w / 2.0,
          -sine,  cosine, column + sine * h / 2.0 - cosine * w / 2.0};
}

/// The value between four pixels, of which those outside are `fill`.
class Sampler {
 public:
  Sampler(std::span<const float> image, const Extents& size, float fill)
      : image_(image), size_(size), fill_(fill) {}

  float at(double row, double column, Index channel) const {
    const double y = std::floor(row);
    const double x = std::floor(column);
    const auto down = static_cast<float>(row - y);
    const auto right = static_cast<float>(column - x);
    const float top = mixed(pixel(y, x, channel), pixel(y, x + 1, channel), right);
    const float bottom = mixed(pixel(y + 1, x, channel), pixel(y + 1, x + 1, channel), right);
    return mixed(top, bottom, down);
  }

 private:
  static float mixed(float a, float b, float share) { return a + share * (b - a); }

  float pixel(double row, double column, Index channel) const {
    const bool inside = row >= 0.0 && column >= 0.0 && row < static_cast<double>(size_.height) &&
                        column < static_cast<double>(size_.width);
    if (!inside) return fill_;
    const auto at =
        (static_cast<Index>(row) * size_.width + static_cast<Index>(column)) * size_.channels +
        channel;
    return image_[static_cast<std::size_t>(at)];
  }

  std::span<const float> image_;
  const Extents& size_;
  float fill_;
};

void change_place(const Augmentation& how, Tensor& features, const Random& random) {
  if (how.rotate == 0.0F && how.scale == 0.0F && how.crop == 0.0F) return;
  const Extents size = image_extents(features, "rotate, scale and crop");
  const Random stream = stream_of(random, ChangeStream::affine);
  change_rows(features, [&](std::size_t row, std::span<float> image) {
    const std::vector<float> old(image.begin(), image.end());
    const Sampler sampler(old, size, how.fill);
    const Affine map = draw_affine(how, size, stream.fork(row));
    auto to = image.begin();
    for (Index y = 0; y < size.height; ++y) {
      for (Index x = 0; x < size.width; ++x) {
        const double from_row =
            map.a * static_cast<double>(y) + map.b * static_cast<double>(x) + map.c;
        const double from_column =
            map.d * static_cast<double>(y) + map.e * static_cast<double>(x) + map.f;
        for (Index c = 0; c < size.channels; ++c) *to++ = sampler.at(from_row, from_column, c);
      }
    }
  });
}

void change_saturation(std::span<float> image, float factor) {
  for (std::size_t i = 0; i + 2 < image.size(); i += 3) {
    const float grey = 0.299F * image[i] + 0.587F * image[i + 1] + 0.114F * image[i + 2];
    for (std::size_t c = i; c < i + 3; ++c) image[c] = grey + factor * (image[c] - grey);
  }
}

void change_colour(const Augmentation& how, Tensor& features, const Random& random) {
  if (how.brightness == 0.0F && how.contrast == 0.0F && how.saturation == 0.0F) return;
  const Extents size = image_extents(features, "brightness, contrast and saturation");
  if (how.saturation > 0.0F && size.channels != 3) {
    throw InvalidArgument(
        fmt::format("augment: saturation: expected images of 3 channels, found {}", size.channels));
  }
  const Random stream = stream_of(random, ChangeStream::colour);
  change_rows(features, [&](std::size_t row, std::span<float> image) {
    const Random own = stream.fork(row);
    const float bright = factor_beside_one(how.brightness, own.uniform(0));
    for (float& value : image) value *= bright;
    if (how.contrast > 0.0F) {
      double sum = 0.0;
      for (const float value : image) sum += double{value};
      const auto mean = static_cast<float>(sum / static_cast<double>(image.size()));
      const float factor = factor_beside_one(how.contrast, own.uniform(1));
      for (float& value : image) value = mean + factor * (value - mean);
    }
    if (how.saturation > 0.0F) {
      change_saturation(image, factor_beside_one(how.saturation, own.uniform(2)));
    }
  });
}

/// The steps and features of sequences.
std::pair<Index, Index> sequence_extents(const Tensor& features, const char* change) {
  require_rank(features, {3}, change, "sequences [steps, features]");
  return {features.dim(1), features.dim(2)};
}

/// Row `step` of the sequence, which may lie outside.
float step_value(std::span<const float> sequence, Index steps, Index width, Index step, Index at,
                 float fill) {
  if (step < 0 || step >= steps) return fill;
  return sequence[static_cast<std::size_t>(step * width + at)];
}

void change_time(const Augmentation& how, Tensor& features, const Random& random) {
  if (how.speed == 0.0F && how.time_shift == 0) return;
  const auto [steps, width] = sequence_extents(features, "speed and time_shift");
  const Random speeds = stream_of(random, ChangeStream::speed);
  const Random shifts = stream_of(random, ChangeStream::time_shift);
  change_rows(features, [&, steps = steps, width = width](std::size_t row, std::span<float> all) {
    const std::vector<float> old(all.begin(), all.end());
    const double factor = factor_around_one(how.speed, speeds.fork(row).uniform(0));
    const auto most = static_cast<std::uint32_t>(2 * how.time_shift + 1);
    const Index shift = shifts.fork(row).below(0, most) - how.time_shift;
    auto to = all.begin();
    for (Index step = 0; step < steps; ++step) {
      const double from = static_cast<double>(step - shift) * factor;
      const double before = std::floor(from);
      const auto share = static_cast<float>(from - before);
      const bool far = before < -1.0 || before >= static_cast<double>(steps);
      for (Index at = 0; at < width; ++at) {
        const auto first = far ? steps : static_cast<Index>(before);
        const float a = step_value(old, steps, width, first, at, how.fill);
        const float b = share == 0.0F ? a : step_value(old, steps, width, first + 1, at, how.fill);
        *to++ = a + share * (b - a);
      }
    }
  });
}

/// A mask of 0 to `most` in a row among `count`: its begin and its end.
std::pair<Index, Index> draw_mask(const Random& own, std::uint64_t at, Index most, Index count) {
  const Index length = own.below(at, static_cast<std::uint32_t>(std::min(most, count) + 1));
  const Index begin = own.below(at + 1, static_cast<std::uint32_t>(count - length + 1));
  return {begin, begin + length};
}

void mask_sequences(const Augmentation& how, Tensor& features, const Random& random) {
  if (how.time_mask == 0 && how.frequency_mask == 0) return;
  const auto [steps, width] = sequence_extents(features, "time_mask and frequency_mask");
  const Random stream = stream_of(random, ChangeStream::mask);
  change_rows(features, [&, steps = steps, width = width](std::size_t row, std::span<float> all) {
    const Random own = stream.fork(row);
    const auto in_time = draw_mask(own, 0, how.time_mask, steps);
    const auto in_frequency = draw_mask(own, 2, how.frequency_mask, width);
    for (Index step = 0; step < steps; ++step) {
      for (Index at = 0; at < width; ++at) {
        const bool is_masked = (step >= in_time.first && step < in_time.second) ||
                               (at >= in_frequency.first && at < in_frequency.second);
        if (is_masked) all[static_cast<std::size_t>(step * width + at)] = how.fill;
      }
    }
  });
}

void add_noise(const Augmentation& how, Tensor& features, const Random& random) {
  if (how.noise == 0.0F) return;
  const Random stream = stream_of(random, ChangeStream::noise);
  change_rows(features, [&](std::size_t row, std::span<float> values) {
    const Random own = stream.fork(row);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += how.noise * own.normal(i);
  });
}

/// Beta(alpha, alpha) by Johnk's method: X = U^(1 / alpha), Y = V^(1 / alpha), X / (X + Y) of the
/// first pair whose sum is at most 1. Large alphas, which reject most, end in the mean.
float draw_beta(const Random& own, float alpha) {
  constexpr std::uint64_t kMostPairs = 200;
  for (std::uint64_t pair = 0; pair < kMostPairs; ++pair) {
    const double x = std::pow(double{own.uniform(2 * pair)}, 1.0 / double{alpha});
    const double y = std::pow(double{own.uniform(2 * pair + 1)}, 1.0 / double{alpha});
    if (x + y <= 1.0 && x + y > 0.0) return static_cast<float>(x / (x + y));
  }
  return 0.5F;
}

void mix_rows(Tensor& values, std::span<const std::uint32_t> partners,
              std::span<const float> shares) {
  const std::vector<float> old(values.span().begin(), values.span().end());
  change_rows(values, [&](std::size_t row, std::span<float> own) {
    const std::size_t other = partners[row] * own.size();
    for (std::size_t i = 0; i < own.size(); ++i) {
      own[i] = shares[row] * own[i] + (1.0F - shares[row]) * old[other + i];
    }
  });
}

void mix(const Augmentation& how, int classes, Tensor& features, Targets& targets,
         const Random& random) {
  if (how.mixup == 0.0F) return;
  const Random stream = stream_of(random, ChangeStream::mixup);
  const auto rows = static_cast<std::size_t>(features.dim(0));
  const std::vector<std::uint32_t> partners = stream.permutation(rows);
  std::vector<float> shares;
  for (std::size_t row = 0; row < rows; ++row) {
    shares.push_back(draw_beta(stream.fork(row + 1), how.mixup));
  }
  Tensor values = targets.are_labels() ? one_hot(targets, classes) : targets.values().clone();
  mix_rows(features, partners, shares);
  mix_rows(values, partners, shares);
  targets = Targets(values);
}

ImageAugmentation image_part(const Augmentation& how) {
  return {.shift_rows = how.shift,
          .shift_columns = how.shift,
          .flip = how.flip,
          .cutout = how.cutout,
          .fill = how.fill};
}

}  // namespace

std::vector<std::string_view> augmentation_names() {
  std::vector<std::string_view> names;
  for_each_change([&](std::string_view name, auto, double, double) { names.push_back(name); });
  return names;
}

void set_augmentation(Augmentation& augmentation, std::string_view name, double value) {
  bool is_known = false;
  for_each_change([&](std::string_view own, auto member, double least, double most) {
    if (own != name) return;
    is_known = true;
    using Kind = std::remove_reference_t<decltype(augmentation.*member)>;
    const bool is_whole = !std::is_integral_v<Kind> || value == std::floor(value);
    if (!(value >= least && value <= most) || !is_whole) {
      throw InvalidArgument(fmt::format("augment: {}: expected a {}number from {} to {}, found {}",
                                        name, std::is_integral_v<Kind> ? "whole " : "", least, most,
                                        value));
    }
    augmentation.*member = static_cast<Kind>(value);
  });
  if (is_known) return;
  throw InvalidArgument(fmt::format("augment: expected one of {}, found '{}'",
                                    fmt::join(augmentation_names(), ", "), printable(name)));
}

Augmentation parse_augmentation(std::string_view text) {
  try {
    const detail::ParsedJson parsed(text);
    if (!parsed->is_object()) throw FormatError("augment: expected an object of numbers by names");
    Augmentation result;
    for (const auto& [name, value] : parsed->items()) {
      set_augmentation(result, name, value.get<double>());
    }
    return result;
  } catch (const nlohmann::json::exception& error) {
    throw FormatError(fmt::format("augment: {}", error.what()));
  }
}

std::string to_text(const Augmentation& augmentation) {
  nlohmann::json object = nlohmann::json::object();
  for_each_change([&](std::string_view name, auto member, double, double) {
    if (augmentation.*member != Augmentation().*member) {
      // As it was written: 0.1, not the double next to 0.1f.
      object[std::string(name)] = std::stod(fmt::format("{}", augmentation.*member));
    }
  });
  return object.dump();
}

Augment augment(const Augmentation& augmentation, int classes) {
  // Numbers that were set without set_augmentation().
  Augmentation checked;
  for_each_change([&](std::string_view name, auto member, double, double) {
    set_augmentation(checked, name, static_cast<double>(augmentation.*member));
  });
  if (checked == Augmentation{.fill = checked.fill}) return {};
  const bool moves = checked.shift > 0 || checked.flip > 0.0F || checked.cutout > 0;
  Augment move = moves ? augment_images(image_part(checked)) : Augment();
  return [checked, classes, move = std::move(move)](Tensor& features, Targets& targets,
                                                    const Random& random) {
    if (checked.mixup > 0.0F && targets.are_labels() && classes < 2) {
      throw InvalidArgument(fmt::format(
          "augment: mixup: expected the number of classes of labels, found {}", classes));
    }
    // What a batch shares with the data set stays as it is; bytes become floats.
    Tensor own(features.shape());
    std::ranges::copy(features.span(), own.mutable_span().begin());
    features = own;
    change_place(checked, features, random);
    if (move) move(features, targets, random);
    change_colour(checked, features, random);
    change_time(checked, features, random);
    mask_sequences(checked, features, random);
    add_noise(checked, features, random);
    mix(checked, classes, features, targets, random);
  };
}

}  // namespace octet
