#include <fmt/core.h>
#include <gtest/gtest.h>
#include <octet/report/html_text.h>
#include <octet/report/report.h>

#include <regex>

namespace octet::test::html_test {
namespace {

/// Would be script, markup or the end of an attribute where it is not escaped.
const std::string kHostile = "a\"><script>alert(1)</script><img src=x onerror='alert(2)'>&\x01";

GridFacts some_grid() {
  GridFacts facts{.values = 100, .clipped = 1, .codes_used = 20, .codes = 256};
  facts.grid_low = -1.0;
  facts.grid_high = 1.0;
  facts.histogram = {.low = -1.2, .high = 1.2, .counts = {3, 0, 50, 40, 7}};
  return facts;
}

/// A report with something in every part, whose names are all `name`.
Report report_named(const std::string& name) {
  Report report;
  report.title = name;
  report.data = name;
  report.outcomes = {
      {.name = name, .accuracy = wilson_interval(9, 10)},
      {.name = name, .accuracy = wilson_interval(8, 10), .against_float = mcnemar_test(1, 0)}};
  report.contract = name;
  report.targets = {name};
  report.warnings = {name};
  for (const int epoch : {1, 2}) {
    EpochRecord record;
    record.phase = epoch == 1 ? "float" : name;
    record.epoch = epoch;
    record.train_loss = 1.0 / epoch;
    record.train_accuracy = 0.9;
    report.history.push_back(record);
  }
  report.ranges = {{"calibrated", name, -1.0F, 1.0F}, {"1", name, -2.0F, 1.0F}};
  report.oscillations = {{name, name, 0.5, 0.25}};
  report.gradient_angles = {{1, name, {}, 0.5}, {9, name, {}, 2.0}};
  LayerFacts layer;
  layer.name = name;
  layer.type = name;
  layer.sqnr_db = 30.0;
  layer.result = some_grid();
  layer.weights = some_grid();
  layer.weight_channels = {
      .channels = 4, .median_span = 0.1, .wide = 1, .widest = {{1, 2.0, 20.0}}};
  layer.sensitivity = Sensitivity{.only_this_quantized = 0.5, .only_this_in_float = 0.9};
  layer.separable = true;
  layer.result_channels = {.channels = 4, .dead = {2}, .starved = 1};
  report.layers = {{layer}, 10, 10, 0.9, 0.5, {}};
  report.class_names = {name, name};
  report.confusion = {{5, 1}, {0, 4}};
  report.changed_examples = 30;
  report.changed = {{.index = 7,
                     .name = name,
                     .label = 1,
                     .in_float = 1,
                     .in_integers = 0,
                     .float_confidence = 0.6,
                     .integer_confidence = 0.55,
                     .view = {.png = "PNG"}}};
  report.confused = {
      {.label = 0,
       .said = 1,
       .count = 17,
       .examples = {{.index = 3, .in_integers = 1, .view = {.png = "PNG", .is_map = true}},
                    {.index = 5,
                     .in_integers = 1,
                     .view = {.lines = {{{0, -1.5}, {1, 2.5}}}, .steps = 3}}}},
      {.label = 1, .said = 0, .count = 1, .examples = {{.index = 9, .name = name, .label = 1}}}};
  report.confused_pairs = 4;
  report.command = name;
  report.facts = {{name, name}};
  report.hashes = {{name, name}};
  report.missing = {name};
  return report;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST(ReportHtml, AnswersInOrder) {
  const std::string page = report_html(report_named("name"));
  std::size_t last = 0;
  for (const char* heading :
       {"<h1>name</h1>", ">What came out</h2>", ">How it went</h2>", ">Where it hurts</h2>",
        ">What to do</h2>", ">How to repeat it</h2>"}) {
    const std::size_t at = page.find(heading);
    ASSERT_NE(at, std::string::npos) << heading;
    EXPECT_GT(at, last) << heading;
    last = at;
  }
  for (const char* part : {"90.00 %", "80.00 %", "1 / 0, p = 1", "1 (20.0\xC3\x97)",
                           "float: name (60 %)", "integers: name (55 %)", "name, label name",
                           "said name", "30 test examples differently; shown here: 1",
                           "Test example: name, of class name\" src=\"data:image/png;base64,UE5H",
                           "of class name\" class=\"map\" src=\"data:image/png;base64,UE5H",
                           "most often, of 4 pairs of classes", "name taken for name: 17 examples<",
                           "name taken for name: 1 example<", "points=\"4.0,112.0 100.0,18.0 \"",
                           ">3 steps<", "Angles between int8 and float gradients</h3>",
                           ">1.25</td><td class=\"number\" data-value=\"2\">2.00</td>",
                           "; the file is smaller and computes the same."}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
}

TEST(ReportHtml, ClassesWithoutANameHaveTheirNumber) {
  Report report = report_named("name");
  report.class_names = {"only one"};
  const std::string page = report_html(report);
  for (const char* part : {"float: 1 (60 %)", "integers: only one (55 %)", "label 1", "said 1"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
}

TEST(ReportHtml, IsTheSameBytesForTheSameReport) {
  EXPECT_EQ(report_html(report_named("x")), report_html(report_named("x")));
}

TEST(ReportHtml, EscapesEveryNameOfOthers) {
  const std::string page = report_html(report_named(kHostile));
  // The page's own script is the only one, and no element of a name's was made.
  EXPECT_EQ(count_of(page, "<script"), 1U);
  EXPECT_EQ(count_of(page, "<img"), 2U);
  EXPECT_EQ(page.find('\x01'), std::string::npos);
  EXPECT_GT(count_of(page, "&lt;script&gt;alert(1)&lt;/script&gt;"), 20U);
  // As many elements and attributes as with a plain name.
  const std::string plain = report_html(report_named("name"));
  for (const char* mark : {"<", ">", "=\""}) EXPECT_EQ(count_of(page, mark), count_of(plain, mark));
}

TEST(ReportHtml, LoadsNothing) {
  const std::string page = report_html(report_named("name"));
  EXPECT_EQ(page.find("http:"), std::string::npos);
  EXPECT_EQ(page.find("https:"), std::string::npos);
  EXPECT_EQ(page.find("url("), std::string::npos);
  EXPECT_EQ(page.find("@import"), std::string::npos);
  const std::regex reference("(src|href)=\"(?!data:|#)");
  EXPECT_FALSE(std::regex_search(page, reference));
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
}

TEST(ReportHtml, IsAccessible) {
  const std::string page = report_html(report_named("name"));
  EXPECT_NE(page.find("<html lang=\"en\">"), std::string::npos);
  EXPECT_EQ(count_of(page, "<svg "), count_of(page, "<svg role=\"img\" aria-label=\""));
  // One more is the page's own.
  EXPECT_EQ(count_of(page, "<svg ") + 1, count_of(page, "</title>\n<"));
  EXPECT_EQ(count_of(page, "<table>"), count_of(page, "<caption>"));
  EXPECT_EQ(count_of(page, "<th"), count_of(page, "<th scope=") + count_of(page, "<thead"));
  EXPECT_EQ(count_of(page, "<img "), count_of(page, "<img alt=\""));
}

TEST(ReportHtml, TakesAReportOfNothing) {
  const std::string page = report_html({});
  EXPECT_NE(page.find("0 test examples differently.<"), std::string::npos);
  EXPECT_NE(page.find("No training was recorded."), std::string::npos);
  EXPECT_NE(page.find("No rule found anything to improve."), std::string::npos);
  EXPECT_EQ(page.find("nan"), std::string::npos);
  Report trained;
  trained.history = report_named("name").history;
  EXPECT_EQ(report_html(trained).find("Angles between"), std::string::npos);
}

TEST(ReportHtml, ShowsAllPairsOrSaysOfHowMany) {
  Report report = report_named("name");
  report.confused_pairs = 2;
  EXPECT_NE(report_html(report).find("What the integers take for what, with examples"),
            std::string::npos);
  report.confused.clear();
  EXPECT_EQ(report_html(report).find("The commonest mistakes"), std::string::npos);
}

TEST(CountText, GroupsThousands) {
  EXPECT_EQ(detail::count_text(7), "7");
  EXPECT_EQ(detail::count_text(123), "123");
  EXPECT_EQ(detail::count_text(1234),
            "1\xE2\x80\xAF"
            "234");
  EXPECT_EQ(detail::count_text(1234567),
            "1\xE2\x80\xAF"
            "234\xE2\x80\xAF"
            "567");
}

}  // namespace
}  // namespace octet::test::html_test
