#include <octet/core/error.h>
#include <octet/tests/train/training.h>
#include <octet/train/data/digits.h>
#include <octet/train/run_folders.h>
#include <octet/train/training_run.h>
#include <sys/resource.h>

namespace octet::test {
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

}  // namespace
}  // namespace octet::test
