// `octet predict`, and what models say of the examples that they were trained on.

#include <fmt/format.h>
#include <octet/core/file.h>
#include <octet/core/random.h>
#include <octet/deploy/example_metadata.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/layers/layers.h>
#include <octet/layers/lower.h>
#include <octet/layers/sequential.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/cli/octet_tool.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/import/zip_files.h>
#include <octet/tests/runtime/models.h>
#include <octet/tests/train/data/npy_files.h>
#include <octet/train/data/data_description.h>
#include <octet/train/data/load_data.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace octet::test::octet_predict_test {
namespace {

/// Two columns in unlike units: rings around (100, 0.5) by their classes.
class OctetPredict : public OctetTool {
 protected:
  void SetUp() override {
    OctetTool::SetUp();
    const Random random(1);
    std::ofstream all(path("all.csv"));
    std::ofstream worn(path("worn.csv"));
    std::ofstream rows(path("rows.csv"));
    all << "t,degrees,share,state\n";
    worn << "t,degrees,share,state\n";
    rows << "share,degrees\n";
    for (std::size_t i = 0; i < 400; ++i) {
      const bool out = i % 2 == 1;
      const double radius = out ? 0.7 + 0.3 * random.uniform(2 * i) : 0.5 * random.uniform(2 * i);
      const double angle = 6.2832 * random.uniform(2 * i + 1);
      const double degrees = 100 + 30 * radius * std::cos(angle);
      const double share = 0.5 + 0.01 * radius * std::sin(angle);
      const std::string record =
          fmt::format("{},{},{},{}\n", i, degrees, share, out ? R"("worn ""out""")" : "fine");
      all << record;
      if (out) worn << record;
      features_.push_back(static_cast<float>(degrees));
      features_.push_back(static_cast<float>(share));
      labels_.push_back(out ? 1 : 0);
      if (i < 20) rows << share << "," << degrees << "\n";
    }
  }

  void train(const std::string& more) {
    const Result result = octet("train --data '" + path("all.csv") +
                                "' --ignore t --split 0.8 --out '" + path("out") +
                                "' --hidden 16 --epochs 25 --qat-epochs 1 --batch 16 "
                                "--lr 0.01 --no-progress " +
                                more);
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
  /// An .npz file of the arrays of a model's input and output.
  void write_arrays(const std::string& name, const std::string& of_model, const Bytes& input,
                    const Bytes& output) const {
    const IntegerModel found = read_tflite(path(of_model));
    const auto array_of = [&](const std::vector<std::int32_t>& ends) {
      return found.tensors[static_cast<std::size_t>(ends[0])].name + ".npy";
    };
    write_file_atomic(
        path(name),
        zip_bytes({{array_of(found.inputs), input}, {array_of(found.outputs), output}}, false));
  }
  double accuracy_on(const std::string& data, const std::string& more = "") const {
    const Result result = octet("eval " + model() + "--data '" + path(data) + "' --json " + more);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const auto found = nlohmann::json::parse(result.out);
    return (found.contains("outputs") ? found.at("outputs").at(0) : found).at("accuracy");
  }
  std::string model() const { return "'" + path("out/model_int8.tflite") + "' "; }
  nlohmann::json metrics() const {
    return nlohmann::json::parse(text_of(path("out/metrics.json")));
  }

  std::vector<float> features_;
  std::vector<std::int32_t> labels_;
};

TEST_F(OctetPredict, SaysClassesOfRecordsWhateverTheirColumnsOrder) {
  train("--normalize");
  EXPECT_NEAR(metrics().at("mean").at(0).get<double>(), 100.0, 3.0);
  EXPECT_EQ(metrics().at("classes"), nlohmann::json({"fine", "worn \"out\""}));
  EXPECT_EQ(metrics().at("examples").at("columns"), nlohmann::json({"degrees", "share"}));
  EXPECT_GT(metrics().at("integer_accuracy").get<double>(), 0.95);
  const Result json = octet("predict " + model() + "'" + path("rows.csv") + "' --json");
  ASSERT_EQ(json.exit_code, 0) << json.err;
  const auto found = nlohmann::json::parse(json.out);
  ASSERT_EQ(found.size(), 20U);
  int right = 0;
  for (int i = 0; i < 20; ++i) {
    const nlohmann::json& one = found.at(static_cast<std::size_t>(i));
    right += one.at("class") == (i % 2 == 1 ? "worn \"out\"" : "fine") ? 1 : 0;
    EXPECT_EQ(one.at("probabilities").size(), 2U);
  }
  EXPECT_GE(right, 18);
  const Result text = octet("predict " + model() + "'" + path("rows.csv") + "' --top 1");
  EXPECT_NE(text.out.find("rows.csv, line 2: fine "), std::string::npos) << text.out;
  EXPECT_EQ(std::count(text.out.begin(), text.out.end(), ','), 20) << text.out;
  // The float model knows as much.
  const Result in_float =
      octet("predict '" + path("out/model_float.tflite") + "' '" + path("rows.csv") + "' --json");
  ASSERT_EQ(in_float.exit_code, 0) << in_float.err;
  EXPECT_EQ(nlohmann::json::parse(in_float.out).at(3).at("class"), found.at(3).at("class"));
  expect_failure("predict " + model() + "'" + path("nothing.wav") + "'", 1, "nothing.wav");
}

TEST_F(OctetPredict, EvalScoresAsTheRunDid) {
  train("--normalize");
  const std::string on_all = "eval " + model() + "--data '" + path("all.csv") + "' ";
  for (const char* more : {"", "--split 0.8 --split-seed 0"}) {
    const Result taken = octet(on_all + more + " --json");
    ASSERT_EQ(taken.exit_code, 0) << taken.err;
    const auto found = nlohmann::json::parse(taken.out);
    EXPECT_EQ(found.at("accuracy"), metrics().at("integer_accuracy"));
    EXPECT_EQ(found.at("samples"), metrics().at("data").at("test"));
    EXPECT_EQ(found.at("is_trained_split"), true);
  }
  expect_mentions(octet(on_all).out,
                  "test examples: those that training kept for the test by --split 0.8 "
                  "--split-seed 0\n");
  expect_failure(on_all + "--split 0.7", 2, "--split: expected 0.8 with --split-seed 0, by which");
  expect_mentions(octet("eval " + model() + "--data '" + path("worn.csv") + "'").out,
                  "test examples: all, since these are not the data that training divided by");
  expect_failure("eval " + model() + "--data '" + path("all.csv") + "' --window 3 --columns share",
                 2,
                 "--columns: expected [\"degrees\",\"share\"], with which the model was trained");
  // A default that is given is no less given.
  expect_failure("eval " + model() + "--data '" + path("all.csv") + "' --frame 30", 2, "--frame");
  // Arrays hold what was measured, too.
  write_arrays("all.npz", "out/model_int8.tflite", npy_bytes<float>("<f4", "(400, 2)", features_),
               npy_bytes<std::int32_t>("<i4", "(400,)", labels_));
  EXPECT_EQ(accuracy_on("all.npz"),
            accuracy_on("all.csv", "--test-data '" + path("all.csv") + "'"));
  // Labels are those of the training, though a class has no examples.
  EXPECT_GT(accuracy_on("worn.csv"), 0.9);
}

TEST_F(OctetPredict, VerifyTakesExamplesAsInTraining) {
  train("--normalize");
  const Result result = octet("verify " + model() + "'" + path("out/checkpoints/last.ckpt") +
                              "' --data '" + path("all.csv") + "' --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto found = nlohmann::json::parse(result.out);
  EXPECT_EQ(found.at("samples"), metrics().at("data").at("test"));
  EXPECT_EQ(found.at("total").at("differing"), 0);
  expect_failure("verify " + model() + model() + "--data '" + path("all.csv") + "' --columns share",
                 2,
                 "--columns: expected [\"degrees\",\"share\"], with which the model was trained");
}

TEST_F(OctetPredict, AFileIsTrainedOnWithTheExamplesOfItsTraining) {
  train("--normalize");
  const std::string file = "'" + path("out/model_float.tflite") + "' ";
  const std::string rest =
      "--data '" + path("all.csv") + "' --split 0.8 --out '" + path("again") + "' ";
  const std::string untrained = "--epochs 0 --qat-epochs 0 --no-progress";
  for (const std::string& command :
       {"train " + file + rest + untrained, "quantize " + file + rest,
        "train --finetune " + file + rest + "--epochs 1 --qat-epochs 0 --no-progress"}) {
    const Result result = octet(command);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto again = nlohmann::json::parse(text_of(path("again/metrics.json")));
    EXPECT_EQ(again.at("mean"), metrics().at("mean"));
    EXPECT_EQ(again.at("examples"), metrics().at("examples"));
    if (command.find("--finetune") != std::string::npos) continue;
    EXPECT_EQ(again.at("float_accuracy"), metrics().at("float_accuracy"));
  }
  for (const char* option : {"--normalize", "--mean 3", "--std 2", "--columns share"}) {
    expect_failure(
        "train " + file + rest + option, 2,
        fmt::format("{}: expected", option).substr(0, std::string_view(option).find(' ')));
  }
}

TEST_F(OctetPredict, WhatAFileSaysOfItsExamplesIsSaidOfTheFile) {
  Sequential network("m", Input({2}), Dense(2));
  network.build(1);
  const std::string described =
      to_text(*load_data(path("all.csv"), {.target_column = "state", .ignored = {"t"}})
                   .train.description());
  const std::string named = path("m.tflite") + ": metadata '";
  const std::string rest =
      "'" + path("m.tflite") + "' --data '" + path("all.csv") + "' --ignore t ";
  const std::string out = "--out '" + path("out") + "' ";
  const std::string of_three = R"({"mean":[1,2,3],"deviation":[]})";
  const std::string unfit = named + kNormalizationKey + "': mean: expected one number, or one";
  for (const auto& [key, text, command, code, words] :
       std::vector<std::tuple<const char*, std::string, std::string, int, std::string>>{
           {kDataKey, described, "train " + rest + out + "--normalize", 2,
            "--normalize: expected the normalization that"},
           {kDataKey, "[", "train " + rest + out + "--mean 3", 1, named + kDataKey + "': "},
           {kNormalizationKey, of_three, "train " + rest + out, 1, unfit},
           {kNormalizationKey, of_three, "eval " + rest, 1, unfit}}) {
    IntegerModel model = lower_float(network);
    model.metadata[key] = text;
    write_tflite(model, path("m.tflite"));
    expect_failure(command, code, words);
  }
  EXPECT_FALSE(std::filesystem::exists(path("out")));
}

TEST_F(OctetPredict, TheNamesOfAModelAreThoseThatItsOutputCanSay) {
  const std::string rest =
      "--data '" + path("worn.csv") + "' --ignore t --out '" + path("out") + "' ";
  Sequential network("m", Input({2}), Dense(1, Activation::sigmoid));
  network.build(1);
  write_tflite(lower_float(network), path("m.tflite"));
  const std::string quantize = "quantize '" + path("m.tflite") + "' " + rest;
  for (const std::string& command : {"train " + rest, quantize}) {
    const Result result = octet(command);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(class_names_of(read_tflite(path("out/model_int8.tflite"))),
              (std::vector<std::string>{"worn \"out\"", "1"}));
  }
}

TEST_F(OctetPredict, FilesThatCannotBeReadAreNamedAndTheOthersAreAnswered) {
  Sequential network("m", Input({2}), Dense(3, Activation::softmax));
  network.build(1);
  write_tflite(lower_float(network), path("m.tflite"));
  std::ofstream(path("good.csv")) << "a,b\n1,2\n";
  std::ofstream(path("bad.csv")) << "a,b\n1,wet\n";
  const auto predicted = [&](const std::string& files) {
    return octet("predict '" + path("m.tflite") + "' " + files);
  };
  const std::string good = "'" + path("good.csv") + "' ";
  const std::string bad = "'" + path("bad.csv") + "' ";
  const Result result = predicted(good + bad + "'" + path("x.gif") + "' " + good);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, predicted(good + good).out);
  EXPECT_EQ(std::ranges::count(result.err, '\n'), 2) << result.err;
  EXPECT_NE(result.err.find("bad.csv, line 2, column 1"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("x.gif: expected a name that ends in"), std::string::npos);
  const Result json = predicted(bad + good + "--json");
  EXPECT_EQ(json.exit_code, 1);
  EXPECT_EQ(nlohmann::json::parse(json.out).size(), 1U);
  expect_failure("predict '" + path("m.tflite") + "' --json " + bad, 1, "bad.csv, line 2");
}

TEST_F(OctetPredict, ARecordThatCannotBeReadLeavesTheOthersAnswered) {
  Sequential network("m", Input({2}), Dense(2));
  network.build(1);
  IntegerModel model = lower_float(network);
  model.metadata[kDataKey] =
      to_text({.format = "CSV",
               .shape = {2},
               .options = {.target_column = "price,mass", .columns = {"b", "a"}}});
  write_tflite(model, path("m.tflite"));
  const std::string predict = "predict '" + path("m.tflite") + "' ";
  std::string rows = "a,b\n1,2\n3,wet\n5,6\n";
  std::ofstream(path("rows.csv")) << rows;
  const Result text = octet(predict + "'" + path("rows.csv") + "'");
  EXPECT_EQ(text.exit_code, 1);
  expect_mentions(text.out, "rows.csv, line 2: price ");
  expect_mentions(text.out, ", mass ");
  expect_mentions(text.out, "rows.csv, line 4: price ");
  EXPECT_EQ(text.err, "octet: " + path("rows.csv") +
                          ", line 3, column 1: 'b': expected a finite number, found 'wet'\n");
  const Result json = octet(predict + "--json '" + path("rows.csv") + "'");
  const auto found = nlohmann::json::parse(json.out);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[1].at("targets").at("mass"), found[1].at("values").at(1));
  // Of many the first are named.
  for (int i = 0; i < 7; ++i) rows += "7\n";
  std::ofstream(path("rows.csv")) << rows;
  const Result many = octet(predict + "'" + path("rows.csv") + "'");
  EXPECT_EQ(many.out, text.out);
  EXPECT_EQ(std::ranges::count(many.err, '\n'), 6) << many.err;
  expect_mentions(many.err, "rows.csv: 3 more examples cannot be read\n");
  // Arrays of an .npz file that are not the input are of no interest.
  write_arrays("x.npz", "m.tflite", npy_bytes<float>("<f4", "(2, 2)", {2, 1, 6, 5}),
               npy_bytes<float>("<f4", "(2, 2)", {0, 0, 0, 0}));
  const Result arrays = octet(predict + "--json '" + path("x.npz") + "'");
  EXPECT_EQ(arrays.exit_code, 0) << arrays.err;
  EXPECT_EQ(nlohmann::json::parse(arrays.out).at(1).at("values"), found[1].at("values"));
  expect_failure(predict + "'" + path("y.csv") + "'", 1, "y.csv");
}

TEST_F(OctetPredict, MetadataThatDoesNotFitTheModelIsRefused) {
  for (const auto& [key, text, words] :
       std::vector<std::tuple<const char*, const char*, const char*>>{
           {kDataKey, R"({"format":"CSV","shape":[5]})",
            "the 4 values of the input [4], found [5]"},
           {kDataKey, R"({"format":"images","shape":[1073741824,2]})", "of the input [4], found"},
           {kNormalizationKey, R"({"mean":[1,2],"deviation":[]})", "mean: expected one number"},
           {kClassesKey, R"(["a","b"])", "each of the 3 classes of the output, found 2"}}) {
    IntegerModel model = make_mlp(1, {4, 3}, false, false);
    model.metadata[key] = text;
    write_tflite(model, path("m.tflite"));
    expect_failure("predict '" + path("m.tflite") + "' '" + path("rows.csv") + "'", 1,
                   path("m.tflite") + ": metadata '" + key + "': ");
    EXPECT_NE(text_of(path("stderr")).find(words), std::string::npos) << text_of(path("stderr"));
  }
}

TEST_F(OctetPredict, SaysClassesWhereAnExampleHasOne) {
  const std::vector<float> values = {0.5F, -1, 2, 0.25F, 1, -2, 0.75F, 3};
  const auto predicted = [&](const Model& model, const std::string& shape, std::ptrdiff_t size,
                             bool has_names = true) {
    const std::vector<float> some(values.begin(), values.begin() + size);
    IntegerModel lowered = lower_float(model);
    if (has_names) {
      lowered.metadata[kClassesKey] = metadata_text(std::vector<std::string>{"a", "b", "c"});
    }
    write_tflite(lowered, path("m.tflite"));
    write_file_atomic(path("x.npy"), npy_bytes<float>("<f4", shape, some));
    const Result result =
        octet("predict '" + path("m.tflite") + "' '" + path("x.npy") + "' --json");
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return std::pair(nlohmann::json::parse(result.out).at(0), Interpreter(lowered).run(some));
  };
  Sequential sigmoids("m", Input({4}), Dense(3, Activation::sigmoid));
  sigmoids.build(1);
  const auto [classes, shares] = predicted(sigmoids, "(4,)", 4);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(classes.at("probabilities").at(std::string(1, static_cast<char>('a' + i))),
                shares[i], 1e-6);
  }
  // Without names they may be any shares, as of several labels at once.
  EXPECT_EQ(predicted(sigmoids, "(4,)", 4, false).first.at("values").size(), 3U);
  Sequential steps("m", Input({2, 4}), Dense(3, Activation::softmax));
  steps.build(1);
  const auto [of_steps, numbers] = predicted(steps, "(2, 4)", 8);
  EXPECT_EQ(of_steps.at("values").size(), 6U) << of_steps;
  // Targets of steps do not move with the steps.
  write_arrays("steps.npz", "m.tflite", npy_bytes<float>("<f4", "(1, 2, 4)", values),
               npy_bytes<float>("<f4", "(1, 2, 3)", numbers));
  expect_failure("train '" + path("m.tflite") + "' --data '" + path("steps.npz") + "' --out '" +
                     path("out") + "' --augment time_shift=1",
                 2, "time_shift: expected targets that have no places");
}

TEST_F(OctetPredict, AMaskOfStepsIsNotChanged) {
  for (const char* name : {"set/down/a.csv", "set/up/a.csv"}) {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name)) << "x\n1\n2\n";
  }
  for (const char* option : {"--augment noise=0.1", "--mean 1", "--std 2"}) {
    expect_failure("train --data '" + path("set") + "' --length 3 --padding mask --out '" +
                       path("out") + "' --network masked_gru " + option,
                   2, "expected data without --padding mask");
  }
  const std::string rest =
      "--data '" + path("set") + "' --length 3 --padding mask --out '" + path("out") + "' ";
  // Nor does a file change it, which says one number for all features.
  Sequential network("m", Input({3, 2}), Flatten(), Dense(2));
  network.build(1);
  IntegerModel model = lower_float(network);
  model.metadata[kNormalizationKey] = metadata_text(Normalization{{3}, {}});
  write_tflite(model, path("m.tflite"));
  expect_failure("train '" + path("m.tflite") + "' " + rest, 2,
                 "of " + path("m.tflite") + ": expected data without --padding mask");
  const Result kept = octet("train " + rest +
                            "--network masked_gru --mean 1.5,0 --std 0.5,1 --epochs 1 "
                            "--qat-epochs 0 --no-progress");
  EXPECT_EQ(kept.exit_code, 0) << kept.err;
}

// Firmware gives values as they were before training normalized them.
TEST_F(OctetPredict, CSourceNormalizesAndNamesClasses) {
  train("--normalize");
  std::ofstream(path("main.c")) << R"(#include <stdio.h>
#include "model_int8.h"

int main(void)
{
    static const char *const names[] = MODEL_INT8_CLASS_NAMES;
    float values[MODEL_INT8_INPUT_SIZE];
    int8_t input[MODEL_INT8_INPUT_SIZE], scores[MODEL_INT8_OUTPUT_SIZE];
    while (scanf("%f,%f", &values[1], &values[0]) == 2) {
        model_int8_quantize_input(values, input);
        model_int8_invoke(input, scores);
        puts(names[scores[1] > scores[0]]);
    }
    return sizeof names / sizeof names[0] != MODEL_INT8_CLASSES;
}
)";
  const std::string folder = path("");
  const std::string command =
      "cd '" + folder +
      "' && cc -std=c99 -Wall -Wextra -Wpedantic -Werror "
      "-Iout main.c out/model_int8.c -o main && tail -n +2 rows.csv | ./main > classes";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const auto found =
      nlohmann::json::parse(octet("predict " + model() + "'" + path("rows.csv") + "' --json").out);
  std::istringstream lines(text_of(path("classes")));
  std::string line;
  for (const nlohmann::json& one : found) {
    ASSERT_TRUE(std::getline(lines, line));
    EXPECT_EQ(line, one.at("class").get<std::string>());
  }
}

}  // namespace
}  // namespace octet::test::octet_predict_test
