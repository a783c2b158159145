// The convolutional networks of examples/networks: the same bytes on any number of threads, and
// from a run that was stopped and resumed.

#include <octet/examples/networks/networks.h>
#include <octet/tests/core/keep_threads.h>
#include <octet/tests/train/training.h>

namespace octet::test::network_bytes_test {
namespace {

/// Four steps an epoch, the last of them small.
constexpr std::size_t kImages = 34;
constexpr std::size_t kBatch = 10;

const DataSplit& digits() {
  static const DataSplit split = make_digits(/*seed=*/3, kImages, /*test_count=*/10);
  return split;
}

class NetworkBytes : public ::testing::TestWithParam<networks::Classifier> {
 protected:
  /// The network of the test, in float or trained for an epoch and quantized.
  Model network(bool quantized, std::uint64_t seed = 0) const {
    Model model = GetParam().make(digits().train.example_shape(), 10);
    model.build(seed);
    if (!quantized) return model;
    Trainer(model, Adam(), {.batch_size = kBatch}).fit(digits().train, /*epochs=*/1);
    return quantize_model(model);
  }
};

TEST_P(NetworkBytes, AreTheSameOnAnyNumberOfThreads) {
  const KeepThreads keep;
  Bytes first;
  for (const int threads : {1, 2, 3, 4, 7}) {
    set_num_threads(threads);
    Model model = network(/*quantized=*/true);
    Trainer trainer(model, Adam(1e-4F), {.batch_size = kBatch});
    trainer.fit(digits().train, digits().test, /*epochs=*/1);
    Bytes bytes = bytes_of(model);
    const auto file = exported_bytes(trainer);
    bytes.insert(bytes.end(), file.begin(), file.end());
    if (first.empty()) first = bytes;
    EXPECT_EQ(bytes, first) << threads << " threads";
  }
}

TEST_P(NetworkBytes, OfARunThatWasStoppedAreThoseOfAWholeOne) {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "checkpoint";
  for (const bool quantized : {false, true}) {
    SCOPED_TRACE(quantized ? "quantized" : "float");
    Model whole_model = network(quantized);
    Trainer whole(whole_model, Adam(), {.batch_size = kBatch});
    whole.fit(digits().train, digits().test, /*epochs=*/2);

    Model stopped_model = network(quantized);
    std::uint64_t steps = 0;
    Trainer stopped(stopped_model, Adam(),
                    {.batch_size = kBatch, .should_stop = [&] { return ++steps == 6; }});
    stopped.fit_until(digits().train, digits().test, /*epochs=*/2);
    stopped.save_checkpoint(path);
    ASSERT_NE(snapshot_of(stopped), snapshot_of(whole));

    Model resumed_model = network(quantized, /*seed=*/77);
    Trainer resumed(resumed_model, Adam(), {.batch_size = kBatch});
    resumed.load_checkpoint(path);
    resumed.fit_until(digits().train, digits().test, /*epochs=*/2);
    EXPECT_EQ(snapshot_of(resumed), snapshot_of(whole));
  }
}

INSTANTIATE_TEST_SUITE_P(Classifiers, NetworkBytes, ::testing::ValuesIn(networks::classifiers()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace octet::test::network_bytes_test
