// `octet quantize` as its users run it.

#include <fmt/format.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/layers/layers.h>
#include <octet/tests/cli/float_digits.h>
#include <octet/tests/runtime/models.h>
#include <octet/train/load_model.h>
#include <octet_test_paths.h>

#include <string>
#include <tuple>

namespace octet::test::octet_quantize_test {
namespace {

using nlohmann::json;

class OctetQuantize : public FloatDigits {
 protected:
  ProcessResult quantize(const std::string& out, const Arguments& more) const {
    return octet_on_digits("quantize", Arguments{"--out", path(out)} + more);
  }
  double accuracy_of_file(const std::string& out) const {
    return evaluate(read_tflite(path(out + "/model_int8.tflite")), data_.test).accuracy;
  }
};

TEST_F(OctetQuantize, CalibratesAndWritesEveryFormat) {
  const json found = printed_json(
      quantize("out", {"--calibrate", "100", "--json", "--report", path("page.html")}));
  EXPECT_EQ(found.at("float_accuracy"), evaluate(model_, data_.test).accuracy);
  EXPECT_EQ(found.at("integer_accuracy"), accuracy_of_file("out"));
  EXPECT_EQ(found.at("calibrated_integer_accuracy"), found.at("integer_accuracy"));
  EXPECT_EQ(found.at("acc"), found.at("integer_accuracy"));
  EXPECT_EQ(found.at("differing_predictions"), 0);
  EXPECT_EQ(found.at("epochs"), json::array());
  for (const char* file : {"model_float.tflite", "model_int8.onnx", "model_int8.c", "model_int8.h",
                           "history.csv", "metrics.json"}) {
    EXPECT_TRUE(std::filesystem::exists(path("out") + "/" + file)) << file;
  }
  const std::string page = text_of(path("page.html"));
  expect_mentions(page, "float.octet on set");
  // What ships is what was calibrated: one number for both.
  expect_mentions(page, "calibrated");
  EXPECT_EQ(page.find("quantized after training"), std::string::npos);
}

TEST_F(OctetQuantize, FindsRangesAndScalesAsToldTo) {
  const json found = printed_json(
      quantize("out", {"--calibration", "percentile", "--percentile", "99.5", "--input-calibration",
                       "mse", "--weight-calibration", "mse", "--epochs", "1", "--json"}));
  EXPECT_EQ(found.at("calibration"), "percentile");
  EXPECT_EQ(found.at("input_calibration"), "mse");
  EXPECT_EQ(found.at("weight_calibration"), "mse");
  EXPECT_EQ(found.at("percentile"), "99.5");
  EXPECT_EQ(found.at("scales"), "measured");
  const Model measured = load_model(path("out/checkpoints/last.ckpt"));
  const Layer& dense = *measured.layers()[2];
  EXPECT_EQ(measured.layers()[1]->result_quantizer()->type(), "HistogramMse");
  EXPECT_EQ(dense.result_quantizer()->type(), "HistogramPercentile");
  EXPECT_EQ(dense.kernel_quantizer()->type(), "Mse");

  ASSERT_EQ(quantize("lsq", {"--scales", "lsq", "--epochs", "1"}).exit_code, 0);
  const Model learned = load_model(path("lsq/checkpoints/last.ckpt"));
  EXPECT_EQ(learned.layers()[2]->kernel_quantizer()->type(), "Lsq");
  EXPECT_EQ(learned.layers()[2]->result_quantizer()->type(), "Lsq");
}

TEST_F(OctetQuantize, FewBitsLearnScalesAtTheirRateAndSaySo) {
  struct Row {
    Arguments options;
    std::string said;
    double rate;
  };
  const std::string measured = "scales of weights measured, of results measured, learning rate ";
  const std::string learned = "scales of weights lsq, of results lsq, learning rate ";
  int run = 0;
  for (const Row& row : std::vector<Row>{
           {{"--epochs", "1"}, measured + "0.0001", 1e-4},
           {{"--epochs", "1", "--weight-bits", "4"}, learned + "0.001", 1e-3},
           {{"--epochs", "1", "--weight-bits", "3", "--lr", "0.02"}, learned + "0.02", 0.02},
           {{"--weight-bits", "4"}, "", 1e-4}}) {
    SCOPED_TRACE(fmt::format("{}", fmt::join(row.options, " ")));
    const ProcessResult result = quantize(std::to_string(++run), row.options + Arguments{"--json"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const json found = json::parse(result.out);
    EXPECT_EQ(found.at("lr"), row.rate);
    EXPECT_EQ(found.at("scales"), row.said.starts_with(learned) ? "lsq" : "measured");
    if (row.said.empty()) {
      EXPECT_EQ(result.err.find("quantized training"), std::string::npos);
    } else {
      expect_mentions(result.err, "quantized training: " + row.said + "\n");
    }
  }
}

TEST_F(OctetQuantize, TheSameBytesOnAnyNumberOfThreads) {
  for (const char* threads : {"1", "3"}) {
    const ProcessResult result = quantize(
        threads, {"--epochs", "2", "--lr", "0.003", "--batch", "32", "--threads", threads});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    expect_mentions(result.out, "calibrated alone");
    expect_mentions(result.out,
                    fmt::format("{:.2f} %\ncalibrated", 100.0 * accuracy_of_file(threads)));
  }
  EXPECT_EQ(text_of(path("1/model_int8.tflite")), text_of(path("3/model_int8.tflite")));
}

TEST_F(OctetQuantize, ScalesPixelsAsTheFloatModelKnowsThem) {
  const Tensor pixels = data_.test.features(0, data_.test.size());
  std::vector<float> values(pixels.span().begin(), pixels.span().end());
  for (float& value : values) value = (value - 0.25F) / 2.0F;
  const auto labels = data_.test.labels();
  const Dataset scaled =
      Dataset::from_floats("scaled", data_.test.example_shape(), std::move(values),
                           {labels.begin(), labels.end()}, data_.test.classes());
  const json found = printed_json(quantize("out", {"--mean", "0.25", "--std", "2", "--json"}));
  EXPECT_EQ(found.at("float_accuracy"), evaluate(model_, scaled).accuracy);
  const IntegerModel file = read_tflite(path("out/model_int8.tflite"));
  EXPECT_EQ(found.at("integer_accuracy"), evaluate(file, scaled).accuracy);
  // Pixels reach from 0 to 1: their codes from -1/8 to 3/8.
  EXPECT_NEAR(Interpreter(file).get_input_details()[0].quantization.first, 0.5F / 255.0F, 1e-5F);
}

TEST_F(OctetQuantize, CalibratesOnWholeBatchesAndOneMore) {
  const auto bytes_of = [&](const std::string& images) {
    const ProcessResult result = quantize(images, {"--calibrate", images, "--batch", "32"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return text_of(path(images + "/model_int8.tflite"));
  };
  EXPECT_EQ(bytes_of("33"), bytes_of("64"));
  EXPECT_NE(bytes_of("33"), bytes_of("32"));
}

TEST_F(OctetQuantize, ActivationsOf16BitsShipAsInt16) {
  for (const char* epochs : {"0", "1"}) {
    const json found =
        printed_json(quantize(epochs, {"--activation-bits", "16", "--epochs", epochs, "--json"}));
    EXPECT_EQ(found.at("activation_bits"), 16);
    EXPECT_EQ(found.at("rounding"), "q15");
    EXPECT_EQ(found.at("differing_predictions"), 0);
    EXPECT_EQ(found.at("integer_accuracy"), accuracy_of_file(epochs));
    const IntegerModel file = read_tflite(path(std::string(epochs) + "/model_int8.tflite"));
    EXPECT_EQ(rounding_of(file), Rounding::q15);
    EXPECT_EQ(Interpreter(file).get_input_details()[0].dtype, DType::int16);
    const auto logits = static_cast<std::size_t>(file.operators[1].outputs[0]);
    EXPECT_EQ(file.tensors[logits].dtype, DType::int16);
    // The softmax stays in float.
    EXPECT_EQ(Interpreter(file).get_output_details()[0].dtype, DType::float32);
    // Neither can hold them.
    for (const char* other : {".c", ".h", ".onnx"}) {
      EXPECT_FALSE(std::filesystem::exists(path(std::string(epochs) + "/model_int8" + other)));
    }
  }
}

TEST_F(OctetQuantize, ATargetChoosesItsRounding) {
  for (const auto& [target, rounding] :
       {std::pair{"litert", "fp32"}, std::pair{"onnxruntime", "fp32"}, std::pair{"tflm", "double"},
        std::pair{"cmsis-nn", "double"}}) {
    SCOPED_TRACE(target);
    const json found = printed_json(quantize(target, {"--target", target, "--json"}));
    EXPECT_EQ(found.at("rounding"), rounding);
    EXPECT_EQ(found.at("integer_accuracy"), accuracy_of_file(target));
    ASSERT_EQ(quantize(rounding, {"--rounding", rounding}).exit_code, 0);
    EXPECT_EQ(text_of(path(std::string(target) + "/model_int8.tflite")),
              text_of(path(std::string(rounding) + "/model_int8.tflite")));
  }
  const Arguments int16 = {"--activation-bits", "16", "--target"};
  ASSERT_EQ(quantize("int16", int16 + Arguments{"cmsis-nn"}).exit_code, 0);
}

TEST_F(OctetQuantize, ResumingWithOtherScalesOfPixelsIsRefused) {
  ASSERT_EQ(quantize("out", {"--epochs", "1", "--mean", "0.25", "--std", "2"}).exit_code, 0);
  for (const auto& [mean, deviation, named] :
       {std::tuple{"0.25", "3", "--std"}, std::tuple{"0.5", "2", "--mean"}}) {
    const ProcessResult result =
        quantize("out", {"--epochs", "1", "--mean", mean, "--std", deviation, "--resume"});
    EXPECT_EQ(result.exit_code, 1);
    expect_mentions(result.err, std::string("the checkpoint was made with ") + named);
  }
}

TEST_F(OctetQuantize, SearchesTheBitsOfWhatIsConcatenated) {
  Model joined("joined");
  const Value x = joined.input({63});
  const Value a = joined.add(Dense(8, Activation::relu), x);
  const Value b = joined.add(Dense(6, Activation::relu), x);
  joined.output(joined.add(Dense(4, Activation::softmax), joined.add(Concatenate(), {a, b})));
  joined.build(1);
  Trainer(joined, Adam(0.01F), {.batch_size = 32}).fit(data_.train, 2);
  joined.save(path("float.octet"));
  for (const auto& [epochs, scales] : {std::pair{"0", "measured"}, std::pair{"1", "lsq"}}) {
    const ProcessResult result =
        quantize(epochs, {"--flash", "1000", "--epochs", epochs, "--json"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const json found = json::parse(result.out);
    // What is concatenated shares a scale, which is measured; the scales of weights are learned.
    EXPECT_EQ(found.at("scales"), scales);
    EXPECT_EQ(found.at("bits").size(), 3U);
    EXPECT_LE(found.at("shipped_bytes"), 1000);
    EXPECT_EQ(found.at("differing_predictions"), 0);
    if (epochs == std::string("1")) {
      expect_mentions(result.err,
                      "scales of weights lsq, of results measured, learning rate 0.001\n");
    }
  }
  const ProcessResult refused = quantize("none", {"--flash", "10"});
  EXPECT_EQ(refused.exit_code, 1);
  expect_mentions(refused.err, "found 10; try a smaller model\n");
}

TEST_F(OctetQuantize, AResumedRunReportsOnTheFloatModelOfItsFile) {
  const Arguments run = {"--epochs", "1", "--batch", "32"};
  ASSERT_EQ(quantize("whole", run + Arguments{"--report", path("whole.html")}).exit_code, 0);
  ASSERT_EQ(quantize("out", run).exit_code, 0);
  ASSERT_EQ(quantize("out", run + Arguments{"--resume", "--report", path("page.html")}).exit_code,
            0);
  for (const char* page : {"whole.html", "page.html"}) {
    EXPECT_EQ(text_of(path(page)).find("it takes the trained float model"), std::string::npos);
  }
  EXPECT_FALSE(std::filesystem::exists(path("whole/checkpoints/float.ckpt")));
}

TEST_F(OctetQuantize, NamesEveryOperatorOfAFileInOneLine) {
  RawModelBuilder b;
  const std::int32_t x = b.activation("x", {1, 63}, DType::float32);
  const std::int32_t y = b.activation("y", {1, 63}, DType::float32);
  const std::int32_t z = b.activation("z", {1, 63}, DType::float32);
  b.op(OpCode::relu_n1_to_1, {x}, y);
  b.op(OpCode::relu_n1_to_1, {y}, z);
  b.model.inputs = {x};
  b.model.outputs = {z};
  write_file_atomic(path("net.tflite"), to_tflite(b.model));
  const ProcessResult result = run_process(
      {OCTET_TOOL, "quantize", path("net.tflite"), "--data", path("set"), "--out", path("out")},
      plain_environment());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(lines_in(result.err), 1) << result.err;
  expect_mentions(result.err, "not these:   operator 0 (RELU_N1_TO_1, ");
  expect_mentions(result.err, "   operator 1 (RELU_N1_TO_1, ");
}

TEST_F(OctetQuantize, TrainsOneOutputForTwoClasses) {
  write_set(path("set"), 400, 50, 9, 7, 2);
  const DataSplit data = load_idx(path("set"));
  for (const Activation last : {Activation::none, Activation::sigmoid}) {
    const std::string out(to_string(last));
    Sequential model("two", Input({63}), Dense(14, Activation::relu), Dense(1, last));
    model.build(1);
    Trainer(model, Adam(0.01F), {.loss = binary_cross_entropy(), .batch_size = 32})
        .fit(data.train, 2);
    model.save(path("float.octet"));
    const json found = printed_json(quantize(
        out, {"--epochs", "1", "--batch", "32", "--json", "--report", path(out + ".html")}));
    EXPECT_EQ(found.at("float_accuracy"), evaluate(model, data.test).accuracy);
    EXPECT_GT(found.at("float_accuracy"), 0.9);
    EXPECT_GT(found.at("integer_accuracy"), 0.9);
    EXPECT_EQ(found.at("differing_predictions"), 0);
  }
}

TEST_F(OctetQuantize, SaysWhatIsWrong) {
  const auto failure = [&](const Arguments& arguments, int exit_code, std::string_view part) {
    expect_one_error(quantize("out", arguments), exit_code, part);
    EXPECT_FALSE(std::filesystem::exists(path("out")));
  };
  failure({"--mean", "1,2"}, 2, "--mean: expected one number, or one for each of the 7 channels");
  failure({"--mean", "1,2"}, 2, "found 2 (see octet quantize --help)\n");
  failure({"--std", "0"}, 2, "--std");
  failure({"--weight-bits", "1"}, 2, "--weight-bits");
  failure({"--calibration", "magic"}, 2, "--calibration");
  failure({"--weight-calibration", "entropy"}, 2, "--weight-calibration");
  failure({"--percentile", "0"}, 2, "--percentile");
  failure({"--scales", "pact"}, 2, "--scales");
  failure({"--rounding", "single", "--target", "tflm"}, 2, "--target");
  failure({"--target", "gpu"}, 2, "--target");
  failure({"--packed"}, 2, "--packed: asks for a --target");
  failure({"--activation-bits", "9"}, 2, "--activation-bits");
  for (const Arguments& other : std::vector<Arguments>{{"--rounding", "double"},
                                                       {"--packed"},
                                                       {"--flash", "900"},
                                                       {"--max-drop", "1"},
                                                       {"--target", "litert"}}) {
    failure(Arguments{"--activation-bits", "16"} + other, 2,
            "found --activation-bits 16; use 2 to 8 bits or leave it out");
  }
  failure({"--resume"}, 1, "--resume");
  quantize_model(model_).save(path("float.octet"));
  failure({}, 1, "is quantized already");
}

}  // namespace
}  // namespace octet::test::octet_quantize_test
