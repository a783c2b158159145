// `octet predict`, and what models say of the examples that they were trained on.

#include <octet/core/random.h>
#include <octet/tests/cli/octet_tool.h>

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
    std::ofstream rows(path("rows.csv"));
    all << "t,degrees,share,state\n";
    rows << "share,degrees\n";
    for (std::size_t i = 0; i < 400; ++i) {
      const bool out = i % 2 == 1;
      const double radius = out ? 0.7 + 0.3 * random.uniform(2 * i) : 0.5 * random.uniform(2 * i);
      const double angle = 6.2832 * random.uniform(2 * i + 1);
      const double degrees = 100 + 30 * radius * std::cos(angle);
      const double share = 0.5 + 0.01 * radius * std::sin(angle);
      all << i << "," << degrees << "," << share << "," << (out ? R"("worn ""out""")" : "fine")
          << "\n";
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
  std::string model() const { return "'" + path("out/model_int8.tflite") + "' "; }
  nlohmann::json metrics() const {
    return nlohmann::json::parse(text_of(path("out/metrics.json")));
  }
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
  const Result taken =
      octet("eval " + model() + "--data '" + path("all.csv") + "' --split 0.8 --json");
  ASSERT_EQ(taken.exit_code, 0) << taken.err;
  EXPECT_EQ(nlohmann::json::parse(taken.out).at("accuracy"), metrics().at("integer_accuracy"));
  expect_failure("eval " + model() + "--data '" + path("all.csv") + "' --window 3 --columns share",
                 2,
                 "--columns: expected [\"degrees\",\"share\"], with which the model was trained");
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
