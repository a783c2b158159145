// `octet train` on data in parts, data that cannot all be read or kept, and tables.

#include <fmt/format.h>
#include <octet/core/file.h>
#include <octet/core/random.h>
#include <octet/tests/cli/mnist_qat.h>
#include <octet/tests/train/data/wav_files.h>
#include <octet/train/data/wav_folder.h>
#include <octet_test_paths.h>

#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

namespace octet::test::octet_train_data_test {
namespace {

using OctetTrainData = MnistQat;

TEST_F(OctetTrainData, AValidationPartDecidesAndATestPartIsScored) {
  // Class and value go together, in the validation part the other way round.
  for (const auto& [part, count, swapped] : std::vector<std::tuple<std::string, int, bool>>{
           {"train", 40, false}, {"val", 10, true}, {"test", 20, false}}) {
    for (const char* name : {"a", "b"}) {
      std::filesystem::create_directories(path("parts/" + part + "/" + name));
      for (int i = 0; i < count; ++i) {
        const double value = ((*name == 'a') == swapped ? 1.0 : -1.0) + 0.01 * i;
        const std::string text = fmt::format("x\n{}\n{}\n", value, value);
        write_file_atomic(fmt::format("{}/parts/{}/{}/{}.csv", path("."), part, name, i),
                          std::string_view(text));
      }
    }
  }
  const ProcessResult result = run_process(
      {OCTET_TOOL, "train", "--data", path("parts"), "--out", path("out"), "--hidden", "8", "--lr",
       "0.05", "--batch", "8", "--epochs", "30", "--qat-epochs", "1", "--patience", "2"},
      plain_environment());
  expect_success(result);
  expect_mentions(result.out, "epochs are scored on 20 validation examples");
  expect_mentions(result.out, "  validation accuracy ");
  const nlohmann::json found = metrics("out");
  EXPECT_EQ(found.at("data"),
            nlohmann::json({{"name", "parts"}, {"train", 80}, {"test", 40}, {"validation", 20}}));
  EXPECT_GT(found.at("integer_accuracy"), 0.9);
  EXPECT_LT(found.at("epochs").back().at("integer_accuracy"), 0.1);
  EXPECT_FALSE(found.contains("calibrated_integer_accuracy")) << "it is of another set";
  EXPECT_LT(found.at("epochs").size(), 10U) << "the validation part ends training";
  expect_mentions(text_of(path("out/report.html")), "Validation accuracy");
  // A part that is there is not silently left out.
  std::filesystem::remove_all(path("parts/test/a"));
  std::filesystem::remove_all(path("parts/test/b"));
  expect_one_error(run_process({OCTET_TOOL, "train", "--data", path("parts"), "--out", path("out")},
                               plain_environment()),
                   1, "/test': expected files to score on that end in .csv");
}

TEST_F(OctetTrainData, ExamplesThatCannotBeReadAreLeftOutAsManyAsToldTo) {
  std::string rows = "x,class\n";
  for (int i = 0; i < 60; ++i) rows += fmt::format("{},{}\n", i % 2 - 0.5, i % 2);
  rows += "wet,1\n0.5\n";
  write_file_atomic(path("rows.csv"), std::string_view(rows));
  const auto trained = [&](const std::string& most) {
    return run_process(
        {OCTET_TOOL, "train", "--data", path("rows.csv"), "--out", path("out"), "--hidden", "4",
         "--epochs", "1", "--qat-epochs", "0", "--split", "0.5", "--skip-bad", most},
        plain_environment());
  };
  expect_one_error(trained("1"), 1, "rows.csv, line 63: expected 2 fields");
  EXPECT_FALSE(std::filesystem::exists(path("out")));
  const ProcessResult result = trained("2");
  expect_success(result);
  expect_mentions(result.out, "left out: 2 examples that cannot be read\n");
  expect_mentions(result.err, "rows.csv, line 62, column 0");
  EXPECT_EQ(metrics("out").at("skipped_examples"), 2);
  EXPECT_EQ(metrics("out").at("skipped").size(), 2U);
}

TEST_F(OctetTrainData, SoundsThatDoNotFitIntoMemoryGiveTheSameBytes) {
  if (!reads_sounds()) GTEST_SKIP() << "this build reads no sounds (OCTET_SOUNDS)";
  for (std::uint32_t i = 0; i < 60; ++i) {
    const std::string folder = path("sounds/" + std::string(i % 3 == 0 ? "a" : "b"));
    std::filesystem::create_directories(folder);
    std::vector<std::int16_t> samples(80 + i);
    const Random random(i);
    for (std::size_t k = 0; k < samples.size(); ++k) {
      samples[k] = static_cast<std::int16_t>(random.below(k, i % 3 == 0 ? 3000 : 30000));
    }
    write_file_atomic(fmt::format("{}/{}.wav", folder, i), wav_bytes(2000, 1, samples));
  }
  const auto trained = [&](const std::string& out, const std::string& most, const Arguments& more) {
    return run_process(Arguments{OCTET_TOOL,
                                 "train",
                                 "--data",
                                 path("sounds"),
                                 "--out",
                                 path(out),
                                 "--hidden",
                                 "8",
                                 "--length",
                                 "100",
                                 "--split",
                                 "0.7",
                                 "--epochs",
                                 "2",
                                 "--batch",
                                 "8",
                                 "--qat-epochs",
                                 "1",
                                 "--report",
                                 path(out + ".html"),
                                 "--max-data-bytes",
                                 most} +
                           more,
                       plain_environment());
  };
  const Arguments features = {"--front-end", "log-mel", "--frame",        "40",
                              "--frame-hop", "2",       "--mel-channels", "4"};
  for (const Arguments& more : {Arguments{"--normalize"}, features}) {
    const ProcessResult kept = trained("kept", "1000000", more);
    const ProcessResult read = trained("read", "1000", more);
    expect_success(kept);
    expect_success(read);
    expect_mentions(read.out, "examples are read from their files whenever they are needed");
    EXPECT_EQ(kept.out.find("whenever they are needed"), std::string::npos);
    EXPECT_EQ(metrics("read").at("sha256"), metrics("kept").at("sha256"));
    EXPECT_EQ(read_file(path("read/model_int8.tflite")), read_file(path("kept/model_int8.tflite")));
    const auto scored = [&](const std::string& most) {
      return run_process({OCTET_TOOL, "eval", path("read/model_int8.tflite"), "--data",
                          path("sounds"), "--split", "0.7", "--max-data-bytes", most},
                         plain_environment());
    };
    const std::string score = scored("1000").out;
    EXPECT_NE(score.find(" of 18 examples)"), std::string::npos) << score;
    EXPECT_EQ(score.substr(0, score.find(')')), scored("1000000").out.substr(0, score.find(')')));
  }
  expect_one_error(trained("none", "99", features), 2, "more by --max-data-bytes");
  EXPECT_FALSE(std::filesystem::exists(path("none")));
  expect_one_error(trained("none", "1000", {"--task", "reconstruction"}), 1,
                   "expected examples that fit into memory");
}

TEST_F(OctetTrainData, TablesHaveWeightsAndSeveralTargets) {
  std::string all = "x,w,twice,same\n";
  std::string right = "x,twice,same\n";
  for (int i = 0; i < 200; ++i) {
    const double x = (i - 100) / 100.0;
    const bool is_right = i % 2 == 1;
    // Half of the examples are wrong, and weigh nothing.
    all += fmt::format("{},{},{},{}\n", x, is_right ? 2 : 0, is_right ? 2 * x : 9.5, x);
    if (is_right) right += fmt::format("{},{},{}\n", x, 2 * x, x);
  }
  write_file_atomic(path("all.csv"), Bytes(all.begin(), all.end()));
  write_file_atomic(path("right.csv"), Bytes(right.begin(), right.end()));
  const auto trained = [&](const Arguments& more) {
    return run_process(Arguments{OCTET_TOOL,
                                 "train",
                                 "--data",
                                 path("all.csv"),
                                 "--out",
                                 path("table"),
                                 "--hidden",
                                 "16",
                                 "--epochs",
                                 "40",
                                 "--qat-epochs",
                                 "2",
                                 "--lr",
                                 "0.02",
                                 "--batch",
                                 "20",
                                 "--target-column",
                                 "twice,same",
                                 "--weight-column",
                                 "w"} +
                           more,
                       plain_environment());
  };
  const ProcessResult result = trained({});
  expect_success(result);
  expect_mentions(result.out, "task: regression\n");
  const nlohmann::json scored = printed_json(
      run_process({OCTET_TOOL, "eval", path("table/model_int8.tflite"), "--data", path("right.csv"),
                   "--target-column", "twice,same", "--metrics", "mean_absolute_error", "--json"},
                  plain_environment()));
  EXPECT_LT(scored.at("metrics").at("mean_absolute_error"), 0.2);
  expect_one_error(trained({"--augment", "noise=0.2,noise=0.1"}), 2,
                   "expected each name once, found noise twice");
  expect_one_error(trained({"--augment", "mixup=0.2"}), 2,
                   "--augment: expected no mixup with weights of examples");
}

}  // namespace
}  // namespace octet::test::octet_train_data_test
