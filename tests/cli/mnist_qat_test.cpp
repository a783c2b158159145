// Whole runs of mnist_qat on small sets, and what they leave behind.

#include <fmt/core.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/tests/cli/mnist_qat.h>
#include <octet/tests/deploy/c_programs.h>
#include <octet/train/data/idx.h>
#include <octet_test_paths.h>

#include <cstdlib>

namespace octet::test::mnist_qat_test {
namespace {

namespace fs = std::filesystem;

void expect_epoch(const nlohmann::json& epoch, std::size_t train_count) {
  for (const char* key :
       {"train_loss", "train_accuracy", "test_accuracy", "seconds", "images_per_second"}) {
    EXPECT_TRUE(epoch.at(key).is_number()) << key;
  }
  EXPECT_GE(epoch.at("train_loss"), 0.0);
  EXPECT_GE(epoch.at("train_accuracy"), 0.0);
  EXPECT_LE(epoch.at("train_accuracy"), 1.0);
  EXPECT_NEAR(epoch.at("seconds").get<double>() * epoch.at("images_per_second").get<double>(),
              static_cast<double>(train_count), 1e-6 * static_cast<double>(train_count));
  const bool is_qat = epoch.at("phase") == "qat";
  EXPECT_EQ(epoch.contains("integer_accuracy"), is_qat);
  if (is_qat) {
    EXPECT_EQ(epoch.at("integer_accuracy"), epoch.at("test_accuracy"));
    EXPECT_EQ(epoch.at("differing_predictions"), 0);
  }
}

/// All that metrics.json promises, of a run of `epochs` and `qat_epochs`.
void expect_metrics(const nlohmann::json& m, std::size_t epochs, std::size_t qat_epochs) {
  ASSERT_EQ(m.at("epochs").size(), epochs + qat_epochs);
  for (std::size_t i = 0; i < m.at("epochs").size(); ++i) {
    const auto& epoch = m.at("epochs")[i];
    EXPECT_EQ(epoch.at("phase"), i < epochs ? "float" : "qat");
    EXPECT_EQ(epoch.at("epoch"), i < epochs ? i + 1 : i - epochs + 1);
    expect_epoch(epoch, m.at("data").at("train"));
  }
  if (epochs > 0) {
    EXPECT_EQ(m.at("float_accuracy"), m.at("epochs")[epochs - 1].at("test_accuracy"));
  }
  if (qat_epochs > 0) {
    EXPECT_EQ(m.at("integer_accuracy"), m.at("epochs").back().at("integer_accuracy"));
    EXPECT_EQ(m.at("acc"), m.at("integer_accuracy"));
  } else {
    EXPECT_EQ(m.at("acc"), m.at("float_accuracy"));
  }
  EXPECT_EQ(m.at("integer_accuracy"), m.at("simulated_accuracy"));
  EXPECT_EQ(m.at("differing_predictions"), 0);
  ASSERT_GE(m.at("layer_differences").size(), 3U);
  for (const auto& layer : m.at("layer_differences")) {
    EXPECT_GE(layer.at("compared"), m.at("data").at("test")) << layer;
    EXPECT_EQ(layer.at("differing"), 0) << layer;
    EXPECT_EQ(layer.at("largest"), 0) << layer;
    EXPECT_EQ(layer.at("mean"), 0.0) << layer;
  }
  EXPECT_GE(m.at("s_per_epoch"), 0.0);
  EXPECT_GT(m.at("seconds"), 0.0);
  EXPECT_GT(m.at("threads"), 0);
}

double accuracy_by_tool(const std::string& model, const std::string& data) {
  const ProcessResult result = run_process({OCTET_TOOL, "eval", model, "--data", data, "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return nlohmann::json::parse(result.out).at("accuracy");
}

TEST_F(MnistQat, LeavesModelsHistoryAndMetrics) {
  const ProcessResult result =
      mnist_qat(small_run("out") + Arguments{"--seed", "3", "--threads", "2"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  const std::string last = result.out.substr(result.out.find("\nfloat 2/2  loss ") + 1);
  EXPECT_TRUE(last.substr(0, last.find('\n')).ends_with(" left")) << "a quantized epoch follows";
  const auto m = metrics("out");
  expect_metrics(m, 2, 1);
  EXPECT_EQ(m.at("seed"), 3);
  EXPECT_EQ(m.at("threads"), 2);
  EXPECT_EQ(m.at("data"), nlohmann::json({{"name", "set"}, {"train", 501}, {"test", 203}}));
  EXPECT_EQ(m.at("rounding"), "fp32");
  EXPECT_EQ(m.at("network"), "mlp");
  EXPECT_EQ(m.at("hidden"), nlohmann::json({12, 7}));
  EXPECT_EQ(m.at("layer_differences")[1].at("name"), "dense");
  EXPECT_EQ(m.at("layer_differences")[1].at("compared"), 203 * 12);
  EXPECT_EQ(m.at("float_bytes"), fs::file_size(path("out/mnist_float.tflite")));
  EXPECT_EQ(m.at("int8_bytes"), fs::file_size(path("out/mnist_int8.tflite")));
  EXPECT_GT(m.at("integer_accuracy"), 0.9);
  EXPECT_EQ(accuracy_by_tool(path("out/mnist_int8.tflite"), path("set")), m.at("integer_accuracy"));
  EXPECT_EQ(accuracy_by_tool(path("out/mnist_float.tflite"), path("set")), m.at("float_accuracy"));

  const std::string csv = text_of(path("out/history.csv"));
  EXPECT_EQ(lines_in(csv), 4);
  EXPECT_EQ(csv.rfind("phase,epoch,learning_rate,train_loss,", 0), 0U);
  expect_mentions(csv, "\nfloat,1,0.01,");
  expect_mentions(csv, "\nfloat,2,0.01,");
  expect_mentions(csv, "\nqat,1,0.0001,");
}

/// The program of docs/example.md, on every image of a set of bytes.
Labels classified_in_c(const CProject& project, const std::string& out, const Dataset& data) {
  project.write("classify_digit.c", text_of(OCTET_EXAMPLES_DIR "/classify_digit.c"));
  const std::string compiler = c_compilers()[0];
  project.build(compiler, joined(kStrict, {"-std=c99", "-O2", "-I", out}), "classify_digit",
                {"classify_digit.c", "mnist_int8.c"});
  const auto size = static_cast<std::size_t>(data.example_shape().size());
  Labels labels;
  for (std::size_t i = 0; i < data.size(); ++i) {
    write_file_atomic(project.path("image"), data.bytes().subspan(i * size, size));
    const auto result = run_process({"/bin/sh", "-c", "\"$0\" < \"$1\"",
                                     project.path("classify_digit"), project.path("image")});
    EXPECT_EQ(result.exit_code, 0);
    labels.push_back(std::stoi(result.out));
  }
  return labels;
}

TEST_F(MnistQat, WritesCSourceThatClassifiesAsTheInterpreter) {
  if (c_compilers().empty()) GTEST_SKIP() << "neither gcc nor clang is here";
  const Dataset test = load_idx(path("set")).test.head(50);
  for (const char* rounding : {"fp32", "single", "double"}) {
    SCOPED_TRACE(rounding);
    const ProcessResult result = mnist_qat(small_run("out") + Arguments{"--rounding", rounding});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const std::string stem = path("out/mnist_int8");
    expect_mentions(result.out, fmt::format("{0}.h, {0}.c\n", stem));
    const CProject project;
    project.write("mnist_int8.h", text_of(stem + ".h"));
    project.write("mnist_int8.c", text_of(stem + ".c"));
    const auto m = metrics("out");
    for (const auto& [key, macro] :
         {std::pair{"c_flash_bytes", "FLASH_BYTES"}, std::pair{"c_ram_bytes", "RAM_BYTES"}}) {
      expect_mentions(text_of(stem + ".h"), std::string("#define MNIST_INT8_") + macro + " " +
                                                std::to_string(m.at(key).get<int>()) + "\n");
    }
    expect_mentions(text_of(stem + ".c"), "mnist_int8_golden_input[4][63]");
    project.build(c_compilers()[0], {"-std=c99", "-DMNIST_INT8_SELFTEST"}, "self_test",
                  {"mnist_int8.c"});
    EXPECT_EQ(project.run("self_test").exit_code, 0);
    Interpreter interpreter(read_tflite(stem + ".tflite"));
    EXPECT_EQ(classified_in_c(project, path("out"), test),
              interpreter.predict(test.features(0, test.size()).span()));
  }
}

TEST_F(MnistQat, SaysWhatItDoes) {
  const ProcessResult result = mnist_qat(small_run("out"));
  for (const char* part :
       {"data: set, 501 training and 203 test examples of [9, 7], 4 classes",
        "dense_2 (Dense)              (None, 4)                 32        ",
        "quant_dense (QuantizeWrapper (None, 12)                773       ", "float 1/2  loss ",
        "float 2/2  loss ", " img/s  test accuracy ", "qat   calibrated  test accuracy: simulated ",
        "qat   1/1  loss ", "0 examples differ", "test accuracy", "model bytes", "training seconds",
        "0 of 203", "layer outputs that differ: 0 of 18270 over 203 examples",
        "input : name input_1, index 0, shape [1, 63], dtype int8, quantization ",
        "output: name dense_2, ", "shape [1, 4], dtype int8, quantization (0.00390625, -128)"}) {
    expect_mentions(result.out, part);
  }
  // No terminal: no bar.
  EXPECT_EQ(result.out.find('\r'), std::string::npos);
}

TEST_F(MnistQat, JsonIsOneLineOnStdout) {
  const ProcessResult result = mnist_qat(small_run("out") + Arguments{"--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(lines_in(result.out), 1);
  EXPECT_EQ(nlohmann::json::parse(result.out), metrics("out"));
  expect_metrics(nlohmann::json::parse(result.out), 2, 1);
  expect_mentions(result.err, "float 1/2  loss ");
}

TEST_F(MnistQat, EveryWayToQuantizeShipsWhatItTrained) {
  ASSERT_EQ(mnist_qat(small_run("default")).exit_code, 0);
  int number = 0;
  for (const Arguments& options :
       {Arguments{"--per-channel"}, Arguments{"--tfmot-ranges"}, Arguments{"--rounding", "single"},
        Arguments{"--rounding", "double"}, Arguments{"--per-channel", "--rounding", "double"},
        Arguments{"--batch-norm", "--dropout", "0.1", "--input-dropout", "0.2"},
        Arguments{"--batch-norm", "--batch-statistics"}, Arguments{"--shift", "2"},
        Arguments{"--weight-bits", "4"}, Arguments{"--activation-bits", "3"},
        Arguments{"--activation-bits", "16"},
        Arguments{"--weight-bits", "2", "--activation-bits", "2", "--full-grid", "--scales",
                  "lsq"}}) {
    SCOPED_TRACE(options.front() + " " + options.back());
    const std::string out = "out" + std::to_string(number++);
    expect_success(mnist_qat(small_run(out) + options));
    const auto m = metrics(out);
    expect_metrics(m, 2, 1);
    EXPECT_EQ(m.at("per_channel"), options.front() == "--per-channel");
    EXPECT_EQ(m.at("tfmot_ranges"), options.front() == "--tfmot-ranges");
    const bool few = options.front() == "--weight-bits";
    EXPECT_EQ(m.at("weight_bits"), few ? std::stoi(options[1]) : 8);
    EXPECT_EQ(m.at("activation_bits"), options.front() == "--activation-bits"
                                           ? std::stoi(options.back())
                                       : options.back() == "lsq" ? 2
                                                                 : 8);
    const bool wide = options.back() == "16";
    EXPECT_EQ(m.contains("c_flash_bytes"), !wide);
    EXPECT_EQ(fs::exists(path(out + "/mnist_int8.c")), !wide);
    EXPECT_EQ(m.at("rounding") == "q15", wide);
    EXPECT_EQ(m.at("full_grid"), options.back() == "lsq");
    EXPECT_EQ(m.at("scales"), few || options.back() == "3" ? "lsq" : "measured");
    if (options.back() == "single" || options.back() == "double") {
      EXPECT_EQ(m.at("rounding"), options.back());
    }
    EXPECT_EQ(accuracy_by_tool(path(out + "/mnist_int8.tflite"), path("set")),
              m.at("integer_accuracy"));
    EXPECT_NE(model(out), model("default"));
  }
}

TEST_F(MnistQat, AConvolutionalNetworkShipsWhatItTrained) {
  write_set(path("images"), 300, 100, 16, 16);
  const auto run = [&](const Arguments& more) {
    return mnist_qat(Arguments{"--data", path("images"), "--out", path("out"), "--batch", "16",
                               "--epochs", "2", "--qat-epochs", "1"} +
                     more);
  };
  expect_success(run({"--network", "lenet5", "--target", "tflm"}));
  const auto m = metrics("out");
  expect_metrics(m, 2, 1);
  EXPECT_EQ(m.at("network"), "lenet5");
  EXPECT_FALSE(m.contains("hidden")) << "which describes the MLP";
  EXPECT_EQ(m.at("rounding"), "double");
  EXPECT_GT(m.at("integer_accuracy"), 0.9);
  EXPECT_EQ(m.at("layer_differences")[1].at("name"), "conv2d");
  EXPECT_EQ(m.at("layer_differences")[1].at("compared"), 100 * 16 * 16 * 6);
  EXPECT_EQ(accuracy_by_tool(path("out/mnist_int8.tflite"), path("images")),
            m.at("integer_accuracy"));
  EXPECT_EQ(accuracy_by_tool(path("out/mnist_float.tflite"), path("images")),
            m.at("float_accuracy"));
  expect_failure(run({"--resume"}), 1, "--resume: the checkpoint was made with --");
}

TEST_F(MnistQat, PhasesMayBeLeftOut) {
  const auto run = [&](const std::string& out, const char* epochs, const char* qat_epochs) {
    const ProcessResult result =
        mnist_qat({"--data", path("set"), "--out", path(out), "--hidden", "12", "--lr", "0.01",
                   "--qat-lr", "0.01", "--epochs", epochs, "--qat-epochs", qat_epochs});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return metrics(out);
  };
  const auto from_scratch = run("a", "0", "3");
  expect_metrics(from_scratch, 0, 3);
  EXPECT_GT(from_scratch.at("integer_accuracy"), 0.7);
  const auto post_training = run("b", "3", "0");
  expect_metrics(post_training, 3, 0);
  EXPECT_EQ(post_training.at("integer_accuracy"), post_training.at("calibrated_integer_accuracy"));
  EXPECT_GT(post_training.at("integer_accuracy"), 0.7);
  const auto neither = run("c", "0", "0");
  expect_metrics(neither, 0, 0);
  EXPECT_EQ(neither.at("s_per_epoch"), 0.0);
  EXPECT_EQ(lines_in(text_of(path("c/history.csv"))), 1);
  EXPECT_TRUE(fs::exists(path("c/mnist_float.tflite")));
}

TEST_F(MnistQat, OddSetsRunToo) {
  write_set(path("tiny"), 1, 1, 1, 1, 1);
  write_set(path("few"), 3, 2, 5, 1, 2);
  write_set(path("wide"), 130, 129, 1, 257, 3);
  for (const std::string name : {"tiny", "few", "wide"}) {
    const ProcessResult result = mnist_qat({"--data", path(name), "--out", path("out"), "--hidden",
                                            "1", "--epochs", "1", "--qat-epochs", "1"});
    ASSERT_EQ(result.exit_code, 0) << name << ": " << result.err;
    expect_metrics(metrics("out"), 1, 1);
  }
}

TEST_F(MnistQat, RealMnist) {
  const char* folder = std::getenv("OCTET_MNIST_DIR");
  if (folder == nullptr || *folder == '\0') GTEST_SKIP() << "OCTET_MNIST_DIR is not set";
  expect_success(
      mnist_qat({"--data", folder, "--out", path("out"), "--epochs", "1", "--qat-epochs", "1"}));
  const auto m = metrics("out");
  expect_metrics(m, 1, 1);
  EXPECT_GT(m.at("integer_accuracy"), 0.95);
  EXPECT_GE(m.at("calibrated_integer_accuracy"), m.at("float_accuracy").get<double>() - 0.005);
  const std::string file = path("out/mnist_int8.tflite");
  EXPECT_EQ(accuracy_by_tool(file, folder), m.at("integer_accuracy"));

  // The checkpoint of the training run and the file, every layer, all images; and another contract
  // is another function, so that the comparison is known to be able to fail.
  const auto verify = [&](const Arguments& models, int exit_code) {
    const ProcessResult compared = run_process(Arguments{OCTET_TOOL, "verify"} + models +
                                               Arguments{"--data", folder, "--layers", "--json"});
    EXPECT_EQ(compared.exit_code, exit_code) << compared.err;
    return nlohmann::json::parse(compared.out).at("total");
  };
  const auto same = verify({path("out/checkpoints/last.ckpt"), file}, 0);
  EXPECT_EQ(same.at("compared"), 11880000);
  EXPECT_EQ(same.at("differing"), 0);
  const auto crossed = verify({file, file, "--rounding-b", "double"}, 1);
  EXPECT_GT(crossed.at("differing"), 100);
  EXPECT_LT(crossed.at("share"), 0.005);
}

}  // namespace
}  // namespace octet::test::mnist_qat_test
