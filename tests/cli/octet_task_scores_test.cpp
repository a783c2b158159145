// What `octet train` says of how good a model is at its task, and what it and `octet eval` and
// `octet predict` say of anomalies.

#include <fmt/format.h>
#include <octet/core/random.h>
#include <octet/core/tensor.h>
#include <octet/tests/cli/mnist_qat.h>
#include <octet/tests/train/data/npy_files.h>
#include <octet_test_paths.h>

#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace octet::test::octet_task_scores_test {
namespace {

constexpr int kValues = 12;

/// Values on a straight line that each example draws, so that few numbers tell all; `is_worn`: one
/// of them off it.
std::vector<double> machine(bool is_worn, std::uint64_t number) {
  const Random random = Random(7).fork(number);
  const double level = 40.0 + 20.0 * double{random.uniform(0)};
  const double slope = 2.0 * double{random.uniform(1)} - 1.0;
  std::vector<double> values;
  for (int i = 0; i < kValues; ++i) values.push_back(level + slope * i);
  if (is_worn) values[random.below(2, kValues)] += 15.0 + 5.0 * double{random.uniform(3)};
  return values;
}

class OctetTaskScores : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (scratch_.path() / name).string(); }
  nlohmann::json metrics() const {
    return nlohmann::json::parse(text_of(path("out/metrics.json")));
  }

  ProcessResult octet(const std::string& words) const {
    return run_process(Arguments{OCTET_TOOL} + words_of(words), plain_environment());
  }
  ProcessResult train(const std::string& data, const std::string& more) const {
    return octet("train --data " + path(data) + " --out " + path("out") +
                 " --hidden 16,2,16 --lr 0.01 --batch 32 --no-progress " + more);
  }

  /// Examples as records with their state, of which the last `worn` are worn.
  void write_records(const std::string& name, int fine, int worn, std::uint64_t seed) const {
    std::string text;
    for (int i = 0; i < kValues; ++i) text += fmt::format("v{},", i);
    text += "state\n";
    for (int i = 0; i < fine + worn; ++i) {
      const bool is_worn = i >= fine;
      text += fmt::format("{:.3f},{}\n",
                          fmt::join(machine(is_worn, seed + static_cast<std::uint64_t>(i)), ","),
                          is_worn ? "worn" : "fine");
    }
    write_file_atomic(path(name), text);
  }
  /// Examples as a file of one column each, in folders by state.
  void write_folder(const std::string& part, const std::string& state, int count,
                    std::uint64_t seed) const {
    std::filesystem::create_directories(path(part + "/" + state));
    for (int i = 0; i < count; ++i) {
      write_file_atomic(
          path(fmt::format("{}/{}/{}.csv", part, state, i)),
          fmt::format(
              "v\n{:.3f}\n",
              fmt::join(machine(state == "worn", seed + static_cast<std::uint64_t>(i)), "\n")));
    }
  }

  /// What is said of anomalies is one thing in all places, and the integers find them as float
  /// does.
  void expect_anomalies_are_found(const ProcessResult& result, const std::string& data,
                                  const std::string& records) const {
    expect_success(result);
    const nlohmann::json found = metrics();
    const nlohmann::json& auc = found.at("scores").at("roc_auc");
    EXPECT_GT(auc.at("float").get<double>(), 0.95);
    EXPECT_GT(auc.at("integer").get<double>(), auc.at("float").get<double>() - 1e-3);
    EXPECT_EQ(found.at("normal_classes"), nlohmann::json{"fine"});
    const double threshold = found.at("anomaly_threshold");
    EXPECT_GT(threshold, 0.0);
    expect_mentions(result.out, "normal: fine; ");
    expect_mentions(result.out,
                    fmt::format("\n{:<22} {:>14.6g} ", "roc_auc", auc.at("float").get<double>()));
    expect_mentions(result.out, "threshold, 99 %");
    expect_mentions(text_of(path("out/report.html")), "roc_auc");
    expect_mentions(text_of(path("out/model_int8.h")), "#define MODEL_INT8_ANOMALY_THRESHOLD 0.");

    const std::string model = path("out/model_int8.tflite");
    const nlohmann::json said =
        printed_json(octet("eval " + model + " --data " + path(data) + " --json")).at("anomalies");
    EXPECT_EQ(said.at("roc_auc"), auc.at("integer"));
    EXPECT_EQ(said.at("threshold").get<float>(), static_cast<float>(threshold));
    EXPECT_GT(said.at("anomaly_error").get<double>(), said.at("normal_error").get<double>());
    EXPECT_GT(said.at("found").get<int>(), said.at("anomalies").get<int>() / 2);
    expect_mentions(octet("eval " + model + " --data " + path(data)).out,
                    fmt::format("{} anomalies found, ", said.at("anomalies").get<int>()));

    const nlohmann::json each = printed_json(octet("predict " + model + " --json " + records));
    int anomalies = 0;
    for (const nlohmann::json& one : each) {
      EXPECT_EQ(one.at("anomaly"), one.at("error").get<float>() > static_cast<float>(threshold));
      anomalies += one.at("anomaly").get<bool>() ? 1 : 0;
    }
    EXPECT_GT(anomalies, 0);
    EXPECT_LT(anomalies, static_cast<int>(each.size()));
    expect_mentions(octet("predict " + model + " " + records).out, ", anomaly\n");
  }

 private:
  ScratchDirectory scratch_;
};

