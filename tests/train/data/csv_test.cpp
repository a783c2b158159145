#include <fmt/core.h>
#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/tests/train/data/idx_files.h>
#include <octet/train/data/csv.h>

#include <algorithm>
#include <cmath>

namespace octet::test::csv_test {
namespace {

Dataset load(std::string_view text, const CsvOptions& options = {}) {
  const ScratchDirectory scratch;
  return load_csv(scratch.write("a.csv", Bytes(text.begin(), text.end())), options);
}

template <class E = FormatError>
std::string error(std::string_view text, const CsvOptions& options = {}) {
  return message_of<E>([&] { load(text, options); });
}

std::vector<float> values(const Dataset& set) {
  const Tensor features = set.features(0, set.size());
  return {features.span().begin(), features.span().end()};
}

Labels labels(const Dataset& set) { return {set.labels().begin(), set.labels().end()}; }

const CsvOptions kPlain = {.header = false};

TEST(Csv, TheLastColumnIsTheLabel) {
  const Dataset set = load("x,y,label\n1.5,-2,0\n3e-1,4,2\n");
  EXPECT_EQ(set.name(), "a.csv");
  EXPECT_EQ(set.example_shape(), (Shape{2}));
  EXPECT_EQ(set.classes(), 3);
  EXPECT_EQ(values(set), (std::vector<float>{1.5F, -2, 0.3F, 4}));
  EXPECT_EQ(labels(set), (Labels{0, 2}));
}

TEST(Csv, TheTargetIsNamedOrCounted) {
  const std::string text = "a,kind,b\n1,0,2\n3,1,4\n";
  const std::vector<float> features = {1, 2, 3, 4};
  for (const CsvColumn& column : {CsvColumn("kind"), CsvColumn(1), CsvColumn(-2)}) {
    const Dataset set = load(text, {.target_column = column});
    EXPECT_EQ(values(set), features);
    EXPECT_EQ(labels(set), (Labels{0, 1}));
  }
  EXPECT_EQ(values(load("1,0,2\n3,1,4\n", {.header = false, .target_column = 1})), features);
}

TEST(Csv, ColumnsCanBeLeftOut) {
  const CsvOptions options = {.target_column = "kind", .ignored = {"time", 2}};
  const Dataset set = load("time,a,unit,kind\n12:00,1,mm,0\n12:01,2,cm,1\n", options);
  EXPECT_EQ(values(set), (std::vector<float>{1, 2}));
}

TEST(Csv, NumbersAndFeaturesAsTargets) {
  const Dataset numbers = load("a,b\n1,2.5\n3,-4\n", {.targets = CsvTargets::numbers});
  EXPECT_EQ(numbers.target_shape(), (Shape{1}));
  EXPECT_EQ(values(numbers), (std::vector<float>{1, 3}));
  EXPECT_TRUE(std::ranges::equal(numbers.targets(0, 2).values().span(), std::vector{2.5F, -4.0F}));
  const Dataset same = load("1,2\n3,4\n", {.header = false, .targets = CsvTargets::features});
  EXPECT_EQ(same.target_shape(), (Shape{2}));
  EXPECT_EQ(values(same), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_TRUE(std::ranges::equal(same.targets(1, 2).values().span(), std::vector{3.0F, 4.0F}));
}

TEST(Csv, LabelsCanBeTexts) {
  const CsvOptions options = {.header = false, .class_names = {"idle", "on, fast", "a \"b\""}};
  const Dataset set = load("1,idle\n2,\"on, fast\"\n3,\"a \"\"b\"\"\"\n4, idle \n", options);
  EXPECT_EQ(labels(set), (Labels{0, 1, 2, 0}));
  EXPECT_EQ(set.classes(), 3);
  EXPECT_EQ(set.class_names(), options.class_names);
  EXPECT_EQ(set.head(1).class_names(), options.class_names);
  expect_mentions(error("1,idle\n2,off\n", options),
                  "line 2, column 1: expected one of CsvOptions::class_names (idle, on, fast, a "
                  "\"b\"), found 'off'");
}

TEST(Csv, ClassesCanBeGiven) {
  EXPECT_EQ(load("1,0\n", {.header = false, .classes = 4}).classes(), 4);
  expect_mentions(error("1,0\n2,4\n", {.header = false, .classes = 4}),
                  "line 2, column 1: expected a label in [0, 4), found 4");
}

TEST(Csv, QuotedFieldsHoldSeparatorsQuotesAndLineEnds) {
  const std::string text =
      "\"a \"\"1\"\", left\",\"two\r\nlines\",\"label\"\r\n\"1\",\"2\",\"0\"\r\n3,4,1";
  const CsvOptions options = {.target_column = "label", .ignored = {"a \"1\", left"}};
  EXPECT_EQ(values(load(text, options)), (std::vector<float>{2, 4}));
  // Lines are counted inside quotes as well.
  expect_mentions(error(text + ",5", options), "line 4: expected 3 fields");
}

TEST(Csv, TakesLineEndsSpacesSeparatorsAndAMark) {
  const std::vector<float> features = {1, 2};
  EXPECT_EQ(values(load("1,0\r\n2,1", kPlain)), features);
  EXPECT_EQ(values(load("1,0\n\n\r\n2,1\n\n", kPlain)), features);
  EXPECT_EQ(values(load(" 1 ,\t0\n+2 , 1\n", kPlain)), features);
  EXPECT_EQ(values(load("1;0\n2;1\n", {.header = false, .separator = ';'})), features);
  EXPECT_EQ(values(load("1\t0\n2\t1\n", {.header = false, .separator = '\t'})), features);
  EXPECT_EQ(values(load("\xEF\xBB\xBF"
                        "a,b\n1,0\n2,1\n",
                        {.target_column = "b"})),
            features);
  EXPECT_EQ(values(load("\xEF\xBB\xBF"
                        "1,0\n2,1\n",
                        kPlain)),
            features);
}

TEST(Csv, ReadsTheNearestFloat) {
  const Dataset set = load("0.1,16777217,1e-45,1e-60,3.4028235e38,0\n", kPlain);
  EXPECT_EQ(values(set), (std::vector<float>{0.1F, 16777216.0F, std::nextafter(0.0F, 1.0F), 0.0F,
                                             3.4028235e38F}));
}

TEST(Csv, NamesLineAndColumnOfWhatIsNoNumber) {
  expect_mentions(error("a,b,c\n1,2,0\n1,x,0\n"),
                  "line 3, column 1: 'b': expected a finite number that fits a float, found 'x'");
  expect_mentions(error("1,2,0\n1,,0\n", kPlain), "line 2, column 1: expected a number, found an");
  for (const std::string text :
       {"nan", "inf", "-infinity", "1e39", "1e400", "0x10", "1 2", "+-1", "1.5.2", "--1", "\"\""}) {
    expect_mentions(error("1,0\n" + text + ",0\n", kPlain), "line 2, column 0: expected a");
  }
  expect_mentions(error("a;b\n1,5;0\n", {.separator = ';'}), "a point, not a comma");
  // What steers a terminal is not printed.
  expect_mentions(error("1,0\n\x1b[31m,0\n", kPlain), "found '?[31m'");
}

TEST(Csv, NamesLineAndColumnOfWhatIsNoLabel) {
  for (const std::string text : {"-1", "1.0", "walking", "2147483647", "99999999999"}) {
    expect_mentions(
        error("1,0\n2," + text + "\n", kPlain),
        "line 2, column 1: expected a label, an integer in [0, 2^31 - 1), found '" + text);
  }
}

TEST(Csv, TellsAHeaderFromNumbers) {
  expect_mentions(error("1,0\n2,1\n"), "nothing but numbers; set CsvOptions::header to false");
  expect_mentions(error("x,label\n2,1\n", kPlain), "(CsvOptions::header)?");
}

TEST(Csv, RefusesRecordsOfOtherLengths) {
  expect_mentions(error("1,2,0\n1,2,0\n1,0\n", kPlain), "line 3: expected 3 fields");
  expect_mentions(error("a,b\n1,2,0\n"),
                  "line 2: expected 2 fields as in the first record, found 3");
  expect_mentions(error("1,0,\n1,0\n", {.header = false, .target_column = 1, .ignored = {2}}),
                  "line 2: expected 3 fields");
}

TEST(Csv, RefusesQuotesOutOfPlace) {
  expect_mentions(error("1,0\n1\"2\",0\n", kPlain),
                  "line 2, column 0: found a quote inside a field");
  expect_mentions(error("1,0\n\"1\"2,0\n", kPlain), "line 2, column 0: expected a separator");
  expect_mentions(error("1,0\n2,\"0\n3,1\n", kPlain),
                  "line 2, column 1: this quote is never closed");
  expect_mentions(error("1,\"", kPlain), "never closed");
}

TEST(Csv, RefusesFilesWithoutExamples) {
  expect_mentions(error(""), "at least one record behind the header, found none");
  expect_mentions(error("a,b\n"), "at least one record behind the header, found none");
  expect_mentions(error("\n\n", kPlain), "at least one record, found none");
}

TEST(Csv, RefusesOptionsThatDoNotFit) {
  const auto refused = [](const CsvOptions& options, std::string_view text = "a,b\n1,0\n") {
    return error<InvalidArgument>(text, options);
  };
  expect_mentions(refused({.target_column = "c"}), "'c' to be the name of one column, found a, b");
  expect_mentions(refused({.target_column = "a"}, "a,a\n1,0\n"), "'a' to be the name of one");
  expect_mentions(refused({.header = false, .target_column = "a"}), "found no header");
  expect_mentions(refused({.target_column = 2}), "column 2 is outside [-2, 2)");
  expect_mentions(refused({.target_column = -3}), "column -3 is outside");
  expect_mentions(refused({.target_column = "b", .ignored = {-1}}), "among CsvOptions::ignored");
  expect_mentions(refused({.ignored = {0}}), "none of its 2 columns is a feature");
  expect_mentions(refused({.separator = ';'}), "none of its 1 columns is a feature");
  expect_mentions(refused({.separator = '"'}), "no quote");
  expect_mentions(refused({.classes = -1}), "found -1");
  expect_mentions(refused({.class_names = {"x"}, .classes = 2}), "found both");
  expect_mentions(refused({.class_names = {"x", "y", "x"}}), "'x' stands twice");
  expect_mentions(refused({.targets = CsvTargets::numbers, .classes = 2}), "that are labels");
}

/// Records of which some lie across the pieces in which a file is read.
TEST(Csv, ReadsMoreThanOnePieceAndGzippedFiles) {
  std::string text = "value,\"note\",label\r\n";
  std::size_t rows = 0;
  for (; text.size() < (3U << 20); ++rows) {
    text += fmt::format("{},\"{}\r\n\"\"{}\"\"\",{}\r\n", rows, std::string(rows % 97, 'n'), rows,
                        rows % 7);
  }
  const CsvOptions options = {.ignored = {"note"}};
  const ScratchDirectory scratch;
  const Bytes bytes(text.begin(), text.end());
  for (const Bytes& file : {bytes, gzipped(bytes)}) {
    const Dataset set = load_csv(scratch.write("a", file), options);
    ASSERT_EQ(set.size(), rows);
    const Tensor features = set.features(0, rows);
    for (std::size_t i = 0; i < rows; ++i) {
      ASSERT_EQ(features.span()[i], static_cast<float>(i));
      ASSERT_EQ(set.labels()[i], static_cast<std::int32_t>(i % 7));
    }
  }
  // Two lines a record, and the header's.
  expect_mentions(error(text + "1,2", options), fmt::format("line {}: expected 3", 2 * rows + 2));
}

TEST(Csv, ALongRecordIsReadAndATooLongOneRefused) {
  const std::string wide = "1," + std::string(5U << 20, ' ') + "2,0\n";
  EXPECT_EQ(values(load(wide, kPlain)), (std::vector<float>{1, 2}));
  expect_mentions(error("1,0\n\"" + std::string(40U << 20, 'x') + "\",0\n", kPlain),
                  "line 2: expected a record of at most 16777216 bytes");
  expect_mentions(error(std::string((1U << 20) + 1, ','), kPlain), "at most 1048576 columns");
}

/// A cut file has fewer records or a last one that is refused; what is read is as it was.
TEST(Csv, EveryCutIsRefusedOrGivesTheRecordsBefore) {
  const std::string text = "a,\"b\"\"\",label\r\n1.25,\"-2\",0\r\n3,4,12\r\n";
  const std::vector<float> whole = {1.25F, -2, 3, 4};
  std::size_t refused = 0;
  for (std::size_t kept = 0; kept < text.size(); ++kept) {
    try {
      const std::vector<float> found = values(load(text.substr(0, kept)));
      EXPECT_TRUE(std::ranges::equal(found, std::span(whole).first(found.size()))) << kept;
    } catch (const FormatError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, text.size() / 2);
}

}  // namespace
}  // namespace octet::test::csv_test
