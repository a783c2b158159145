#include <fmt/format.h>
#include <octet/core/did_you_mean.h>
#include <octet/core/error.h>
#include <octet/core/json_text.h>
#include <octet/core/printable.h>
#include <octet/train/data/augmentation_internal.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

namespace octet {
namespace {

using detail::change_rows;
using detail::ChangeStream;
using detail::stream_of;

constexpr double kMostSteps = 1 << 30;

/// A member of Augmentation: its name, its range, and the kinds of examples that it suits.
struct Change {
  std::string_view name;
  double least;
  double most;
  unsigned kinds;

  bool suits(ExampleKind kind) const { return (kinds & bit_of(kind)) != 0; }
  static constexpr unsigned bit_of(ExampleKind kind) { return 1U << static_cast<unsigned>(kind); }
};

constexpr unsigned kColours = Change::bit_of(ExampleKind::image);
constexpr unsigned kImages = kColours | Change::bit_of(ExampleKind::matrix);
constexpr unsigned kSequences = Change::bit_of(ExampleKind::sequence) |
                                Change::bit_of(ExampleKind::signal) |
                                Change::bit_of(ExampleKind::matrix);
constexpr unsigned kAll = ~0U;

/// Calls visit(change, member) for every member.
template <class Visit>
void for_each_change(const Visit& visit) {
  visit(Change{"rotate", 0.0, 180.0, kImages}, &Augmentation::rotate);
  visit(Change{"scale", 0.0, 10.0, kImages}, &Augmentation::scale);
  visit(Change{"crop", 0.0, 0.95, kImages}, &Augmentation::crop);
  visit(Change{"shift", 0.0, kMostSteps, kImages}, &Augmentation::shift);
  visit(Change{"flip", 0.0, 1.0, kImages}, &Augmentation::flip);
  visit(Change{"cutout", 0.0, kMostSteps, kImages}, &Augmentation::cutout);
  visit(Change{"brightness", 0.0, 1.0, kImages}, &Augmentation::brightness);
  visit(Change{"contrast", 0.0, 1.0, kImages}, &Augmentation::contrast);
  visit(Change{"saturation", 0.0, 1.0, kColours}, &Augmentation::saturation);
  visit(Change{"speed", 0.0, 10.0, kSequences}, &Augmentation::speed);
  visit(Change{"time_shift", 0.0, kMostSteps, kSequences}, &Augmentation::time_shift);
  visit(Change{"time_mask", 0.0, kMostSteps, kSequences}, &Augmentation::time_mask);
  visit(Change{"frequency_mask", 0.0, kMostSteps, kSequences}, &Augmentation::frequency_mask);
  visit(Change{"noise", 0.0, 1e6, kAll}, &Augmentation::noise);
  visit(Change{"mixup", 0.0, 100.0, kAll}, &Augmentation::mixup);
  visit(Change{"fill", -1e6, 1e6, kAll}, &Augmentation::fill);
}

void add_noise(const Augmentation& how, Tensor& features, const Random& random) {
  if (how.noise == 0.0F) return;
  const Random stream = stream_of(random, ChangeStream::noise);
  change_rows(features, [&](std::size_t row, std::span<float> values) {
    const Random own = stream.fork(row);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += how.noise * own.normal(i);
  });
}

/// The logarithm of a number of the gamma distribution of that shape and scale 1, by rejection (G.
/// Marsaglia and W. Tsang, ACM Trans. Math. Software 26, 2000): d v of the first normal x and
/// uniform u with log u < x^2 / 2 + d - d v + d log v, where d = alpha - 1/3 and v = (1 + x /
/// sqrt(9 d))^3. Below 1 it is that of alpha + 1 times u^(1 / alpha).
double draw_log_gamma(const Random& own, double alpha) {
  const Random normals = own.fork(0);
  // In (0, 1].
  const auto uniform = [&](std::uint64_t at) { return 1.0 - double{own.uniform(at)}; };
  const double boost = alpha < 1.0 ? std::log(uniform(0)) / alpha : 0.0;
  const double d = (alpha < 1.0 ? alpha + 1.0 : alpha) - 1.0 / 3.0;
  for (std::uint64_t at = 1;; ++at) {
    const auto x = double{normals.normal(at)};
    const double root = 1.0 + x / std::sqrt(9.0 * d);
    if (root <= 0.0) continue;
    const double v = root * root * root;
    if (std::log(uniform(at)) < 0.5 * x * x + d - d * v + d * std::log(v)) {
      return boost + std::log(d * v);
    }
  }
}

/// Beta(alpha, alpha): X / (X + Y) of two numbers of the gamma distribution.
float draw_beta(const Random& own, float alpha) {
  const double x = draw_log_gamma(own.fork(0), double{alpha});
  const double y = draw_log_gamma(own.fork(1), double{alpha});
  return static_cast<float>(1.0 / (1.0 + std::exp(y - x)));
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

namespace detail {

double factor_around_one(float most, float uniform) {
  return std::exp((2.0 * double{uniform} - 1.0) * std::log1p(double{most}));
}

void require_rank(const Tensor& features, std::initializer_list<Index> ranks, const char* change,
                  const char* expected) {
  if (std::ranges::find(ranks, features.rank()) != ranks.end()) return;
  throw InvalidArgument(fmt::format("augment: {}: expected {}, found features {}", change, expected,
                                    features.shape().to_string()));
}

}  // namespace detail

std::vector<std::string_view> augmentation_names() {
  std::vector<std::string_view> names;
  for_each_change([&](const Change& change, auto) { names.push_back(change.name); });
  return names;
}

std::vector<std::string_view> augmentation_names(ExampleKind kind) {
  std::vector<std::string_view> names;
  for_each_change([&](const Change& change, auto) {
    if (change.suits(kind)) names.push_back(change.name);
  });
  return names;
}

void require_suitable(const Augmentation& augmentation, ExampleKind kind, const Shape& example) {
  for_each_change([&](const Change& change, auto member) {
    if (change.suits(kind) || augmentation.*member == Augmentation().*member) return;
    throw InvalidArgument(
        fmt::format("augment: {}: expected a change that suits {}, which are {}, found examples {}",
                    change.name, to_string(kind), fmt::join(augmentation_names(kind), ", "),
                    example.to_string()));
  });
}

void set_augmentation(Augmentation& augmentation, std::string_view name, double value) {
  bool is_known = false;
  for_each_change([&](const Change& change, auto member) {
    if (change.name != name) return;
    is_known = true;
    using Kind = std::remove_reference_t<decltype(augmentation.*member)>;
    const bool is_whole = !std::is_integral_v<Kind> || value == std::floor(value);
    if (!(value >= change.least && value <= change.most) || !is_whole) {
      throw InvalidArgument(fmt::format("augment: {}: expected a {}number from {} to {}, found {}",
                                        name, std::is_integral_v<Kind> ? "whole " : "",
                                        change.least, change.most, value));
    }
    augmentation.*member = static_cast<Kind>(value);
  });
  if (is_known) return;
  const std::vector<std::string_view> known = augmentation_names();
  throw InvalidArgument(fmt::format("augment: expected one of {}, found '{}'{}",
                                    fmt::join(known, ", "), printable(name),
                                    did_you_mean(name, {known.begin(), known.end()})));
}

Augmentation parse_augmentation(std::string_view text) {
  try {
    const detail::ParsedJson parsed(text);
    if (!parsed->is_object()) {
      throw FormatError(fmt::format("augment: expected an object of numbers by names, found {}",
                                    printable(detail::lenient_json_text(*parsed), 100)));
    }
    Augmentation result;
    for (const auto& [name, value] : parsed->items()) {
      if (!value.is_number()) {
        throw FormatError(fmt::format("augment: {}: expected a number, found {}", printable(name),
                                      printable(detail::lenient_json_text(value), 100)));
      }
      set_augmentation(result, name, value.get<double>());
    }
    return result;
  } catch (const nlohmann::json::exception& error) {
    throw FormatError(fmt::format("augment: {}", detail::fault_text(error)));
  }
}

std::string to_text(const Augmentation& augmentation) {
  nlohmann::json object = nlohmann::json::object();
  for_each_change([&](const Change& change, auto member) {
    if (augmentation.*member != Augmentation().*member) {
      // As it was written: 0.1, not the double next to 0.1f.
      object[std::string(change.name)] = std::stod(fmt::format("{}", augmentation.*member));
    }
  });
  return object.dump();
}

void require_unmoved_targets(const Augmentation& augmentation, const Shape& target) {
  if (target.rank() < 2) return;
  // A place of fewer axes is a step, which shows its other features still.
  const bool hides_features = augmentation.frequency_mask > 0 && target.rank() > 2;
  for (const auto& [name, changes] : {std::pair{"rotate", augmentation.rotate > 0.0F},
                                      {"scale", augmentation.scale > 0.0F},
                                      {"crop", augmentation.crop > 0.0F},
                                      {"shift", augmentation.shift > 0},
                                      {"flip", augmentation.flip > 0.0F},
                                      {"cutout", augmentation.cutout > 0},
                                      {"speed", augmentation.speed > 0.0F},
                                      {"time_shift", augmentation.time_shift > 0},
                                      {"time_mask", augmentation.time_mask > 0},
                                      {"frequency_mask", hides_features}}) {
    if (!changes) continue;
    throw InvalidArgument(fmt::format(
        "augment: {}: expected targets that have no places, labels or a row of numbers, found {}, "
        "whose pixels or steps would not move or be hidden with those of the features; leave it "
        "out",
        name, target.to_string()));
  }
}

Augment augment(const Augmentation& augmentation, int classes) {
  // Numbers that were set without set_augmentation().
  Augmentation checked;
  for_each_change([&](const Change& change, auto member) {
    set_augmentation(checked, change.name, static_cast<double>(augmentation.*member));
  });
  if (checked == Augmentation{.fill = checked.fill}) return {};
  const bool shifts = checked.shift > 0 || checked.flip > 0.0F || checked.cutout > 0;
  Augment move = shifts ? augment_images(image_part(checked)) : Augment();
  return [checked, classes, move = std::move(move)](Tensor& features, Targets& targets,
                                                    const Random& random) {
    if (checked.mixup > 0.0F && targets.are_labels() && classes < 2) {
      throw InvalidArgument(fmt::format(
          "augment: mixup: expected the number of classes of labels, found {}", classes));
    }
    if (!targets.are_labels()) {
      require_unmoved_targets(checked, targets.values().shape().without_batch());
    }
    // What a batch shares with the data set stays as it is; bytes become floats.
    Tensor own(features.shape());
    std::ranges::copy(features.span(), own.mutable_span().begin());
    features = own;
    detail::change_place(checked, features, random);
    if (move) move(features, targets, random);
    detail::change_colour(checked, features, random);
    detail::change_time(checked, features, random);
    detail::mask_sequences(checked, features, random);
    add_noise(checked, features, random);
    mix(checked, classes, features, targets, random);
  };
}

}  // namespace octet
