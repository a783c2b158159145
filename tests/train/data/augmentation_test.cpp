#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/tests/train/training.h>
#include <octet/train/data/augmentation.h>
#include <octet/train/data/data_description.h>
#include <octet/train/data/load_data.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <memory>
#include <numeric>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace octet::test::augmentation_test {
namespace {

Tensor drawn(const Shape& shape) {
  Tensor x(shape);
  const Random random(5);
  random.fill_uniform(x.mutable_span(), 0.1F, 1.0F);
  return x;
}

/// Features after a change, targets being labels 0, 1, 0, 1, ...
Tensor changed(const Augmentation& how, const Tensor& x, std::uint64_t seed = 1,
               Targets* targets_after = nullptr) {
  Tensor features = x;
  Labels labels(static_cast<std::size_t>(x.dim(0)));
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int32_t>(i % 2);
  Targets targets(labels);
  augment(how, 2)(features, targets, Random(seed));
  if (targets_after != nullptr) *targets_after = targets;
  return features;
}

std::vector<float> row_of(const Tensor& x, Index row) {
  const std::size_t each = x.span().size() / static_cast<std::size_t>(x.dim(0));
  const auto own = x.span().subspan(static_cast<std::size_t>(row) * each, each);
  return {own.begin(), own.end()};
}

TEST(Augmentation, ChangesTheSameOnAnyNumberOfThreadsAndLeavesTheBatchItself) {
  const KeepThreads keep;
  const Tensor images = drawn({9, 7, 6, 3});
  const std::vector<float> before(images.span().begin(), images.span().end());
  const Augmentation all{.rotate = 20,
                         .scale = 0.3F,
                         .crop = 0.2F,
                         .shift = 1,
                         .flip = 0.5F,
                         .cutout = 2,
                         .brightness = 0.2F,
                         .contrast = 0.2F,
                         .saturation = 0.5F,
                         .noise = 0.1F,
                         .mixup = 0.4F};
  const Augmentation sounds{.speed = 0.2F,
                            .time_shift = 2,
                            .time_mask = 2,
                            .frequency_mask = 2,
                            .noise = 0.1F,
                            .mixup = 1.0F};
  for (const auto& [how, x] : {std::pair(all, images), std::pair(sounds, drawn({9, 7, 6}))}) {
    set_num_threads(1);
    const Tensor one = changed(how, x);
    set_num_threads(3);
    EXPECT_TRUE(std::ranges::equal(changed(how, x).span(), one.span()));
    EXPECT_FALSE(std::ranges::equal(changed(how, x, 2).span(), one.span()));
  }
  EXPECT_TRUE(std::ranges::equal(images.span(), before));
  EXPECT_FALSE(augment({}));
}

/// A value between the pixels of a 5 x 5 image, by weights of all of them.
double between_pixels(const Tensor& x, double row, double column) {
  double sum = 0;
  std::size_t pixel = 0;
  for (int i = 0; i < 5; ++i) {
    for (int j = 0; j < 5; ++j, ++pixel) {
      const double weight =
          std::max(0.0, 1 - std::abs(row - i)) * std::max(0.0, 1 - std::abs(column - j));
      sum += weight * double{x.span()[pixel]};
    }
  }
  return sum;
}

TEST(Augmentation, TurnsZoomsAndCropsAsANaiveLoop) {
  const Tensor x = drawn({1, 5, 5});
  for (const Augmentation& how :
       {Augmentation{.rotate = 90}, Augmentation{.scale = 1}, Augmentation{.crop = 0.6F},
        Augmentation{.rotate = 30, .scale = 0.5F, .crop = 0.3F}}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const Random own = Random(seed).fork(101).fork(0);
      const auto drawn_at = [&](std::uint64_t at) { return double{own.uniform(at)}; };
      const double angle = (2 * drawn_at(0) - 1) * double{how.rotate} * 3.14159265358979 / 180;
      const double side = 1 - double{how.crop} * drawn_at(2);
      const double zoom = side * std::pow(1 + double{how.scale}, 1 - 2 * drawn_at(1));
      const double middle_row = 2 + (1 - side) * 4 * (drawn_at(3) - 0.5);
      const double middle_column = 2 + (1 - side) * 4 * (drawn_at(4) - 0.5);
      const Tensor y = changed(how, x, seed);
      EXPECT_FALSE(std::ranges::equal(y.span(), x.span()));
      for (int row = 0; row < 5; ++row) {
        for (int column = 0; column < 5; ++column) {
          const double from_row =
              middle_row + zoom * (std::cos(angle) * (row - 2) + std::sin(angle) * (column - 2));
          const double from_column =
              middle_column + zoom * (std::cos(angle) * (column - 2) - std::sin(angle) * (row - 2));
          EXPECT_NEAR(y.span()[static_cast<std::size_t>(5 * row + column)],
                      between_pixels(x, from_row, from_column), 1e-5);
        }
      }
    }
  }
}

