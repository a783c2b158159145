// Examples that cannot be read are left out, up to DataOptions::skip_bad of them, and named.

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/core/log.h>
#include <octet/tests/train/data/data_folder.h>
#include <octet/tests/train/data/image_files.h>
#include <octet/tests/train/data/npy_files.h>
#include <octet/tests/train/data/wav_files.h>
#include <octet/train/data/image_file.h>
#include <octet/train/data/load_data.h>
#include <octet/train/data/wav_folder.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

namespace octet::test::skipped_examples_test {
namespace {

namespace fs = std::filesystem;

using Skipped = DataFolder;

/// A format whose examples are files, with one that is whole and some that are not.
struct FileFormat {
  std::string ending;
  bool is_read;
  Bytes good;
  std::vector<std::pair<Bytes, std::string>> bad;
  DataOptions options{};
};

std::vector<FileFormat> file_formats() {
  const Bytes image = png_bytes(4, 4, 1, counting(16));
  const Bytes sound = wav_bytes(8000, 1, std::vector<std::int16_t>(300));
  const std::vector<std::pair<Bytes, std::string>> no_sounds = {
      {text("RIFF"), "expected a WAV file"},
      {wav_bytes(8000, 2, std::vector<std::int16_t>(300)), "expected 1 channels"},
      {wav_bytes(8000, 1, {}), "expected a sequence, found no step"}};
  return {{"png",
           reads_images(),
           image,
           {{text("GIF"), "expected a JPEG, PNG or BMP file"},
            {Bytes(image.begin(), image.end() - 20), "the PNG file is damaged"}}},
          {"wav", reads_sounds(), sound, no_sounds},
          {"wav", reads_sounds(), sound, no_sounds, {.front_end = "log-mel"}},
          {"csv",
           true,
           text("x,y\n1,2\n3,4\n"),
           {{text("x,y\n1,2\n3\n"), "line 3: expected 2 fields"},
            {text("x\n1\n3\n"), "expected one column of the name 'y'"},
            {text("x,y\n1,2\n3,wet\n"), "expected a finite number, found 'wet'"}}}};
}

TEST_F(Skipped, FilesOfAFolder) {
  for (const FileFormat& format : file_formats()) {
    for (const auto& [bytes, what] : format.bad) {
      SCOPED_TRACE(format.ending + format.options.front_end + ": " + what);
      if (!format.is_read) continue;
      fs::remove_all(folder("set"));
      const auto add = [&](const std::string& name, const Bytes& file) {
        return write(fmt::format("set/{}.{}", name, format.ending), file).string();
      };
      for (const char* name : {"train/a/1", "train/a/3", "train/b/1", "test/b/1", "test/b/3"}) {
        add(name, format.good);
      }
      const std::string first = add("train/a/2", bytes);
      const std::string second = add("test/b/2", bytes);
      DataOptions options = format.options;
      const auto refused = [&](std::size_t most) {
        options.skip_bad = most;
        return message_of<FormatError>([&] { load_data(folder("set"), options); });
      };
      expect_mentions(refused(0), first);
      EXPECT_EQ(refused(0).find("--skip-bad"), std::string::npos);
      expect_mentions(refused(1), second);
      expect_mentions(refused(1), "--skip-bad: expected at most 1 examples that cannot be read");
      options.skip_bad = 2;
      std::vector<std::string> warnings;
      const CollectWarnings collect(warnings);
      const DataSplit data = load_data(folder("set"), options);
      EXPECT_TRUE(std::ranges::equal(data.train.labels(), Labels{0, 0, 1}));
      EXPECT_TRUE(std::ranges::equal(data.test.labels(), Labels{1, 1}));
      ASSERT_EQ(data.skipped.size(), 2U);
      expect_mentions(data.skipped[0], first);
      expect_mentions(data.skipped[0], what);
      ASSERT_EQ(warnings.size(), 1U);
      expect_mentions(warnings[0], "2 examples that cannot be read are left out");
      expect_mentions(warnings[0], second);
      // What is left is what a folder without them holds, and groups go with their files.
      fs::remove(first);
      fs::remove(second);
      const DataSplit same = load_data(folder("set"), format.options);
      EXPECT_TRUE(
          std::ranges::equal(data.train.features(0, 3).span(), same.train.features(0, 3).span()));
      fs::remove_all(folder("set/test"));
      add("train/a/2", bytes);
      add("train/b/3", format.good);
      options.split = 0.5;
      options.class_from = "{group}.*";
      EXPECT_EQ(load_data(folder("set"), options).skipped.size(), 1U);
    }
  }
}

TEST_F(Skipped, AFolderOrAClassWithoutAnExampleThatCanBeReadIsRefused) {
  for (const FileFormat& format : file_formats()) {
    if (!format.is_read) continue;
    fs::remove_all(folder("set"));
    for (const char* name : {"a/1", "b/1"}) {
      write(fmt::format("set/{}.{}", name, format.ending), format.bad.front().first);
    }
    DataOptions options = format.options;
    options.skip_bad = 9;
    const auto refused = [&] {
      return message_of<FormatError>([&] { load_data(folder("set"), options); });
    };
    expect_mentions(refused(), "expected examples that can be read, found none");
    write(fmt::format("set/a/2.{}", format.ending), format.good);
    expect_mentions(refused(), "expected an example of class 'b' that can be read, found none");
    options.class_names = {"a", "b"};
    expect_mentions(refused(), "expected an example of class 'b' that can be read, found none");
  }
}

TEST_F(Skipped, AFirstSoundThatIsLeftOutDecidesNothing) {
  if (!reads_sounds()) GTEST_SKIP() << "this build reads no sounds (OCTET_SOUNDS)";
  write("set/a/1.wav", wav_bytes(16000, 2, {}));
  for (const char* name : {"set/a/2.wav", "set/b/1.wav"}) {
    write(name, wav_bytes(8000, 1, std::vector<std::int16_t>(300)));
  }
  const DataSplit data = load_data(folder("set"), {.skip_bad = 1});
  EXPECT_EQ(data.train.example_shape(), (Shape{300, 1}));
  EXPECT_EQ(data.train.size(), 2U);
}

TEST_F(Skipped, RecordsOfACsvFile) {
  const fs::path file = write("a.csv", text("x,w,class\n1,1,a\n2,1\n3,1,b\nwet,1,b\n5,-1,a\n"
                                            "6,1,\n7,1,b\n"));
  const DataSplit data = load_data(file, {.weight_column = "w", .skip_bad = 4});
  EXPECT_TRUE(std::ranges::equal(data.train.features(0, 3).span(), std::vector<float>{1, 3, 7}));
  EXPECT_TRUE(std::ranges::equal(data.train.labels(), Labels{0, 1, 1}));
  EXPECT_EQ(data.train.sample_weights().size(), 3U);
  ASSERT_EQ(data.skipped.size(), 4U);
  const char* lines[] = {"line 3: expected 3 fields", "line 5, column 0", "line 6, column 1",
                         "line 7, column 2"};
  for (std::size_t i = 0; i < 4; ++i) expect_mentions(data.skipped[i], lines[i]);
  expect_mentions(
      message_of<FormatError>([&] { load_data(file, {.weight_column = "w", .skip_bad = 3}); }),
      "line 7, column 2");
  // Numbers as targets, and quotes that leave open where records end.
  const fs::path numbers = write("n.csv", text("x,y\n1,2.5\n2,wet\n3,4\n"));
  EXPECT_EQ(load_data(numbers, {.numbers = true, .skip_bad = 1}).train.size(), 2U);
  const fs::path quotes = write("q.csv", text("x,y\n1,a\n2,\"b\n"));
  expect_mentions(message_of<FormatError>([&] { load_data(quotes, {.skip_bad = 9}); }),
                  "this quote is never closed");
}

TEST_F(Skipped, WindowsCrossNoRecordThatIsLeftOut) {
  const fs::path file = write("a.csv", text("x,class\n1,a\n2,a\n3,a\nwet,a\n5,a\n6,a\n"));
  const DataSplit data = load_data(file, {.window = 2, .hop = 1, .skip_bad = 1});
  EXPECT_TRUE(std::ranges::equal(data.train.features(0, data.train.size()).span(),
                                 std::vector<float>{1, 2, 2, 3, 5, 6}));
}

TEST_F(Skipped, SeriesOfTsFiles) {
  const std::string head = "@classLabel true a b\n@data\n";
  const fs::path file = write("s.ts", text(head + "1,2:3,4:a\n1,wet:3,4:a\n1,2:b\n5,6:7,8:c\n"
                                                  "1,2:3:b\n9,9:9,9:b\n"));
  expect_mentions(message_of<FormatError>([&] { load_data(file); }), "line 4");
  const DataSplit data = load_data(file, {.skip_bad = 4});
  EXPECT_TRUE(std::ranges::equal(data.train.labels(), Labels{0, 1}));
  EXPECT_TRUE(std::ranges::equal(data.train.features(0, 2).span(),
                                 std::vector<float>{1, 3, 2, 4, 9, 9, 9, 9}));
  ASSERT_EQ(data.skipped.size(), 4U);
  const char* lines[] = {"line 4", "line 5", "line 6", "line 7"};
  for (std::size_t i = 0; i < 4; ++i) expect_mentions(data.skipped[i], lines[i]);
  expect_mentions(message_of<FormatError>([&] { load_data(file, {.skip_bad = 3}); }), "line 7");
  const fs::path none = write("n.ts", text(head + "1,wet:a\n"));
  expect_mentions(message_of<FormatError>([&] { load_data(none, {.skip_bad = 3}); }),
                  "holds no series");
  // Both files of a folder count.
  write("uea/P_TRAIN.ts", text(head + "1,2:a\nwet,2:a\n3,4:b\n"));
  write("uea/P_TEST.ts", text(head + "1,wet:a\n3,4:b\n"));
  EXPECT_EQ(load_data(folder("uea"), {.skip_bad = 2}).skipped.size(), 2U);
  expect_mentions(message_of<FormatError>([&] { load_data(folder("uea"), {.skip_bad = 1}); }),
                  "P_TEST.ts");
}

TEST_F(Skipped, RowsOfArraysThatAreNotFinite) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  write("set/x_train.npy", npy_bytes<float>("<f4", "(4, 2)", {1, 2, kNan, 4, 5, 6, 7, 8}));
  write("set/y_train.npy", npy_bytes<float>("<f4", "(4,)", {1, 2, kInfinity, 4}));
  write("set/w_train.npy", npy_bytes<float>("<f4", "(4,)", {1, 1, 1, 0.5F}));
  write("set/x_test.npy", npy_bytes<float>("<f4", "(2, 2)", {1, 2, 3, -kInfinity}));
  write("set/y_test.npy", npy_bytes<float>("<f4", "(2,)", {1, 2}));
  expect_mentions(message_of<FormatError>([&] { load_data(folder("set")); }),
                  "x_train.npy: expected finite numbers, found nan in row 1");
  expect_mentions(message_of<FormatError>([&] { load_data(folder("set"), {.skip_bad = 2}); }),
                  "x_test.npy: expected finite numbers, found -inf in row 1");
  const DataSplit data = load_data(folder("set"), {.skip_bad = 3});
  EXPECT_TRUE(std::ranges::equal(data.train.features(0, 2).span(), std::vector<float>{1, 2, 7, 8}));
  EXPECT_TRUE(std::ranges::equal(data.train.sample_weights(), std::vector<float>{1, 0.5F}));
  EXPECT_EQ(data.test.size(), 1U);
  ASSERT_EQ(data.skipped.size(), 3U);
  expect_mentions(data.skipped[1], "y_train.npy: expected finite numbers, found inf in row 2");
}

TEST_F(Skipped, TheTestPartCountsTooAndOtherFormatsLeaveNothingOut) {
  const fs::path train = write("a.csv", text("x,class\n1,a\n2,a\nwet,a\n3,b\n4,b\n"));
  const fs::path test = write("b.csv", text("x,class\n1,a\n2\n"));
  EXPECT_EQ(load_data(train, {.test_data = test, .skip_bad = 2}).skipped.size(), 2U);
  expect_mentions(
      message_of<FormatError>([&] { load_data(train, {.test_data = test, .skip_bad = 1}); }),
      "b.csv, line 3");
  EXPECT_EQ(load_data(train, {.split = 0.5, .skip_bad = 1}).skipped.size(), 1U);
  write("idx/train-images-idx3-ubyte", idx_bytes({2, 2, 1}, counting(4)));
  expect_mentions(message_of<InvalidArgument>([&] { load_data(folder("idx"), {.skip_bad = 1}); }),
                  "--skip-bad is for data of the format .ts or CSV or CSV folder or NumPy or UEA "
                  "folder or WAV or images, found IDX");
}

}  // namespace
}  // namespace octet::test::skipped_examples_test
