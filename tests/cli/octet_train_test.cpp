// `octet train` as its users run it.

#include <octet/core/file.h>
#include <octet/core/random.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/import/tflite/import_tflite.h>
#include <octet/layers/architecture.h>
#include <octet/tests/cli/mnist_qat.h>
#include <octet/tests/train/data/npy_files.h>
#include <octet/train/load_model.h>
#include <octet_test_paths.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

namespace octet::test::octet_train_test {
namespace {

class OctetTrain : public MnistQat {
 protected:
  ProcessResult train(const std::string& out, const Arguments& more) const {
    return run_process(Arguments{OCTET_TOOL, "train"} + small_run(out) + more, plain_environment());
  }
  /// What small_run() is but for the network.
  ProcessResult train_file(const std::string& file, const std::string& out,
                           const Arguments& more) const {
    return run_process(Arguments{OCTET_TOOL, "train", file, "--data", path("set"), "--out",
                                 path(out), "--lr", "0.01", "--batch", "32"} +
                           more,
                       plain_environment());
  }
};

TEST_F(OctetTrain, MakesTheModelOfMnistQatAndWritesEveryFormat) {
  expect_success(train("out", {}));
  ASSERT_EQ(mnist_qat(small_run("example")).exit_code, 0);
  // The files differ in the model's name alone.
  EXPECT_EQ(read_file(path("out/model_int8.tflite")).size(), model("example").size());
  EXPECT_EQ(metrics("out").at("sha256").at("history"),
            metrics("example").at("sha256").at("history"));
  for (const char* file : {"model_float.tflite", "model_int8.onnx", "model_int8.c", "model_int8.h",
                           "history.csv", "checkpoints/last.ckpt"}) {
    EXPECT_TRUE(std::filesystem::exists(path("out") + "/" + file)) << file;
  }
}

TEST_F(OctetTrain, WritesAReportUnlessToldNotTo) {
  for (const auto& [more, page] : std::vector<std::pair<Arguments, std::string>>{
           {{}, "out/report.html"},
           {{"--report", path("page.html")}, "page.html"},
           {{"--no-report"}, ""}}) {
    const ProcessResult result = train("out", more);
    expect_success(result);
    EXPECT_EQ(std::filesystem::exists(path("out/report.html")), page == "out/report.html");
    EXPECT_EQ(std::filesystem::exists(path("page.html")), page == "page.html");
    EXPECT_EQ(std::filesystem::exists(path("out/checkpoints/float.ckpt")), !page.empty());
    if (page.empty()) continue;
    expect_mentions(text_of(path(page)), "mlp on set");
    expect_mentions(result.out, "verdict: ");
    std::filesystem::remove_all(path("out"));
    std::filesystem::remove(path("page.html"));
  }
  expect_one_error(train("out", {"--no-report", "--report", path("page.html")}), 2, "--no-report");
}

TEST_F(OctetTrain, AModelOfAFileIsTrainedOn) {
  ASSERT_EQ(train("out", {}).exit_code, 0);
  const ProcessResult result = train_file(path("out/model_float.tflite"), "on",
                                          {"--epochs", "1", "--qat-epochs", "1", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json found = nlohmann::json::parse(result.out);
  EXPECT_EQ(found.at("file"), path("out/model_float.tflite"));
  EXPECT_FALSE(found.contains("network"));
  EXPECT_EQ(found.at("epochs").size(), 2U);
  EXPECT_GE(found.at("float_accuracy"), metrics("out").at("float_accuracy"));
}

/// What small_run() trains, as JSON.
constexpr const char* kDescribed = R"({"format": 2, "name": "described", "layers": [
  {"name": "in", "type": "InputLayer", "shape": [9, 7], "inputs": []},
  {"name": "flatten", "type": "Flatten", "inputs": ["in"]},
  {"name": "dense", "type": "Dense", "units": 12, "use_bias": true, "activation": "relu", "inputs": ["flatten"]},
  {"name": "dense_1", "type": "Dense", "units": 7, "use_bias": true, "activation": "relu", "inputs": ["dense"]},
  {"name": "dense_2", "type": "Dense", "units": 4, "use_bias": true, "activation": "softmax",
   "inputs": ["dense_1"]}], "outputs": ["dense_2"]})";

TEST_F(OctetTrain, ANetworkOfAFileIsTrainedFromDrawnWeights) {
  const std::string file = path("net.json");
  write_file_atomic(file, std::string_view(kDescribed));
  const auto train_network = [&](const Arguments& network, const std::string& epochs = "2") {
    return run_process(
        Arguments{OCTET_TOOL, "train", "--data", path("set"), "--out", path("out"), "--lr", "0.01",
                  "--batch", "32", "--epochs", epochs, "--qat-epochs", "0", "--no-report"} +
            network,
        plain_environment());
  };
  expect_success(train_network({"--network", file, "--seed", "5"}, "0"));
  Model drawn = model_from_json(kDescribed);
  drawn.build(5);
  const Tensor x = Tensor::uniform({3, 9, 7}, Random(1), 0.0F, 1.0F);
  EXPECT_TRUE(std::ranges::equal(import_tflite(path("out/model_float.tflite")).forward(x).span(),
                                 drawn.forward(x).span()));
  for (const Arguments& named : {Arguments{"--network", file}, Arguments{file}}) {
    expect_success(train_network(named));
    EXPECT_GT(metrics("out").at("integer_accuracy"), 0.9);
    EXPECT_EQ(metrics("out").at("file"), file);
  }
  // Other files are models with weights.
  const auto accuracy = metrics("out").at("float_accuracy");
  std::filesystem::copy_file(path("out/model_float.tflite"), path("net.tflite"));
  expect_success(train_network({"--network", path("net.tflite")}, "0"));
  EXPECT_EQ(metrics("out").at("float_accuracy"), accuracy);

  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = kDescribed;
    write_file_atomic(path("changed.json"), text.replace(text.find(from), from.size(), to));
    return Arguments{"--network", path("changed.json")};
  };
  for (const auto& [network, exit_code, words] :
       std::vector<std::tuple<Arguments, int, std::string>>{
           {changed("\"Flatten\"", "\"Flattened\""), 1,
            "changed.json: architecture: layer 1, \"flatten\": expected the name of a layer"},
           {{"--network", path("none.json")}, 1, "none.json"},
           {{"--network", "lenet"}, 2, "found lenet; did you mean lenet5?"},
           {{"--network", file, "--hidden", "12"}, 2, "--hidden: describes --network mlp, found "},
           {{"--network", file, "--freeze", "dense"}, 2, "is for a FILE with weights"},
           {{"--finetune", file}, 2, "expected a model with weights, found a description"}}) {
    expect_one_error(train_network(network), exit_code, words);
  }
  expect_one_error(train_network(changed("[9, 7]", "[9, 8]")), 1, "[9, 8]");
  expect_one_error(
      run_process({OCTET_TOOL, "quantize", file, "--data", path("set"), "--out", path("out")}), 2,
      "FILE: expected a model with weights");
  EXPECT_TRUE(std::filesystem::exists(path("out/metrics.json"))) << "an earlier run is left alone";
}

