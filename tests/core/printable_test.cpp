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
  struct Case {
    std::string_view text;
    std::string_view expected;
  };
  using namespace std::string_view_literals;
  for (const auto& [text, expected] : {
           Case{"a\x1b[2J\n\t\x7f", "a?[2J???"},
           {"a\0b"sv, "a?b"},
           // CSI and OSC, which a terminal takes for ESC [ and ESC ], as UTF-8 and as single bytes.
           {"a\xC2\x9B\x32J\xC2\x80", "a??2J??"},
           {"a\x9B\x32J\x9D\x30;x\x9C", "a?2J?0;x?"},
           {"\xC2\xA0 \xC2\xBD", "\xC2\xA0 \xC2\xBD"},
           // Latin-1, cut off, longer than it need be, a surrogate, above U+10FFFF.
           {"gr\xFC\xDF", "gr??"},
           {"\xC3", "?"},
           {"\xE2\x82", "??"},
           {"\xC0\x9B", "??"},
           {"\xE0\x82\x9B", "???"},
           {"\xF0\x80\x82\x9B", "????"},
           {"\xED\xA0\x80", "???"},
           {"\xF4\x90\x80\x80", "????"},
           {"\xE2\x82\xAC \xED\x9F\xBF \xF0\x9F\x98\x80 \xF4\x8F\xBF\xBF",
            "\xE2\x82\xAC \xED\x9F\xBF \xF0\x9F\x98\x80 \xF4\x8F\xBF\xBF"},
       }) {
    EXPECT_EQ(printable(text), expected) << expected;
    EXPECT_EQ(printable(expected), expected) << expected;
  }
  EXPECT_EQ(printable_lines("a\nb\r\x9B\n"), "a\nb??\n");
}

TEST(Printable, LongTextIsCut) {
  EXPECT_EQ(printable(std::string(61, 'x')), std::string(60, 'x') + "...");
  EXPECT_EQ(printable("abcd", 3), "abc...");
  // Not inside of a character.
  EXPECT_EQ(printable("ab\xC3\xBC", 3), "ab...");
  EXPECT_EQ(printable("ab\xC3\xBC", 4), "ab\xC3\xBC");
}

}  // namespace
}  // namespace octet::test::printable_test
