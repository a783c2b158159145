// Data sets that are read while a run goes on.

#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/tests/train/training.h>
#include <octet/train/data/normalization.h>

#include <atomic>
#include <fstream>
#include <thread>

namespace octet::test::reader_test {
namespace {

/// Examples of 6 floats and a label, in a file: what a user would write.
class FileReader : public DatasetReader {
 public:
  FileReader(const std::filesystem::path& path, const Dataset& data)
      : size_(data.size()), classes_(data.classes()) {
    const Tensor features = data.features(0, size_);
    std::ofstream out(path, std::ios::binary);
    for (std::size_t i = 0; i < size_; ++i) {
      out.write(reinterpret_cast<const char*>(features.data() + 6 * i), 6 * sizeof(float));
      out.write(reinterpret_cast<const char*>(&data.labels()[i]), sizeof(std::int32_t));
    }
    out.close();
    in_.open(path, std::ios::binary);
  }

  std::size_t size() const override { return size_; }
  Shape example_shape() const override { return {6}; }
  int classes() const override { return classes_; }
  Batch read(std::span<const std::uint32_t> rows) override {
    ++reads;
    Tensor features({static_cast<Index>(rows.size()), 6});
    Labels labels(rows.size());
    float* to = features.mutable_data();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i] == fails_at) throw IoError("row not readable");
      in_.seekg(static_cast<std::streamoff>(rows[i] * (6 * sizeof(float) + sizeof(std::int32_t))));
      in_.read(reinterpret_cast<char*>(to + 6 * i), 6 * sizeof(float));
      in_.read(reinterpret_cast<char*>(&labels[i]), sizeof(std::int32_t));
    }
    return {features, labels};
  }

  std::atomic<int> reads{0};
  std::atomic<std::uint32_t> fails_at{~0U};

 private:
  std::size_t size_;
  int classes_;
  std::ifstream in_;
};

class Reader : public ::testing::Test {
 protected:
  std::shared_ptr<FileReader> open(const Dataset& data) {
    return std::make_shared<FileReader>(scratch_.path() / fmt::format("f{}", files_++), data);
  }
  ScratchDirectory scratch_;
  int files_ = 0;
};

TEST_F(Reader, TrainsToTheBytesOfASetInMemory) {
  const KeepThreads keep;
  const Dataset train = clouds(100, 1);
  const Dataset test = clouds(1100, 2);
  const Dataset read_train = Dataset::from_reader("clouds", open(train));
  const Dataset read_test = Dataset::from_reader("clouds", open(test));
  for (const bool quantized : {false, true}) {
    const auto trained = [&](const Dataset& data, const Dataset& other, bool shuffle) {
      Sequential model = quantized ? quantize_model(small_mlp()) : small_mlp();
      Trainer trainer(model, Adam(0.01F), {.test_loss = true, .batch_size = 8, .shuffle = shuffle});
      trainer.fit(data, other, 3);
      return snapshot_of(trainer);
    };
    for (const bool shuffle : {true, false}) {
      set_num_threads(1);
      const Snapshot expected = trained(train, test, shuffle);
      for (const int threads : {1, 2, 4}) {
        set_num_threads(threads);
        EXPECT_EQ(trained(read_train, read_test, shuffle), expected) << threads;
      }
    }
  }
}

TEST_F(Reader, ResumesInTheMiddleOfAnEpoch) {
  const Dataset data = clouds(60, 1);
  const Dataset read = Dataset::from_reader("clouds", open(data));
  Sequential a = small_mlp();
  Trainer whole(a, Adam(), {.batch_size = 8});
  whole.fit(data, 3);
  Sequential b = small_mlp();
  int steps = 0;
  Trainer stopped(b, Adam(), {.batch_size = 8, .should_stop = [&] { return ++steps % 5 == 0; }});
  while (stopped.history().size() < 3) stopped.fit_until(read, 3);
  EXPECT_EQ(snapshot_of(stopped), snapshot_of(whole));
}

