// Everything that a run saves, where the system fails at any call.

#include <octet/core/error.h>
#include <octet/core/log.h>
#include <octet/deploy/c/writer.h>
#include <octet/deploy/onnx/writer.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/tests/core/faulty_file_system.h>
#include <octet/tests/train/training.h>
#include <octet/train/callbacks.h>
#include <octet/train/checkpoint.h>

namespace octet::test::save_fault_test {
namespace {

namespace fs = std::filesystem;

class SaveFault : public ::testing::Test {
 protected:
  fs::path path(const std::string& name) const { return scratch_.path() / name; }

  /// One step further: what is saved next differs from what was saved before.
  void train() { trainer_.fit(data_, 1); }

  /// Saves, trains, and saves again with a failure at every call.
  void fail_every_call(const std::function<void()>& save, const std::function<void()>& after) {
    for (const int error : {EIO, ENOSPC}) {
      for (const bool dies : {false, true}) {
        train();
        // The saves of one sweep are of two states, not of ever newer ones.
        const auto old_state = snapshot(save);
        train();
        const FaultySave faulty{.folder = scratch_.path(),
                                .before = [&] { restore(old_state); },
                                .save = save,
                                .after = after};
        EXPECT_GE(faulty.fail_every_call(error, dies), 8U);
      }
    }
  }

  ScratchDirectory scratch_;
  Dataset data_ = clouds(20);
  Sequential model_ = quantize_model(small_mlp());
  Trainer trainer_{model_, Adam()};

 private:
  FolderContents snapshot(const std::function<void()>& save) const {
    for (const auto& [name, bytes] : contents_of(scratch_.path())) fs::remove(path(name));
    save();
    return contents_of(scratch_.path());
  }
  void restore(const FolderContents& contents) const {
    for (const auto& [name, bytes] : contents) write_file_atomic(path(name), bytes);
  }
};

TEST_F(SaveFault, Checkpoint) {
  fail_every_call([&] { trainer_.save_checkpoint(path("c")); },
                  [&] { EXPECT_EQ(read_checkpoint(path("c")).path, path("c")); });
}

TEST_F(SaveFault, Tflite) {
  fail_every_call([&] { trainer_.export_int8(path("m.tflite")); },
                  [&] { EXPECT_NO_THROW(read_tflite(path("m.tflite"))); });
}

TEST_F(SaveFault, CSource) {
  fail_every_call([&] { trainer_.export_c_source(path("m")); }, [] {});
  // Where the second cannot be written, the first is not replaced.
  const Bytes header = read_file(path("m.h"));
  fs::remove(path("m.c"));
  fs::create_directory(path("m.c"));
  train();
  EXPECT_THROW(trainer_.export_c_source(path("m")), IoError);
  EXPECT_EQ(read_file(path("m.h")), header);
}

TEST_F(SaveFault, Onnx) {
  fail_every_call([&] { trainer_.export_onnx(path("m.onnx")); }, [] {});
}

TEST_F(SaveFault, Csv) {
  CsvLog log(path("log.csv"));
  fail_every_call([&] { log.on_epoch_end(trainer_, {}); }, [] {});
}

TEST_F(SaveFault, Weights) {
  fail_every_call([&] { model_.save(path("w")); }, [&] { Archive::read(path("w")); });
}

std::string logged;
void keep_in_logged(LogLevel /*level*/, std::string_view message) { logged = message; }

TEST_F(SaveFault, ADamagedCheckpointFallsBackToTheOneBefore) {
  train();
  trainer_.save_checkpoint(path("c"), {{"which", "first"}});
  train();
  trainer_.save_checkpoint(path("c"), {{"which", "second"}});
  const Bytes whole = read_file(path("c"));
  const auto which = [&] {
    logged.clear();
    set_log_sink(keep_in_logged);
    const CheckpointFile found = read_checkpoint(path("c"));
    set_log_sink(nullptr);
    return Trainer::notes_of(found.archive).at("which");
  };
  EXPECT_EQ(which(), "second");
  EXPECT_EQ(logged, "");
  Bytes damaged = whole;
  damaged[damaged.size() / 2] ^= 1U;
  write_file_atomic(path("c"), damaged);
  EXPECT_EQ(which(), "first");
  expect_mentions(logged, "the checksum differs");
  expect_mentions(logged, "going on from the checkpoint before it, '" + path("c.1").string());
  fs::remove(path("c"));
  EXPECT_EQ(which(), "first");
  expect_mentions(logged, "No such file");
  Sequential model = quantize_model(small_mlp(3));
  Trainer resumed(model, Adam());
  set_log_sink(keep_in_logged);
  EXPECT_EQ(resumed.load_checkpoint(path("c")).at("which"), "first");
  set_log_sink(nullptr);
  EXPECT_EQ(resumed.steps(), 1U);
  write_file_atomic(path("c"), damaged);
  write_file_atomic(path("c.1"), damaged);
  const std::string both = message_of<FormatError>([&] { read_checkpoint(path("c")); });
  expect_mentions(both, path("c").string() + ": expected an octet archive");
  expect_mentions(both, path("c.1").string() + ": expected an octet archive");
  fs::remove(path("c.1"));
  EXPECT_THROW(read_checkpoint(path("c")), FormatError);
  fs::remove(path("c"));
  EXPECT_THROW(read_checkpoint(path("c")), IoError);
}

TEST_F(SaveFault, WithoutTimesEqualRunsAreEqual) {
  const auto run = [&](const std::string& name) {
    Sequential model = quantize_model(small_mlp());
    int steps = 0;
    Trainer trainer(model, Adam(), {.batch_size = 4, .should_stop = [&] { return ++steps == 7; }});
    trainer.fit(data_, data_, 3);
    EXPECT_TRUE(trainer.stopped());
    trainer.save_checkpoint(path(name));
    return read_checkpoint(path(name)).archive;
  };
  const Archive a = run("a");
  const Archive b = run("b");
  EXPECT_NE(a.to_bytes(), b.to_bytes()) << "the times differ";
  EXPECT_EQ(without_times(a).to_bytes(), without_times(b).to_bytes());
  EXPECT_EQ(parse_history(without_times(a).text("history")).at(0).train_loss,
            parse_history(a.text("history")).at(0).train_loss);
  EXPECT_THROW(without_times(Archive()), FormatError);
  // Nested text would be deep recursion when it is written again.
  Archive deep = a;
  deep.add_text("trainer", R"({"sums":[0,0,0,0],"x":)" + std::string(1000000, '[') +
                               std::string(1000000, ']') + "}");
  expect_mentions(message_of<FormatError>([&] { without_times(deep); }), "32 levels");
}

TEST_F(SaveFault, TemporariesOfDeadRunsGoAtTheStart) {
  // The name of this process's, a tick older: that of an earlier one of the same number.
  std::string name = temporary_name(path("c")).filename();
  const std::size_t count = name.rfind('-');
  const std::size_t start = name.rfind('-', count - 1) + 1;
  name.replace(start, count - start, "1");
  scratch_.write(name, counting(5));
  trainer_.add_callback(std::make_shared<LastCheckpoint>(path("c")));
  train();
  EXPECT_FALSE(fs::exists(path(name)));
  EXPECT_TRUE(fs::exists(path("c")));
}

}  // namespace
}  // namespace octet::test::save_fault_test
