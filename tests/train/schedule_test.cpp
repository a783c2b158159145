#include <octet/core/error.h>
#include <octet/tests/train/data/idx_files.h>
#include <octet/train/schedule.h>

#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace octet::test::schedule_test {
namespace {

constexpr std::array<std::uint64_t, 10> kSteps = {0, 1, 6, 7, 8, 13, 14, 99, 100, 5000};

TEST(Schedule, FollowsItsFormula) {
  const Schedule constant = constant_rate(0.25F);
  const Schedule stairs = step_decay(0.8F, 0.5F, 7);
  const Schedule smooth = exponential_decay(0.8F, 0.5F, 7);
  const Schedule cosine = cosine_decay(0.8F, 100, 0.1F);
  for (const std::uint64_t step : kSteps) {
    const auto n = static_cast<double>(step);
    EXPECT_EQ(constant(step), 0.25F);
    EXPECT_NEAR(stairs(step), 0.8 * std::pow(0.5, std::floor(n / 7.0)), 1e-7) << step;
    EXPECT_NEAR(smooth(step), 0.8 * std::pow(0.5, n / 7.0), 1e-7) << step;
    const double done = std::min(1.0, n / 100.0);
    EXPECT_NEAR(cosine(step), 0.1 + 0.7 * (1.0 + std::cos(std::numbers::pi * done)) / 2.0, 1e-6)
        << step;
  }
  EXPECT_EQ(stairs(6), 0.8F);
  EXPECT_EQ(stairs(7), 0.4F);
  EXPECT_EQ(cosine(0), 0.8F);
  EXPECT_EQ(cosine(100), 0.1F);
  EXPECT_EQ(cosine(std::numeric_limits<std::uint64_t>::max()), 0.1F);
  EXPECT_EQ(cosine_decay(0.5F, 10)(10), 0.0F);
}

TEST(Schedule, WarmupGrowsToTheFirstRateThenFollows) {
  const Schedule warm = warmup(4, step_decay(0.8F, 0.5F, 3));
  const std::array<float, 9> expected = {0.2F, 0.4F, 0.6F, 0.8F, 0.8F, 0.8F, 0.8F, 0.4F, 0.4F};
  for (std::uint64_t step = 0; step < expected.size(); ++step) {
    EXPECT_FLOAT_EQ(warm(step), expected[step]) << step;
  }
}

TEST(Schedule, IsAPureFunctionOfTheStep) {
  for (const Schedule& schedule :
       {constant_rate(0.1F), step_decay(0.1F, 0.9F, 2), exponential_decay(0.1F, 0.9F, 2),
        cosine_decay(0.1F, 50), warmup(5, cosine_decay(0.1F, 50))}) {
    const Schedule copy = schedule;
    std::vector<float> forwards;
    for (std::uint64_t step = 0; step < 60; ++step) forwards.push_back(schedule(step));
    for (std::uint64_t step = 60; step-- > 0;) {
      EXPECT_EQ(copy(step), forwards[step]);
      EXPECT_EQ(schedule(step), forwards[step]);
    }
  }
}

TEST(Schedule, ArgumentsAreChecked) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float bad : {0.0F, -1.0F, kInfinity, std::nanf("")}) {
    EXPECT_THROW(constant_rate(bad), InvalidArgument);
    EXPECT_THROW(step_decay(bad, 0.5F, 1), InvalidArgument);
    EXPECT_THROW(step_decay(0.5F, bad, 1), InvalidArgument);
    EXPECT_THROW(exponential_decay(bad, 0.5F, 1), InvalidArgument);
    EXPECT_THROW(exponential_decay(0.5F, bad, 1), InvalidArgument);
    EXPECT_THROW(cosine_decay(bad, 1), InvalidArgument);
    if (bad != 0.0F) {
      EXPECT_THROW(cosine_decay(0.5F, 1, bad), InvalidArgument);
    }
  }
  EXPECT_THROW(step_decay(0.5F, 0.5F, 0), InvalidArgument);
  EXPECT_THROW(exponential_decay(0.5F, 0.5F, 0), InvalidArgument);
  EXPECT_THROW(cosine_decay(0.5F, 0), InvalidArgument);
  EXPECT_THROW(warmup(0, constant_rate(0.5F)), InvalidArgument);
  EXPECT_THROW(warmup(3, Schedule()), InvalidArgument);
  expect_mentions(message_of<InvalidArgument>([] { step_decay(0.5F, -2.0F, 1); }), "factor");
}

}  // namespace
}  // namespace octet::test::schedule_test
