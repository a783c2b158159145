#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <octet/core/profile.h>

#include <thread>

namespace octet::testing {
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
  EXPECT_THAT(profile.table(),
              HasSubstr("(the rest)                              250000.0   12.5 %"));
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

}  // namespace
}  // namespace octet::testing
