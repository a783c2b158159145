// Files that become examples as those did that a model was trained on.

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/core/random.h>
#include <octet/deploy/example_metadata.h>
#include <octet/frontend/log_mel.h>
#include <octet/tests/train/data/idx_files.h>
#include <octet/tests/train/data/image_files.h>
#include <octet/tests/train/data/npy_files.h>
#include <octet/tests/train/data/wav_files.h>
#include <octet/train/data/csv_rows.h>
#include <octet/train/data/data_description.h>
#include <octet/train/data/file_examples.h>
#include <octet/train/data/image_file.h>
#include <octet/train/data/load_data.h>
#include <octet/train/data/normalization.h>
#include <octet/train/data/sequence_set.h>
#include <octet/train/data/wav_folder.h>

#include <cmath>
#include <limits>
#include <string>

namespace octet::test::file_examples_test {
namespace {

namespace fs = std::filesystem;

class FileExamplesTest : public ::testing::Test {
 protected:
  fs::path write(const std::string& name, const Bytes& bytes) const {
    fs::create_directories((scratch_.path() / name).parent_path());
    return scratch_.write(name, bytes);
  }
  fs::path write(const std::string& name, const std::string& text) const {
    return write(name, Bytes(text.begin(), text.end()));
  }
  /// The description of a path by load_data(), as a model carries it.
  DataDescription described(const std::string& name, const DataOptions& options = {}) const {
    const DataSplit data = load_data(scratch_.path() / name, options);
    return parse_data_description(to_text(*data.train.description()));
  }
  std::string refused(const fs::path& file, const DataDescription& description) const {
    return message_of<FormatError>([&] { read_file_examples(file, description); });
  }