// augment_images() has naive loops of its own.
TEST(Augmentation, ShiftsFlipsAndCutsAsImageAugmentationDoes) {
  const Tensor x = drawn({12, 6, 5, 2});
  for (const Augmentation& how : {Augmentation{.shift = 2, .fill = -1}, Augmentation{.flip = 0.5F},
                                  Augmentation{.cutout = 3, .fill = -1}}) {
    Tensor expected = x;
    Targets targets(Labels(12, 0));
    augment_images({.shift_rows = how.shift,
                    .shift_columns = how.shift,
                    .flip = how.flip,
                    .cutout = how.cutout,
                    .fill = how.fill})(expected, targets, Random(1));
    const Tensor y = changed(how, x);
    EXPECT_TRUE(std::ranges::equal(y.span(), expected.span()));
    EXPECT_FALSE(std::ranges::equal(y.span(), x.span()));
  }
}

TEST(Augmentation, CropsStayInsideAndZoomsKeepTheMiddle) {
  Tensor ramp({1, 9, 9});
  for (Index i = 0; i < 81; ++i)
    ramp.mutable_span()[static_cast<std::size_t>(i)] = 1.0F + static_cast<float>(i % 9);
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const std::vector<float> crop = row_of(changed({.crop = 0.5F}, ramp, seed), 0);
    EXPECT_GE(*std::ranges::min_element(crop), 1.0F - 1e-4F);
    EXPECT_LE(*std::ranges::max_element(crop), 9.0F + 1e-4F);
    EXPECT_LE(crop[8] - crop[0], 8.0F + 1e-4F);
    EXPECT_GE(crop[8] - crop[0], 4.0F - 1e-3F);
    const std::vector<float> zoom = row_of(changed({.scale = 1.0F, .fill = -1}, ramp, seed), 0);
    EXPECT_NEAR(zoom[40], 5.0F, 1e-4F);
  }
}

TEST(Augmentation, ColoursKeepWhatTheyDoNotChange) {
  const Tensor x = drawn({20, 4, 4, 3});
  const Tensor bright = changed({.brightness = 0.3F}, x);
  const Tensor contrast = changed({.contrast = 0.3F}, x);
  const Tensor saturation = changed({.saturation = 0.3F}, x);
  bool any = false;
  for (Index row = 0; row < 20; ++row) {
    const std::vector<float> old = row_of(x, row);
    const float factor = row_of(bright, row)[0] / old[0];
    EXPECT_GE(factor, 0.7F);
    EXPECT_LE(factor, 1.3F);
    any = any || std::abs(factor - 1.0F) > 0.1F;
    for (std::size_t i = 0; i < old.size(); ++i) {
      EXPECT_NEAR(row_of(bright, row)[i], factor * old[i], 1e-6F);
    }
    const std::vector<float> harder = row_of(contrast, row);
    EXPECT_NEAR(std::accumulate(harder.begin(), harder.end(), 0.0),
                std::accumulate(old.begin(), old.end(), 0.0), 1e-3);
    EXPECT_FALSE(std::ranges::equal(harder, old));
    const std::vector<float> more = row_of(saturation, row);
    const float by =
        0.7F + 0.6F * Random(1).fork(102).fork(static_cast<std::uint64_t>(row)).uniform(2);
    for (std::size_t i = 0; i < old.size(); ++i) {
      const std::size_t red = i - i % 3;
      const float grey = 0.299F * old[red] + 0.587F * old[red + 1] + 0.114F * old[red + 2];
      EXPECT_NEAR(more[i], grey + by * (old[i] - grey), 1e-5F);
    }
  }
  EXPECT_TRUE(any);
}

