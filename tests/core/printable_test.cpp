#include <gtest/gtest.h>
#include <octet/core/printable.h>

namespace octet::test::printable_test {
namespace {

TEST(Printable, LeavesTextAlone) {
  EXPECT_EQ(printable("dense_1/kernel"), "dense_1/kernel");
  EXPECT_EQ(printable("Gr\xC3\xBC\xC3\x9F"
                      "e"),
            "Gr\xC3\xBC\xC3\x9F"
            "e");
  EXPECT_EQ(printable(""), "");
}

TEST(Printable, NothingSteersTheTerminal) {
  EXPECT_EQ(printable("a\x1b[2J\n\t\x7f"), "a?[2J???");
  // U+009B, which some terminals take for ESC [.
  EXPECT_EQ(printable("a\xC2\x9B"
                      "2J"),
            "a??2J");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a?b");
}

TEST(Printable, LongTextIsCut) {
  EXPECT_EQ(printable(std::string(61, 'x')), std::string(60, 'x') + "...");
  EXPECT_EQ(printable("abcd", 3), "abc...");
}

}  // namespace
}  // namespace octet::test::printable_test
