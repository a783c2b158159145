#include <gtest/gtest.h>
#include <octet/compress/bit_search.h>
#include <octet/tests/train/data/idx_files.h>

#include <algorithm>
#include <string>
#include <vector>

namespace octet::test::bit_curve_test {
namespace {

BitSearch small_search() {
  BitSearch search;
  search.layers = {{.name = "first", .widths = {}}, {.name = "a,\"b\" <&>", .widths = {}}};
  search.in_float = {0.125, 0.99};
  search.widest = {0.25, 0.985};
  search.curve = {{{2, 2}, 9000, {2.5, 0.75}},
                  {{4, 2}, 12000, {0.75, 0.95}, ModelScore{0.5, 0.96}},
                  {{8, 8}, 20000, {0.25, 0.985}}};
  search.measured = {search.curve[1], {{3, 3}, 11000, {1.5, 0.9}, ModelScore{1.75, 0.875}}};
  search.chosen = search.curve[1];
  search.budget = 13000;
  return search;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(BitCurve, CsvHasARowPerAssignmentByBytes) {
  EXPECT_EQ(bit_curve_csv(small_search()),
            "bytes,predicted_loss,predicted_accuracy,measured_loss,measured_accuracy,on_curve,"
            "chosen,first,\"a,\"\"b\"\" <&>\"\n"
            "9000,2.5,0.75,,,1,0,2,2\n"
            "11000,1.5,0.9,1.75,0.875,0,0,3,3\n"
            "12000,0.75,0.95,0.5,0.96,1,1,4,2\n"
            "20000,0.25,0.985,,,1,0,8,8\n");
}

TEST(BitCurve, CsvLeavesAccuraciesThatAreNotThereEmpty) {
  BitSearch search = small_search();
  search.curve.resize(1);
  search.curve[0].predicted.accuracy.reset();
  search.measured.clear();
  EXPECT_EQ(bit_curve_csv(search).substr(bit_curve_csv(search).find('\n') + 1),
            "9000,2.5,,,,1,0,2,2\n");
}

TEST(BitCurve, SvgShowsThePointsAndEscapesNames) {
  const std::string svg = bit_curve_svg(small_search(), "<title> & \"more\"\x01");
  EXPECT_TRUE(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  expect_mentions(svg, ">&lt;title&gt; &amp; &quot;more&quot; </text>");
  expect_mentions(svg, "a,&quot;b&quot; &lt;&amp;&gt;: 2 bits");
  // 75 % and 87.5 % lie below what is shown.
  EXPECT_EQ(count(svg, " predicted\nfirst: "), 2U);
  EXPECT_EQ(count(svg, " measured\nfirst: "), 1U);
  expect_mentions(svg, ">chosen: 12000 bytes, 96.00 %</text>");
  expect_mentions(svg, ">budget: 13000 bytes</text>");
  expect_mentions(svg, ">float: 99.00 %</text>");
  EXPECT_EQ(count(svg, "<text"), count(svg, "</text>"));
  EXPECT_EQ(count(svg, "<circle"), count(svg, "</circle>"));
  // No number is missing, and nothing is fetched from elsewhere.
  EXPECT_EQ(count(svg, "nan") + count(svg, "inf") + count(svg, "href"), 0U);
}

TEST(BitCurve, SvgOfOnePointAndOfAll) {
  BitSearch search = small_search();
  search.curve = {search.chosen};
  search.measured = {search.chosen};
  search.in_float = *search.chosen.measured;
  search.budget.reset();
  search.most_drop = 1.5;
  const std::string one = bit_curve_svg(search);
  EXPECT_EQ(count(one, "nan") + count(one, "inf"), 0U);
  expect_mentions(one, ">drop of 1.5 points</text>");
  // Hundreds of points are a line without dots.
  search.curve.assign(1000, search.chosen);
  EXPECT_EQ(count(bit_curve_svg(search), " predicted\n"), 0U);
}

}  // namespace
}  // namespace octet::test::bit_curve_test
