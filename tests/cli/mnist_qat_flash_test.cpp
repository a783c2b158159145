// mnist_qat that searches the bits of every layer.

#include <octet/deploy/tflite/reader.h>
#include <octet/runtime/integer_model.h>
#include <octet/tests/cli/parsed_options.h>
#include <octet_test_paths.h>

#include <fmt/core.h>

#include <cstdlib>

namespace octet::test::mnist_qat_flash_test {
namespace {

namespace fs = std::filesystem;

class MnistQatFlash : public MnistQat {
 protected:
  /// 63-24-16-4: 24 (16 + 12) + 16 (6 + 12) + 4 (4 + 12) bytes with 2 bits everywhere.
  static constexpr std::int64_t kLeast = 24 * 28 + 16 * 18 + 4 * 16;

  Arguments run(const std::string& out) const {
    return {"--data", path("set"), "--out", path(out),      "--hidden", "24,16",   "--lr",
            "0.01",   "--epochs",  "3",     "--qat-epochs", "2",        "--batch", "32"};
  }
};

/// Whether every weight of the model's layers is a code of the bits that the metrics name.
void expect_codes_of_bits(const IntegerModel& model, const nlohmann::json& bits) {
  std::size_t layers = 0;
  for (const Operator& op : model.operators) {
    if (op.code != OpCode::fully_connected) continue;
    const ModelTensor& weights = model.tensors.at(static_cast<std::size_t>(op.inputs[1]));
    const std::string layer = layers == 0 ? "dense" : fmt::format("dense_{}", layers);
    const int most = (1 << (bits.at(layer).get<int>() - 1)) - 1;
    int largest = 0;
    for (const std::uint8_t byte : weights.data) {
      largest = std::max(largest, std::abs(static_cast<std::int8_t>(byte)));
    }
    EXPECT_LE(largest, most + 1) << layer;
    // A network that is trained uses what it is given.
    EXPECT_GE(largest, most) << layer;
    ++layers;
  }
  EXPECT_EQ(layers, bits.size());
}

TEST_F(MnistQatFlash, TrainsTheBitsThatFitAndShowsThem) {
  const ProcessResult result = mnist_qat(run("out") + Arguments{"--flash", "1300"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto m = metrics("out");
  EXPECT_EQ(m.at("flash"), 1300);
  EXPECT_FALSE(m.contains("max_drop"));
  EXPECT_LE(m.at("shipped_bytes"), 1300);
  EXPECT_GE(m.at("shipped_bytes"), kLeast);
  EXPECT_EQ(m.at("per_channel"), true);
  EXPECT_EQ(m.at("scales"), "lsq");
  EXPECT_GT(m.at("integer_accuracy"), 0.9);
  EXPECT_EQ(m.at("differing_predictions"), 0);
  EXPECT_EQ(m.at("epochs")[3].at("learning_rate").get<float>(), 0.01F);
  ASSERT_EQ(m.at("bits").size(), 3U);
  expect_codes_of_bits(read_tflite(path("out/mnist_int8.tflite")), m.at("bits"));

  const std::string csv = text_of(path("out/bits.csv"));
  EXPECT_TRUE(csv.starts_with("bytes,predicted_loss,"));
  expect_mentions(csv, ",chosen,dense,dense_1,dense_2\n");
  const std::string shipped = m.at("shipped_bytes").dump();
  const std::string first = m.at("bits").at("dense").dump();
  const std::string chosen = fmt::format(",1,{},{},{}\n", first, m.at("bits").at("dense_1").dump(),
                                         m.at("bits").at("dense_2").dump());
  expect_mentions(csv, chosen);
  expect_mentions(csv, fmt::format("\n{},", shipped));
  EXPECT_TRUE(text_of(path("out/bits.svg")).starts_with("<svg "));
  expect_mentions(result.out, fmt::format("\nbits: dense {}", first));
  expect_mentions(result.out, "layer                    bits        bytes\n");
  expect_mentions(result.out, fmt::format("{} of 1300\n", shipped));
  expect_mentions(result.out, fmt::format("the .tflite file takes {} bytes\n",
                                          fs::file_size(path("out/mnist_int8.tflite"))));
}

TEST_F(MnistQatFlash, ALayerHasTheBitsThatItIsGiven) {
  const ProcessResult result =
      mnist_qat(run("out") + Arguments{"--weight-bits", "2", "--layer-bits", "dense_2=4,dense=3"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto m = metrics("out");
  EXPECT_EQ(m.at("bits"), (nlohmann::json{{"dense", 3}, {"dense_1", 2}, {"dense_2", 4}}));
  expect_codes_of_bits(read_tflite(path("out/mnist_int8.tflite")), m.at("bits"));
  EXPECT_EQ(m.at("differing_predictions"), 0);
  expect_mentions(result.out, fmt::format("{}\n", m.at("shipped_bytes").dump()));
  expect_failure(
      mnist_qat(run("none") + Arguments{"--layer-bits", "output=8"}), 2,
      "--layer-bits: expected a layer with weights, dense, dense_1, dense_2, found 'output'");
  EXPECT_FALSE(fs::exists(path("none/checkpoints/last.ckpt")));
}

TEST_F(MnistQatFlash, ASearchLeavesLayersThatAreGivenBits) {
  const Arguments given = run("out") + Arguments{"--flash", "1500", "--layer-bits", "dense_2=8"};
  const ProcessResult result = mnist_qat(given);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(metrics("out").at("bits").at("dense_2"), 8);
  EXPECT_LE(metrics("out").at("shipped_bytes"), 1500);
  EXPECT_TRUE(text_of(path("out/bits.csv")).find(",chosen,dense,dense_1\n") != std::string::npos);
}

TEST_F(MnistQatFlash, TheBytesDoNotDependOnThreads) {
  for (const char* threads : {"1", "2"}) {
    ASSERT_EQ(
        mnist_qat(run(threads) + Arguments{"--flash", "1500", "--threads", threads}).exit_code, 0);
  }
  EXPECT_EQ(model("1"), model("2"));
  for (const char* file : {"/bits.csv", "/bits.svg"}) {
    EXPECT_EQ(text_of(path("1") + file), text_of(path("2") + file));
  }
}

TEST_F(MnistQatFlash, ADropOfAccuracyFindsTheBytes) {
  // 63-4-4, which 2 bits in the first layer are too few for.
  const auto bytes_for = [&](const std::string& out, const char* points) {
    const ProcessResult result =
        mnist_qat({"--data", path("set"), "--out", path(out), "--hidden", "4", "--lr", "0.01",
                   "--epochs", "3", "--qat-epochs", "0", "--batch", "32", "--max-drop", points});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_FALSE(metrics(out).contains("flash"));
    EXPECT_EQ(metrics(out).at("max_drop"), std::stod(points));
    return metrics(out).at("shipped_bytes").get<std::int64_t>();
  };
  EXPECT_EQ(bytes_for("all", "100"), 4 * (16 + 12) + 4 * (1 + 12));
  EXPECT_EQ(bytes_for("some", "0.5"), 4 * (24 + 12) + 4 * (1 + 12));
}

TEST_F(MnistQatFlash, ABudgetThatNothingFitsIsRefusedBeforeTraining) {
  const ProcessResult result =
      mnist_qat(run("out") + Arguments{"--flash", std::to_string(kLeast - 1)});
  expect_failure(result, 1,
                 "--flash: the network takes 1024 bytes at least, with 2 bits in every "
                 "layer, found 1023");
  EXPECT_FALSE(fs::exists(path("out/checkpoints/last.ckpt")));
  EXPECT_FALSE(fs::exists(path("out/bits.csv")));
}

TEST_F(MnistQatFlash, ConvolutionalNetworksToo) {
  write_set(path("images"), 200, 60, 16, 16);
  expect_success(
      mnist_qat({"--data", path("images"), "--out", path("out"), "--network", "lenet5", "--batch",
                 "16", "--epochs", "2", "--qat-epochs", "1", "--flash", "16000"}));
  const auto m = metrics("out");
  EXPECT_EQ(m.at("bits").size(), 5U);
  EXPECT_LE(m.at("shipped_bytes"), 16000);
  EXPECT_GT(m.at("integer_accuracy"), 0.9);
}

TEST_F(MnistQatFlash, OptionsThatContradictItAreNamed) {
  const auto refused = [](const Arguments& arguments, std::string_view part) {
    expect_failure(mnist_qat(arguments), 2, part);
  };
  for (const char* bytes : {"0", "-1", "64k", "1.5", "99999999999999999999"}) {
    refused({"--flash", bytes}, "--flash: expected a whole number from 1 to 2^63 - 1");
  }
  for (const char* points : {"-0.5", "101", "nan", "few"}) {
    refused({"--max-drop", points}, "--max-drop: expected a number from 0 to 100");
  }
  refused({"--flash", "1", "--max-drop", "1"}, "--flash excludes --max-drop");
  refused({"--flash", "9999", "--weight-bits", "4"}, "--flash: chooses the bits of every layer");
  refused({"--max-drop", "1", "--epochs", "0"}, "--max-drop: needs a network that is trained");
}

TEST(MnistQatFlashOptions, BringScalesAndARateAlong) {
  const application::Options flash = options_of({"--flash", "65536", "--lr", "0.5"});
  EXPECT_EQ(flash.flash, 65536);
  EXPECT_TRUE(flash.quantize.per_channel);
  EXPECT_TRUE(flash.quantize.weight_scales == Scales::lsq);
  EXPECT_EQ(flash.qat_lr, 0.5F);
  const application::Options own =
      options_of({"--max-drop", "0.5", "--scales", "measured", "--qat-lr", "0.25"});
  EXPECT_EQ(own.max_drop, 0.5);
  EXPECT_FALSE(own.quantize.weight_scales == Scales::lsq);
  EXPECT_EQ(own.qat_lr, 0.25F);
  EXPECT_FALSE(options_of({}).quantize.per_channel);
  // A rate that falls from one to the other stays as it was told.
  EXPECT_EQ(options_of({"--flash", "65536", "--schedule", "cosine"}).qat_lr, 1e-4F);
}

}  // namespace
}  // namespace octet::test::mnist_qat_flash_test