// A format that does not have the model costs no result of a run; files of another run go.
TEST_F(OctetTrain, WhatAFormatDoesNotHaveIsAWarning) {
  write_file_atomic(path("fused.json"), R"({"format": 2, "name": "fused", "layers": [
    {"name": "in", "type": "InputLayer", "shape": [9, 7], "inputs": []},
    {"name": "lstm", "type": "LSTM", "units": 8, "return_sequences": false, "fused": true,
     "inputs": ["in"]},
    {"name": "classes", "type": "Dense", "units": 4, "activation": "softmax", "use_bias": true,
     "inputs": ["lstm"]}], "outputs": ["classes"]})");
  expect_success(train("out", {}));
  const ProcessResult result = run_process(
      {OCTET_TOOL, "train", "--data", path("set"), "--network", path("fused.json"), "--out",
       path("out"), "--rounding", "double", "--lr", "0.01", "--batch", "32", "--epochs", "12"},
      plain_environment());
  expect_success(result);
  EXPECT_NE(result.out.find("no ONNX file was written"), std::string::npos) << result.out;
  EXPECT_EQ(result.out.find("no C source was written"), std::string::npos) << result.out;
  EXPECT_FALSE(std::filesystem::exists(path("out/model_int8.onnx")));
  const auto source = read_file(path("out/model_int8.c"));
  EXPECT_NE(std::string(source.begin(), source.end()).find("UNIDIRECTIONAL_SEQUENCE_LSTM"),
            std::string::npos);
  EXPECT_GT(metrics("out").at("integer_accuracy"), 0.9);
  EXPECT_EQ(metrics("out").at("differing_predictions"), 0);
}

