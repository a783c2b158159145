// A run in two phases: stopped and resumed it ends in the same bytes, and what is wrong is an error
// by name.

#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/layers/reshape.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/train/training.h>
#include <octet/train/callbacks.h>
#include <octet/train/checkpoint.h>
#include <octet/train/data/digits.h>
#include <octet/train/run/sha256.h>
#include <octet/train/run/training_run.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

namespace octet::test::training_run_test {
namespace {

namespace fs = std::filesystem;

/// Five steps an epoch, two epochs in each phase.
constexpr std::size_t kBatch = 64;
constexpr std::uint64_t kStepsOfARun = 20;

const DataSplit& digits() {
  static const DataSplit data = make_digits(3, 300, 100);
  return data;
}

/// The files of a run, its digests, and how many steps the program took.
struct Ended {
  Bytes model;
  RunHashes hashes;
  std::string history;
  std::uint64_t steps = 0;
};

class TrainingRuns : public ::testing::Test {
 protected:
  fs::path path(const std::string& name) const { return scratch_.path() / name; }

  TrainingRunOptions options(const std::string& folder, bool resume = false) const {
    return {.folder = path(folder),
            .phases = {"float", "qat"},
            .options = {{"hidden", "12"}},
            .resume = resume};
  }

  /// The whole program, stopped after `steps` more steps; none where it was.
  std::optional<Ended> program(const TrainingRunOptions& run_options,
                               std::uint64_t steps = kStepsOfARun + 1) const {
    TrainingRun run(run_options);
    run.begin(digits());
    std::uint64_t done = 0;
    const auto should_stop = [&] { return ++done == steps; };
    Sequential model("digits", Input({28, 28}), Flatten(), Dense(12, Activation::relu),
                     Dense(10, Activation::softmax));
    model.build(1);
    if (run.needs("float")) {
      Trainer trainer(model, Adam(), {.batch_size = kBatch, .should_stop = should_stop});
      if (!run.fit("float", trainer, 2)) return std::nullopt;
      run.keep("accuracy", trainer.evaluate(digits().test).accuracy);
      run.keep("bytes", 123456.0);
    }
    EXPECT_EQ(run.kept("float", "bytes"), 123456.0);
    EXPECT_EQ(run.kept("float", "accuracy"), run.history().back().test_accuracy);
    Sequential quantized = quantize_model(model);
    Trainer trainer(quantized, Adam(),
                    {.batch_size = kBatch, .seed = 9, .should_stop = should_stop});
    if (!run.fit("qat", trainer, 2)) return std::nullopt;
    const fs::path file = run.folder() / "digits.tflite";
    trainer.export_int8(file);
    const RunReport report = run.finish(file, R"({"answer": 42})");
    return Ended{read_file(file), report.hashes, history_csv(run.history(), false), done};
  }

  void expect_same(const Ended& a, const Ended& b) const {
    EXPECT_EQ(a.model, b.model);
    EXPECT_EQ(a.history, b.history);
    EXPECT_EQ(a.hashes.model, b.hashes.model);
    EXPECT_EQ(a.hashes.checkpoint, b.hashes.checkpoint);
    EXPECT_EQ(a.hashes.history, b.hashes.history);
  }

  std::string text_of(const fs::path& file) const {
    const Bytes bytes = read_file(file);
    return {bytes.begin(), bytes.end()};
  }