TEST(Augmentation, MovesAndMasksSequences) {
  const Tensor x = drawn({40, 8, 3});
  const Tensor moved = changed({.time_shift = 3, .fill = -5}, x);
  const Tensor masked = changed({.time_mask = 3, .frequency_mask = 1, .fill = -5}, x);
  std::set<int> seen;
  std::vector<int> masked_steps(4);
  std::vector<int> masked_features(2);
  for (Index row = 0; row < 40; ++row) {
    const std::vector<float> old = row_of(x, row);
    const std::vector<float> now = row_of(moved, row);
    int shift = -4;
    for (int by = -3; by <= 3; ++by) {
      std::vector<float> expected(24, -5.0F);
      for (int step = 0; step < 8; ++step) {
        if (step - by < 0 || step - by >= 8) continue;
        std::copy_n(old.begin() + 3 * (step - by), 3, expected.begin() + 3 * step);
      }
      if (expected == now) shift = by;
    }
    ASSERT_GE(shift, -3) << row;
    seen.insert(shift);
    // Whole steps in a row, and whole features.
    const std::vector<float> hidden = row_of(masked, row);
    int steps = 0;
    int features = 0;
    for (std::size_t at = 0; at < hidden.size(); at += 3) {
      steps += hidden[at] == -5.0F && hidden[at + 1] == -5.0F && hidden[at + 2] == -5.0F;
    }
    for (std::size_t at = 0; at < 3; ++at) {
      int count = 0;
      for (std::size_t step = 0; step < 8; ++step) count += hidden[3 * step + at] == -5.0F;
      features += count == 8;
      EXPECT_TRUE(count == 8 || count == steps);
    }
    ASSERT_LE(steps, 3);
    ASSERT_LE(features, 1);
    ++masked_steps[static_cast<std::size_t>(steps)];
    ++masked_features[static_cast<std::size_t>(features)];
    for (std::size_t i = 0; i < 24; ++i) {
      EXPECT_TRUE(hidden[i] == -5.0F || hidden[i] == old[i]);
    }
  }
  // All lengths are alike.
  for (const int count : masked_steps) EXPECT_NEAR(count, 10, 8);
  for (const int count : masked_features) EXPECT_NEAR(count, 20, 12);
  EXPECT_GE(seen.size(), 6U);
}

TEST(Augmentation, SpeedInterpolatesSteps) {
  Tensor ramp({30, 50, 1});
  for (std::size_t i = 0; i < 1500; ++i) ramp.mutable_span()[i] = static_cast<float>(i % 50);
  const Tensor y = changed({.speed = 0.25F, .fill = -1}, ramp);
  std::vector<float> factors;
  for (Index row = 0; row < 30; ++row) {
    const std::vector<float> now = row_of(y, row);
    const float factor = now[10] / 10;
    EXPECT_GE(factor, 0.8F);
    EXPECT_LE(factor, 1.25F);
    factors.push_back(factor);
    for (std::size_t step = 0; step < 50; ++step) {
      const float from = factor * static_cast<float>(step);
      if (from < 48.9F) {
        EXPECT_NEAR(now[step], from, 1e-3F);
      }
      if (from > 50.1F) {
        EXPECT_EQ(now[step], -1.0F);
      }
    }
  }
  EXPECT_LT(*std::ranges::min_element(factors), 0.9F);
  EXPECT_GT(*std::ranges::max_element(factors), 1.1F);
}

// Beta(a, a) has mean 1/2 and variance 1 / (4 (2 a + 1)). Each example being a class of its own,
// its share of its own class is what was drawn.
TEST(Augmentation, MixupDrawsSharesOfItsDistribution) {
  constexpr std::size_t kRows = 1000;
  Labels labels(kRows);
  std::iota(labels.begin(), labels.end(), 0);
  for (const float alpha : {0.1F, 1.0F, 8.0F}) {
    Tensor features({kRows, 1});
    Targets targets(labels);
    augment({.mixup = alpha}, kRows)(features, targets, Random(1));
    double mean = 0;
    double square = 0;
    for (std::size_t i = 0; i < kRows; ++i) {
      const double share{targets.values().span()[i * kRows + i]};
      mean += share / kRows;
      square += share * share / kRows;
    }
    const double variance = 1 / (4 * (2 * double{alpha} + 1));
    EXPECT_NEAR(mean, 0.5, 4 * std::sqrt(variance / kRows)) << alpha;
    EXPECT_NEAR((square - mean * mean) / variance, 1, 0.15) << alpha;
  }
}