TEST_F(OctetTrain, WithoutEpochsInFloatAFileIsQuantizedAsItIs) {
  ASSERT_EQ(train("out", {}).exit_code, 0);
  ASSERT_EQ(train_file(path("out/model_float.tflite"), "again",
                       {"--epochs", "0", "--qat-epochs", "0", "--calibrate", "96"})
                .exit_code,
            0);
  EXPECT_EQ(metrics("again").at("float_accuracy"), metrics("out").at("float_accuracy"));
  const ProcessResult quantized =
      run_process({OCTET_TOOL, "quantize", path("out/model_float.tflite"), "--data", path("set"),
                   "--out", path("quantized"), "--batch", "32", "--calibrate", "96"},
                  plain_environment());
  ASSERT_EQ(quantized.exit_code, 0) << quantized.err;
  EXPECT_EQ(read_file(path("again/model_int8.tflite")),
            read_file(path("quantized/model_int8.tflite")));
}

// Options that change what is trained, and how a run says so.
TEST_F(OctetTrain, AidsOfTrainingAreOptions) {
  const auto aided = [&](const std::string& out, const Arguments& more) {
    return run_process(
        Arguments{OCTET_TOOL, "train", "--data", path("set"), "--out", path(out), "--hidden", "12",
                  "--lr", "0.01", "--qat-epochs", "1", "--batch", "32", "--json"} +
            more,
        plain_environment());
  };
  const ProcessResult early =
      aided("early", {"--epochs", "40", "--patience", "2", "--plateau", "1", "--class-weights",
                      "balanced", "--augment", "shift=1,noise=0.02,cutout=2"});
  const nlohmann::json found = printed_json(early);
  EXPECT_LT(found.at("epochs").size(), 30U);
  EXPECT_EQ(found.at("patience"), 2);
  EXPECT_EQ(found.at("augment"), R"({"cutout":2.0,"noise":0.02,"shift":1.0})");
  expect_mentions(early.err, " of 40 epochs, goes on with the weights of epoch ");
  expect_mentions(early.err, ": the learning rate falls from 0.01 to 0.001");
  // A rate that fell stands in the history.
  EXPECT_LT(found.at("epochs").at(found.at("epochs").size() - 2).at("learning_rate"), 0.0099);
  const nlohmann::json mixed = printed_json(
      aided("mixed", {"--epochs", "3", "--augment", "mixup=0.2", "--average-weights", "0.5"}));
  EXPECT_GT(mixed.at("integer_accuracy"), 0.5);
  // What contradicts itself leaves an earlier run where it is.
  expect_one_error(aided("mixed", {"--epochs", "3", "--augment", "mixup=0.2", "--loss",
                                   "dense_1=sparse_categorical_cross_entropy"}),
                   2, "mixup trains with cross-entropy of shares of classes");
  EXPECT_EQ(metrics("mixed").at("augment"), R"({"mixup":0.2})");
}

TEST_F(OctetTrain, GradientsOnInt8AndADecayAreOptionsOfARun) {
  expect_success(train("plain", {}));
  const ProcessResult result = train("out", {"--backward", "int8", "--weight-decay", "0.01"});
  expect_success(result);
  expect_mentions(result.out + result.err, "gradients on int8 in all layers with weights\n");
  expect_mentions(result.out + result.err, "largest angle between an int8 and a float gradient: ");
  EXPECT_EQ(metrics("out").at("gradient_angles").at(0).at("layer"), "dense");
  EXPECT_FALSE(metrics("plain").contains("gradient_angles"));
  constexpr const char* kHeading = "Angles between int8 and float gradients";
  expect_mentions(text_of(path("out/report.html")), kHeading);
  EXPECT_EQ(text_of(path("plain/report.html")).find(kHeading), std::string::npos);
  EXPECT_NE(read_file(path("out/model_int8.tflite")), read_file(path("plain/model_int8.tflite")));
  EXPECT_NE(read_file(path("out/model_float.tflite")), read_file(path("plain/model_float.tflite")));
  const ProcessResult other = train("out", {"--backward", "int8", "--resume"});
  EXPECT_EQ(other.exit_code, 1);
  expect_mentions(other.err, "--weight-decay");
  const ProcessResult in_floats = train("out", {"--weight-decay", "0.01", "--resume"});
  EXPECT_EQ(in_floats.exit_code, 1);
  expect_mentions(in_floats.err, "--backward");
  expect_success(train("random", {"--backward", "int8-stochastic", "--weight-decay", "0.01"}));
  EXPECT_NE(read_file(path("random/model_int8.tflite")), read_file(path("out/model_int8.tflite")));
  const ProcessResult to_nearest =
      train("random", {"--backward", "int8", "--weight-decay", "0.01", "--resume"});
  EXPECT_EQ(to_nearest.exit_code, 1);
  expect_mentions(to_nearest.err, "--backward int8-stochastic");
  const ProcessResult none = train("none", {"--backward", "int8", "--simulation", "fake_quant"});
  expect_success(none);
  expect_mentions(
      none.out + none.err,
      "gradients on int8, but in floats in quant_dense, quant_dense_1, quant_dense_2\n");
  EXPECT_FALSE(metrics("none").contains("gradient_angles"));
}