  const ScratchDirectory scratch_;
};

std::vector<float> values_of(const Tensor& tensor) {
  return {tensor.span().begin(), tensor.span().end()};
}

/// The examples of a folder's only class, in order.
std::vector<float> loaded(const fs::path& path, const DataOptions& options) {
  const Dataset set = load_data(path, options).train;
  return values_of(set.features(0, set.size()));
}

TEST_F(FileExamplesTest, PicturesAreResizedAsInTraining) {
  if (!reads_images()) GTEST_SKIP() << "this build reads no images (OCTET_IMAGES)";
  Bytes pixels(5 * 7 * 3);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i * 37);
  const fs::path file = write("set/cat/a.png", png_bytes(5, 7, 3, pixels));
  const fs::path other = write("a.bmp", bmp_bytes({.height = 5, .width = 7}, pixels));
  for (const bool grey : {false, true}) {
    const DataOptions options{.height = 3, .width = 4, .grey = grey};
    const FileExamples found = read_file_examples(file, described("set", options));
    EXPECT_EQ(found.features.shape(), (Shape{1, 3, 4, grey ? 1 : 3}));
    EXPECT_EQ(values_of(found.features), loaded(scratch_.path() / "set", options));
    EXPECT_EQ(found.names, std::vector<std::string>{file.string()});
    EXPECT_EQ(values_of(read_file_examples(other, described("set", options)).features),
              values_of(found.features));
  }
  expect_mentions(refused(file, {.format = "CSV", .shape = {4}}), "expected examples [4]");
}

TEST_F(FileExamplesTest, SoundsBecomeFeaturesAsInTraining) {
  if (!reads_sounds()) GTEST_SKIP() << "this build reads no sounds (OCTET_SOUNDS)";
  std::vector<std::int16_t> samples;
  for (int i = 0; i < 900; ++i) samples.push_back(static_cast<std::int16_t>(i * i * 31));
  const fs::path file = write("set/yes/a.wav", wav_bytes(8000, 1, samples));
  for (const DataOptions& options :
       {DataOptions{}, DataOptions{.length = 1000},
        DataOptions{.length = 800, .front_end = "log-mel", .mel_channels = 16}}) {
    const FileExamples found = read_file_examples(file, described("set", options));
    EXPECT_EQ(values_of(found.features), loaded(scratch_.path() / "set", options));
  }
  const DataDescription description = described("set");
  EXPECT_EQ(description.options.sample_rate, 8000);
  EXPECT_EQ(description.options.length, 900U);
  for (const DataOptions& options :
       {DataOptions{.length = 450, .sample_rate = 8000},
        DataOptions{.length = 400, .sample_rate = 8000, .front_end = "log-mel"}}) {
    const fs::path other = write("other/yes/b.wav", wav_bytes(16000, 1, samples));
    const FileExamples found = read_file_examples(other, described("set", options));
    EXPECT_EQ(values_of(found.features), loaded(scratch_.path() / "other", options));
  }
  const fs::path stereo = write("c.wav", wav_bytes(8000, 2, samples));
  expect_mentions(refused(stereo, description),
                  "as many channels as those of the training had, 1, found 2");
}

TEST_F(FileExamplesTest, ColumnsAreFoundByTheirNames) {
  write("a.csv", "x,t,y,kind\n1,0,2,a\n3,0,4,b\n5,1,6,a\n7,1,8,b\n");
  const fs::path file = write("b.tsv", "y\tz\tx\n2\t0\t1\n4\t0\t3\n6\t0\t5\n");
  const DataDescription rows = described("a.csv", {.target_column = "kind", .ignored = {"t"}});
  EXPECT_EQ(rows.options.columns, (std::vector<std::string>{"x", "y"}));
  const FileExamples found = read_file_examples(file, rows);
  EXPECT_EQ(values_of(found.features), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(found.names[2], file.string() + ", line 4");
  const DataDescription windows =
      described("a.csv", {.target_column = "t", .ignored = {"kind"}, .window = 2, .hop = 1});
  EXPECT_EQ(values_of(read_file_examples(file, windows).features),
            (std::vector<float>{1, 2, 3, 4, 3, 4, 5, 6}));
  expect_mentions(
      message_of<FormatError>([&] { read_file_examples(write("c.csv", "y,z\n1,2\n"), rows); }),
      "c.csv: expected one column of the name 'x'");
  DataDescription few = rows;
  few.options.max_bytes = 7;
  // octet predict, which has no --data, does not take the option.
  expect_mentions(message_of<InvalidArgument>([&] { read_file_examples(file, few); }),
                  "by --max-data-bytes of the commands with --data");
}

TEST_F(FileExamplesTest, WindowsCrossNoChangeOfTheGroup) {
  std::string rows = "x,who,t\n";
  for (int i = 0; i < 7; ++i) rows += fmt::format("{},{},{}\n", i, i < 3 ? "a" : "b", i);
  const fs::path file = write("a.csv", rows);
  const DataDescription windows = described("a.csv", {.target_column = "t",
                                                      .numbers = true,
                                                      .group_column = "who",
                                                      .columns = {"x"},
                                                      .window = 2,
                                                      .hop = 1});
  const FileExamples found = read_file_examples(file, windows);
  EXPECT_EQ(values_of(found.features), (std::vector<float>{0, 1, 1, 2, 3, 4, 4, 5, 5, 6}));
  EXPECT_EQ(found.names[2], file.string() + ", line 5");
  // A file of one recording may lack the column.
  EXPECT_EQ(values_of(read_file_examples(write("b.csv", "x\n7\n8\n9\n"), windows).features),
            (std::vector<float>{7, 8, 8, 9}));
}

TEST_F(FileExamplesTest, AFileOfAFolderOfRecordsIsOneSequence) {
  write("set/up/a.csv", "x,y\n1,2\n3,4\n");
  const DataDescription description =
      described("set", {.length = 3, .padding = SequencePadding::last});
  const FileExamples found = read_file_examples(write("b.csv", "y,x\n2,1\n4,3\n"), description);
  EXPECT_EQ(found.features.shape(), (Shape{1, 3, 2}));
  EXPECT_EQ(values_of(found.features), (std::vector<float>{1, 2, 3, 4, 3, 4}));
}

TEST_F(FileExamplesTest, RecordsThatCannotBeReadAreLeftOut) {
  write("a.csv", "x,y,kind\n1,2,a\n3,4,b\n5,6,a\n7,8,b\n");
  const fs::path file = write("b.csv", "x,y\n1,2\n3,4\n5,6\n7,wet\n9,10\n11,12\n13\n");
  struct Case {
    DataOptions options;
    std::vector<float> values;
    std::size_t second_line;
  };
  for (const Case& c :
       {Case{{}, {1, 2, 3, 4, 5, 6, 9, 10, 11, 12}, 3},
        Case{{.columns = {"x", "y"}, .window = 2}, {1, 2, 3, 4, 9, 10, 11, 12}, 6}}) {
    DataDescription description = described("a.csv");
    description.options.window = c.options.window;
    if (c.options.window > 0) description.shape = {2, 2};
    const FileExamples found = read_file_examples(file, description);
    EXPECT_EQ(values_of(found.features), c.values);
    EXPECT_EQ(found.names[1], fmt::format("{}, line {}", file.string(), c.second_line));
    ASSERT_EQ(found.unread.size(), 2U);
    EXPECT_TRUE(
        found.unread[0].ends_with("line 5, column 1: 'y': expected a finite number, found 'wet'"))
        << found.unread[0];
    expect_mentions(found.unread[1], "line 8: expected 2 fields");
  }
}

TEST_F(FileExamplesTest, SeriesAndImagesOfFilesAreExamples) {
  const std::string head = "@problemName a\n@classLabel true up down\n@data\n";
  write("a.ts", head + "1,2:up\n3,4:down\n");
  const fs::path series = write("b.ts", head + "5,6:down\n7,x:up\n8,9:up\n");
  const FileExamples found = read_file_examples(series, described("a.ts"));
  EXPECT_EQ(found.features.shape(), (Shape{2, 2, 1}));
  EXPECT_EQ(values_of(found.features), (std::vector<float>{5, 6, 8, 9}));
  EXPECT_EQ(found.names[1], series.string() + ", line 6");
  ASSERT_EQ(found.unread.size(), 1U);
  expect_mentions(found.unread[0], "b.ts, line 5");
  const fs::path images = write("t10k-images-idx3-ubyte", idx_bytes({2, 1, 2}, {0, 255, 51, 102}));
  for (const Shape& shape : {Shape{1, 2}, Shape{1, 2, 1}}) {
    const FileExamples two = read_file_examples(images, {.format = "IDX", .shape = shape});
    EXPECT_EQ(two.features.shape(), shape.with_batch(2));
    EXPECT_EQ(values_of(two.features), (std::vector<float>{0, 1, 51.0F / 255, 102.0F / 255}));
    EXPECT_EQ(two.names[1], images.string() + ", row 1");
  }
}

TEST_F(FileExamplesTest, ArraysHoldOneExampleOrSeveral) {
  const DataDescription two{.format = "NumPy", .shape = {2}};
  const fs::path bytes = write("a.npy", npy_bytes("|u1", "(2, 2)", Bytes{0, 255, 51, 102}));
  EXPECT_EQ(values_of(read_file_examples(bytes, two).features),
            (std::vector<float>{0, 1, 51.0F / 255, 102.0F / 255}));
  const fs::path nan = write("n.npy", npy_bytes<float>("<f4", "(2, 2)", {0, 1, 2, NAN}));
  const FileExamples some = read_file_examples(nan, two);
  EXPECT_EQ(some.names, std::vector<std::string>{nan.string() + ", row 0"});
  EXPECT_EQ(values_of(some.features), (std::vector<float>{0, 1}));
  ASSERT_EQ(some.unread.size(), 1U);
  expect_mentions(some.unread[0], "n.npy: expected finite numbers, found nan in row 1");
  const fs::path none = write("none.npy", npy_bytes<float>("<f4", "(1, 2)", {NAN, 1}));
  expect_mentions(refused(none, two), "found none; the first: ");
  const fs::path one = write("b.npy", npy_bytes("|u1", "(2,)", Bytes{255, 0}));
  EXPECT_EQ(read_file_examples(one, two).features.shape(), (Shape{1, 2}));
  expect_mentions(refused(bytes, {.format = "NumPy", .shape = {3}}), "expected examples [3]");
  expect_mentions(message_of<InvalidArgument>([&] { read_file_examples("a.txt", two); }),
                  "a.txt: expected a name that ends in .jpg");
}

TEST(DataDescriptionText, IsReadAgainWholeOrRefused) {
  DataDescription description{.format = "images",
                              .shape = {8, 9, 1},
                              .options = {.length = 7,
                                          .padding = SequencePadding::last,
                                          .height = 8,
                                          .width = 9,
                                          .grey = true,
                                          .sample_rate = 8000,
                                          .front_end = "log-mel",
                                          .frame_ms = 32,
                                          .frame_hop_ms = 16,
                                          .mel_channels = 20,
                                          .cepstra = 7,
                                          .signal_range = 2.5,
                                          .target_column = "kind",
                                          .numbers = true,
                                          .group_column = "g",
                                          .columns = {"a", "b\xFF"},
                                          .window = 5,
                                          .hop = 2}};
  description.options.class_names = {"on", "off"};
  description.options.trained_split = {.share = 0.7, .seed = ~std::uint64_t{0}, .examples = "x"};
  const std::string text = to_text(description);
  EXPECT_EQ(to_text(parse_data_description(text)), text);
  EXPECT_EQ(parse_data_description(text).options.trained_split, description.options.trained_split);
  for (const std::string_view name : example_options()) {
    expect_mentions(text, name == "image-size" ? "image-width" : std::string(name));
  }
  for (const SequencePadding padding : kPaddings) {
    description.options.padding = padding;
    EXPECT_EQ(parse_data_description(to_text(description)).options.padding, padding);
  }
  for (const auto& [damaged, words] : std::vector<std::pair<std::string, const char*>>{
           {"", "octet.data"},
           {"[]", "octet.data"},
           {R"({"format":"x"})", "shape"},
           {R"({"format":1,"shape":[1]})", "expected a text, found a number"},
           {R"({"format":"x","shape":[0]})", "expected extents from 1 to"},
           {R"({"format":"x","shape":[1],"frame":-1})",
            "frame: expected a number from 1 to 10000, found -1"},
           {R"({"format":"x","shape":[]})", "expected a shape of 1 to"},
           {R"({"format":"x","shape":[1073741824,1073741824]})", "expected a shape of 1 to"},
           {R"({"format":"x","shape":[1073741824,1073741824,1073741824]})", "fits in 63 bits"},
           {R"({"format":"x","shape":[1],"length":0})", "length: expected a number from 1 to"},
           {R"({"format":"x","shape":[1],"length":1073741825})", "length: expected a number from"},
           {R"({"format":"x","shape":[1],"window":9223372036854775807})", "window: expected"},
           {R"({"format":"x","shape":[1],"hop":18446744073709551615})", "expected a whole number"},
           {R"({"format":"x","shape":[1],"image-width":16385})", "image-size: expected a number"},
           {R"({"format":"x","shape":[1],"mel-channels":257})", "mel-channels: expected"},
           {R"({"format":"x","shape":[1],"frame":1e9})", "expected a whole number"},
           {R"({"format":"x","shape":[1],"padding":"left"})",
            "expected zero, last or mask, found 'left'"},
           {R"({"format":"x","shape":[1],"split":{"share":1,"seed":0,"examples":""}})",
            "split: expected a share between 0 and 1, found 1"},
           {R"({"format":"x","shape":[1],"columns":"a"})", "expected a list, found a text"}}) {
    expect_mentions(message_of<FormatError>([&text = damaged] { parse_data_description(text); }),
                    words);
  }
}

TEST(DataDescriptionText, FillsInWhatACommandLineLeavesOut) {
  const DataDescription trained{
      .format = "WAV",
      .shape = {4},
      .options = {.length = 800, .sample_rate = 8000, .front_end = "log-mel", .frame_ms = 20}};
  const DataOptions taken = with_description({.sample_rate = 8000}, trained);
  EXPECT_EQ(taken.length, 800U);
  EXPECT_EQ(taken.front_end, "log-mel");
  EXPECT_EQ(taken.sample_rate, 8000);
  EXPECT_EQ(with_description({.length = 800}, trained).length, 800U);
  for (const auto& [given, words] : std::vector<std::pair<DataOptions, const char*>>{
           {{.length = 900}, "--length: expected 800, with which the model was trained, found 900"},
           // Defaults that are given count.
           {{.chosen = {"frame"}},
            "--frame: expected 20, with which the model was trained, found 30"},
           {{.padding = SequencePadding::mask}, "--padding: expected the default, with which"},
           {{.hop = 5}, "--hop: expected the default"}}) {
    expect_mentions(
        message_of<InvalidArgument>([&, &how = given] { with_description(how, trained); }), words);
  }
  EXPECT_EQ(given_options({.chosen = {"frame"}}), std::vector<std::string_view>{"frame"});
}

TEST(ExampleMetadata, IsReadAgainOrRefused) {
  IntegerModel model;
  EXPECT_TRUE(class_names_of(model).empty());
  EXPECT_TRUE(normalization_of(model).empty());
  const std::vector<std::string> names = {"on", "\"off\""};
  const Normalization normalization{{0.1F}, {3.0F, 1e-6F}};
  model.metadata = {{kClassesKey, metadata_text(names)},
                    {kNormalizationKey, metadata_text(normalization)}};
  EXPECT_EQ(class_names_of(model), names);
  EXPECT_EQ(normalization_of(model), normalization);
  for (const char* damaged : {"[1]", "", "{}", "[[[[[[[[["}) {
    model.metadata = {{kClassesKey, damaged}};
    expect_mentions(message_of<FormatError>([&] { class_names_of(model); }), "octet.classes");
  }
  for (const auto& [damaged, words] : std::vector<std::pair<const char*, const char*>>{
           {R"({"mean":[],"deviation":[0]})", "expected deviations above 0, found 0"},
           {R"({"mean":[1e99],"deviation":[]})", "expected finite means"},
           {R"({"mean":[]})", "'octet.normalization': "},
           {"", "'octet.normalization': "}}) {
    model.metadata = {{kNormalizationKey, damaged}};
    expect_mentions(message_of<FormatError>([&] { normalization_of(model); }), words);
  }
  model.metadata = {{kNormalizationKey, metadata_text(normalization)}, {kFrontEndKey, "{}"}};
  expect_mentions(message_of<FormatError>([&] { normalization_of(model); }),
                  "expected none beside 'octet.front_end'");
  EXPECT_FALSE(anomaly_threshold_of(model));
  model.metadata = {{kNormalClassesKey, metadata_text(names)},
                    {kAnomalyThresholdKey, metadata_text(0.1F)}};
  EXPECT_EQ(normal_classes_of(model), names);
  EXPECT_EQ(anomaly_threshold_of(model), 0.1F);
  for (const char* damaged : {"-1", "[0.1]", "\"0.1\"", "1e99", ""}) {
    model.metadata = {{kAnomalyThresholdKey, damaged}};
    expect_mentions(message_of<FormatError>([&] { anomaly_threshold_of(model); }),
                    "'octet.anomaly_threshold': ");
  }
  ModelTensor output;
  output.shape = {1, 3};
  model.tensors = {output};
  model.outputs = {0};
  model.metadata = {{kClassesKey, metadata_text(names)}};
  expect_mentions(message_of<FormatError>([&] { class_names_of(model); }),
                  "a name for each of the 3 classes of the output, found 2");
  model.tensors[0].shape = {1, 1};
  EXPECT_EQ(class_names_of(model), names);
}

// A mask stays what it is, and what fills sequences up does not count.
TEST(NormalizedData, LeavesTheMaskOfStepsAlone) {
  const ScratchDirectory scratch;
  fs::create_directories(scratch.path() / "set/up");
  write_file_atomic(scratch.path() / "set/up/a.csv", "x\n1\n3\n");
  write_file_atomic(scratch.path() / "set/up/b.csv", "x\n5\n7\n9\n");
  const Dataset set =
      load_data(scratch.path() / "set", {.length = 4, .padding = SequencePadding::mask}).train;
  ASSERT_TRUE(has_step_mask(set));
  const Normalization found = measure_normalization(set);
  EXPECT_EQ(found.mean, (std::vector<float>{5, 0}));
  EXPECT_EQ(found.deviation, (std::vector<float>{std::sqrt(8.0F), 1}));
  const Tensor scaled = normalized(set, found).features(0, 2);
  for (std::size_t step = 0; step < 8; ++step) {
    EXPECT_EQ(scaled.span()[2 * step + 1], step % 4 < (step < 4 ? 2U : 3U) ? 1.0F : 0.0F);
  }
}

TEST(DataBytes, AreCountedThoughTheirProductDoesNotFit) {
  const auto most = std::numeric_limits<std::size_t>::max();
  check_data_bytes("x", 2, {most, 0}, {});
  check_data_bytes("x", 1, {std::size_t{1} << 16U, std::size_t{1} << 16U}, {});
  EXPECT_THROW(check_data_bytes("x", 2, {std::size_t{1} << 16U, std::size_t{1} << 16U}, {}),
               InvalidArgument);
  EXPECT_THROW(check_data_bytes("x", 1, {std::size_t{1} << 32U, std::size_t{1} << 32U}, {}),
               InvalidArgument);
  // No limit is above a product that does not fit.
  EXPECT_THROW(
      check_data_bytes("x", 1, {std::size_t{1} << 32U, std::size_t{1} << 32U}, {.max_bytes = most}),
      InvalidArgument);
  check_data_bytes("x", 0, {most, 2}, {});
  SequenceSet set("x", 1, {.length = most / 4 + 1}, {});
  EXPECT_THROW(set.add(std::vector<float>{1}, "a", "x"), InvalidArgument);
  EXPECT_TRUE(window_starts(0, 10, {.window = most}).empty());
  EXPECT_EQ(window_starts(0, 10, {.window = 2, .hop = most - 1}), std::vector<std::size_t>{0});
  EXPECT_EQ(window_starts(1, 10, {.window = 3, .hop = 2}), (std::vector<std::size_t>{1, 3, 5, 7}));
}

TEST(NormalizedData, HasMeanZeroAndDeviationOneInEveryChannel) {
  const Random random(3);
  std::vector<float> values;
  for (std::size_t i = 0; i < 600; ++i) {
    values.push_back(i % 3 == 0   ? 1000.0F + 50.0F * random.normal(i)
                     : i % 3 == 1 ? 1e-3F * random.normal(i)
                                  : 7.0F);
  }
  const Dataset set = Dataset::from_floats("columns", {2, 3}, values, Labels(100, 0), 1);
  const Normalization found = measure_normalization(set);
  EXPECT_EQ(found.mean[2], 7.0F);
  EXPECT_EQ(found.deviation[2], 1.0F);
  const Dataset scaled = normalized(set, found);
  const Normalization again = measure_normalization(scaled);
  for (std::size_t c = 0; c < 2; ++c) {
    EXPECT_NEAR(again.mean[c], 0.0F, 1e-5F);
    EXPECT_NEAR(again.deviation[c], 1.0F, 1e-5F);
  }
  // Targets that are tensors stay as they are.
  const Tensor targets = Tensor::full({100, 2}, 0.5F);
  EXPECT_EQ(values_of(normalized(set.with_targets(targets), found).targets(0, 100).values()),
            values_of(targets));
  expect_mentions(
      message_of<InvalidArgument>([&] {
        normalized(set, {.mean = {1, 2}});
      }),
      "mean: expected one number, or one for each of the 3 channels of examples [2, 3], found 2");
  std::vector<float> some(6);
  EXPECT_THROW((Normalization{{}, {1, 2}}.apply(some, Shape{2, 3})), InvalidArgument);
}

}  // namespace
}  // namespace octet::test::file_examples_test