TEST_F(OctetTaskScores, AnomaliesAreClassesThatOnlyTheTestPartHas) {
  write_folder("set/train", "fine", 400, 0);
  write_folder("set/test", "fine", 60, 1000);
  write_folder("set/test", "worn", 40, 2000);
  const ProcessResult result =
      train("set", "--task reconstruction --normalize --epochs 40 --qat-epochs 5");
  expect_anomalies_are_found(result, "set",
                             path("set/test/fine/0.csv") + " " + path("set/test/worn/0.csv"));
  expect_mentions(result.out, "40 of 100 test examples are anomalies");
  // Learned as classes, they are what no example teaches.
  expect_one_error(train("set", "--epochs 1"), 1, "expected one of the classes fine, found 'worn'");
}

TEST_F(OctetTaskScores, AnomaliesAreClassesThatAreNotNormal) {
  write_records("all.csv", 500, 60, 0);
  write_records("new.csv", 10, 10, 5000);
  expect_anomalies_are_found(train("all.csv",
                                   "--task reconstruction --normal fine --split 0.8 --normalize "
                                   "--epochs 40 --qat-epochs 5"),
                             "all.csv", path("new.csv"));
  expect_one_error(octet(fmt::format("quantize {} --data {} --task classification --out {}",
                                     path("out/model_float.tflite"), path("all.csv"), path("q"))),
                   2, "--task: expected reconstruction, which");
  EXPECT_EQ(metrics().at("data").at("train"), 400);
  expect_mentions(
      train("all.csv", "--task reconstruction --normal fine --epochs 1 --qat-epochs 0").err,
      "warning] --normal: the normal examples that are scored are those that are trained on");
  for (const auto& [more, words] : std::vector<std::pair<std::string, std::string>>{
           {"--normal fine", "--normal: expected --task reconstruction with it"},
           {"--task reconstruction --normal idle",
            "--normal: expected classes that training examples are of, fine, worn, found idle"}}) {
    expect_one_error(train("all.csv", more), 2, words);
  }
  const ProcessResult all = train("all.csv", "--task reconstruction --epochs 1 --qat-epochs 0");
  expect_mentions(all.out, "there is no ROC AUC; if some of these are anomalies, give --normal");
  EXPECT_FALSE(metrics().at("scores").contains("roc_auc"));
}

/// 300 examples of two values in [-1, 1], and what `targets` makes of them.
void write_arrays(const std::string& folder, const Bytes& targets, const Tensor& x) {
  std::filesystem::create_directories(folder);
  write_file_atomic(folder + "/x.npy",
                    npy_bytes<float>("<f4", "(300, 2)", {x.span().begin(), x.span().end()}));
  write_file_atomic(folder + "/y.npy", targets);
}