TEST_F(OctetTrain, AnOptimizerIsAnOptionOfARun) {
  expect_success(train("adam", {}));
  expect_success(train("sgd", {"--optimizer", "sgd"}));
  expect_success(train("decay", {"--optimizer", "sgd", "--weight-decay", "0.01"}));
  const auto file = [this](const std::string& out) {
    return read_file(path(out + "/model_float.tflite"));
  };
  EXPECT_NE(file("sgd"), file("adam"));
  EXPECT_NE(file("decay"), file("sgd"));
  const ProcessResult other = train("sgd", {"--resume"});
  EXPECT_EQ(other.exit_code, 1);
  expect_mentions(other.err, "--optimizer");
}

TEST_F(OctetTrain, AFileGetsAnotherHead) {
  ASSERT_EQ(train("out", {}).exit_code, 0);
  write_set(path("other"), 200, 60, 9, 7, 3);
  const ProcessResult result = run_process(
      {OCTET_TOOL, "train", "--finetune", path("out/model_float.tflite"), "--data", path("other"),
       "--out", path("tuned"), "--epochs", "2", "--qat-epochs", "1", "--freeze", "dense*"},
      plain_environment());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  expect_mentions(result.out, "3 units\nfrozen: dense, dense_1\n");
  EXPECT_EQ(metrics("tuned").at("fine_tuned"), true);
  // Outputs for classes that come later have names and rows, and mixed labels shares of them.
  const Arguments wide = {
      OCTET_TOOL,  "train",       "--finetune",    path("out/model_float.tflite"),
      "--data",    path("other"), "--out",         path("wide"),
      "--epochs",  "1",           "--qat-epochs",  "0",
      "--classes", "5",           "--class-names", "a,b,c"};
  expect_one_error(
      run_process(wide + Arguments{"--class-weights", "balanced"}, plain_environment()), 2,
      "--class-weights: expected a model with an output value for each of the 3");
  EXPECT_FALSE(std::filesystem::exists(path("wide")));
  expect_success(run_process(wide + Arguments{"--augment", "mixup=0.2"}, plain_environment()));
  EXPECT_EQ(metrics("wide").at("classes"), nlohmann::json({"a", "b", "c", "3", "4"}));
  const nlohmann::json found =
      printed_json(run_process({OCTET_TOOL, "eval", path("wide/model_int8.tflite"), "--data",
                                path("other"), "--metrics", "confusion", "--json"},
                               plain_environment()));
  EXPECT_EQ(found.at("metrics").at("confusion").size(), 5U);
}

/// Examples of two values that decide on three targets.
void write_arrays(const std::string& folder, const std::function<float(float value)>& target,
                  const std::string& shape = "(300, 3)") {
  std::vector<float> x;
  std::vector<float> y;
  const Tensor drawn = Tensor::uniform({300, 2}, Random(4), -1.0F, 1.0F);
  for (std::size_t i = 0; i < 600; i += 2) {
    const float a = drawn.span()[i];
    const float b = drawn.span()[i + 1];
    x.insert(x.end(), {a, b});
    for (const float value : {a, b, a + b}) y.push_back(target(value));
  }
  std::filesystem::create_directory(folder);
  write_file_atomic(folder + "/x.npy", npy_bytes<float>("<f4", "(300, 2)", x));
  write_file_atomic(folder + "/y.npy", npy_bytes<float>("<f4", shape, y));
}

