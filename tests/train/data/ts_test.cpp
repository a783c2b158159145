#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/tests/train/data/idx_files.h>
#include <octet/train/data/load_data.h>
#include <octet/train/data/ts.h>

#include <algorithm>
#include <string>
#include <utility>

namespace octet::test::ts_test {
namespace {

namespace fs = std::filesystem;

const std::string kHeader = "#a comment\n@problemName P\n@classLabel true run walk\n@data\n";

class LoadTs : public ::testing::Test {
 protected:
  fs::path write(const std::string& text, const std::string& name = "a.ts") const {
    const Bytes bytes(text.begin(), text.end());
    return scratch_.write(name, name.ends_with(".gz") ? gzipped(bytes) : bytes);
  }
  std::string refused(const std::string& text, const DataOptions& options = {}) const {
    return message_of<FormatError>([&] { load_ts(write(text), options); });
  }

  const ScratchDirectory scratch_;
};

std::vector<float> values_of(const Dataset& set) {
  const Tensor all = set.features(0, set.size());
  return {all.span().begin(), all.span().end()};
}

TEST_F(LoadTs, ChannelsBecomeTheLastAxis) {
  const std::string text = kHeader + "1,2,3:4,5,6:walk\r\n\n# between\n 7, 8 ,9:1e1,-11,+12: run";
  for (const auto& [mark, name] :
       {std::pair<std::string, const char*>{"", "a.ts"}, {"\xEF\xBB\xBF", "a.ts.gz"}}) {
    const Dataset set = load_ts(write(mark + text, name));
    EXPECT_EQ(set.name(), name);
    EXPECT_EQ(set.example_shape(), (Shape{3, 2}));
    EXPECT_EQ(values_of(set), (std::vector<float>{1, 4, 2, 5, 3, 6, 7, 10, 8, -11, 9, 12}));
    EXPECT_TRUE(std::ranges::equal(set.labels(), Labels{1, 0}));
    EXPECT_EQ(set.class_names(), (std::vector<std::string>{"run", "walk"}));
  }
}

TEST_F(LoadTs, SeriesOfSeveralLengthsAreCutAndPadded) {
  const std::string text = kHeader + "1,2,3:4,5,6:run\n7:8:walk\n";
  expect_mentions(refused(text),
                  "expected sequences of one length, found 1 to 3 steps; give "
                  "--length N");
  EXPECT_EQ(values_of(load_ts(write(text), {.length = 2})),
            (std::vector<float>{1, 4, 2, 5, 7, 8, 0, 0}));
  EXPECT_EQ(values_of(load_ts(write(text), {.length = 3, .padding = SequencePadding::last})),
            (std::vector<float>{1, 4, 2, 5, 3, 6, 7, 8, 7, 8, 7, 8}));
  const Dataset masked = load_ts(write(text), {.length = 3, .padding = SequencePadding::mask});
  EXPECT_EQ(masked.example_shape(), (Shape{3, 3}));
  EXPECT_EQ(values_of(masked),
            (std::vector<float>{1, 4, 1, 2, 5, 1, 3, 6, 1, 7, 8, 1, 0, 0, 0, 0, 0, 0}));
}

TEST_F(LoadTs, WhatIsRefusedIsNamedWithItsLine) {
  struct Case {
    std::string text;
    std::string part;
  };
  const std::string two = "1,2:3,4:run\n";
  for (const Case& c : {
           Case{"", "expected a header that ends in @data"},
           {"1,2:run\n", "line 1: expected a header of lines with '@'"},
           {"@problemName a\n@data\n1:run\n", "line 2: expected a line '@classLabel true'"},
           {"@classLabel false\n@data\n1:run\n", "expected a line '@classLabel true'"},
           {"@classLabel true\n@data\n", "expected classes behind '@classLabel true'"},
           {"@timeStamps true\n", "line 1: series with time stamps are not read"},
           {kHeader, "holds no series"},
           {kHeader + "1,2\n", "line 5: expected the class behind a ':'"},
           {kHeader + two + "1,2:run\n", "line 6: expected 2 channels as in the first series"},
           {kHeader + "1,2:3:run\n", "line 5: expected 2 values in channel 1 as in channel 0"},
           {kHeader + "1,2:3,4,5:run\n", "found 3"},
           {kHeader + "1,?:3,4:run\n",
            "line 5: channel 0: expected a finite number, found '?'; "
            "missing values are not read"},
           {kHeader + "1,inf:3,4:run\n", "found 'inf'"},
           {kHeader + "1,2:,4:run\n", "channel 1: expected a finite number, found ''"},
           {kHeader + two + "1,2:3,4:fly\n",
            "line 6: expected one of the classes run, walk, found "
            "'fly'"},
           {kHeader + std::string(2000, ',') + std::string(2000, ':') + "run", "found a line of"},
       }) {
    expect_mentions(refused(c.text), c.part);
  }
  const auto message =
      message_of<InvalidArgument>([&] { load_ts(write(kHeader + two + two), {.max_bytes = 31}); });
  expect_mentions(message, "2 examples of 16 bytes each do not fit into the 31 bytes");
}

TEST_F(LoadTs, AFolderHasBothParts) {
  write(kHeader + "1,2:run\n3,4:walk\n", "P_TRAIN.ts");
  expect_mentions(message_of<IoError>([&] { load_data(scratch_.path()); }),
                  "expected one file whose name ends in _TEST.ts, found 0");
  write("@classLabel true walk run\n@data\n5,6:run\n", "P_TEST.ts");
  const DataSplit data = load_data(scratch_.path());
  EXPECT_EQ(data.train.size(), 2U);
  EXPECT_TRUE(std::ranges::equal(data.test.labels(), Labels{0}));
  EXPECT_EQ(data.test.class_names(), data.train.class_names());
  expect_mentions(message_of<InvalidArgument>([&] { load_data(scratch_.path(), {.split = 0.5}); }),
                  "--split is for data of the format .ts or CSV or CSV folder or NumPy or WAV or "
                  "images, found UEA folder");
  write("@classLabel true walk run\n@data\n5,6,7:run\n", "P_TEST.ts");
  expect_mentions(message_of<FormatError>([&] { load_data(scratch_.path()); }),
                  "the test examples have shape [3, 1], the training examples [2, 1]");
}

TEST(RealSensors, AreReadWhole) {
  const char* folder = std::getenv("OCTET_SENSORS_DIR");
  if (folder == nullptr || *folder == '\0') GTEST_SKIP() << "OCTET_SENSORS_DIR is not set";
  const DataSplit motions = load_data(fs::path(folder) / "BasicMotions");
  EXPECT_EQ(motions.train.size(), 40U);
  EXPECT_EQ(motions.test.size(), 40U);
  EXPECT_EQ(motions.train.example_shape(), (Shape{100, 6}));
  EXPECT_EQ(motions.test.class_names(),
            (std::vector<std::string>{"Standing", "Running", "Walking", "Badminton"}));
  const fs::path vowels = fs::path(folder) / "JapaneseVowels";
  expect_mentions(message_of<FormatError>([&] { load_data(vowels); }), "found 7 to 26 steps");
  const DataSplit speakers = load_data(vowels, {.length = 29});
  EXPECT_EQ(speakers.train.size(), 270U);
  EXPECT_EQ(speakers.test.size(), 370U);
  EXPECT_EQ(speakers.test.example_shape(), (Shape{29, 12}));
  EXPECT_EQ(speakers.train.classes(), 9);
}

}  // namespace
}  // namespace octet::test::ts_test