TEST_F(Reader, ReadsAheadAndNoFurther) {
  const auto reader = open(clouds(100));
  const Dataset set = Dataset::from_reader("clouds", reader);
  DataLoader loader(set, {.batch_size = 10, .read_ahead = 3});
  Batch batch;
  ASSERT_TRUE(loader.next(batch));
  for (int i = 0; i < 2000 && reader->reads < 4; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(reader->reads, 4) << "the one that was taken, and three";
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(reader->reads, 4);
  for (int i = 1; i < 10; ++i) ASSERT_TRUE(loader.next(batch));
  EXPECT_FALSE(loader.next(batch));
  EXPECT_EQ(reader->reads, 10);
}

TEST_F(Reader, ItsPartsAndItsNormalizationAreThoseInMemory) {
  const Dataset data = clouds(20);
  const Dataset set = Dataset::from_reader("clouds", open(data));
  const std::vector<std::uint32_t> rows = {7, 3, 3, 12, 0};
  const Normalization how = measure_normalization(data);
  const auto part_of = [&](const Dataset& whole) {
    return normalized(whole, how).subset(rows).slice(1, 5).slice(1, 4);
  };
  const Batch found = part_of(set).batch(0, 3);
  const Batch expected = part_of(data).batch(0, 3);
  EXPECT_TRUE(std::ranges::equal(found.features.span(), expected.features.span()));
  EXPECT_EQ(found.targets.labels(), expected.targets.labels());
  EXPECT_EQ(measure_normalization(set), how);
  EXPECT_THROW(part_of(set).batch(0, 4), InvalidArgument);
}

TEST_F(Reader, ItsErrorsReachTheCallerAtTheirBatch) {
  const auto reader = open(clouds(40));
  const Dataset set = Dataset::from_reader("clouds", reader);
  DataLoader loader(set, {.batch_size = 10, .shuffle = false});
  reader->fails_at = 25;
  Batch batch;
  ASSERT_TRUE(loader.next(batch));
  ASSERT_TRUE(loader.next(batch));
  expect_mentions(message_of<IoError>([&] { loader.next(batch); }), "row not readable");
  EXPECT_EQ(loader.position().batch, 2);
  reader->fails_at = ~0U;
  ASSERT_TRUE(loader.next(batch)) << "once the row can be read";
  EXPECT_EQ(batch.targets.labels(), clouds(40).targets(20, 30).labels());
  ASSERT_TRUE(loader.next(batch));
  EXPECT_FALSE(loader.next(batch));

  reader->fails_at = 25;
  Sequential model = small_mlp();
  Trainer trainer(model, Adam(), {.batch_size = 10});
  expect_mentions(message_of<IoError>([&] { trainer.fit(set, 1); }), "row not readable");
  EXPECT_THROW(trainer.evaluate(set), IoError);
}

TEST_F(Reader, ALoaderMaySeekAndMoveWhileItReads) {
  const Dataset data = clouds(50);
  const Dataset set = Dataset::from_reader("clouds", open(data));
  DataLoader loader(set, {.batch_size = 10, .seed = 2});
  DataLoader expected(data, {.batch_size = 10, .seed = 2});
  Batch found;
  Batch wanted;
  loader.next(found);
  DataLoader moved = std::move(loader);
  for (const LoaderPosition position : {LoaderPosition{0, 3}, {2, 0}, {2, 4}, {0, 1}}) {
    moved.seek(position);
    expected.seek(position);
    ASSERT_TRUE(moved.next(found));
    ASSERT_TRUE(expected.next(wanted));
    EXPECT_EQ(found.targets.labels(), wanted.targets.labels());
    EXPECT_TRUE(std::ranges::equal(found.features.span(), wanted.features.span()));
  }
}

/// Says one thing and returns another.
struct Liar : DatasetReader {
  std::size_t size() const override { return count; }
  Shape example_shape() const override { return shape; }
  int classes() const override { return kinds; }
  Batch read(std::span<const std::uint32_t> /*rows*/) override { return answer; }
  std::size_t count = 2;
  Shape shape = {3};
  int kinds = 2;
  Batch answer;
};

TEST(ReaderFault, WhatItReturnsIsChecked) {
  const auto liar = std::make_shared<Liar>();
  const Dataset set = Dataset::from_reader("liar", liar);
  const auto message = [&](Tensor features, Targets targets) {
    liar->answer = {std::move(features), std::move(targets)};
    return message_of<InvalidArgument>([&] { set.batch(0, 2); });
  };
  const Tensor good = Tensor::zeros({2, 3});
  expect_mentions(message(Tensor(), Labels{0, 1}), "Dataset liar: expected the reader to return");
  expect_mentions(message(Tensor::zeros({2, 4}), Labels{0, 1}), "features [2, 4]");
  expect_mentions(message(good, Labels{0}), "1 labels");
  expect_mentions(message(good, Tensor::zeros({2, 1})), "2 targets that are tensors");
  expect_mentions(message(good, Labels{0, 2}), "label 2 of example 1 is outside [0, 2)");
  liar->answer = {good, Labels{0, 1}};
  EXPECT_EQ(set.features(0, 2).shape(), good.shape());
  EXPECT_EQ(set.head(1).size(), 1U);
  EXPECT_THROW(set.batch(0, 3), InvalidArgument);
  expect_mentions(message_of<InvalidArgument>([&] { static_cast<void>(set.labels()); }),
                  "read with their examples");
  EXPECT_THROW(set.with_targets(Tensor::zeros({2, 1})), InvalidArgument);
  EXPECT_TRUE(set.bytes().empty());
}

TEST(ReaderFault, WhatItSaysIsChecked) {
  EXPECT_THROW(Dataset::from_reader("null", nullptr), InvalidArgument);
  const auto liar = std::make_shared<Liar>();
  liar->shape = {0};
  EXPECT_THROW(Dataset::from_reader("liar", liar), InvalidArgument);
  liar->shape = {3};
  liar->kinds = -1;
  EXPECT_THROW(Dataset::from_reader("liar", liar), InvalidArgument);
  liar->kinds = 0;
  const Dataset regression = Dataset::from_reader("liar", liar);
  EXPECT_FALSE(regression.has_labels());
  EXPECT_EQ(regression.target_shape(), (Shape{1}));
  liar->count = std::size_t{1} << 33U;
  EXPECT_THROW(Dataset::from_reader("liar", liar), InvalidArgument);
  const auto empty = std::make_shared<Liar>();
  empty->count = 0;
  const Dataset none = Dataset::from_reader("none", empty);
  EXPECT_THROW(DataLoader{none}, InvalidArgument);
  const Dataset some = clouds(3);
  EXPECT_THROW((DataLoader{some, {.read_ahead = 0}}), InvalidArgument);
}

}  // namespace
}  // namespace octet::test::reader_test
