#include <fmt/core.h>
#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/tests/train/data/data_folder.h>
#include <octet/tests/train/data/image_files.h>
#include <octet/tests/train/data/npy_files.h>
#include <octet/tests/train/data/wav_files.h>
#include <octet/train/data/data_description.h>
#include <octet/train/data/fingerprint.h>
#include <octet/train/data/image_file.h>
#include <octet/train/data/load_data.h>
#include <octet/train/data/wav_folder.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace octet::test::load_data_test {
namespace {

namespace fs = std::filesystem;

using LoadData = DataFolder;

TEST_F(LoadData, TellsFormatsByNamesInLettersOfAnyCase) {
  for (const char* name : {"ROWS.Csv", "rows.TSV"}) {
    EXPECT_EQ(load_data(write(name, text("a\tkind\n1\tx\n2\ty\n"))).train.size(), 2U) << name;
  }
  write("tabs/up/a.tsv", text("a\tb\n1\t2\n"));
  write("tabs/down/a.tsv", text("b\ta\n3\t4\n"));
  EXPECT_EQ(load_data(folder("tabs")).train.example_shape(), (Shape{1, 2}));
}

TEST_F(LoadData, TellsFormatsByNames) {
  write("idx/train-images-idx3-ubyte", idx_bytes({2, 2, 1}, counting(4)));
  write("idx/train-labels-idx1-ubyte", idx_bytes({2}, {0, 1}));
  write("idx/t10k-images-idx3-ubyte", idx_bytes({1, 2, 1}, counting(2)));
  write("idx/t10k-labels-idx1-ubyte", idx_bytes({1}, {2}));
  for (int i = 1; i <= 5; ++i) {
    write("cifar/data_batch_" + std::to_string(i) + ".bin", Bytes(3073));
  }
  write("cifar/test_batch.bin", Bytes(2 * 3073));
  write("npy/x_train.npy", npy_bytes("|u1", "(3, 2)", counting(6)));
  write("npy/y_train.npy", npy_bytes("|u1", "(3,)", Bytes{0, 1, 2}));
  write("npy/x_test.npy", npy_bytes("|u1", "(1, 2)", counting(2)));
  write("npy/y_test.npy", npy_bytes("|u1", "(1,)", Bytes{0}));
  write("rows.csv", text("a,b,class\n1,2,0\n3,4,1\n"));
  struct Case {
    std::string path;
    Shape shape;
    std::size_t train = 0;
    std::size_t test = 0;
    int classes = 0;
  };
  for (const Case& c : {Case{"idx", {2, 1}, 2, 1, 3}, Case{"cifar", {32, 32, 3}, 5, 2, 10},
                        Case{"npy", {2}, 3, 1, 3}, Case{"rows.csv", {2}, 2, 2, 2}}) {
    const DataSplit data = load_data(folder(c.path));
    EXPECT_EQ(data.train.size(), c.train) << c.path;
    EXPECT_EQ(data.test.size(), c.test) << c.path;
    EXPECT_EQ(data.train.example_shape(), c.shape) << c.path;
    EXPECT_EQ(data.test.classes(), c.classes) << c.path;
    EXPECT_EQ(load_test_data(folder(c.path)).size(), c.test) << c.path;
  }
  fs::remove(folder("idx/train-images-idx3-ubyte"));
  EXPECT_EQ(load_test_data(folder("idx")).size(), 1U);
}

TEST_F(LoadData, AValidationPartStandsBesideTheOtherTwo) {
  struct Case {
    std::string ending;
    bool is_read;
    std::function<Bytes(int value)> bytes;
    DataOptions options{};
  };
  const std::vector<std::int16_t> silence(600);
  const auto csv = [](int value) {
    std::string rows = "x\n";
    for (int i = 0; i < 40; ++i) rows += fmt::format("{}\n", value);
    return text(rows);
  };
  for (const Case& c : {
           Case{"csv", true, csv},
           Case{"csv", true, csv, {.sample_rate = 1000, .front_end = "log-mel", .frame_ms = 40}},
           Case{"png", reads_images(),
                [](int value) { return png_bytes(1, 1, 1, {static_cast<std::uint8_t>(value)}); }},
           Case{"wav", reads_sounds(),
                [](int value) {
                  return wav_bytes(8000, 1, {static_cast<std::int16_t>(value), 0});
                }},
           Case{"wav",
                reads_sounds(),
                [&](int) { return wav_bytes(8000, 1, silence); },
                {.front_end = "log-mel"}},
       }) {
    if (!c.is_read) continue;
    SCOPED_TRACE(c.ending + c.options.front_end);
    fs::remove_all(folder("parts"));
    int value = 0;
    for (const char* name :
         {"train/a/1", "train/b/1", "train/b/2", "val/b/1", "test/a/1", "test/b/1"}) {
      write(fmt::format("parts/{}.{}", name, c.ending), c.bytes(++value));
    }
    const DataSplit data = load_data(folder("parts"), c.options);
    EXPECT_EQ(data.train.size(), 3U);
    EXPECT_EQ(data.test.size(), 2U);
    ASSERT_EQ(data.validation.size(), 1U);
    EXPECT_EQ(data.validation.labels()[0], 1);
    EXPECT_EQ(data.validation.example_shape(), data.train.example_shape());
    EXPECT_EQ(&data.scored_in_training(), &data.validation);
    fs::remove_all(folder("parts/test"));
    const DataSplit without = load_data(folder("parts"), c.options);
    EXPECT_EQ(without.test.size(), 1U) << "val is the test part if there is no other";
    EXPECT_EQ(&without.scored_in_training(), &without.test);
  }
}

TEST_F(LoadData, AnArrayMayWeighTrainingExamples) {
  const auto weights = [&](const std::string& path) {
    const Dataset train = load_data(folder(path)).train;
    return std::vector<float>(train.sample_weights().begin(), train.sample_weights().end());
  };
  write("one/x.npy", npy_bytes("|u1", "(2, 2)", counting(4)));
  write("one/y.npy", npy_bytes("|u1", "(2,)", Bytes{0, 1}));
  EXPECT_EQ(weights("one"), std::vector<float>());
  write("one/w.npy", npy_bytes<double>("<f8", "(2,)", {0.5, 3}));
  EXPECT_EQ(weights("one"), (std::vector<float>{0.5F, 3}));
  for (const char* part : {"train", "test"}) {
    for (const char* name : {"x", "y"}) {
      fs::create_directories(folder("two"));
      fs::copy(folder(std::string("one/") + name + ".npy"),
               folder(std::string("two/") + name + "_" + part + ".npy"));
    }
  }
  write("two/w_train.npy", npy_bytes("|u1", "(2,)", Bytes{0, 7}));
  EXPECT_EQ(weights("two"), (std::vector<float>{0, 7}));
  EXPECT_TRUE(load_data(folder("two")).test.sample_weights().empty());
  write("two/w.npy", npy_bytes("|u1", "(2,)", Bytes{0, 7}));
  expect_mentions(message_of<FormatError>([&] { weights("two"); }),
                  "expected w_train.npy beside x_train.npy, found w.npy");
  write("one/w.npy", npy_bytes("|u1", "(2, 1)", Bytes{1, 1}));
  expect_mentions(message_of<FormatError>([&] { weights("one"); }),
                  "w.npy: expected the weights of examples [n], found [2, 1]");
}

TEST_F(LoadData, TestExamplesMayStandElsewhere) {
  const fs::path train = write("a.csv", text("a,class\n1,0\n3,1\n"));
  const fs::path test = write("b.csv", text("a,class\n7,1\n"));
  const DataSplit data = load_data(train, {.test_data = test});
  EXPECT_EQ(data.train.size(), 2U);
  ASSERT_EQ(data.test.size(), 1U);
  EXPECT_EQ(data.test.features(0, 1).at({0, 0}), 7.0F);
}

TEST_F(LoadData, ColumnsOfTestDataAreFoundByTheNamesOfTheTrainingData) {
  struct Case {
    const char* test;
    /// What is wrong with it, or null.
    const char* says;
    DataOptions options{};
  };
  const DataOptions ignores{.ignored = {"id"}};
  const DataOptions weighs{.weight_column = "id"};
  const DataOptions chooses{.columns = {"x", "y"}};
  const DataOptions named{.target_column = "class", .ignored = {"id"}};
  const fs::path train = write("a.csv", text("id,x,y,class\n1,1,2,0\n1,3,4,1\n"));
  for (const Case& c : {
           Case{"x,y,class,id\n7,8,1,5\n", nullptr, ignores},
           Case{"class,y,x\n1,8,7\n", nullptr, ignores},
           Case{"class,y,x\n1,8,7\n", nullptr, weighs},
           Case{"class,id,y,x\n1,9,8,7\n", nullptr, weighs},
           Case{"new,x,class,y\n6,7,1,8\n", nullptr, chooses},
           Case{"x,y,kind\n7,8,1\n", "--target-column: expected the name of one column", ignores},
           Case{"x,z,class\n7,8,1\n", "b.csv: expected one column of the name 'y'", ignores},
           Case{"7,8,1\n", "one of 0, 1, 2, which are numbers since its first record is no",
                ignores},
           Case{"new,x,class,y\n6,7,1,8\n", "the training data, found another one, 'new'", named},
           Case{"x,y,class\n7,8,0.5\n", "expected one of the classes 0, 1, found '0.5'", ignores},
       }) {
    SCOPED_TRACE(c.test);
    DataOptions options = c.options;
    options.test_data = write("b.csv", text(c.test));
    if (c.says != nullptr) {
      expect_mentions(message_of<Error>([&] { load_data(train, options); }), c.says);
      continue;
    }
    const Dataset test = load_data(train, options).test;
    EXPECT_TRUE(std::ranges::equal(test.features(0, 1).span(), std::vector<float>{7, 8}));
    EXPECT_EQ(test.labels()[0], 1);
  }
  const fs::path prices = write("p.csv", text("x,price\n1,2\n2,2.5\n"));
  const DataSplit data =
      load_data(prices, {.test_data = write("q.csv", text("price,x\n3,4\n5,6\n"))});
  EXPECT_FALSE(data.test.has_labels()) << "whole numbers are numbers, as those of the training";
}

TEST_F(LoadData, ExamplesAreNamedByTheirFilesLinesOrRows) {
  write("rows.csv", text("a,class\n1,0\nx,1\n3,1\n4,0\n"));
  write("npy/x.npy", npy_bytes<float>("<f4", "(3, 1)", {1, NAN, 3}));
  write("npy/y.npy", npy_bytes("|u1", "(3,)", Bytes{0, 1, 1}));
  for (const char* name : {"set/up/a.csv", "set/up/b.csv", "set/down/c.csv"}) {
    write(name, text(std::string(name) == "set/up/a.csv" ? "v\nx\n2\n3\n" : "v\n1\n2\n3\n4\n"));
  }
  write("a.ts",
        text("@problemName a\n@classLabel true up down\n@data\n1,2:up\nx,2:up\n3,4:down\n"));
  struct Case {
    const char* path;
    std::vector<std::string> names;
    DataOptions options{};
  };
  std::vector<Case> cases = {
      {"rows.csv", {"rows.csv, line 2", "rows.csv, line 4", "rows.csv, line 5"}},
      {"npy", {"x.npy, row 0", "x.npy, row 2"}},
      {"set", {"down/c.csv", "up/b.csv"}},
      {"set", {"down/c.csv, line 2", "down/c.csv, line 4", "up/b.csv, line 2"}, {.window = 2}},
      {"a.ts", {"a.ts, line 4", "a.ts, line 6"}}};
  if (reads_images()) {
    for (const char* name : {"photos/up/a.png", "photos/up/b.png", "photos/down/c.png"}) {
      write(name, png_bytes(1, 1, 1, {7}));
    }
    write("photos/up/a.png", Bytes(5));
    cases.push_back({"photos", {"down/c.png", "up/b.png"}});
    cases.push_back({"photos", {"down/c.png", "up/b.png"}, {.max_bytes = 1}});
  }
  if (reads_sounds()) {
    for (const char* name : {"sounds/up/a.wav", "sounds/up/b.wav", "sounds/down/c.wav"}) {
      write(name, wav_bytes(8000, 1, {1, 2}));
    }
    write("sounds/up/a.wav", Bytes(5));
    cases.push_back({"sounds", {"down/c.wav", "up/b.wav"}});
    cases.push_back({"sounds", {"down/c.wav", "up/b.wav"}, {.max_bytes = 8}});
  }
  for (Case& c : cases) {
    SCOPED_TRACE(c.path);
    c.options.skip_bad = 1;
    const DataSplit data = load_data(folder(c.path), c.options);
    for (std::size_t i = 0; i < c.names.size(); ++i) {
      EXPECT_EQ(data.test.example_name(i), c.names[i]);
    }
  }
}

// A model is scored on the examples that it was not trained on, whatever else a command gives.
TEST_F(LoadData, TheSplitOfATrainingDividesTheSameExamplesAgain) {
  std::string rows = "a,who,weight,kind\n";
  for (int i = 0; i < 40; ++i) rows += fmt::format("{},{},{},{}\n", i, i / 4, 1 + i % 2, i % 2);
  write("rows.csv", text(rows));
  write("other.csv", text(rows + "40,10,1,0\n"));
  const DataOptions options{.split = 0.7,
                            .split_seed = 3,
                            .target_column = "kind",
                            .group_column = "who",
                            .weight_column = "weight"};
  const DataSplit trained = load_data(folder("rows.csv"), options);
  EXPECT_FALSE(trained.is_trained_split);
  const DataDescription description = parse_data_description(to_text(*trained.train.description()));
  const DataOptions taken = with_description({}, description);
  const DataSplit again = load_data(folder("rows.csv"), taken);
  EXPECT_TRUE(again.is_trained_split);
  EXPECT_EQ(unweighted_fingerprint(again.test), unweighted_fingerprint(trained.test));
  EXPECT_EQ(to_text(*again.train.description()), to_text(*trained.train.description()));
  struct Case {
    const char* path;
    std::function<void(DataOptions&)> change;
    std::size_t tested;
  };
  const std::size_t part = trained.test.size();
  for (const Case& c :
       {Case{"rows.csv",
             [](DataOptions& o) {
               o.split = 0.7;
               o.split_seed = 3;
             },
             part},
        Case{"rows.csv", [](DataOptions& o) { o.split = 0.7; }, part},
        Case{"other.csv", [](DataOptions&) {}, 41},
        Case{"rows.csv", [](DataOptions& o) { o.group_column.clear(); }, 40},
        Case{"rows.csv", [&](DataOptions& o) { o.test_data = folder("other.csv"); }, 41}}) {
    DataOptions how = taken;
    c.change(how);
    const DataSplit found = load_data(folder(c.path), how);
    EXPECT_EQ(found.test.size(), c.tested);
    EXPECT_EQ(found.is_trained_split, c.tested == part);
  }
  for (const DataOptions& wrong :
       {DataOptions{.split = 0.6, .split_seed = 3},
        DataOptions{.split = 0.7, .chosen = {"split-seed"}}, DataOptions{.split_seed = 4}}) {
    expect_mentions(message_of<InvalidArgument>([&] {
                      load_data(folder("rows.csv"), with_description(wrong, description));
                    }),
                    "--split: expected 0.7 with --split-seed 3, by which the model's training");
  }
}

// A split needs two examples of each class.
TEST_F(LoadData, OnlyExamplesOfTheirClassesMayBeLeftOut) {
  std::string rows = "a,kind\n";
  for (int i = 0; i < 8; ++i) rows += fmt::format("{},{}\n", i, i % 2 == 0 ? "up" : "down");
  write("rows.csv", text(rows + "9,left\n"));
  const DataOptions options{.split = 0.5};
  expect_mentions(
      message_of<InvalidArgument>([&] { load_data(folder("rows.csv"), options); }),
      "found 1; add one, or leave it out; --skip-bad 1 leaves out classes of one example, such as "
      "rows.csv, line 10");
  DataOptions skipping = options;
  skipping.skip_bad = 1;
  const DataSplit parts = load_data(folder("rows.csv"), skipping);
  EXPECT_EQ(parts.train.size() + parts.test.size(), 8U);
  EXPECT_EQ(parts.train.classes(), 3);
  EXPECT_EQ(parts.skipped,
            (std::vector<std::string>{"rows.csv, line 10: expected two examples of class left, one "
                                      "for each part, found this one"}));
  // As what was trained, whatever a command gives.
  const DataSplit again =
      load_data(folder("rows.csv"), with_description({}, *parts.train.description()));
  EXPECT_TRUE(again.is_trained_split);
  EXPECT_EQ(fingerprint(again.test), fingerprint(parts.test));
  std::string numbers = "a,price\n";
  for (int i = 0; i < 21; ++i) numbers += fmt::format("{},{}\n", i, 100 + i);
  write("numbers.csv", text(numbers));
  expect_mentions(message_of<InvalidArgument>([&] { load_data(folder("numbers.csv"), options); }),
                  "leave it out; the 21 classes are whole numbers, which --numbers learns");
}

TEST_F(LoadData, WhatIsRefusedIsNamed) {
  const auto refused = [&](const fs::path& path) {
    return message_of<IoError>([&] { load_data(path); });
  };
  expect_mentions(refused(folder("none")), "/none' does not exist");
  expect_mentions(refused(write("a.txt", text("x"))),
                  "an .npz file of arrays; found a file of another name");
  fs::create_directories(folder("empty"));
  expect_mentions(refused(folder("empty")), "found an empty folder");
  write("other/b", {});
  write("other/a", {});
  expect_mentions(refused(folder("other")), "found a folder with a, b. To get MNIST");
  write("both/x.npy", {});
  write("both/test_batch.bin", {});
  expect_mentions(refused(folder("both")), "could be CIFAR-10 (");
  write("npy/x.npy", npy_bytes("|u1", "(1, 2)", counting(2)));
  write("npy/y.npy", npy_bytes("|u1", "(1,)", Bytes{0}));
  const auto wrong = [&](const fs::path& path, const DataOptions& options) {
    return message_of<InvalidArgument>([&] { load_data(path, options); });
  };
  expect_mentions(wrong(folder("npy"), {.test_data = write("t.csv", {})}),
                  "--test-data: expected a folder with x.npy");
  write("cifar/test_batch.bin", Bytes(3073));
  expect_mentions(wrong(folder("cifar"), {.test_data = folder("npy")}),
                  "--test-data is for data of the format .ts or CSV or CSV folder or NumPy or WAV "
                  "or images, found CIFAR-10");
}

}  // namespace
}  // namespace octet::test::load_data_test