TEST(Augmentation, NoiseHasItsDeviationAndMixupMixesTargetsAlike) {
  const Tensor x = drawn({400, 6});
  const Tensor noisy = changed({.noise = 0.5F}, x);
  double square = 0;
  for (std::size_t i = 0; i < 2400; ++i) {
    square += std::pow(double{noisy.span()[i]} - double{x.span()[i]}, 2) / 2400;
  }
  EXPECT_NEAR(std::sqrt(square), 0.5, 0.03);

  Tensor labelled({400, 1});
  for (std::size_t i = 0; i < 400; ++i) labelled.mutable_span()[i] = static_cast<float>(i % 2);
  for (const float alpha : {0.2F, 1.0F, 8.0F}) {
    Targets targets;
    const Tensor mixed = changed({.mixup = alpha}, labelled, 3, &targets);
    double between = 0;
    for (std::size_t i = 0; i < 400; ++i) {
      EXPECT_NEAR(targets.values().span()[2 * i + 1], mixed.span()[i], 1e-6F);
      EXPECT_NEAR(targets.values().span()[2 * i] + targets.values().span()[2 * i + 1], 1.0F, 1e-6F);
      const float value = mixed.span()[i];
      between += value > 0.3F && value < 0.7F ? 1 : 0;
    }
    // Of half the pairs one is 0 and the other 1, and Beta(1, 1) is uniform.
    if (alpha == 0.2F) {
      EXPECT_LT(between, 50);
    }
    if (alpha == 1.0F) {
      EXPECT_NEAR(between, 80, 35);
    }
    if (alpha == 8.0F) {
      EXPECT_GT(between, 130);
    }
  }
}

TEST(Augmentation, IsReadFromTextOrRefused) {
  const Augmentation how{.rotate = 10, .shift = 2, .flip = 0.1F, .fill = -0.5F};
  EXPECT_EQ(to_text(how), R"({"fill":-0.5,"flip":0.1,"rotate":10.0,"shift":2.0})");
  EXPECT_EQ(parse_augmentation(to_text(how)), how);
  for (const auto& [text, words] : std::vector<std::pair<const char*, const char*>>{
           {"{\"flip\":2}", "flip: expected a number from 0 to 1, found 2"},
           {"{\"shift\":0.5}", "shift: expected a whole number"},
           {"{\"blur\":1}", "expected one of rotate, scale, crop"},
           {"{\"flp\":1}", "found 'flp'; did you mean flip?"}}) {
    expect_mentions(message_of<InvalidArgument>([json = text] { parse_augmentation(json); }),
                    words);
  }
  for (const auto& [text, words] : std::vector<std::pair<const char*, const char*>>{
           {"", "augment: line 1, column 1: expected"},
           {"[]", "augment: expected an object of numbers by names, found []"},
           {"{\"flip\":\"a\"}", "augment: flip: expected a number, found \"a\""}}) {
    expect_mentions(message_of<FormatError>([json = text] { parse_augmentation(json); }), words);
  }
  EXPECT_THROW(augment({.flip = -1}), InvalidArgument);
  const auto refused = [](const Augmentation& one, const Tensor& x, const char* words) {
    Tensor features = x;
    Targets targets(Labels(static_cast<std::size_t>(x.dim(0)), 0));
    expect_mentions(
        message_of<InvalidArgument>([&] { augment(one)(features, targets, Random(1)); }), words);
  };
  refused({.mixup = 1}, drawn({2, 3}), "mixup: expected the number of classes");
  refused({.rotate = 1}, drawn({2, 3}), "expected images");
  refused({.speed = 1}, drawn({2, 3, 4, 1}), "expected sequences [steps, features]");
  refused({.saturation = 1}, drawn({2, 3, 4, 1}), "3 channels, found 1");
  // Places of targets do not move with those of features.
  for (const std::string_view name : {"rotate", "scale", "crop", "shift", "flip", "cutout", "speed",
                                      "time_shift", "time_mask", "frequency_mask"}) {
    Augmentation one;
    set_augmentation(one, name, name == "flip" || name == "crop" ? 0.5 : 1.0);
    Tensor features = drawn({2, 3, 4});
    // Targets still say something of a step whose features are hidden in part.
    Targets targets(name == "frequency_mask" ? drawn({2, 3, 4, 1}) : drawn({2, 3, 4}));
    expect_mentions(
        message_of<InvalidArgument>([&] { augment(one)(features, targets, Random(1)); }),
        fmt::format("augment: {}: expected targets that have no places", name));
    targets = Targets(name == "frequency_mask" ? drawn({2, 3, 4}) : drawn({2, 3}));
    EXPECT_NO_THROW(augment(one)(features, targets, Random(1))) << name;
  }
}