TEST_F(OctetTaskScores, AreThoseOfTheTask) {
  const Tensor x = Tensor::uniform({300, 2}, Random(4), -1.0F, 1.0F);
  std::vector<float> numbers;
  std::vector<float> flags;
  std::vector<std::int64_t> two;
  std::vector<std::int64_t> four;
  for (std::size_t i = 0; i < 600; i += 2) {
    const float a = x.span()[i];
    const float b = x.span()[i + 1];
    numbers.insert(numbers.end(), {a + b, a - b});
    flags.insert(flags.end(), {a > 0.0F ? 1.0F : 0.0F, b > 0.0F ? 1.0F : 0.0F});
    two.push_back(a > b ? 1 : 0);
    four.push_back((a > 0.0F ? 1 : 0) + (b > 0.0F ? 2 : 0));
  }
  struct Case {
    const char* name;
    Bytes targets;
    std::set<std::string> scores;
  };
  for (const Case& one : std::vector<Case>{
           {"numbers", npy_bytes<float>("<f4", "(300, 2)", numbers), {"r2"}},
           {"flags",
            npy_bytes<float>("<f4", "(300, 2)", flags),
            {"binary_accuracy", "exact_match", "precision", "recall", "f1", "roc_auc"}},
           {"two",
            npy_bytes<std::int64_t>("<i8", "(300,)", two),
            {"precision", "recall", "f1", "roc_auc"}},
           {"four",
            npy_bytes<std::int64_t>("<i8", "(300,)", four),
            {"precision", "recall", "f1", "top_3"}}}) {
    SCOPED_TRACE(one.name);
    write_arrays(path(one.name), one.targets, x);
    const ProcessResult result =
        octet(fmt::format("train --data {} --out {} --hidden 16 --lr 0.02 --batch 16 --epochs 20 "
                          "--qat-epochs 1 --no-progress",
                          path(one.name), path("out")));
    expect_success(result);
    const nlohmann::json found = metrics().at("scores");
    std::set<std::string> names;
    for (const auto& [name, score] : found.items()) {
      names.insert(name);
      for (const char* network : {"float", "integer"}) {
        EXPECT_GT(score.at(network).get<double>(), 0.85) << name;
        EXPECT_LE(score.at(network).get<double>(), 1.0) << name;
      }
      expect_mentions(result.out, "\n" + name + " ");
      expect_mentions(text_of(path("out/report.html")), name);
    }
    EXPECT_EQ(names, one.scores);
    // What `octet eval` counts anew of the file.
    const std::string of_file =
        fmt::format("eval {} --data {}", path("out/model_int8.tflite"), path(one.name));
    if (names.contains("r2") || names.contains("exact_match")) {
      const nlohmann::json scores =
          printed_json(octet(of_file + " --json")).at("outputs").at(0).at("scores");
      EXPECT_EQ(scores.size(), names.size());
      for (const auto& [name, score] : scores.items()) {
        EXPECT_EQ(score, found.at(name).at("integer")) << name;
        expect_mentions(octet(of_file).out,
                        fmt::format(": {} {:.6g}\n", name, score.get<double>()));
      }
    }
    const std::string again = names.contains("r2") ? "r2" : "f1";
    const nlohmann::json said =
        printed_json(octet(fmt::format("{} --metrics {} --json", of_file, again)))
            .at("metrics")
            .at(again);
    if (one.name == std::string("flags")) {
      ASSERT_EQ(said.size(), 2U);
      EXPECT_NEAR((said[0].get<double>() + said[1].get<double>()) / 2.0,
                  found.at(again).at("integer").get<double>(), 1e-12);
      expect_mentions(octet(of_file + " --metrics f1").out,
                      fmt::format("f1 of each label: {:.6g}, {:.6g}\n", said[0].get<double>(),
                                  said[1].get<double>()));
      expect_one_error(octet(of_file + " --metrics top_3"), 2,
                       "expected a score of each of several labels, accuracy, precision, recall, "
                       "f1, roc_auc, found top_3");
      continue;
    }
    EXPECT_EQ(said, found.at(again).at("integer"));
  }
}

