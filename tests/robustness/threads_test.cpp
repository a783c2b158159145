// What several threads may do at once; run under ThreadSanitizer too.

#include <octet/core/log.h>
#include <octet/core/profile.h>
#include <octet/deploy/layer_codes.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/runtime/models.h>
#include <octet/tests/train/training.h>
#include <octet/train/history.h>

#include <functional>
#include <thread>

namespace octet::test::threads_test {
namespace {

/// Runs `body` with 0, 1, ... on as many threads at once.
void at_once(int threads, const std::function<void(int)>& body) {
  std::vector<std::thread> running;
  running.reserve(static_cast<std::size_t>(threads));
  for (int i = 0; i < threads; ++i) running.emplace_back(body, i);
  for (std::thread& thread : running) thread.join();
}

TEST(Threads, EightInterpretersShareOneModel) {
  const KeepThreads keep;
  set_num_threads(2);
  const auto model = std::make_shared<const IntegerModel>(make_mlp(4, {60, 33, 10}, true, true));
  std::vector<float> images(60 * 200);
  for (std::size_t i = 0; i < images.size(); ++i) images[i] = static_cast<float>(i % 256) / 255.0F;
  const Labels expected = Interpreter(model, {.batch = 200}).predict(images);
  std::vector<Labels> found(8);
  at_once(8, [&](int i) {
    Interpreter interpreter(model, {.batch = 1 + 50 * i});
    for (int repeat = 0; repeat < 3; ++repeat) {
      found[static_cast<std::size_t>(i)] = interpreter.predict(images);
    }
    interpreter.resize_batch(7);
    EXPECT_EQ(interpreter.predict(images), expected);
    EXPECT_EQ(interpreter.get_tensor_details().size(), model->tensors.size());
  });
  for (const Labels& labels : found) EXPECT_EQ(labels, expected);
}

/// A run of its own: float, quantized, profiled, and a checkpoint of it.
Bytes train(std::uint64_t seed) {
  const ScratchDirectory scratch;
  const Dataset data = clouds(300, seed);
  Sequential model = small_mlp(seed);
  Trainer trainer(model, Adam(), {.batch_size = 16, .seed = seed});
  trainer.fit(data, data, 2);
  Sequential quantized = quantize_model(model);
  Profile profile;
  Trainer qat(quantized, Adam(), {.batch_size = 16, .seed = seed, .profile = &profile});
  qat.fit(data, data, 2);
  EXPECT_GT(profile.explained(), 0.0);
  qat.save_checkpoint(scratch.path() / "c");
  qat.load_checkpoint(scratch.path() / "c");
  log_message(LogLevel::debug, "trained");
  Bytes result = bytes_of(quantized);
  const Bytes file = exported_bytes(qat);
  result.insert(result.end(), file.begin(), file.end());
  return result;
}

TEST(Threads, TrainersAtOnceAreAsAlone) {
  const KeepThreads keep;
  set_num_threads(2);
  const std::vector<Bytes> alone{train(0), train(1), train(2)};
  std::vector<Bytes> found(3);
  at_once(
      3, [&](int i) { found[static_cast<std::size_t>(i)] = train(static_cast<std::uint64_t>(i)); });
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_TRUE(found[i] == alone[i]) << i;
}

TEST(Threads, PredictWithOneModelAtOnce) {
  const KeepThreads keep;
  set_num_threads(2);
  const Dataset data = clouds(1200, 5);
  Sequential quantized = quantize_model(small_mlp());
  calibrate(quantized, data.features(0, 100));
  // An optimizer's step, after which no kernel has the range that was observed.
  for (const auto& [name, tensor] : quantized.parameters()) {
    for (float& value : Tensor(tensor).mutable_span()) value *= 1.5F;
  }
  for (const Sequential& model : {quantized, small_mlp()}) {
    const Bytes before = bytes_of(model);
    const Tensor features = data.features(0, 500);
    const Labels expected = predict(model, features);
    at_once(6, [&](int i) {
      EXPECT_EQ(predict(model, features), expected);
      EXPECT_EQ(evaluate(model, data.head(500)).predictions, expected);
      if (!is_quantized(model)) return;
      SimulatedCodes codes(model);
      codes.run(data.features(0, 10 + static_cast<std::size_t>(i)));
    });
    EXPECT_TRUE(bytes_of(model) == before);
  }
}

/// Makes up each example from its row.
struct MadeUp : DatasetReader {
  std::size_t size() const override { return 300; }
  Shape example_shape() const override { return {6}; }
  int classes() const override { return 3; }
  Batch read(std::span<const std::uint32_t> rows) override {
    ++reads;
    return clouds(300).batch(rows);
  }
  /// Without a lock: calls come one at a time.
  int reads = 0;
};

TEST(Threads, AReaderReadsAheadOfTrainersAtOnce) {
  const KeepThreads keep;
  set_num_threads(2);
  const auto reader = std::make_shared<MadeUp>();
  const Dataset data = Dataset::from_reader("made up", reader);
  const auto train = [&](const Dataset& set) {
    Sequential model = quantize_model(small_mlp());
    Trainer trainer(model, Adam(), {.batch_size = 16});
    trainer.fit(set, set, 2);
    return exported_bytes(trainer);
  };
  const Bytes expected = train(clouds(300));
  std::vector<Bytes> found(3);
  at_once(3, [&](int i) { found[static_cast<std::size_t>(i)] = train(data); });
  for (const Bytes& bytes : found) EXPECT_TRUE(bytes == expected);
  EXPECT_GE(reader->reads, 3 * 2 * 19);
}

TEST(Threads, SettingsMayChangeMeanwhile) {
  const KeepThreads keep;
  at_once(4, [](int i) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      set_num_threads(1 + (i + repeat) % 3);
      set_log_level(LogLevel::warn);
      EXPECT_EQ(Dataset::from_bytes("b", {4}, counting(40), Labels(10), 1).features(0, 10).size(),
                40);
    }
  });
}

TEST(Threads, BuffersGoFromThreadToThread) {
  std::vector<Tensor> made(8);
  at_once(8, [&](int i) { made[static_cast<std::size_t>(i)] = Tensor::full({100}, 1.0F); });
  at_once(8, [&](int i) {
    Tensor& mine = made[static_cast<std::size_t>(7 - i)];
    EXPECT_EQ(mine.at({99}), 1.0F);
    mine = Tensor();
    for (int repeat = 0; repeat < 50; ++repeat) mine = Tensor::full({100}, 2.0F);
  });
  for (const Tensor& tensor : made) EXPECT_EQ(tensor.at({0}), 2.0F);
}

}  // namespace
}  // namespace octet::test::threads_test