TEST_F(OctetTrain, TheTaskChoosesTheEndOfANetwork) {
  const auto trained = [&](const std::string& data, const std::string& out,
                           const Arguments& more = {}) {
    return run_process(
        Arguments{OCTET_TOOL, "train", "--data", path(data), "--out", path(out), "--hidden", "24",
                  "--lr", "0.01", "--batch", "32", "--epochs", "12", "--qat-epochs", "1"} +
            more,
        plain_environment());
  };
  const auto evaluated = [&](const std::string& data, const std::string& out,
                             const std::string& metric) {
    return printed_json(run_process({OCTET_TOOL, "eval", path(out + "/model_int8.tflite"), "--data",
                                     path(data), "--metrics", metric, "--json"},
                                    plain_environment()))
        .at("metrics")
        .at(metric)
        .get<double>();
  };
  write_arrays(path("numbers"), [](float value) { return 3.0F * value + 1.0F; });
  const ProcessResult numbers = trained("numbers", "n");
  expect_success(numbers);
  expect_mentions(numbers.out, "task: regression\n");
  EXPECT_GT(evaluated("numbers", "n", "r2"), 0.95);

  write_arrays(path("labels"), [](float value) { return value > 0.0F ? 1.0F : 0.0F; });
  expect_mentions(trained("labels", "l").out, "task: several labels at once\n");
  EXPECT_LT(evaluated("labels", "l", "mean_absolute_error"), 0.1);
  expect_success(trained("labels", "shares", {"--task", "regression"}));
  EXPECT_GT(evaluated("labels", "shares", "r2"), 0.5);

  // Labels of a single class are enough, and others have errors.
  const ProcessResult given_back = trained("set", "r", {"--task", "reconstruction"});
  expect_success(given_back);
  expect_mentions(given_back.out, "task: reconstruction of the examples");
  EXPECT_LT(evaluated("set", "r", "mean_absolute_error"), 0.25);
  EXPECT_EQ(read_tflite(path("r/model_int8.tflite")).metadata.at("octet.task"),
            "\"reconstruction\"");
  expect_success(
      run_process({OCTET_TOOL, "train", path("r/model_float.tflite"), "--data", path("set"),
                   "--out", path("on"), "--epochs", "1", "--qat-epochs", "0"},
                  plain_environment()));
  EXPECT_FALSE(metrics("on").contains("classes"));
  expect_one_error(run_process({OCTET_TOOL, "train", "--network", "lenet5", "--data",
                                path("numbers"), "--out", path("none")},
                               plain_environment()),
                   2, "--network lenet5: expected images or sequences, found examples [2]");

  write_arrays(
      path("places"), [](float value) { return value; }, "(300, 3, 1)");
  for (const auto& [data, more, words] :
       std::vector<std::tuple<const char*, Arguments, const char*>>{
           {"set",
            {"--task", "multi-label"},
            "--task: expected the targets of a multi-label, found class labels"},
           {"numbers",
            {"--task", "classification"},
            "found numbers of shape [3], as of regression"},
           {"set",
            {"--task", "reconstruction", "--shift", "1"},
            "shift: expected targets that have no places"},
           {"places", {}, "--network: expected examples with a class label or a row of numbers"}}) {
    expect_one_error(trained(data, "none", more), 2, words);
    EXPECT_FALSE(std::filesystem::exists(path("none")));
  }
}

TEST_F(OctetTrain, SaysWhatIsWrong) {
  const auto refused = [&](const Arguments& more, std::string_view part) {
    expect_one_error(train_file("net.onnx", "out", more), 2, part);
    EXPECT_FALSE(std::filesystem::exists(path("out")));
  };
  refused({"--network", "lenet5"}, "--network");
  refused({"--hidden", "12"}, "--hidden: describes --network mlp, found net.onnx");
  refused({"--schedule", "cosine", "--qat-lr", "0.5"}, "--schedule: cosine falls");
  const ProcessResult no_data = run_process({OCTET_TOOL, "train", "--out", path("out")});
  EXPECT_EQ(no_data.exit_code, 2);
  expect_mentions(no_data.err, "--data is required");
}

}  // namespace
}  // namespace octet::test::octet_train_test
