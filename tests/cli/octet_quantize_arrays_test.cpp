// `octet quantize` and `octet train` on the named arrays of an .npz file, as their users run them.

#include <fmt/format.h>
#include <octet/compress/bit_search.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/layers/layers.h>
#include <octet/layers/sequential.h>
#include <octet/tests/cli/mnist_qat.h>
#include <octet/tests/cli/npz_files.h>
#include <octet/tests/core/ops/op_testing.h>
#include <octet/tests/deploy/c_programs.h>
#include <octet/tests/import/zip_files.h>
#include <octet/tests/train/data/npy_files.h>
#include <octet/tests/train/two_by_two.h>
#include <octet/train/evaluate.h>
#include <octet_test_paths.h>

#include <limits>
#include <string>
#include <tuple>

namespace octet::test::octet_quantize_arrays_test {
namespace {

using nlohmann::json;

constexpr Index kTrain = 160;
/// More than are scored at a time.
constexpr Index kTest = 1300;

/// Examples of two inputs, x [6] and z [3], with a class of three and a number.
Dataset examples(Index count, std::uint64_t seed) {
  const Tensor x = random_tensor({count, 6}, seed);
  const Tensor z = random_tensor({count, 3}, seed + 100);
  Labels kinds;
  Tensor sizes({count, 1});
  for (Index i = 0; i < count; ++i) {
    const float of_x = x.span()[static_cast<std::size_t>(6 * i)];
    const float of_z = z.span()[static_cast<std::size_t>(3 * i)];
    kinds.push_back(of_x > 0.0F ? (of_z > 0.0F ? 2 : 1) : 0);
    sizes.mutable_data()[i] = of_x - of_z;
  }
  return Dataset::from_tensors("pairs", {x, z}, {kinds, sizes});
}

class OctetQuantizeArrays : public ::testing::Test {
 protected:
  OctetQuantizeArrays() : train_(examples(kTrain, 1)), test_(examples(kTest, 5)) {
    write("train.npz", arrays(train_, true));
    write("test.npz", arrays(test_, true));
    two_by_two().save(path("float.octet"));
  }

  static NamedFiles arrays(const Dataset& data, bool two_outputs) {
    const Batch all = data.batch(0, data.size());
    NamedFiles files = {named("z", all.more_features.front()), named("x", all.features),
                        named("kind", all.targets.labels())};
    if (two_outputs) files.push_back(named("size", all.more_targets.front().values()));
    return files;
  }
  void write(const std::string& name, const NamedFiles& files) const {
    write_file_atomic(path(name), zip_bytes(files, false));
  }
  std::string path(const std::string& name) const { return (scratch_.path() / name).string(); }

