#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/layers/quantize/gradient_angles.h>
#include <octet/tests/core/thrown.h>

#include <limits>
#include <string>
#include <tuple>
#include <vector>

namespace octet::test::gradient_angles_test {
namespace {

using Values = std::vector<float>;

double angle_between(const Values& a, const Values& b) {
  GradientAngles angles;
  angles.begin_step(1);
  angles.add("dense", GradientProduct::kernel, a, b);
  return angles.angles().at(0).kernel.value();
}

TEST(GradientAngles, AreThoseBetweenVectorsOfAnyLength) {
  const Values tiny = {1e-40F, -3e-40F, 7e-41F};
  const Values some = {0.1F, -0.7F, 1e-3F};
  for (const auto& [a, b, expected] :
       std::vector<std::tuple<Values, Values, double>>{{some, some, 0.0},
                                                       {tiny, tiny, 0.0},
                                                       {{1e30F, 2e30F}, {1e-30F, 2e-30F}, 0.0},
                                                       {{1.0F, 0.0F}, {3.0F, 3.0F}, 45.0},
                                                       {{0.0F, 2.0F}, {-1.0F, 0.0F}, 90.0},
                                                       {{0.5F, 1.0F}, {-1.0F, -2.0F}, 180.0},
                                                       {{0.0F, 0.0F}, {0.0F, 0.0F}, 0.0},
                                                       {{0.0F, 0.0F}, {1.0F, 2.0F}, 90.0}}) {
    EXPECT_NEAR(angle_between(a, b), expected, 1e-6) << a[0] << " and " << b[0];
  }
  EXPECT_EQ(angle_between(some, some), 0.0);
}

TEST(GradientAngles, TakeWhatALayerAddsInAStepForOneVector) {
  const Values x = {1.0F, 0.0F};
  const Values y = {0.0F, 1.0F};
  GradientAngles angles;
  EXPECT_TRUE(angles.angles().empty());
  angles.begin_step(3);
  angles.add("last", GradientProduct::input, x, y);
  angles.add("first", GradientProduct::kernel, x, x);
  angles.add("last", GradientProduct::kernel, x, x);
  angles.add("last", GradientProduct::kernel, y, x);
  angles.begin_step(7);
  angles.add("last", GradientProduct::kernel, y, x);
  const std::vector<GradientAngle> found = angles.angles();
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].layer, "first");
  EXPECT_EQ(found[0].step, 3U);
  EXPECT_FALSE(found[0].input);
  EXPECT_EQ(found[0].kernel, 0.0);
  EXPECT_EQ(found[1].layer, "last");
  EXPECT_NEAR(found[1].input.value(), 90.0, 1e-9);
  EXPECT_NEAR(found[1].kernel.value(), 60.0, 1e-9);
  EXPECT_EQ(found[2].step, 7U);
  EXPECT_NEAR(found[2].kernel.value(), 90.0, 1e-9);
}

TEST(GradientAngles, PassOverWhatIsNotFiniteAndRefuseTwoSizes) {
  GradientAngles angles;
  const float infinite = std::numeric_limits<float>::infinity();
  angles.add("dense", GradientProduct::kernel, Values{1.0F, 0.0F}, Values{infinite, 0.0F});
  EXPECT_TRUE(angles.angles().empty());
  expect_throws<InvalidArgument>(
      [&] { angles.add("dense", GradientProduct::kernel, Values(3), Values(2)); },
      {"GradientAngles::add", "layer 'dense', found 3 and 2 values"});
}

}  // namespace
}  // namespace octet::test::gradient_angles_test
