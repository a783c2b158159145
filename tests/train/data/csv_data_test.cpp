#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/tests/train/data/idx_files.h>
#include <octet/train/data/csv_data.h>
#include <octet/train/data/load_data.h>

#include <algorithm>
#include <string>

namespace octet::test::csv_data_test {
namespace {

namespace fs = std::filesystem;

class CsvData : public ::testing::Test {
 protected:
  fs::path write(const std::string& text, const std::string& name = "a.csv") const {
    fs::create_directories((scratch_.path() / name).parent_path());
    return scratch_.write(name, Bytes(text.begin(), text.end()));
  }
  std::string refused(const std::string& text, const DataOptions& options = {}) const {
    return message_of<FormatError>([&] { load_csv_data(write(text), options); });
  }
  std::string wrong(const std::string& text, const DataOptions& options) const {
    return message_of<InvalidArgument>([&] { load_csv_data(write(text), options); });
  }

  const ScratchDirectory scratch_;
};

std::vector<float> values_of(const Dataset& set) {
  const Tensor all = set.features(0, set.size());
  return {all.span().begin(), all.span().end()};
}

Labels labels_of(const Dataset& set) { return {set.labels().begin(), set.labels().end()}; }

TEST_F(CsvData, ClassesAreNamedByTheirTexts) {
  const LoadedData last = load_csv_data(write("a,b,kind\n1,2,worn\n3,4,idle\n5,6,worn\n"));
  EXPECT_EQ(last.train.class_names(), (std::vector<std::string>{"idle", "worn"}));
  EXPECT_EQ(labels_of(last.train), (Labels{1, 0, 1}));
  EXPECT_EQ(values_of(last.train), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_TRUE(last.groups.empty());
  // Whole numbers are sorted by value, and a file whose records hold a number has no header.
  const LoadedData numbers = load_csv_data(write("1,10\n2,9\n3,10\n"));
  EXPECT_EQ(numbers.train.class_names(), (std::vector<std::string>{"9", "10"}));
  const LoadedData named = load_csv_data(write("kind,a,b,t\n0,1,2,9\n1,3,4,9\n"),
                                         {.target_column = "kind", .ignored = {"t"}});
  EXPECT_EQ(values_of(named.train), (std::vector<float>{1, 2, 3, 4}));
}

TEST_F(CsvData, TargetsAreNumbersWhereOneIsNoWholeNumber) {
  const LoadedData prices = load_csv_data(write("a,price\n1,2\n2,2.5\n"));
  EXPECT_EQ(prices.train.target_shape(), (Shape{1}));
  EXPECT_EQ(prices.train.targets(1, 2).values().at({0, 0}), 2.5F);
  EXPECT_FALSE(load_csv_data(write("a,n\n1,2\n2,3\n"), {.numbers = true}).train.has_labels());
  expect_mentions(refused("a,n\n1,2\n2,x\n", {.numbers = true}),
                  "line 3: expected a finite number as the target, found 'x'");
}

TEST_F(CsvData, WindowsCrossNoChangeOfClassOrGroup) {
  const std::string text =
      "x,who,class\n1,a,0\n2,a,0\n3,a,0\n4,a,1\n5,a,1\n6,b,1\n7,b,1\n8,b,1\n9,b,1\n";
  const LoadedData data =
      load_csv_data(write(text), {.group_column = "who", .window = 2, .hop = 1});
  EXPECT_EQ(data.train.example_shape(), (Shape{2, 1}));
  EXPECT_EQ(values_of(data.train), (std::vector<float>{1, 2, 2, 3, 4, 5, 6, 7, 7, 8, 8, 9}));
  EXPECT_EQ(labels_of(data.train), (Labels{0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(data.groups, (Groups{0, 0, 0, 1, 1, 1}));
  // Without groups, records in a row are one.
  const LoadedData rows = load_csv_data(write(text), {.ignored = {"who"}, .window = 3});
  EXPECT_EQ(values_of(rows.train), (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(rows.groups, (Groups{0, 1, 1}));
  // The target of a window of numbers is its last record's.
  const LoadedData next = load_csv_data(write("x,y\n1,0.5\n2,1.5\n3,2.5\n"), {.window = 2});
  EXPECT_EQ(next.train.targets(0, 1).values().at({0, 0}), 1.5F);
}

TEST_F(CsvData, SeveralTargetsAreANumberEach) {
  const std::string text = "y,x,z\n1,2,3\n4,5,6.5\n";
  const LoadedData data = load_csv_data(write(text), {.target_column = "z,y"});
  EXPECT_EQ(values_of(data.train), (std::vector<float>{2, 5}));
  EXPECT_EQ(data.train.target_shape(), (Shape{2}));
  const Tensor targets = data.train.targets(0, 2).values();
  EXPECT_EQ(std::vector<float>(targets.span().begin(), targets.span().end()),
            (std::vector<float>{3, 1, 6.5F, 4}));
  // A window has the targets of its last record. A name may hold a comma itself.
  const LoadedData next = load_csv_data(write(text), {.target_column = "z,y", .window = 2});
  EXPECT_EQ(next.train.targets(0, 1).values().at({0, 1}), 4.0F);
  EXPECT_EQ(load_csv_data(write("a,\"b,c\"\n1,u\n2,v\n"), {.target_column = "b,c"}).train.classes(),
            2);
  expect_mentions(refused("a,b,c\n1,2,u\n", {.target_column = "b,c"}),
                  "expected a finite number as the target, found 'u'");
  expect_mentions(wrong(text, {.target_column = "z,q"}), "one of y, x, z, found 'q'");
  expect_mentions(wrong(text, {.target_column = "z,z"}), "found 'z' twice");
}

TEST_F(CsvData, AColumnWeighsTheExamples) {
  const LoadedData data = load_csv_data(write("x,w,y\n1,2,a\n2,0,a\n3,1,b\n4,5,b\n"),
                                        {.weight_column = "w", .window = 2});
  EXPECT_EQ(values_of(data.train), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(
      std::vector<float>(data.train.sample_weights().begin(), data.train.sample_weights().end()),
      (std::vector<float>{0, 5}));
  expect_mentions(refused("x,w,y\n1,-2,a\n", {.weight_column = "w"}),
                  "column 1: 'w': expected a weight, a finite number of 0 or more, found '-2'");
  expect_mentions(refused("x,w,y\n1,,a\n", {.weight_column = "w"}), "found ''");
  expect_mentions(wrong("x,w,y\n1,0,a\n", {.weight_column = "w"}), "expected a weight above 0");
  expect_mentions(wrong("x,y\n1,a\n", {.weight_column = "y"}), "found 'y' twice");
}

TEST_F(CsvData, TheFirstLineSaysWhatSeparates) {
  for (const char* text :
       {"x,y,class\n1,2,a;b\n3,4,c\n", "x;y;class\n1;2;\"a;b\"\n3;4;c\n",
        "x\ty\tclass\n1\t2\ta;b\n3\t4\tc\n", "\xEF\xBB\xBF\"x,1\";y;class\n1;2;\"a;b\"\n3;4;c",
        "1;2;\"a;b\"\n3;4;c"}) {
    const Dataset set = load_csv_data(write(text)).train;
    EXPECT_EQ(values_of(set), (std::vector<float>{1, 2, 3, 4})) << text;
    EXPECT_EQ(set.class_names(), (std::vector<std::string>{"a;b", "c"})) << text;
  }
  expect_mentions(refused("x;y\n1,5;a\n"), "'x': expected a finite number, found '1,5'");
}

TEST(CsvName, EndsInCsvOrTsvAlsoInFrontOfGz) {
  for (const char* name : {"a.csv", "A.TSV", "a.csv.gz", "b/a.Tsv.GZ"}) {
    EXPECT_TRUE(is_csv_name(name)) << name;
  }
  for (const char* name : {"", ".gz", "csv", "a.csv.zip", "a.txt", "a.ts"}) {
    EXPECT_FALSE(is_csv_name(name)) << name;
  }
}

TEST_F(CsvData, WhatIsRefusedIsNamed) {
  expect_mentions(refused("a,b\n1,caf\xE9\n"),
                  "line 2: expected the name of a class in UTF-8, found 'caf");
  expect_mentions(refused("a,caf\xE9\n1,b\n"),
                  "line 1, column 1: expected a column's name in UTF-8");
  for (const char* mark : {"\xFF\xFE", "\xFE\xFF"}) {
    expect_mentions(refused(mark + std::string("a")), "expected text in UTF-8, found UTF-16");
  }
  expect_mentions(refused(""), "expected records, found none");
  expect_mentions(refused("a,b\n"), "expected records, found none");
  expect_mentions(refused("a,b\n1,2\n3\n"), "line 3: expected 2 fields as in the first record");
  expect_mentions(refused("a,b\nx,1\n"),
                  "line 2, column 0: 'a': expected a finite number, found "
                  "'x'; is it the target (--target-column)");
  expect_mentions(refused("a,b\n1,\n"), "line 2, column 1: 'b': expected a target or a group");
  expect_mentions(refused("a,b\n1,2\n", {.window = 2}), "expected 2 records in a row");
  expect_mentions(refused("a,b\n1,c\n", {.class_names = {"d"}}), "expected one of the classes d");
  expect_mentions(refused("a,b\n1,0.5\n", {.class_names = {"0"}}), "classes 0, found '0.5'");
  expect_mentions(refused("a,a,b\n1,2,c\n"),
                  "expected a name for each column, since further files");
  const std::string letter = wrong("a,b\n1,2\n", {.target_column = "c"});
  expect_mentions(letter,
                  "--target-column: expected the name of one column, one of a, b, found 'c'");
  EXPECT_TRUE(letter.ends_with("found 'c'")) << "another letter is another word: " << letter;
  expect_mentions(wrong("a,kind\n1,2\n", {.target_column = "kinds"}),
                  "found 'kinds'; did you mean kind?");
  expect_mentions(refused("height,b\n1,2\n", {.columns = {"heigth"}}),
                  "found height, b; did you mean height?");
  expect_mentions(wrong("a,b\n1,2\n", {.group_column = "b"}), "found 'b' twice");
  expect_mentions(wrong("a,b\n1,2\n", {.ignored = {"a"}}), "expected columns that are features");
  expect_mentions(wrong("a,b\n1,2\n", {.hop = 2}), "--hop: expected --window with it");
  expect_mentions(wrong("a,b\n1,2\n3,4\n", {.max_bytes = 7}), "do not fit into the 7 bytes");
}

TEST_F(CsvData, FilesOfAFolderAreSequences) {
  write("x,y\n1,2\n3,4\n5,6\n", "set/run/1.csv");
  write("x,y\n7,8\n9,10\n", "set/walk/1.csv");
  const fs::path set = scratch_.path() / "set";
  expect_mentions(message_of<FormatError>([&] { load_data(set); }), "found 2 to 3 steps");
  const DataSplit cut = load_data(set, {.length = 2});
  EXPECT_EQ(values_of(cut.train), (std::vector<float>{1, 2, 3, 4, 7, 8, 9, 10}));
  EXPECT_EQ(cut.train.class_names(), (std::vector<std::string>{"run", "walk"}));
  const LoadedData windows = load_csv_folder(set, {.window = 1});
  EXPECT_EQ(labels_of(windows.train), (Labels{0, 0, 0, 1, 1}));
  EXPECT_EQ(windows.groups, (Groups{0, 0, 0, 1, 1}));
}

TEST_F(CsvData, ColumnsOfAFolderAreFoundByTheNamesOfItsFirstFile) {
  write("t,x,y\n0,1,2\n", "set/train/a/1.csv");
  write("y,x\n4,3\n", "set/train/b/1.csv");
  write("x,t,y\n5,0,6\n", "set/test/b/1.csv");
  const fs::path set = scratch_.path() / "set";
  for (const DataOptions& options :
       {DataOptions{.ignored = {"t"}}, DataOptions{.columns = {"x", "y"}}}) {
    const DataSplit data = load_data(set, options);
    EXPECT_EQ(values_of(data.train), (std::vector<float>{1, 2, 3, 4}));
    EXPECT_EQ(values_of(data.test), (std::vector<float>{5, 6}));
  }
  for (const auto& [text, says] :
       {std::pair{"x\n1\n", "2.csv: expected one column of the name 'y'"},
        std::pair{"1,2\n", "found 0, 1, which are numbers since its first record is no header"},
        std::pair{"x,y,z\n1,2,3\n", "2.csv: expected the columns of "},
        std::pair{"x,y,z\n1,2,3\n", "1.csv, found another one, 'z'"},
        std::pair{"x,y,y\n1,2,3\n", "expected one column of the name 'y'"}}) {
    write(text, "set/test/b/2.csv");
    expect_mentions(message_of<FormatError>([&] { load_data(set, {.ignored = {"t"}}); }), says);
  }
  write("3,4\n", "set/train/a/0.csv");
  expect_mentions(message_of<FormatError>([&] { load_data(set); }),
                  "columns of a file whose first record is no header are numbers");
}

}  // namespace
}  // namespace octet::test::csv_data_test
