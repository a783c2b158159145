#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <octet/core/profile.h>

#include <chrono>
#include <thread>

namespace octet::test::profile_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> names(const Profile& profile) {
  std::vector<std::string> result;
  for (const auto& entry : profile.entries()) result.push_back(entry.name);
  return result;
}

TEST(Profile, SumsByNameInOrderOfFirstAppearance) {
  Profile profile;
  profile.add("b", 1.0);
  profile.add("a", 2.0);
  profile.add("b", 0.5);
  profile.add_whole(4.0, 2);
  EXPECT_THAT(names(profile), ElementsAre("b", "a"));
  EXPECT_EQ(profile.entries()[0].seconds, 1.5);
  EXPECT_EQ(profile.entries()[0].count, 2U);
  EXPECT_EQ(profile.explained(), 3.5 / 4.0);
  EXPECT_THAT(profile.table(), HasSubstr("750000.0   37.5 %"));
  EXPECT_THAT(
      profile.table(),
      HasSubstr("(the rest)                                              250000.0   12.5 %"));
}

TEST(Profile, WithoutPhasesExplainsNothing) {
  EXPECT_EQ(Profile().explained(), 0.0);
  EXPECT_THAT(Profile().table(), HasSubstr("step"));
}

TEST(ProfileScope, ReportsOnlyToTheProfileOfItsThread) {
  Profile profile;
  { const ProfileScope unheard("before"); }
  {
    const Profiling profiling(&profile);
    const ProfileScope scope("forward", "dense");
    EXPECT_EQ(profiled_detail(), "dense");
    std::thread([] { const ProfileScope unheard("elsewhere"); }).join();
    {
      const Profiling off(nullptr);
      const ProfileScope unheard("off");
    }
  }
  { const ProfileScope unheard("after"); }
  EXPECT_EQ(profiled_detail(), "");
  EXPECT_THAT(names(profile), ElementsAre("forward dense"));
}

TEST(ProfileScope, LeavesOutWhatScopesAndPartsWithinItTake) {
  Profile profile;
  const auto begin = std::chrono::steady_clock::now();
  const auto wait = [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
  {
    const Profiling profiling(&profile);
    const ProfileScope scope("backward", "conv2d");
    {
      const ProfilePart part("kernel gradient");
      EXPECT_EQ(profiled_detail(), "conv2d");
      wait();
    }
    {
      const ProfileScope other("loss");
      const ProfilePart of_other("sums");
      wait();
    }
    EXPECT_EQ(profiled_detail(), "conv2d");
  }
  EXPECT_THAT(names(profile), ElementsAre("backward conv2d", "backward conv2d: kernel gradient",
                                          "loss", "loss: sums"));
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  double sum = 0.0;
  for (const auto& entry : profile.entries()) sum += entry.seconds;
  EXPECT_GE(sum, 0.04);
  EXPECT_LE(sum, elapsed.count());
}

TEST(ProfilePart, WithoutAScopeAroundItMeasuresNothing) {
  Profile profile;
  const Profiling profiling(&profile);
  { const ProfilePart part("kernel gradient"); }
  EXPECT_TRUE(profile.entries().empty());
}

}  // namespace
}  // namespace octet::test::profile_test