TEST_F(OctetTaskScores, AreOfTheTaskThatIsGiven) {
  const Tensor x = Tensor::uniform({300, 2}, Random(4), -1.0F, 1.0F);
  std::vector<std::int64_t> column;
  std::vector<float> shares;
  std::vector<float> rows;
  std::vector<float> late(600, 0.0F);
  for (std::size_t i = 0; i < 600; i += 2) {
    const int label = (x.span()[i] > 0.0F ? 1 : 0) + (x.span()[i + 1] > 0.0F ? 1 : 0);
    column.push_back(label);
    shares.push_back(x.span()[i] > 0.0F ? 1.0F : 0.0F);
    for (int k = 0; k < 3; ++k) rows.push_back(k == label ? 1.0F : 0.0F);
  }
  late.back() = 5.0F;
  const std::string hint =
      "; each target is one of a few classes, which --task classification learns";
  struct Case {
    const char* name;
    Bytes targets;
    std::string options;
    std::string task;
    bool is_accuracy;
  };
  const Bytes whole = npy_bytes<std::int64_t>("<i8", "(300, 1)", column);
  const Bytes zeros_and_ones = npy_bytes<float>("<f4", "(300,)", shares);
  const Bytes one_hot = npy_bytes<float>("<f4", "(300, 3)", rows);
  for (const Case& one : std::vector<Case>{
           {"a", whole, "", "regression" + hint, false},
           {"b", whole, "--task classification", "classification", true},
           {"c", zeros_and_ones, "--task classification --split 0.8",
            "classification of two classes", true},
           {"d", one_hot, "", "several labels at once" + hint, false},
           {"e", one_hot, "--task classification", "classification", true},
           {"f", one_hot, "--task regression", "regression", false},
           {"g", npy_bytes<float>("<f4", "(300, 2)", late), "", "regression", false}}) {
    SCOPED_TRACE(one.name);
    write_arrays(path(one.name), one.targets, x);
    const ProcessResult result =
        train(one.name, one.options + " --epochs 20 --qat-epochs 1 --no-report");
    expect_success(result);
    expect_mentions(result.out, "task: " + one.task + "\n");
    const nlohmann::json found = metrics();
    EXPECT_EQ(found.contains("integer_accuracy"), one.is_accuracy);
    if (one.is_accuracy) {
      EXPECT_GT(found.at("integer_accuracy").get<double>(), 0.7);
    }
    const nlohmann::json said = printed_json(octet("eval " + path("out/model_int8.tflite") +
                                                   " --data " + path(one.name) + " --json"))
                                    .at("outputs")
                                    .at(0);
    const char* score = one.is_accuracy ? "accuracy" : "mean_absolute_error";
    EXPECT_EQ(said.at(score), found.at(std::string("integer_") + score));
  }
  expect_one_error(train("g", "--task classification"), 2,
                   "expected the targets of a classification, found numbers of shape [2]");
  std::string ages = "a,b,age\n";
  for (int i = 0; i < 60; ++i) ages += fmt::format("{},{},{}\n", i, i * i % 7, 20 + i % 40);
  write_file_atomic(path("ages.csv"), ages);
  expect_mentions(train("ages.csv", "--epochs 1 --qat-epochs 0 --no-report").out,
                  "task: classification; the 40 classes are whole numbers, which --numbers learns "
                  "as numbers\n");
}

TEST_F(OctetTaskScores, WholeNumbersThatAreClassesMayHaveNamesAndWeights) {
  Tensor x({300, 2});
  std::vector<float> classes(300);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    classes[i] = static_cast<float>(i % 2);
    x.mutable_span()[2 * i + i % 2] = 1.0F;
  }
  write_arrays(path("whole"), npy_bytes<float>("<f4", "(300,)", classes), x);
  const std::string rest = "--task classification --epochs 1 --qat-epochs 0 --no-report ";
  expect_success(train("whole", rest + "--class-names no,yes --class-weights 0,1"));
  EXPECT_EQ(metrics().at("classes"), nlohmann::json({"no", "yes"}));
  expect_one_error(
      train("whole", "--class-names no,yes"), 2,
      "--class-names: expected examples of one input and one output with class labels");
  expect_one_error(train("whole", rest + "--class-weights 0,0"), 2,
                   "for each of the 2 classes, one of them above 0, found 0,0");
  expect_one_error(train("whole", "--optimizer adma"), 2,
                   "--optimizer: expected one of adam, sgd, found adma; did you mean adam?");
  expect_one_error(octet("eval " + path("out/model_int8.tflite") + " --data " + path("whole") +
                         " --metrics presicion"),
                   2,
                   "--metrics: expected one of confusion, accuracy, top_K, precision, recall, f1, "
                   "iou, dice, roc_auc, mean_absolute_error, r2, found 'presicion'; did you mean "
                   "precision?");
}

