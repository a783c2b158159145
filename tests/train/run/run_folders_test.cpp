#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/layers/reshape.h>
#include <octet/tests/train/training.h>
#include <octet/train/data/digits.h>
#include <octet/train/run/run_folders.h>
#include <octet/train/run/training_run.h>
#include <sys/resource.h>

namespace octet::test::run_folders_test {
namespace {

TEST(RunFolders, AFolderThatCannotBeLockedIsAnError) {
  const ScratchDirectory scratch;
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  std::string found;
  try {
    const RunFolders folders({{"--out", scratch.path() / "out"}});
  } catch (const IoError& error) {
    found = error.what();
  }
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_NE(found.find("--out: cannot lock the folder"), std::string::npos) << found;
}

TEST(TrainingRunNames, NamesThatNoCheckpointHoldsAreRefusedBeforeTraining) {
  const ScratchDirectory scratch;
  const DataSplit data = make_digits(3, 20, 10);
  TrainingRun run({.folder = scratch.path() / "out", .options = {{"name", "caf\xE9"}}});
  expect_mentions(message_of<InvalidArgument>([&] { run.begin(data); }),
                  "TrainingRun: options and names of data have to be UTF-8");
}

TEST(TrainingRunPhases, APhaseHasATrainerOfItsOwn) {
  const ScratchDirectory scratch;
  const DataSplit data = make_digits(3, 20, 10);
  TrainingRun run({.folder = scratch.path() / "out"});
  run.begin(data);
  Sequential model = small_mlp(0, 784, 8, 10);
  Trainer trainer(model, Adam());
  EXPECT_TRUE(run.fit("float", trainer, 1));
  const Bytes saved = read_file(run.checkpoint());
  expect_mentions(
      message_of<InvalidArgument>([&] { static_cast<void>(run.fit("qat", trainer, 1)); }),
      "expected a new trainer for phase \"qat\", found one that has trained");
  // What it trains after its phase is no part of the run.
  trainer.fit(data.train, 1);
  EXPECT_EQ(read_file(run.checkpoint()), saved);
}

}  // namespace
}  // namespace octet::test::run_folders_test