  ProcessResult octet(const Arguments& arguments) const {
    return run_process(Arguments{OCTET_TOOL} + arguments, plain_environment());
  }
  ProcessResult quantize(const std::string& out, const Arguments& more) const {
    return octet(Arguments{"quantize", path("float.octet"), "--data", path("train.npz"), "--out",
                           path(out), "--batch", "32"} +
                 more);
  }
  /// What `octet eval` says of the exported file.
  json evaluated(const std::string& out, const std::string& data) const {
    const ProcessResult result =
        octet({"eval", path(out + "/model_int8.tflite"), "--data", path(data), "--json"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return json::parse(result.out).at("outputs");
  }
  void expect_c_source_is_the_file(const std::string& out) const {
    if (c_compilers().empty()) GTEST_SKIP() << "neither gcc nor clang is here";
    const std::string stem = path(out + "/model_int8");
    const ProcessResult verified = octet({"verify", stem + ".tflite", stem + ".c"});
    EXPECT_EQ(verified.exit_code, 0) << verified.out << verified.err;
    expect_mentions(verified.out, "outputs that differ: 0 of ");
    const CProject project;
    project.write("model_int8.h", text_of(stem + ".h"));
    project.write("model_int8.c", text_of(stem + ".c"));
    project.build(c_compilers()[0], {"-std=c99", "-DMODEL_INT8_SELFTEST"}, "self_test",
                  {"model_int8.c"});
    EXPECT_EQ(project.run("self_test").exit_code, 0);
  }

  Dataset train_;
  Dataset test_;

 private:
  ScratchDirectory scratch_;
};

TEST_F(OctetQuantizeArrays, EveryOutputIsTrainedAndScored) {
  const ProcessResult result =
      quantize("out", {"--test-data", path("test.npz"), "--epochs", "3", "--lr", "0.01", "--json",
                       "--report", path("page.html")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json found = json::parse(result.out);
  const json& kind = found.at("outputs")[0];
  const json& size = found.at("outputs")[1];
  const json file = evaluated("out", "test.npz");
  EXPECT_EQ(kind.at("name"), "kind");
  EXPECT_EQ(kind.at("integer_accuracy"), file[0].at("accuracy"));
  EXPECT_EQ(kind.at("simulated_accuracy"), kind.at("integer_accuracy"));
  EXPECT_EQ(size.at("name"), "size");
  EXPECT_EQ(size.at("integer_mean_absolute_error"), file[1].at("mean_absolute_error"));
  EXPECT_EQ(size.at("simulated_mean_absolute_error"), size.at("integer_mean_absolute_error"));
  const auto in_float = evaluate_outputs(two_by_two(), test_);
  EXPECT_EQ(kind.at("float_accuracy"), in_float[0].score());
  EXPECT_EQ(size.at("float_mean_absolute_error"), in_float[1].score());
  EXPECT_TRUE(kind.contains("calibrated_integer_accuracy"));
  EXPECT_LT(size.at("integer_mean_absolute_error"), in_float[1].score());
  EXPECT_EQ(found.at("differing_predictions"), 0);
  EXPECT_FALSE(found.contains("integer_accuracy"));
  EXPECT_FALSE(found.contains("acc"));
  for (const json& layer : found.at("layer_differences")) EXPECT_EQ(layer.at("differing"), 0);
  // What is printed is what eval prints.
  const ProcessResult said =
      octet({"eval", path("out/model_int8.tflite"), "--data", path("test.npz")});
  expect_mentions(said.out, fmt::format("kind: accuracy {:.2f} % (",
                                        100.0 * kind.at("integer_accuracy").get<double>()));
  const std::string row = result.err.substr(result.err.find("\nkind: accuracy "));
  expect_mentions(row.substr(0, row.find('\n', 1) + 1),
                  fmt::format(" {:.2f} %\n", 100.0 * file[0].at("accuracy").get<double>()));
  expect_mentions(result.err,
                  fmt::format(" {:.6g}\n", file[1].at("mean_absolute_error").get<double>()));
  expect_mentions(said.out, fmt::format("size: mean absolute error {:.6g}\n",
                                        file[1].at("mean_absolute_error").get<double>()));
  expect_mentions(result.err,
                  "data: train, 160 training and 1300 test examples of [6] and [3], targets labels "
                  "and [1]\n");
  expect_mentions(text_of(path("out/history.csv")),
                  ",test_loss,kind_loss,size_loss,kind_accuracy,kind_integer_accuracy,");
  // The page has the same numbers, made with the run or after it.
  const std::string page = text_of(path("page.html"));
  expect_mentions(page, "Accuracy or mean absolute error on test, 1300 test examples");
  for (const char* part : {"kind: trained with quantization", "size: quantized after training",
                           "kind: accuracy", "size: loss", "they go by the accuracy of a single"}) {
    expect_mentions(page, part);
  }
  expect_mentions(page, fmt::format(">{:.6g}<", file[1].at("mean_absolute_error").get<double>()));
  expect_mentions(page, fmt::format(">{} of 1300<", file[0].at("correct").get<int>()));
  EXPECT_EQ(page.find("Examples that changed class"), std::string::npos);
  const ProcessResult after = octet({"report", path("out"), "--data", path("train.npz"),
                                     "--test-data", path("test.npz"), "--out", path("after.html")});
  ASSERT_EQ(after.exit_code, 0) << after.err;
  expect_mentions(text_of(path("after.html")),
                  fmt::format(">{} of 1300<", file[0].at("correct").get<int>()));
  expect_c_source_is_the_file("out");
}

TEST_F(OctetQuantizeArrays, OneOutputHasTheNumbersOfAClassifier) {
  two_by_two(/*only_kind=*/true).save(path("float.octet"));
  write("train.npz", arrays(train_, false));
  const ProcessResult result =
      quantize("out", {"--max-drop", "5", "--json", "--report", path("page.html"), "--class-names",
                       "left,right,both"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json found = json::parse(result.out);
  EXPECT_EQ(found.at("integer_accuracy"), evaluated("out", "train.npz")[0].at("accuracy"));
  EXPECT_EQ(found.at("bits").size(), 3U);
  // Layers, sensitivities and classes of several inputs.
  const std::string page = text_of(path("page.html"));
  for (const char* part : {"quantize_layer_1", "Sensitivity of layers", "left", "both",
                           "Examples that changed class"}) {
    expect_mentions(page, part);
  }
  EXPECT_EQ(found.at("acc"), found.at("integer_accuracy"));
  EXPECT_FALSE(found.contains("outputs"));
  expect_mentions(result.err,
                  "accuracy is that on the training examples; --test-data names others\n");
  expect_c_source_is_the_file("out");
}

TEST_F(OctetQuantizeArrays, TrainLearnsInFloatFirstAndComparesWithAControl) {
  const json found =
      printed_json(octet(Arguments{"train", path("float.octet"), "--data", path("train.npz"),
                                   "--test-data", path("test.npz"), "--out", path("out")} +
                         words_of("--batch 32 --epochs 3 --qat-epochs 1 --lr 0.01 --control --loss "
                                  "size=mean_absolute_error --loss-weight size=0.5 --json")));
  const json& kind = found.at("outputs")[0];
  const json& size = found.at("outputs")[1];
  const auto untrained = evaluate_outputs(two_by_two(), test_);
  EXPECT_GT(kind.at("float_accuracy"), untrained[0].score());
  EXPECT_LT(size.at("float_mean_absolute_error"), untrained[1].score());
  EXPECT_TRUE(kind.contains("control_accuracy"));
  EXPECT_TRUE(size.contains("control_mean_absolute_error"));
  // The loss that was asked for is the error that is reported.
  const json& last = found.at("epochs").back();
  const auto metric = [&](const std::string& name) {
    for (const json& each : last.at("metrics")) {
      if (each[0] == name) return each[1].get<double>();
    }
    throw std::out_of_range(name);
  };
  EXPECT_NEAR(metric("size_loss"), size.at("simulated_mean_absolute_error").get<double>(), 1e-6);
  EXPECT_DOUBLE_EQ(metric("test_loss"), metric("kind_loss") + 0.5 * metric("size_loss"));
}

TEST_F(OctetQuantizeArrays, GoesOnWhereItStoppedWithTheSameBytes) {
  const Arguments run = {"--lr", "0.01", "--qat-schedule", "constant", "--loss-weight", "size=2"};
  ASSERT_EQ(quantize("whole", run + Arguments{"--epochs", "3", "--threads", "1"}).exit_code, 0);
  ASSERT_EQ(quantize("out", run + Arguments{"--epochs", "1", "--threads", "2"}).exit_code, 0);
  expect_success(quantize("out", run + Arguments{"--epochs", "3", "--resume"}));
  EXPECT_EQ(text_of(path("out/model_int8.tflite")), text_of(path("whole/model_int8.tflite")));
  const auto scores = [&](const std::string& out) {
    return json::parse(text_of(path(out + "/metrics.json")));
  };
  EXPECT_EQ(scores("out").at("sha256").at("history"), scores("whole").at("sha256").at("history"));
  EXPECT_EQ(scores("out").at("outputs")[1].at("float_mean_absolute_error"),
            scores("whole").at("outputs")[1].at("float_mean_absolute_error"));
  const ProcessResult other =
      quantize("out", {"--lr", "0.01", "--qat-schedule", "constant", "--loss-weight", "size=3",
                       "--epochs", "4", "--resume"});
  EXPECT_EQ(other.exit_code, 1);
  expect_mentions(other.err, "the checkpoint was made with --loss-weight size=2, now it is size=3");
}

TEST_F(OctetQuantizeArrays, AnArrayMayWeighExamples) {
  int runs = 0;
  const auto trained = [&](const std::vector<float>& weights, const std::string& shape) {
    NamedFiles files = arrays(train_, true);
    if (!weights.empty()) {
      files.emplace_back("sample_weight.npy", npy_bytes("<f4", shape, weights));
    }
    write("train.npz", files);
    return quantize(fmt::format("out{}", ++runs), {"--epochs", "1"});
  };
  const auto model = [&](const std::vector<float>& weights) {
    expect_success(trained(weights, fmt::format("({},)", kTrain)));
    return text_of(path(fmt::format("out{}/model_int8.tflite", runs)));
  };
  const std::string plain = model({});
  EXPECT_EQ(model(std::vector<float>(kTrain, 1.0F)), plain);
  std::vector<float> first(kTrain, 0.0F);
  std::fill_n(first.begin(), kTrain / 4, 4.0F);
  EXPECT_NE(model(first), plain);
  const ProcessResult refused =
      trained(std::vector<float>(kTrain, 1.0F), fmt::format("({}, 1)", kTrain));
  EXPECT_EQ(refused.exit_code, 1);
  expect_mentions(refused.err, "\"sample_weight\": expected the weights of examples [n], found");
}

TEST_F(OctetQuantizeArrays, ATensorOfOneOutputHasItsError) {
  Sequential model("line", Input({6}, "x"), Dense(5, Activation::relu),
                   Dense(2, Activation::none, "y"));
  model.build(1);
  model.save(path("float.octet"));
  const NamedFiles files = {named("x", random_tensor({kTrain, 6}, 1)),
                            named("y", random_tensor({kTrain, 2}, 2))};
  write("train.npz", files);
  const ProcessResult result =
      quantize("out", {"--epochs", "1", "--activation-bits", "16", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json found = json::parse(result.out);
  EXPECT_EQ(found.at("integer_mean_absolute_error"),
            evaluated("out", "train.npz")[0].at("mean_absolute_error"));
  EXPECT_FALSE(found.contains("acc"));
  expect_mentions(result.err, "\nmean absolute error ");
}

TEST_F(OctetQuantizeArrays, MasksOfWholeNumbersAreClassesOfPlaces) {
  Sequential model("places", Input({4, 5, 1}, "x"), Conv2D(8, 1, Activation::relu),
                   Conv2D(3, 1, Activation::softmax, {.name = "y"}));
  model.build(1);
  model.save(path("float.octet"));
  const auto arrays = [&](Index count, std::uint64_t seed, std::int32_t highest) {
    const Tensor x = random_tensor({count, 4, 5, 1}, seed);
    Labels mask;
    for (const float value : x.span()) {
      mask.push_back(value < -0.3F ? 0 : value < 0.3F ? 1 : highest);
    }
    return NamedFiles{
        named("x", x),
        {"y.npy", npy_bytes<std::int32_t>("<i4", fmt::format("({}, 4, 5)", count), mask)}};
  };
  write("train.npz", arrays(kTrain, 1, 2));
  write("test.npz", arrays(kTest, 2, 2));
  const ProcessResult result =
      octet({"train", path("float.octet"), "--data", path("train.npz"), "--test-data",
             path("test.npz"), "--out", path("out"), "--batch", "8", "--lr", "0.02", "--epochs",
             "10", "--qat-epochs", "1", "--json"});
  const json found = printed_json(result);
  expect_mentions(result.err, "segmentation: classes of places");
  const json& scores = found.at("scores");
  for (const char* name : {"accuracy", "iou", "dice"}) {
    EXPECT_GT(scores.at(name).at("integer").get<double>(), 0.85) << name;
    expect_mentions(result.err, fmt::format("\n{} ", name));
    EXPECT_EQ(printed_json(octet({"eval", path("out/model_int8.tflite"), "--data", path("test.npz"),
                                  "--metrics", name, "--json"}))
                  .at("metrics")
                  .at(name),
              scores.at(name).at("integer"));
  }
  EXPECT_LT(scores.at("iou").at("integer"), scores.at("dice").at("integer"));
  EXPECT_EQ(found.at("baseline").at("score"), "iou");
  EXPECT_NEAR(found.at("baseline").at("integer").get<double>(),
              scores.at("iou").at("integer").get<double>(), 1e-12);
  write("train.npz", arrays(kTrain, 1, 3));
  const ProcessResult wrong = quantize("none", {});
  EXPECT_EQ(wrong.exit_code, 1);
  expect_mentions(wrong.err, "array \"y\": expected a class in [0, 3) for each place, found 3");
}

TEST_F(OctetQuantizeArrays, TheBitsOfLayersGoByTheSumOfLosses) {
  const BitSearchOptions options{
      .samples = 2000,
      .losses = {{.output = "kind"},
                 {.output = "size", .loss = mean_absolute_error(), .weight = 0.5F}}};
  const BitSearch expected = search_bits(two_by_two(), train_, 300, options);
  const Arguments losses = {"--loss", "size=mean_absolute_error", "--loss-weight", "size=0.5"};
  const Arguments search = {"search", path("float.octet"), "--data", path("train.npz")};
  const ProcessResult found =
      octet(search + losses + Arguments{"--flash", "300", "--json", "--csv", path("bits.csv")});
  ASSERT_EQ(found.exit_code, 0) << found.err;
  const json chosen = json::parse(found.out).at("chosen");
  EXPECT_EQ(chosen.at("loss"), expected.chosen.measured->loss);
  EXPECT_EQ(json::parse(found.out).at("float_loss"), expected.in_float.loss);
  EXPECT_FALSE(chosen.contains("accuracy"));
  EXPECT_EQ(text_of(path("bits.csv")), bit_curve_csv(expected));
  expect_mentions(octet(search + Arguments{"--flash", "300"}).out,
                  "loss on training examples: float ");
  expect_mentions(octet(search + Arguments{"--max-drop", "1"}).err,
                  "expected class labels of one output, found targets for 2 in 'train'");

  const json metrics = printed_json(
      quantize("out", losses + Arguments{"--flash", "300", "--epochs", "1", "--json"}));
  EXPECT_EQ(metrics.at("bits"), chosen.at("bits"));
  EXPECT_LE(metrics.at("shipped_bytes"), 300);
  EXPECT_EQ(metrics.at("differing_predictions"), 0);
  expect_c_source_is_the_file("out");
}

TEST_F(OctetQuantizeArrays, SaysWhatIsWrong) {
  const auto failure = [&](const Arguments& arguments, int exit_code, std::string_view part) {
    expect_one_error(quantize("out", arguments), exit_code, part);
    EXPECT_FALSE(std::filesystem::exists(path("out")));
  };
  for (const auto& [option, value, cure] :
       {std::tuple{"--mean", "0.5", "scale the arrays"}, std::tuple{"--std", "2", "scale"},
        std::tuple{"--shift", "1", "leave it out"}, std::tuple{"--class-names", "a,b,c", "leave"},
        std::tuple{"--max-drop", "1", "use --flash"}}) {
    failure({option, value}, 2,
            fmt::format("{}: expected examples of one input and one output with class labels, "
                        "found 'train' with 2 and 2; {}",
                        option, cure));
  }
  failure({"--loss", "size"}, 2,
          "--loss: expected NAME=VALUE with an output of the model, kind or "
          "size, as NAME, found size");
  failure({"--loss", "x=mean_squared_error"}, 2, "found x=mean_squared_error");
  failure({"--loss", "size=hinge"}, 2, "found \"hinge\"");
  failure({"--loss", "size=mean_squared_error", "--loss", "size=mean_absolute_error"}, 2,
          "expected one value for output size, found two");
  failure({"--loss", "kind=mean_squared_error"}, 1, "does not end in a softmax");
  failure({"--loss-weight", "size=0.5x"}, 2, "--loss-weight: expected a number from 0");
  failure({"--loss-weight", "size=-1"}, 2, "--loss-weight: expected a number from 0 to 1000000");
  // Other labels than those of training.
  write("test.npz", {named("x", random_tensor({4, 6}, 1)), named("z", random_tensor({4, 3}, 2)),
                     named("kind", random_tensor({4, 3}, 3)), named("size", Tensor::ones({4, 1}))});
  failure({"--test-data", path("test.npz")}, 1, "array \"kind\": expected class labels as in ");
  write("train.npz", {named("x", random_tensor({4, 6}, 1)), named("z", random_tensor({4, 3}, 2)),
                      named("kind", Labels{0, 1, 2, 0}), named("size", Tensor::ones({4, 2}))});
  failure({}, 1,
          "array \"size\": expected examples for [1, 1], a batch of the model, found [4, 2]");
  write("train.npz", {named("x", random_tensor({4, 6}, 1)), named("z", random_tensor({4, 3}, 2)),
                      named("kind", Labels{0, 1, 3, 0}), named("size", Tensor::ones({4, 1}))});
  failure({}, 1, "array \"kind\": expected labels below 3, the classes of the output, found 3");
  Tensor holes = random_tensor({4, 6}, 1);
  holes.mutable_at({2, 5}) = std::numeric_limits<float>::quiet_NaN();
  write("train.npz", {named("x", holes), named("z", random_tensor({4, 3}, 2)),
                      named("kind", Labels{0, 1, 2, 0}), named("size", Tensor::ones({4, 1}))});
  failure({}, 1, "array \"x\": expected finite numbers, found nan in row 2");
  write("train.npz", {named("x", Tensor::ones({4, 6})), named("y", Tensor::ones({4, 3}))});
  failure({}, 1,
          "expected an array \"z\" for the input of that name, found y; name arrays as the model "
          "names its inputs, x, z, and outputs, kind, size");
  write_set(path("train.npz.d"), 40, 20);
  const Arguments images = {"quantize", path("float.octet"), "--data", path("train.npz.d"),
                            "--out",    path("out")};
  expect_mentions(octet(images).err, "which has 2 and 2, found ");
  failure({"--length", "5"}, 2, "--length: goes with other data than the arrays of an .npz file");
  EXPECT_FALSE(std::filesystem::exists(path("out")));
}

TEST_F(OctetQuantizeArrays, ExamplesAreDividedByShare) {
  const ProcessResult result = quantize("out", {"--split", "0.75", "--epochs", "1", "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  expect_mentions(result.err, ", 121 training and 39 test examples");
}

TEST_F(OctetQuantizeArrays, ImagesWithChannelsFirstAreRefused) {
  Sequential model("net", Input({4, 5, 3}, "x"), Conv2D(2, 3), Flatten(),
                   Dense(2, Activation::none, "y"));
  model.build(1);
  model.save(path("float.octet"));
  const auto arrays = [&](const Shape& images) {
    write("train.npz", {named("x", random_tensor(images, 1)), named("y", Labels{0, 1, 1, 0})});
  };
  arrays({4, 3, 4, 5});
  const ProcessResult result = quantize("out", {});
  EXPECT_EQ(result.exit_code, 1);
  expect_mentions(result.err,
                  "array \"x\": expected examples for [1, 4, 5, 3], a batch of the model, found "
                  "[4, 3, 4, 5]; transpose it");
  arrays({4, 60});
  EXPECT_EQ(quantize("flat", {}).exit_code, 0);
  arrays({4, 4, 5, 3});
  EXPECT_EQ(quantize("images", {}).exit_code, 0);
  EXPECT_EQ(text_of(path("flat/model_int8.tflite")), text_of(path("images/model_int8.tflite")));
}

}  // namespace
}  // namespace octet::test::octet_quantize_arrays_test
