// What options of mnist_qat change in a run, and where its data comes from.

#include <octet/tests/cli/mnist_qat.h>
#include <octet_test_paths.h>

namespace octet::test::mnist_qat_options_test {
namespace {

TEST_F(MnistQat, TheBytesDoNotDependOnThreads) {
  for (const char* threads : {"1", "2", "4"}) {
    const Arguments wide = {"--hidden", "301", "--threads", threads};
    Arguments arguments = small_run(std::string("t") + threads);
    arguments.erase(arguments.begin() + 4, arguments.begin() + 6);
    ASSERT_EQ(mnist_qat(arguments + wide).exit_code, 0);
    EXPECT_EQ(metrics(std::string("t") + threads).at("threads"), std::stoi(threads));
  }
  for (const std::string other : {"t2", "t4"}) {
    EXPECT_EQ(model(other), model("t1"));
    EXPECT_EQ(read_file(path(other + "/mnist_float.tflite")),
              read_file(path("t1/mnist_float.tflite")));
    EXPECT_EQ(metrics(other).at("integer_accuracy"), metrics("t1").at("integer_accuracy"));
  }
  ASSERT_EQ(mnist_qat(small_run("a")).exit_code, 0);
  ASSERT_EQ(mnist_qat(small_run("b") + Arguments{"--seed", "1"}).exit_code, 0);
  EXPECT_NE(model("a"), model("b"));
}

TEST_F(MnistQat, CountsWeightsThatSwingWithoutChangingThem) {
  ASSERT_EQ(mnist_qat(small_run("plain")).exit_code, 0);
  const ProcessResult counted = mnist_qat(small_run("counted") + Arguments{"--count-oscillations"});
  ASSERT_EQ(counted.exit_code, 0) << counted.err;
  EXPECT_EQ(model("counted"), model("plain"));
  EXPECT_FALSE(metrics("plain").contains("oscillating_weights"));
  const auto layers = metrics("counted").at("oscillating_weights");
  EXPECT_GE(layers.size(), 2U);
  for (const auto& [layer, share] : layers.items()) {
    EXPECT_GE(share.at("share"), 0.0);
    EXPECT_LE(share.at("share"), 1.0);
    EXPECT_EQ(share.at("frozen"), 0.0);
    expect_mentions(counted.out, layer);
  }
  expect_mentions(counted.out, "oscillating");
}

TEST_F(MnistQat, FreezesWeightsThatSwing) {
  const auto run = [&](const std::string& out, const std::string& above) {
    const ProcessResult result = mnist_qat(
        {"--out", path(out), "--hidden", "8", "--epochs", "0", "--qat-epochs", "1", "--qat-lr",
         "0.02", "--weight-bits", "4", "--scales", "lsq", "--freeze-oscillations", above});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const auto measured = metrics(out);
    double frozen = 0.0;
    for (const auto& layer : measured.at("oscillating_weights")) {
      frozen += layer.at("frozen").get<double>();
    }
    return frozen;
  };
  EXPECT_GT(run("often", "0.03"), 0.0);
  EXPECT_EQ(run("never", "0.99"), 0.0);
}

TEST_F(MnistQat, TheControlTakesTheSameStepsInFloatAndChangesNothing) {
  ASSERT_EQ(mnist_qat(small_run("without")).exit_code, 0);
  const ProcessResult result = mnist_qat(small_run("with") + Arguments{"--control"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  expect_mentions(result.out, "float control");
  EXPECT_EQ(model("with"), model("without"));
  EXPECT_FALSE(metrics("without").contains("control_accuracy"));
  const auto m = metrics("with");
  ASSERT_EQ(m.at("epochs").size(), 4U);
  EXPECT_EQ(m.at("epochs")[2].at("phase"), "control");
  EXPECT_EQ(m.at("epochs")[2].at("test_accuracy"), m.at("control_accuracy"));
  EXPECT_NE(m.at("epochs")[2].at("train_loss"), m.at("epochs")[3].at("train_loss"));
  // A rate that changes nothing leaves the float network as it was.
  ASSERT_EQ(mnist_qat(small_run("still") + Arguments{"--control", "--qat-lr", "1e-30"}).exit_code,
            0);
  EXPECT_EQ(metrics("still").at("control_accuracy"), metrics("still").at("float_accuracy"));
}

TEST_F(MnistQat, FromScratchTheRateIsThatOfFloatTraining) {
  const auto run = [&](const std::string& out, const Arguments& more) {
    const ProcessResult result =
        mnist_qat(Arguments{"--data", path("set"), "--out", path(out), "--hidden", "12", "--lr",
                            "0.01", "--epochs", "0", "--qat-epochs", "2"} +
                  more);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return model(out);
  };
  const Bytes from_scratch = run("a", {});
  EXPECT_EQ(from_scratch, run("b", {"--qat-lr", "0.01"}));
  EXPECT_NE(from_scratch, run("c", {"--qat-lr", "0.0001"}));
}

TEST_F(MnistQat, TakesItsDataFromTheEnvironment) {
  auto environment = plain_environment();
  environment["OCTET_MNIST_DIR"] = path("set");
  const Arguments rest = {"--out", path("out"), "--epochs", "0", "--qat-epochs", "0"};
  ProcessResult result = run_process(Arguments{OCTET_MNIST_QAT} + rest, environment);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(metrics("out").at("data").at("name"), "set");
  // The command line goes before it.
  write_set(path("other"), 30, 10, 3, 3, 2);
  result = run_process(Arguments{OCTET_MNIST_QAT, "--data", path("other")} + rest, environment);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(metrics("out").at("data").at("name"), "other");
}

TEST_F(MnistQat, DrawsDigitsWithoutData) {
  const ProcessResult result =
      mnist_qat({"--out", path("out"), "--epochs", "0", "--qat-epochs", "0", "--hidden", "5"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  expect_mentions(result.out, "data: digits");
  expect_mentions(result.out, "60000 training and 10000 test examples of [28, 28], 10 classes");
  EXPECT_EQ(metrics("out").at("data").at("train"), 60000);
}

TEST_F(MnistQat, AFolderOfDataMayHaveAnyName) {
  const std::string name = "odd\xff name";
  std::filesystem::rename(path("set"), path(name));
  Arguments run = small_run("out");
  run[1] = path(name);
  ASSERT_EQ(mnist_qat(run).exit_code, 0);
  EXPECT_EQ(metrics("out").at("data").at("name"), "odd\xEF\xBF\xBD name");
  EXPECT_EQ(mnist_qat(run + Arguments{"--resume"}).exit_code, 0);
}

}  // namespace
}  // namespace octet::test::mnist_qat_options_test
