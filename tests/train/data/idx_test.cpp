#include "idx_files.h"

#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/train/data/idx.h>

#include <algorithm>
#include <cstdlib>

namespace octet::test::idx_test {
namespace {

namespace fs = std::filesystem;

/// A small set of four files; a test changes one of them before load() reads them.
struct SmallSet {
  ScratchDirectory directory;
  std::string train_images = "train-images-idx3-ubyte";
  std::string train_labels = "train-labels-idx1-ubyte";
  std::string test_images = "t10k-images-idx3-ubyte";
  std::string test_labels = "t10k-labels-idx1-ubyte";

  SmallSet() {
    directory.write(train_images, idx_bytes({3, 2, 5}, counting(30)));
    directory.write(train_labels, idx_bytes({3}, {2, 0, 1}));
    directory.write(test_images, idx_bytes({2, 2, 5}, Bytes(20, 255)));
    directory.write(test_labels, idx_bytes({2}, {0, 4}));
  }
  DataSplit load() const { return load_idx(directory.path()); }
  std::string format_error() const {
    return message_of<FormatError>([&] { load(); });
  }
};

TEST(ReadIdx, ReadsShapeAndValues) {
  const ScratchDirectory scratch;
  const Bytes values = counting(24);
  const IdxArray array = read_idx(scratch.write("a", idx_bytes({2, 3, 4}, values)));
  EXPECT_EQ(array.shape, (Shape{2, 3, 4}));
  EXPECT_EQ(array.values, values);
}

TEST(ReadIdx, TellsGzipByContentNotByName) {
  const ScratchDirectory scratch;
  const Bytes plain = idx_bytes({5}, counting(5));
  EXPECT_EQ(read_idx(scratch.write("plain.gz", plain)).values, counting(5));
  EXPECT_EQ(read_idx(scratch.write("packed", gzipped(plain))).values, counting(5));
}

TEST(ReadIdx, ReadsMoreThanOnePiece) {
  const ScratchDirectory scratch;
  const Bytes values = counting((1U << 21) + 7);
  const Bytes file = idx_bytes({static_cast<std::uint32_t>(values.size())}, values);
  EXPECT_EQ(read_idx(scratch.write("plain", file)).values, values);
  EXPECT_EQ(read_idx(scratch.write("packed", gzipped(file))).values, values);
}

TEST(ReadIdx, ReadsGzipMembersInARow) {
  const ScratchDirectory scratch;
  const Bytes file = idx_bytes({10}, counting(10));
  Bytes members = gzipped(Bytes(file.begin(), file.begin() + 9));
  const Bytes second = gzipped(Bytes(file.begin() + 9, file.end()));
  members.insert(members.end(), second.begin(), second.end());
  EXPECT_EQ(read_idx(scratch.write("a", members)).values, counting(10));
}

TEST(ReadIdx, AnEmptyArrayIsRead) {
  const ScratchDirectory scratch;
  const IdxArray array = read_idx(scratch.write("a", idx_bytes({0, 0xFFFFFFFFU, 28}, {})));
  EXPECT_EQ(array.shape, (Shape{0, 0xFFFFFFFF, 28}));
  EXPECT_TRUE(array.values.empty());
}

TEST(ReadIdx, NamesAMissingFile) {
  const ScratchDirectory scratch;
  const fs::path path = scratch.path() / "absent";
  expect_mentions(message_of<IoError>([&] { read_idx(path); }), path.string());
  expect_mentions(message_of<IoError>([&] { read_idx(scratch.path()); }), "no regular file");
}

TEST(ReadIdx, RefusesWhatIsNoIdxFile) {
  const ScratchDirectory scratch;
  const auto error = [&](const Bytes& bytes) {
    const auto path = scratch.write("a", bytes);
    return message_of<FormatError>([&] { read_idx(path); });
  };
  expect_mentions(error({}), "too short");
  expect_mentions(error({0, 0, 8}), "too short");
  expect_mentions(error({'<', 'h', 't', 'm'}), "3c 68 74 6d");
  expect_mentions(error(idx_bytes({1}, {0}, 0x0D)), "0x0d: floats");
  expect_mentions(error(idx_bytes({1}, {0}, 0x42)), "0x42");
  expect_mentions(error({0, 0, 8, 0}), "found 0");
  expect_mentions(error({0, 0, 8, 9}), "found 9");
}

TEST(ReadIdx, ComparesThePromiseWithTheFile) {
  const ScratchDirectory scratch;
  const auto error = [&](const Bytes& bytes) {
    const auto path = scratch.write("a", bytes);
    return message_of<FormatError>([&] { read_idx(path); });
  };
  expect_mentions(error(idx_bytes({2, 3}, counting(5))), "2 x 3 bytes, but only 5 follow");
  expect_mentions(error(idx_bytes({2, 3}, counting(7))), "after the 6 that");
  expect_mentions(error(gzipped(idx_bytes({2, 3}, counting(5)))), "6 bytes, but only 5 follow");
  expect_mentions(error(gzipped(idx_bytes({2, 3}, counting(7)))), "after the 6 that");
}

TEST(ReadIdx, RefusesBytesAfterAGzipStream) {
  const ScratchDirectory scratch;
  Bytes packed = gzipped(idx_bytes({4}, counting(4)));
  packed.push_back(0);
  const auto path = scratch.write("a", packed);
  expect_mentions(message_of<FormatError>([&] { read_idx(path); }), "after the end of the gzip");
}

TEST(LoadIdx, ReadsAWholeSet) {
  const SmallSet set;
  const DataSplit split = set.load();
  EXPECT_EQ(split.train.size(), 3U);
  EXPECT_EQ(split.test.size(), 2U);
  EXPECT_EQ(split.train.example_shape(), (Shape{2, 5}));
  EXPECT_TRUE(std::ranges::equal(split.train.bytes(), counting(30)));
  EXPECT_TRUE(std::ranges::equal(split.train.labels(), Labels{2, 0, 1}));
  EXPECT_TRUE(std::ranges::equal(split.test.labels(), Labels{0, 4}));
  // The largest label stands in the test set.
  EXPECT_EQ(split.train.classes(), 5);
  EXPECT_EQ(split.test.classes(), 5);
}

TEST(LoadIdx, NamesTheSetAfterTheDirectory) {
  const SmallSet set;
  const std::string name = set.directory.path().filename().string();
  EXPECT_EQ(set.load().train.name(), name);
  EXPECT_EQ(load_idx(set.directory.path() / "").test.name(), name);
  EXPECT_EQ(load_idx(set.directory.path() / ".").test.name(), name);
}

TEST(LoadIdx, TakesEveryFormOfTheNames) {
  const SmallSet set;
  const Bytes images = idx_bytes({3, 2, 5}, Bytes(30, 9));
  const fs::path& path = set.directory.path();
  for (const std::string name :
       {"train-images-idx3-ubyte.gz", "train-images.idx3-ubyte", "train-images.idx3-ubyte.gz",
        "train-images-idx2-ubyte", "train-images.idx4-ubyte.gz", "train-images-idx8-ubyte",
        "train-images-idx3-ubyte"}) {
    fs::remove(path / set.train_images);
    set.directory.write(name, name.ends_with(".gz") ? gzipped(images) : images);
    EXPECT_EQ(set.load().train.bytes()[0], 9) << name;
    fs::remove(path / name);
  }
}

TEST(LoadIdx, RefusesImagesOfTwoRanks) {
  const SmallSet set;
  set.directory.write("train-images-idx4-ubyte", idx_bytes({3, 2, 5, 1}, counting(30)));
  expect_mentions(message_of<IoError>([&] { set.load(); }),
                  "has train-images-idx3-ubyte and train-images-idx4-ubyte; leave one");
}

TEST(LoadIdx, TakesImagesOfAnyRank) {
  const SmallSet set;
  set.directory.write(set.train_images, idx_bytes({3, 2, 2, 3}, counting(36)));
  set.directory.write(set.test_images, idx_bytes({2, 2, 2, 3}, counting(24)));
  EXPECT_EQ(set.load().train.example_shape(), (Shape{2, 2, 3}));
}

TEST(LoadIdx, TellsWhichFilesItNeeds) {
  const ScratchDirectory scratch;
  const std::string absent = (scratch.path() / "absent").string();
  for (const std::string& directory : {absent, scratch.path().string()}) {
    const auto message = message_of<IoError>([&] { load_idx(directory); });
    for (const auto* part :
         {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
          "t10k-labels-idx1-ubyte", "scripts/get_mnist.sh"}) {
      expect_mentions(message, part);
    }
    expect_mentions(message, directory);
  }
}

TEST(LoadIdx, NamesTheOneFileThatIsMissing) {
  const SmallSet set;
  fs::remove(set.directory.path() / set.test_labels);
  expect_mentions(message_of<IoError>([&] { set.load(); }), "has no t10k-labels-idx1-ubyte");
}

TEST(LoadIdx, TellsAFileFromAFolder) {
  const SmallSet set;
  expect_mentions(message_of<IoError>([&] { load_idx(set.directory.path() / set.test_images); }),
                  "t10k-images-idx3-ubyte' is no folder");
}

TEST(LoadIdx, TestImagesAreReadFromTheirFilesAlone) {
  const SmallSet set;
  fs::remove(set.directory.path() / set.train_images);
  fs::remove(set.directory.path() / set.train_labels);
  const Dataset test = load_idx_test(set.directory.path());
  EXPECT_EQ(test.size(), 2U);
  EXPECT_EQ(test.classes(), 5);
  EXPECT_EQ(test.name(), set.directory.path().filename().string());
  fs::remove(set.directory.path() / set.test_labels);
  const auto message = message_of<IoError>([&] { load_idx_test(set.directory.path()); });
  expect_mentions(message, "has no t10k-labels-idx1-ubyte");
  EXPECT_EQ(message.find("train"), std::string::npos) << message;
}

TEST(LoadIdx, SeesImagesAndLabelsSwapped) {
  const SmallSet set;
  set.directory.write(set.train_images, idx_bytes({3}, {2, 0, 1}));
  set.directory.write(set.train_labels, idx_bytes({3, 2, 5}, counting(30)));
  expect_mentions(set.format_error(), "swapped");
}

TEST(LoadIdx, RefusesFilesThatDoNotBelongTogether) {
  {
    const SmallSet set;
    set.directory.write(set.train_labels, idx_bytes({3, 1}, {2, 0, 1}));
    expect_mentions(set.format_error(), "rank 1, found shape [3, 1]");
  }
  {
    const SmallSet set;
    set.directory.write(set.train_images, idx_bytes({3}, {2, 0, 1}));
    expect_mentions(set.format_error(), "is it a labels file?");
  }
  {
    const SmallSet set;
    set.directory.write(set.test_labels, idx_bytes({3}, {2, 0, 1}));
    const std::string message = set.format_error();
    expect_mentions(message, "holds 2 images");
    expect_mentions(message, "holds 3 labels");
  }
  {
    const SmallSet set;
    set.directory.write(set.test_images, idx_bytes({2, 5, 2}, counting(20)));
    expect_mentions(set.format_error(), "[5, 2]");
  }
}

TEST(LoadIdx, RefusesAnEmptySet) {
  const SmallSet set;
  set.directory.write(set.train_images, idx_bytes({0, 2, 5}, {}));
  set.directory.write(set.train_labels, idx_bytes({0}, {}));
  expect_mentions(set.format_error(), "holds no images");
  set.directory.write(set.train_images, idx_bytes({3, 0, 5}, {}));
  set.directory.write(set.train_labels, idx_bytes({3}, {0, 0, 0}));
  expect_mentions(set.format_error(), "holds no images");
}

TEST(LoadIdx, ReadsMnist) {
  const char* directory = std::getenv("OCTET_MNIST_DIR");
  if (directory == nullptr) GTEST_SKIP() << "OCTET_MNIST_DIR is not set";
  const DataSplit split = load_idx(directory);
  const Dataset& train = split.train;
  const Dataset& test = split.test;
  EXPECT_EQ(train.size(), 60000U);
  EXPECT_EQ(test.size(), 10000U);
  EXPECT_EQ(train.example_shape(), (Shape{28, 28}));
  EXPECT_EQ(train.classes(), 10);
  EXPECT_TRUE(std::ranges::equal(train.labels().first(5), Labels{5, 0, 4, 1, 9}));
  EXPECT_TRUE(std::ranges::equal(test.labels().first(5), Labels{7, 2, 1, 0, 4}));
}

}  // namespace
}  // namespace octet::test::idx_test
