#include <gtest/gtest.h>
#include <octet/core/text.h>

namespace octet::test::text_test {
namespace {

TEST(Text, LowerCaseChangesLettersOfAsciiAlone) {
  EXPECT_EQ(lower_case("INT8_[@Z`az{"), "int8_[@z`az{");
  EXPECT_EQ(lower_case("GR\xC3\x9C"), "gr\xC3\x9C");
}

TEST(Text, SharesArePercentagesWithTwoDigits) {
  EXPECT_EQ(percent_text(0.97564), "97.56 %");
  EXPECT_EQ(percent_text(0.0), "0.00 %");
}

}  // namespace
}  // namespace octet::test::text_test
