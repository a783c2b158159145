#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/tests/core/faulty_file_system.h>
#include <octet/tests/train/training.h>
#include <octet/train/run/run_folders.h>
#include <octet/train/run/run_outputs.h>
#include <octet/train/run/training_run.h>

namespace octet::test::run_outputs_test {
namespace {

namespace fs = std::filesystem;

class RunOutputs : public ::testing::Test {
 protected:
  fs::path folder() const { return scratch_.path(); }
  void write(const std::string& name, std::string_view text) const {
    fs::create_directories((folder() / name).parent_path());
    write_file_atomic(folder() / name, text);
  }
  /// A run that has ended, another that ended before it, and what belongs to neither.
  void write_run() const {
    write("metrics.json", R"({"files": ["a.c", "previous_run/x", "../up", 3, "", "gone"]})");
    write("a.c", "of the program before");
    write("b.tflite", "of this program");
    write("page.html", std::string("<head>") + std::string(kReportMark) + "</head>");
    write("mine.html", "<head></head>");
    write("data.csv", "1,2");
    write("previous_run/metrics.json", "{}");
    write("previous_run/old", "old");
  }
  std::vector<std::string> names_in(const fs::path& path) const {
    std::vector<std::string> names;
    for (const auto& [name, bytes] : contents_of(path)) names.push_back(name);
    return names;
  }