 private:
  ScratchDirectory scratch_;
};

TEST_F(TrainingRuns, StoppedAfterAnyStepAndResumedEndsInTheSameBytes) {
  const auto whole = program(options("whole"));
  ASSERT_TRUE(whole);
  for (std::uint64_t k = 1; k <= kStepsOfARun; ++k) {
    SCOPED_TRACE(k);
    const std::string folder = "stopped" + std::to_string(k);
    ASSERT_FALSE(program(options(folder), k));
    EXPECT_FALSE(fs::exists(path(folder) / "metrics.json"));
    const auto resumed = program(options(folder, true));
    ASSERT_TRUE(resumed);
    EXPECT_EQ(resumed->steps, kStepsOfARun - k);
    expect_same(*resumed, *whole);
  }
}

TEST_F(TrainingRuns, StoppedAgainAndAgainEndsInTheSameBytes) {
  const auto whole = program(options("whole"));
  ASSERT_FALSE(program(options("out"), 3));
  std::optional<Ended> ended;
  int resumed = 0;
  while (!ended && ++resumed < 20) ended = program(options("out", true), 4);
  ASSERT_TRUE(ended);
  EXPECT_EQ(resumed, 5);
  expect_same(*ended, *whole);
  // A finished run resumes to the same, too.
  expect_same(*program(options("out", true)), *whole);
}

TEST_F(TrainingRuns, LeavesHistoryMetricsAndTheirDigests) {
  const auto ended = program(options("out"));
  const std::string csv = text_of(path("out/history.csv"));
  EXPECT_EQ(std::ranges::count(csv, '\n'), 5);
  expect_mentions(csv, "\nfloat,2,");
  expect_mentions(csv, "\nqat,2,");
  const auto metrics = nlohmann::json::parse(text_of(path("out/metrics.json")));
  EXPECT_EQ(metrics.at("answer"), 42);
  EXPECT_EQ(metrics.at("epochs").size(), 4U);
  EXPECT_EQ(metrics.at("data").at("train"), 300);
  EXPECT_EQ(metrics.at("data").at("test"), 100);
  EXPECT_EQ(metrics.at("threads"), num_threads());
  EXPECT_EQ(metrics.at("sha256").at("model"), ended->hashes.model);
  EXPECT_EQ(metrics.at("sha256").at("history"), ended->hashes.history);
  EXPECT_EQ(metrics.at("sha256").at("checkpoint"), ended->hashes.checkpoint);
  EXPECT_EQ(sha256(ended->history), ended->hashes.history);
  EXPECT_EQ(sha256(ended->model), ended->hashes.model);
  // FIPS 180-4's own example.
  EXPECT_EQ(sha256(std::string_view("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_F(TrainingRuns, HistoryIsThereAfterEveryEpochOfARunThatIsKilled) {
  const auto train = [&](bool resume, int epochs_until_killed) {
    TrainingRun run(options("out", resume));
    run.begin(digits());
    int epochs = 0;
    for (const std::string phase : {"float", "qat"}) {
      if (!run.needs(phase)) continue;
      Sequential model = small_mlp(0, 784, 8, 10);
      Trainer trainer(model, Sgd(), {.batch_size = kBatch});
      trainer.add_callback({.on_step_begin =
                                [&](Trainer&, std::uint64_t) {
                                  if (epochs == epochs_until_killed)
                                    throw std::runtime_error("killed");
                                },
                            .on_epoch_end = [&](Trainer&, const EpochRecord&) { ++epochs; }});
      EXPECT_TRUE(run.fit(phase, trainer, 2));
    }
    write_file_atomic(run.folder() / "model", std::string_view("exported"));
    run.finish(run.folder() / "model");
    return history_csv(run.history());
  };
  const auto names_in = [&] {
    std::istringstream lines(text_of(path("out/history.csv")));
    std::vector<std::string> names;
    for (std::string line; std::getline(lines, line);) {
      names.push_back(line.substr(0, line.find(',', line.find(',') + 1)));
    }
    return names;
  };
  EXPECT_THROW(train(false, 1), std::runtime_error);
  EXPECT_EQ(names_in(), (std::vector<std::string>{"phase,epoch", "float,1"}));
  EXPECT_THROW(train(true, 2), std::runtime_error);
  EXPECT_EQ(names_in(), (std::vector<std::string>{"phase,epoch", "float,1", "float,2", "qat,1"}));
  const std::string whole = train(true, 9);
  EXPECT_EQ(text_of(path("out/history.csv")), whole);
  EXPECT_EQ(names_in(),
            (std::vector<std::string>{"phase,epoch", "float,1", "float,2", "qat,1", "qat,2"}));
}

TEST_F(TrainingRuns, EpochsAreScoredOnAValidationSetWhereThereIsOne) {
  const DataSplit parts{digits().train, digits().test.head(40), digits().test.slice(40, 100)};
  const auto train = [&](const DataSplit& data, bool resume, int epochs) {
    TrainingRun run(options("out", resume));
    run.begin(data);
    Sequential model = small_mlp(0, 784, 8, 10);
    Trainer trainer(model, Adam(), {.batch_size = kBatch});
    EXPECT_TRUE(run.fit("float", trainer, epochs));
    return std::pair(run.history().back().test_accuracy, trainer.evaluate(data.validation));
  };
  const auto [scored, evaluated] = train(parts, false, 1);
  EXPECT_EQ(scored, evaluated.accuracy);
  const DataSplit other{parts.train, parts.test, parts.validation.head(59)};
  expect_throws<InvalidArgument>(
      [&] { train(other, true, 2); },
      {"(300 + 40 + 60 images of [28, 28])", "(300 + 40 + 59 images of [28, 28])"});
  const DataSplit changed{parts.train, parts.test,
                          parts.test.subset(std::vector<std::uint32_t>(60))};
  expect_throws<InvalidArgument>([&] { train(changed, true, 2); }, {"but other contents"});
  EXPECT_TRUE(train(parts, true, 2).first);
}

TEST_F(TrainingRuns, APhaseMayHaveAnyName) {
  TrainingRunOptions named = options("out");
  named.phases = {"warm-up", "main", "qat"};
  const auto train = [&](bool resume, std::uint64_t steps) {
    named.resume = resume;
    TrainingRun run(named);
    run.begin(digits());
    std::uint64_t done = 0;
    std::vector<std::string> trained;
    for (const std::string& phase : named.phases) {
      if (!run.needs(phase)) continue;
      trained.push_back(phase);
      Sequential model = small_mlp(0, 784, 8, 10);
      Trainer trainer(model, Sgd(),
                      {.batch_size = kBatch, .should_stop = [&] { return ++done == steps; }});
      if (!run.fit(phase, trainer, 1)) break;
      run.keep("score", static_cast<double>(run.history().size()));
    }
    return std::pair(trained, history_csv(run.history(), false));
  };
  const auto [all, whole] = train(false, 0);
  EXPECT_EQ(all, named.phases);
  expect_mentions(whole, "\nwarm-up,1,");
  expect_mentions(whole, "\nmain,1,");
  named.folder = path("stopped");
  train(false, 7);
  const auto [rest, resumed] = train(true, 0);
  EXPECT_EQ(rest, std::vector<std::string>({"main", "qat"}));
  EXPECT_EQ(resumed, whole);
}

TEST_F(TrainingRuns, OtherOptionsDataOrPhasesAreRefusedByName) {
  ASSERT_FALSE(program(options("out"), 12));
  const auto resume = [&](const TrainingRunOptions& changed, const DataSplit& data) {
    TrainingRun run(changed);
    run.begin(data);
  };
  TrainingRunOptions changed = options("out", true);
  changed.options["hidden"] = "13";
  expect_throws<InvalidArgument>(
      [&] { resume(changed, digits()); },
      {"resume: the checkpoint was made with hidden 12, now it is 13", "start anew"});
  changed = options("out", true);
  changed.options["depth"] = "2";
  expect_throws<InvalidArgument>([&] { resume(changed, digits()); },
                                 {"made with depth unknown, now it is 2"});
  const DataSplit fewer{digits().train.head(299), digits().test};
  expect_throws<InvalidArgument>(
      [&] { resume(options("out", true), fewer); },
      {"made with data ", "(300 + 100 images of [28, 28])", "(299 + 100 images"});
  // Data of equal name and shape that differ in one pixel of the training set or one label of the
  // test set.
  for (const bool in_training : {true, false}) {
    DataSplit other = digits();
    Dataset& part = in_training ? other.train : other.test;
    Bytes pixels(part.bytes().begin(), part.bytes().end());
    Labels labels(part.labels().begin(), part.labels().end());
    if (in_training) {
      pixels[12345] ^= 1U;
    } else {
      labels[7] = (labels[7] + 1) % part.classes();
    }
    part = Dataset::from_bytes(part.name(), part.example_shape(), pixels, labels, part.classes());
    expect_throws<InvalidArgument>(
        [&] { resume(options("out", true), other); },
        {"resume: the data set is no longer the one that the checkpoint was made with",
         "(300 + 100 images of [28, 28]) has the same name and shape, but other contents"});
  }
  changed = options("out", true);
  changed.phases = {"float", "int8"};
  changed.names.resume = "--resume";
  expect_throws<InvalidArgument>(
      [&] { resume(changed, digits()); },
      {"--resume: ", "made with phases float, qat, now it is float, int8"});
  // Fewer phases would lose what the first came to, and fewer options make another network.
  changed.phases = {"qat"};
  expect_throws<InvalidArgument>([&] { resume(changed, digits()); },
                                 {"made with phases float, qat, now it is qat"});
  changed = options("out", true);
  changed.options.erase("hidden");
  expect_throws<InvalidArgument>([&] { resume(changed, digits()); },
                                 {"made with hidden 12, now it is not given"});
  // Nothing was harmed by any of these.
  EXPECT_TRUE(program(options("out", true)));
}

TEST_F(TrainingRuns, WrongAndLockedFoldersAreRefusedByName) {
  TrainingRunOptions wrong = options("nothing", true);
  wrong.names = {"--out", "--checkpoints", "--resume"};
  expect_throws<InvalidArgument>(
      [&] { TrainingRun run(wrong); },
      {"--resume: there is no checkpoint '", "nothing/checkpoints/last.ckpt",
       "give the --out or --checkpoints", "start anew without --resume"});
  EXPECT_FALSE(fs::exists(path("nothing")));
  write_file_atomic(path("file"), std::string_view("in the way"));
  expect_throws<IoError>(
      [&] { TrainingRun(options("file")).begin(digits()); },
      {"folder: cannot write to the folder '", "a file of that name is in the way"});
  EXPECT_EQ(text_of(path("file")), "in the way");
  {
    TrainingRun first(options("out"));
    first.begin(digits());
    expect_throws<IoError>([&] { TrainingRun(options("out")).begin(digits()); },
                           {"folder: another run is writing to '", "/out'"});
    TrainingRunOptions beside = options("beside");
    beside.checkpoint_folder = path("out/checkpoints");
    expect_throws<IoError>([&] { TrainingRun(beside).begin(digits()); },
                           {"checkpoint_folder: another run is writing to"});
  }
  // What was made for runs that trained nothing is gone.
  EXPECT_FALSE(fs::exists(path("out")));
  EXPECT_FALSE(fs::exists(path("beside")));
  // With the run its locks are gone; and both may be one folder.
  TrainingRunOptions one = options("out");
  one.checkpoint_folder = path("out");
  EXPECT_TRUE(program(one));
  EXPECT_TRUE(fs::exists(path("out/last.ckpt")));
}

TEST_F(TrainingRuns, ANewRunKeepsTheCheckpointOfAStoppedOne) {
  ASSERT_FALSE(program(options("out"), 7));
  const Bytes stopped = read_file(path("out/checkpoints/last.ckpt"));
  TrainingRunOptions writes = options("out");
  writes.outputs = {"made"};
  write_file_atomic(path("out/made"), std::string_view("by the stopped run"));
  {
    TrainingRun run(writes);
    run.begin(digits());
    EXPECT_EQ(run.kept_checkpoint(), path("out/checkpoints/stopped.ckpt"));
    EXPECT_FALSE(run.resumed_from());
    EXPECT_EQ(
        run.begin_text(),
        fmt::format("the checkpoint of a run that was stopped here is kept as {0}/checkpoints/"
                    "stopped.ckpt; to go on with it, name it last.ckpt again and use "
                    "resume\n"
                    "what the run before left here is in {0}/stopped_run\n",
                    path("out").string()));
  }
  EXPECT_EQ(read_file(path("out/checkpoints/stopped.ckpt")), stopped);
  EXPECT_EQ(text_of(path("out/stopped_run/made")), "by the stopped run");
  // With its checkpoint gone, its outputs go too.
  ASSERT_FALSE(program(options("out"), 7));
  {
    TrainingRun run(writes);
    run.begin(digits());
  }
  EXPECT_FALSE(fs::exists(path("out/stopped_run/made")));
  EXPECT_TRUE(fs::exists(path("out/stopped_run/history.csv")));
  // A finished run leaves no stopped checkpoint to keep: its outputs are replaced.
  ASSERT_TRUE(program(options("out")));
  TrainingRun run(options("out"));
  run.begin(digits());
  EXPECT_FALSE(run.kept_checkpoint());
}

TEST_F(TrainingRuns, ADamagedCheckpointIsNamed) {
  ASSERT_FALSE(program(options("out"), 12));
  const fs::path last = path("out/checkpoints/last.ckpt");
  const Archive whole = Archive::read(last);
  const auto resume_with = [&](const char* note, const char* value) {
    auto notes = nlohmann::json::parse(whole.text("notes"));
    if (value == nullptr) {
      notes.erase(note);
    } else {
      notes[note] = value;
    }
    Archive changed = whole;
    changed.add_text("notes", notes.dump());
    changed.write(last);
    TrainingRun run(options("out", true));
    run.begin(digits());
  };
  expect_throws<FormatError>([&] { resume_with("float_accuracy", "much"); },
                             {"last.ckpt' does not say what the training in float came to",
                              "float_accuracy: expected a number, found \"much\""});
  expect_throws<FormatError>([&] { resume_with("float_accuracy", "nan"); }, {"found \"nan\""});
  expect_throws<FormatError>([&] { resume_with("float_history", nullptr); },
                             {"there is no float_history"});
  expect_throws<FormatError>([&] { resume_with("float_history", "{"); }, {"history: expected"});
  expect_throws<InvalidArgument>([&] { resume_with("phase", nullptr); },
                                 {"made with phase unknown, now it is one of float, qat"});
}

TEST_F(TrainingRuns, PhasesHaveAnOrder) {
  TrainingRun run(options("out"));
  Sequential model = small_mlp(0, 784, 8, 10);
  Trainer trainer(model, Adam());
  const auto fit = [&](const char* phase) { return run.fit(phase, trainer, 0); };
  expect_throws<InvalidArgument>([&] { fit("float"); }, {"expected begin() with the data first"});
  expect_throws<InvalidArgument>([&] { static_cast<void>(run.needs("float")); }, {"begin()"});
  run.begin(digits());
  expect_throws<InvalidArgument>([&] { run.begin(digits()); }, {"begin() was called before"});
  expect_throws<InvalidArgument>([&] { fit("int8"); },
                                 {"expected one of the phases float, qat, found \"int8\""});
  expect_throws<InvalidArgument>([&] { fit("qat"); },
                                 {"phase \"qat\" comes after \"float\", which is not finished"});
  expect_throws<InvalidArgument>([&] { run.keep("score", 1.0); }, {"before any phase"});
  EXPECT_TRUE(fit("float"));
  expect_throws<InvalidArgument>([&] { fit("float"); }, {"phase \"float\" is finished"});
  expect_throws<InvalidArgument>([&] { run.keep("score", std::nan("")); }, {"a finite number"});
  expect_throws<InvalidArgument>([&] { run.keep("history", 1.0); }, {"float_history", "taken"});
  expect_throws<InvalidArgument>([&] { run.kept("float", "score"); },
                                 {"phase \"float\" has kept no number \"score\""});
  expect_throws<InvalidArgument>([&] { run.finish(path("file")); },
                                 {"phase \"qat\" is still to be trained"});
  EXPECT_TRUE(fit("qat"));
  write_file_atomic(path("file"), std::string_view("a model"));
  expect_throws<InvalidArgument>([&] { run.finish(path("file"), "{"); }, {"metrics are no JSON"});
  expect_throws<InvalidArgument>([&] { run.finish(path("file"), "[1]"); },
                                 {"expected a JSON object as metrics, found [1]"});
  expect_throws<InvalidArgument>([&] { run.finish(path("file"), R"({"sha256": 1})"); },
                                 {"metrics hold \"sha256\", which the run itself writes"});
  EXPECT_FALSE(fs::exists(path("out/metrics.json")));
}

TEST_F(TrainingRuns, ARunThatCouldNotBeginTrainsNothing) {
  ASSERT_FALSE(program(options("out"), 12));
  const Bytes stopped = read_file(path("out/checkpoints/last.ckpt"));
  TrainingRunOptions changed = options("out", true);
  changed.options["hidden"] = "13";
  TrainingRun run(changed);
  expect_throws<InvalidArgument>([&] { run.begin(digits()); }, {"made with hidden 12"});
  Sequential model = small_mlp(0, 784, 8, 10);
  Trainer trainer(model, Adam());
  expect_throws<InvalidArgument>([&] { static_cast<void>(run.fit("float", trainer, 1)); },
                                 {"expected begin() with the data first"});
  EXPECT_EQ(read_file(path("out/checkpoints/last.ckpt")), stopped);
}

TEST_F(TrainingRuns, AStoppedRunIsDone) {
  TrainingRun run(options("out"));
  run.begin(digits());
  Sequential model = small_mlp(0, 784, 8, 10);
  Trainer trainer(model, Adam(), {.should_stop = [] { return true; }});
  EXPECT_FALSE(run.fit("float", trainer, 1));
  expect_throws<InvalidArgument>([&] { static_cast<void>(run.fit("float", trainer, 1)); },
                                 {"after the run was stopped", "another TrainingRun"});
}

TEST_F(TrainingRuns, OptionsThatMakeNoSenseAreRefusedBeforeAnythingIsMade) {
  const auto expect_refused = [&](const std::string& part, auto change) {
    TrainingRunOptions wrong = options("out");
    change(wrong);
    expect_throws<InvalidArgument>([&] { TrainingRun run(wrong); }, {part});
    EXPECT_FALSE(fs::exists(path("out")));
  };
  expect_refused("expected a folder, found an empty name", [](auto& o) { o.folder.clear(); });
  expect_refused("expected at least one phase", [](auto& o) { o.phases.clear(); });
  expect_refused("as the name of a phase, found \"a_b\"", [](auto& o) { o.phases = {"a_b"}; });
  expect_refused("as the name of a phase, found \"\"", [](auto& o) { o.phases = {""}; });
  expect_refused("two phases are named \"a\"", [](auto& o) { o.phases = {"a", "b", "a"}; });
  expect_refused("\"data\" has a name that the run", [](auto& o) { o.options["data"] = "x"; });
  expect_refused("\"data-hash\" has", [](auto& o) { o.options["data-hash"] = "x"; });
  expect_refused("\"phase\" has a name that the run", [](auto& o) { o.options["phase"] = "x"; });
  expect_refused("\"qat_history\"", [](auto& o) { o.options["qat_history"] = "x"; });
}

}  // namespace
}  // namespace octet::test::training_run_test