TEST_F(OctetTaskScores, OfMasksInFolders) {
  write_file_atomic(path("net.json"),
                    std::string_view(R"({"format": 2, "name": "seg", "outputs": ["out"], "layers": [
    {"inputs": [], "name": "x", "shape": [2, 1, 1], "type": "InputLayer"},
    {"activation": "softmax", "dilation": [1, 1], "filters": 3, "groups": 1, "inputs": ["x"],
     "kernel_size": [1, 1], "name": "out", "padding": "valid", "strides": [1, 1], "type": "Conv2D",
     "use_bias": true}]})"));
  const Tensor x = Tensor::uniform({300, 2}, Random(4), -1.0F, 1.0F);
  std::vector<std::int64_t> mask;
  for (const float value : x.span()) mask.push_back(value < -0.3F ? 0 : value < 0.3F ? 1 : 2);
  const auto write = [&] {
    write_arrays(path("masks"), npy_bytes<std::int64_t>("<i8", "(300, 2)", mask), x);
    write_file_atomic(path("masks/x.npy"), npy_bytes<float>("<f4", "(300, 2, 1, 1)",
                                                            {x.span().begin(), x.span().end()}));
  };
  write();
  const ProcessResult result = octet("train --network " + path("net.json") + " --data " +
                                     path("masks") + " --out " + path("out") +
                                     " --lr 0.05 --batch 16 --epochs 20 "
                                     "--qat-epochs 1 --no-progress");
  expect_success(result);
  const nlohmann::json scores = metrics().at("scores");
  EXPECT_GT(scores.at("accuracy").at("integer").get<double>(), 0.8);
  EXPECT_EQ(printed_json(octet("eval " + path("out/model_int8.tflite") + " --data " +
                               path("masks") + " --metrics iou --json"))
                .at("metrics")
                .at("iou"),
            scores.at("iou").at("integer"));
  mask.back() = 3;
  write();
  expect_one_error(octet("eval " + path("out/model_int8.tflite") + " --data " + path("masks")), 1,
                   "expected a class in [0, 3) for each place of targets [2], found 3");
}

TEST_F(OctetTaskScores, AreHeldAgainstAGuess) {
  const Tensor x = Tensor::uniform({300, 2}, Random(4), -1.0F, 1.0F);
  std::vector<float> numbers;
  std::vector<float> flags;
  for (std::size_t i = 0; i < 600; ++i) {
    numbers.push_back(5.0F + x.span()[i]);
    flags.push_back(i % 60 < 2 ? 1.0F : 0.0F);
  }
  for (const auto& [name, targets, reason] :
       std::vector<std::tuple<const char*, Bytes, const char*>>{
           {"numbers", npy_bytes<float>("<f4", "(300, 2)", numbers),
            "no better than who always says the mean of the targets: mean squared error "},
           {"flags", npy_bytes<float>("<f4", "(300, 2)", flags),
            "no better than who always says what is commonest of each label: binary accuracy "},
           {"one", npy_bytes<std::int64_t>("<i8", "(300,)", std::vector<std::int64_t>(300, 0)),
            "All test targets are the same"}}) {
    SCOPED_TRACE(name);
    write_arrays(path(name), targets, x);
    const ProcessResult result =
        octet(fmt::format("train --data {} --out {} --hidden 16 --lr 1e-6 --epochs 1 --qat-epochs "
                          "0 --no-progress",
                          path(name), path("out")));
    expect_success(result);
    expect_mentions(result.out, std::string("verdict: Do not ship\n"));
    expect_mentions(result.out, reason);
    expect_mentions(text_of(path("out/report.html")), reason);
  }
}

}  // namespace
}  // namespace octet::test::octet_task_scores_test