 private:
  ScratchDirectory scratch_;
};

using Names = std::vector<std::string>;

TEST_F(RunOutputs, AreSetAsideWhereARunHasEnded) {
  write_run();
  EXPECT_EQ(set_aside_outputs(folder(), {"b.tflite", "not there"}), folder() / "previous_run");
  EXPECT_EQ(names_in(folder()), (Names{"data.csv", "mine.html"}));
  EXPECT_EQ(names_in(folder() / "previous_run"),
            (Names{"a.c", "b.tflite", "metrics.json", "page.html"}));
}

TEST_F(RunOutputs, ThatTheNextRunReadsStay) {
  write_run();
  set_aside_outputs(folder(), {"b.tflite"}, {folder() / "data.csv", folder() / "." / "b.tflite"});
  EXPECT_EQ(names_in(folder()), (Names{"b.tflite", "data.csv", "mine.html"}));
  EXPECT_EQ(names_in(folder() / "previous_run"), (Names{"a.c", "metrics.json", "page.html"}));
}

TEST_F(RunOutputs, AreFilesOfTheirFolderAlone) {
  write("run/metrics.json", R"({"files": ["../up", "inside/x"]})");
  write("run/inside/x", "of a folder");
  write("up", "of the folder around it");
  set_aside_outputs(folder() / "run", {});
  EXPECT_TRUE(fs::exists(folder() / "up"));
  EXPECT_TRUE(fs::exists(folder() / "run" / "inside" / "x"));
}

TEST_F(RunOutputs, OfAStoppedRunAreKeptByThemselves) {
  write_run();
  fs::remove(folder() / "metrics.json");
  EXPECT_EQ(set_aside_outputs(folder(), {"b.tflite"}), folder() / "stopped_run");
  EXPECT_EQ(names_in(folder()), (Names{"a.c", "data.csv", "mine.html", "page.html"}));
  EXPECT_EQ(names_in(folder() / "previous_run"), (Names{"metrics.json", "old"}));
  EXPECT_EQ(names_in(folder() / "stopped_run"), (Names{"b.tflite"}));
  // A start that was interrupted has moved some already.
  write("other.c", "of the stopped run");
  set_aside_outputs(folder(), {"b.tflite", "other.c"});
  EXPECT_EQ(names_in(folder() / "stopped_run"), (Names{"b.tflite", "other.c"}));
  EXPECT_EQ(set_aside_outputs(folder(), {"b.tflite", "other.c"}), "");
  remove_stopped_outputs(folder());
  EXPECT_FALSE(fs::exists(folder() / "stopped_run"));
}

TEST_F(RunOutputs, OfADamagedOrEarlierMetricsAreThoseOfTheProgram) {
  for (const char* metrics : {"{", "{}", R"({"files": 3})", R"({"files": [["a.c"]]})"}) {
    write_run();
    write("metrics.json", metrics);
    set_aside_outputs(folder(), {"b.tflite"});
    EXPECT_EQ(names_in(folder()), (Names{"a.c", "data.csv", "mine.html"})) << metrics;
  }
}

TEST_F(RunOutputs, AreAllThereWhereverSettingThemAsideFails) {
  for (std::size_t k = 1;; ++k) {
    for (const auto& entry : fs::directory_iterator(folder())) fs::remove_all(entry.path());
    write_run();
    bool failed = false;
    {
      FaultyFileSystem faulty(k, EIO);
      try {
        set_aside_outputs(folder(), {"b.tflite"});
      } catch (const IoError& error) {
        failed = true;
        expect_mentions(error.what(), folder().string());
      }
    }
    const std::vector<fs::path> metrics = metrics_of_last_run(folder());
    EXPECT_TRUE(
        std::ranges::any_of(metrics, [](const fs::path& path) { return fs::exists(path); }));
    // The next goes on.
    set_aside_outputs(folder(), {"b.tflite"});
    EXPECT_EQ(names_in(folder()), (Names{"data.csv", "mine.html"}));
    EXPECT_EQ(names_in(folder() / "previous_run"),
              (Names{"a.c", "b.tflite", "metrics.json", "page.html"}))
        << k;
    if (!failed) break;
  }
}

TEST_F(RunOutputs, AreBroughtBackForARunThatGoesOnAfterItsEnd) {
  write_run();
  const FolderContents before = contents_of(folder());
  bring_back_outputs(folder());
  EXPECT_EQ(contents_of(folder()), before);
  set_aside_outputs(folder(), {"b.tflite"});
  bring_back_outputs(folder());
  EXPECT_EQ(contents_of(folder()), before);
  EXPECT_FALSE(fs::exists(folder() / "previous_run"));
}

TEST_F(RunOutputs, AreAllThereWhereverBringingThemBackFails) {
  for (std::size_t k = 1;; ++k) {
    for (const auto& entry : fs::directory_iterator(folder())) fs::remove_all(entry.path());
    write_run();
    const FolderContents before = contents_of(folder());
    set_aside_outputs(folder(), {"b.tflite"});
    const FolderContents aside = contents_of(folder() / "previous_run");
    bool failed = false;
    {
      FaultyFileSystem faulty(k, EIO);
      try {
        bring_back_outputs(folder());
      } catch (const IoError&) {
        failed = true;
      }
    }
    // A new run finds all of them, as if they had never been brought back.
    set_aside_outputs(folder(), {"b.tflite"});
    EXPECT_EQ(contents_of(folder() / "previous_run"), aside) << k;
    EXPECT_FALSE(fs::exists(folder() / "stopped_run")) << k;
    bring_back_outputs(folder());
    EXPECT_EQ(contents_of(folder()), before);
    if (!failed) break;
    EXPECT_LT(k, 100U);
  }
}

TEST_F(RunOutputs, OfARunThatSavedNoCheckpointNameNone) {
  const DataSplit data{clouds(20), clouds(10)};
  std::vector<std::string> hashes;
  for (const int epochs : {1, 0}) {
    TrainingRun run({.folder = folder(), .phases = {"float"}});
    run.begin(data);
    Sequential model = small_mlp();
    Trainer trainer(model, Adam());
    ASSERT_TRUE(run.fit("float", trainer, epochs));
    write("b.tflite", "of this program");
    hashes.push_back(run.finish(folder() / "b.tflite").hashes.checkpoint);
  }
  EXPECT_NE(hashes[0], "");
  EXPECT_EQ(hashes[1], "");
  // It is of the run before, which goes on from it.
  EXPECT_TRUE(fs::exists(folder() / "checkpoints" / "last.ckpt"));
}

TEST_F(RunOutputs, OfARefusedRunAreNoFolders) {
  const fs::path made = folder() / "a" / "b" / "out";
  fs::create_directories(folder() / "there");
  {
    const RunFolders folders({{"--out", made}, {"--checkpoint-dir", made / "checkpoints"}});
    EXPECT_TRUE(fs::exists(made / "checkpoints"));
    const RunFolders kept({{"--out", folder() / "there"}});
  }
  EXPECT_FALSE(fs::exists(folder() / "a"));
  EXPECT_TRUE(fs::exists(folder() / "there"));
  {
    const RunFolders folders({{"--out", made}, {"--checkpoint-dir", made / "checkpoints"}});
    write_file_atomic(made / "file", std::string_view("written"));
  }
  EXPECT_FALSE(fs::exists(made / "checkpoints"));
  EXPECT_TRUE(fs::exists(made / "file"));
  write("file", "in the way");
  EXPECT_THROW(RunFolders({{"--out", folder() / "new"}, {"--checkpoint-dir", folder() / "file"}}),
               IoError);
  EXPECT_FALSE(fs::exists(folder() / "new"));
}

}  // namespace
}  // namespace octet::test::run_outputs_test