TEST(Augmentation, ChangesThatDoNotSuitAKindOfExampleAreNamed) {
  using Names = std::vector<std::string_view>;
  const Names of_images = {"rotate", "scale",  "crop",       "shift",
                           "flip",   "cutout", "brightness", "contrast"};
  const Names of_time = {"speed", "time_shift", "time_mask", "frequency_mask"};
  const Names of_all = {"noise", "mixup", "fill"};
  const auto joined = [](std::initializer_list<Names> parts) {
    Names all;
    for (const Names& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
  };
  for (const auto& [kind, shape, suitable] :
       {std::tuple{ExampleKind::image, Shape{8, 8, 3}, joined({of_images, {"saturation"}, of_all})},
        std::tuple{ExampleKind::sequence, Shape{8, 3}, joined({of_time, of_all})},
        std::tuple{ExampleKind::signal, Shape{8, 3}, joined({of_time, of_all})},
        std::tuple{ExampleKind::matrix, Shape{8, 3}, joined({of_images, of_time, of_all})},
        std::tuple{ExampleKind::row, Shape{8}, of_all},
        std::tuple{ExampleKind::volume, Shape{8, 8, 3, 2}, of_all}}) {
    EXPECT_EQ(augmentation_names(kind), suitable) << to_string(kind);
    for (const std::string_view name : augmentation_names()) {
      Augmentation one;
      set_augmentation(one, name, name == "flip" || name == "crop" ? 0.5 : 1.0);
      const auto check = [&, kind = kind, shape = shape] { require_suitable(one, kind, shape); };
      if (std::ranges::find(suitable, name) != suitable.end()) {
        EXPECT_NO_THROW(check()) << name << " of " << to_string(kind);
        continue;
      }
      expect_mentions(
          message_of<InvalidArgument>(check),
          fmt::format("augment: {}: expected a change that suits {}, which are {}, "
                      "found examples {}",
                      name, to_string(kind), fmt::join(suitable, ", "), shape.to_string()));
    }
  }
}

TEST(Augmentation, AKindIsThatOfTheFormatWhereTheShapeLeavesItOpen) {
  const auto kind = [](const Shape& shape, const char* format) {
    Dataset set = Dataset::from_floats(
        "set", shape, std::vector<float>(static_cast<std::size_t>(shape.size())), {0}, 1);
    if (format != nullptr) {
      set = std::move(set).with_description(
          std::make_shared<const DataDescription>(DataDescription{.format = format}));
    }
    return example_kind(set);
  };
  for (const auto& [shape, format, expected] :
       {std::tuple{Shape{4}, "CSV", ExampleKind::row},
        {Shape{4, 2}, "CSV", ExampleKind::sequence},
        {Shape{4, 2}, "WAV", ExampleKind::sequence},
        {Shape{4, 2}, ".ts", ExampleKind::sequence},
        {Shape{4, 2}, "UEA folder", ExampleKind::sequence},
        {Shape{4, 2}, "CSV folder", ExampleKind::sequence},
        {Shape{4, 2}, "IDX", ExampleKind::image},
        {Shape{4, 2, 1}, "images", ExampleKind::image},
        {Shape{4, 2}, "NumPy", ExampleKind::matrix},
        {Shape{4, 2}, nullptr, ExampleKind::matrix},
        {Shape{4, 2, 3}, "NumPy", ExampleKind::image},
        {Shape{4, 2, 3, 1}, "NumPy", ExampleKind::volume}}) {
    EXPECT_EQ(kind(shape, format), expected) << shape.to_string() << (format ? format : "");
  }
}

}  // namespace
}  // namespace octet::test::augmentation_test
