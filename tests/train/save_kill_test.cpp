// A program that does nothing but save, killed at random moments.

#include <octet/core/random.h>
#include <octet/tests/cli/process.h>
#include <octet/tests/core/faulty_file_system.h>
#include <octet/train/checkpoint.h>
#include <octet/train/trainer.h>

namespace octet::test::save_kill_test {
namespace {

namespace fs = std::filesystem;

constexpr int kKills = 200;
constexpr float kLongestMilliseconds = 12.0F;

TEST(SaveKill, OfTwoHundredKillsNoneLosesTheCheckpoint) {
  const ScratchDirectory scratch;
  const fs::path path = scratch.path() / "c";
  const Random random(7);
  std::size_t torn = 0;
  int saves = 0;
  float longest = kLongestMilliseconds;
  for (std::uint64_t i = 0; i < kKills; ++i) {
    Process process({OCTET_SAVE_LOOP, path.string()}, {{"OMP_WAIT_POLICY", "passive"}});
    ASSERT_TRUE(process.wait_for_output("ready"));
    const float delay = longest * random.uniform(i);
    std::this_thread::sleep_for(std::chrono::duration<float, std::milli>(delay));
    process.signal(SIGKILL);
    ASSERT_EQ(process.wait().signal, SIGKILL);
    if (!fs::exists(path)) {
      EXPECT_EQ(saves, 0) << "the checkpoint is gone after kill " << i;
      longest *= 1.2F;  // A busy machine takes longer to save for the first time.
      continue;
    }
    // Where it can have second names, the file is never missing, nor is it ever torn.
    const CheckpointFile found = read_checkpoint(path);
    EXPECT_EQ(found.path, path);
    saves = std::stoi(Trainer::notes_of(found.archive).at("epoch"));
    EXPECT_GE(saves, 1);
    if (fs::exists(previous_file(path))) {
      EXPECT_NO_THROW(Archive::read(previous_file(path)));
    }
    const std::size_t left = temporaries_in(scratch.path());
    torn += left > 0 ? 1U : 0U;
    EXPECT_EQ(remove_temporaries_left_behind(scratch.path()), left);
    EXPECT_EQ(temporaries_in(scratch.path()), 0U);
  }
  std::printf("%d kills, %zu of them within a save\n", kKills, torn);
  EXPECT_GT(saves, 0);
  EXPECT_GT(torn, 0U);
}

}  // namespace
}  // namespace octet::test::save_kill_test
