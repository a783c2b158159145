// The lists of packages in the scripts name what is used, all of it, and nothing else.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <octet/tests/packages/requirements.h>

#include <set>

namespace octet::test::packages_test {
namespace {

const Uses& uses() {
  static const Uses found_uses = [] {
    Uses found;
    add_script_uses(OCTET_SOURCE_DIR, found);
    add_code_uses(OCTET_SOURCE_DIR, found);
    add_cmake_uses(OCTET_SOURCE_DIR, found);
    add_build_uses(OCTET_SOURCE_DIR, OCTET_BUILD_DIR, OCTET_NINJA, found);
    return found;
  }();
  return found_uses;
}

class Packages : public testing::Test {
 protected:
  void SetUp() override {
    if (!Debian::available()) GTEST_SKIP() << "no dpkg here that knows which package a file is of";
    if (std::string(OCTET_NINJA).empty()) GTEST_SKIP() << "not built with Ninja, which is asked";
  }

  std::vector<std::string> problems(const std::vector<Requirement>& requirements) const {
    static const Debian debian;
    static const UsedPackages used(uses().found, debian);
    return used.problems(requirements);
  }
};

TEST_F(Packages, EveryUseIsUnderstood) {
  EXPECT_EQ(fmt::format("{}", fmt::join(uses().unknown, "\n")), "");
}

TEST_F(Packages, ListsNameWhatIsUsedAndNothingElse) {
  const auto requirements = read_requirements(OCTET_SOURCE_DIR);
  EXPECT_GT(requirements.size(), 20U);
  EXPECT_EQ(fmt::format("{}", fmt::join(problems(requirements), "\n")), "");
  std::set<std::string> packages;
  for (const Requirement& one : requirements) {
    EXPECT_TRUE(packages.insert(one.package).second) << one.package << " is in two lists";
  }
}

TEST_F(Packages, EveryLineOfAListIsMissedWhereItLacks) {
  const auto requirements = read_requirements(OCTET_SOURCE_DIR);
  for (std::size_t i = 0; i < requirements.size(); ++i) {
    auto without = requirements;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_FALSE(problems(without).empty()) << requirements[i].package;
  }
}

}  // namespace
}  // namespace octet::test::packages_test
