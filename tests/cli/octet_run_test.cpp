// `octet run` and `octet eval` as their users run them.

#include <octet/core/file.h>
#include <octet/deploy/c/writer.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/cli/octet_tool.h>
#include <octet/tests/import/zip_files.h>
#include <octet/tests/runtime/lookup_models.h>
#include <octet/tests/train/data/npy_files.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

namespace octet::test::octet_run_test {
namespace {

namespace fs = std::filesystem;

TEST_F(OctetTool, RunGivesWhatTheInterpreterGives) {
  const IntegerModel model = make_mlp(3, {20, 9, 5}, true, false);
  write_tflite(model, path("m.tflite"));
  Draw draw(3);
  std::vector<std::uint8_t> raw(20 * 131);
  for (auto& byte : raw) byte = static_cast<std::uint8_t>(draw.between(0, 255));
  write_file_atomic(path("in.bin"), raw);
  const std::string files = "--input '" + path("in.bin") + "' --output '" + path("out.bin") + "'";
  const auto twice = Rounding::double_rounding;
  const std::vector<std::pair<std::string, Rounding>> runs = {
      {"", Rounding::fp32},
      {" --threads 2", Rounding::fp32},
      {" --rounding double", twice},
      {" --target tflm", twice},
      {" --target cmsis-nn --rounding double", twice}};
  for (const auto& [options, rounding] : runs) {
    std::string command = "run '" + path("m.tflite") + "' ";
    command += files;
    command += options;
    const Result result = octet(command);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out + result.err, "");
    Interpreter interpreter(model, {.rounding = rounding, .batch = 131});
    std::memcpy(interpreter.input_bytes().data(), raw.data(), raw.size());
    interpreter.invoke();
    const auto expected = interpreter.output_bytes();
    const auto got = read_file(path("out.bin"));
    ASSERT_EQ(got.size(), expected.size());
    EXPECT_EQ(std::memcmp(got.data(), expected.data(), got.size()), 0);
  }
}

/// A model of two inputs and outputs: sum = x + z, and z.
IntegerModel make_two() {
  RawModelBuilder b;
  const QuantParams grid = quant(0.5F, 0);
  const std::int32_t x = b.activation("x", {1, 2}, DType::int8, grid);
  const std::int32_t z = b.activation("z", {1, 2}, DType::int8, grid);
  b.model.inputs = {x, z};
  const std::int32_t sum = b.activation("sum", {1, 2}, DType::int8, grid);
  b.op(OpCode::add, {x, z}, sum);
  b.model.outputs = {sum, z};
  return b.model;
}

TEST_F(OctetTool, RunTakesSeveralInputsAndOutputsSampleBySample) {
  write_tflite(make_two(), path("m.tflite"));
  const std::string run = "run '" + path("m.tflite") + "' --input '" + path("in.bin") +
                          "' --out '" + path("out.bin") + "'";
  write_file_atomic(path("in.bin"), std::vector<std::uint8_t>{1, 2, 10, 20, 3, 4, 30, 40});
  const Result result = octet(run);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(read_file(path("out.bin")),
            (std::vector<std::uint8_t>{11, 22, 10, 20, 33, 44, 30, 40}));
  write_file_atomic(path("in.bin"), std::vector<std::uint8_t>(7));
  expect_failure(run, 1,
                 "multiple of 4 (samples of 4 bytes each, int8 [1, 2] and then int8 [1, 2])");
}

TEST_F(OctetTool, RunWritesEverySamplesOutputWhereNoInputReachesIt) {
  RawModelBuilder b;
  const QuantParams grid = quant(0.5F, 0);
  b.model.inputs = {b.activation("x", {1, 2}, DType::int8, grid)};
  const std::int32_t c =
      b.constant("c", {1, 2}, DType::int8, std::vector<std::int8_t>{5, -7}, grid);
  b.model.outputs = {b.activation("y", {1, 2}, DType::int8, grid)};
  b.op(OpCode::add, {c, c}, b.model.outputs[0]);
  write_tflite(b.model, path("m.tflite"));
  write_file_atomic(path("in.bin"), std::vector<std::uint8_t>(2 * 3));
  const Result result = octet("run '" + path("m.tflite") + "' --input '" + path("in.bin") +
                              "' --output '" + path("out.bin") + "'");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(read_file(path("out.bin")), (std::vector<std::uint8_t>{10, 242, 10, 242, 10, 242}));
}

TEST_F(OctetTool, RunChecksTheSizeOfItsInput) {
  write_tflite(make_mlp(3, {20, 5}, true, true), path("m.tflite"));
  const std::string files = "--input '" + path("in.bin") + "' --output '" + path("out.bin") + "'";
  for (const std::size_t size : {std::size_t{0}, std::size_t{79}, std::size_t{81}}) {
    write_file_atomic(path("in.bin"), std::vector<std::uint8_t>(size));
    expect_failure("run '" + path("m.tflite") + "' " + files, 1, "expected a multiple of 80");
  }
  EXPECT_FALSE(fs::exists(path("out.bin")));
}

TEST_F(OctetTool, RunRefusesFloatsForCodes) {
  write_tflite(make_mlp(3, {20, 5}, true, false), path("m.tflite"));
  const std::string run = "run '" + path("m.tflite") + "' --input '" + path("in.bin") +
                          "' --out '" + path("out.bin") + "'";
  const auto write_floats = [&](float begin) {
    std::vector<float> values(8 * 20);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = begin + static_cast<float>(i) / 255;
    std::vector<std::uint8_t> bytes(values.size() * sizeof(float));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    write_file_atomic(path("in.bin"), bytes);
  };
  for (const float begin : {0.0F, -0.5F, 1e4F}) {
    write_floats(begin);
    expect_failure(
        run, 1,
        "looks like floats: 640 bytes, expected 160 (8 samples of 20 bytes each, int8 "
        "[1, 20]); that is 8 samples of float32: quantize them to int8 first; where they "
        "are quantized values after all, give --samples 32");
    expect_failure(
        run + " --samples 8", 1,
        "has 640 bytes, expected 160 (8 samples of 20 bytes each, int8 [1, 20]); that is 8");
    EXPECT_FALSE(fs::exists(path("out.bin")));
    EXPECT_EQ(octet(run + " --samples 32").exit_code, 0);
    fs::remove(path("out.bin"));
  }
  // Codes of as many bytes: all 0, one value, a ramp as of an image or a sound, any.
  const std::vector<std::function<std::uint8_t(std::size_t)>> codes = {
      [](std::size_t) { return 0; }, [](std::size_t) { return 0x80; },
      [](std::size_t) { return 0xFF; },
      [](std::size_t i) { return static_cast<std::uint8_t>(i / 5); },
      [](std::size_t i) { return static_cast<std::uint8_t>(i * i * 37 + 11 * i); }};
  for (const auto& code : codes) {
    std::vector<std::uint8_t> bytes(640);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = code(i);
    write_file_atomic(path("in.bin"), bytes);
    EXPECT_EQ(octet(run).exit_code, 0);
  }
  // Floats are what a model of floats takes.
  write_tflite(make_mlp(3, {20, 5}, true, true), path("m.tflite"));
  write_floats(0.0F);
  EXPECT_EQ(octet(run).exit_code, 0);
}

TEST_F(OctetTool, RunMayWriteWhereItReads) {
  write_tflite(make_mlp(3, {4, 4}, true, false), path("m.tflite"));
  write_file_atomic(path("a.bin"), std::vector<std::uint8_t>(400, 7));
  const std::string model = "run '" + path("m.tflite") + "' ";
  ASSERT_EQ(
      octet(model + "--input '" + path("a.bin") + "' --output '" + path("b.bin") + "'").exit_code,
      0);
  ASSERT_EQ(
      octet(model + "--input '" + path("a.bin") + "' --output '" + path("a.bin") + "'").exit_code,
      0);
  EXPECT_EQ(read_file(path("a.bin")), read_file(path("b.bin")));
}

TEST_F(OctetTool, EvalScoresEveryOutputOnNamedArrays) {
  IntegerModel model = make_two();
  // The other output has the name of an input.
  model.outputs.pop_back();
  write_tflite(model, path("m.tflite"));
  const Bytes x = npy_bytes<float>("<f4", "(3, 2)", {1, 0, 0, 1, 2, 0});
  const Bytes z = npy_bytes<float>("<f4", "(3, 2)", {0, 0.5F, 0, 0, 0, 4});
  const std::string eval = "eval '" + path("m.tflite") + "' --data '" + path("d.npz") + "'";
  const auto write = [&](const std::vector<std::pair<std::string, Bytes>>& files) {
    write_file_atomic(path("d.npz"), zip_bytes(files, false));
  };
  // Sums (1, 0.5), (0, 1), (2, 4): classes 0, 1, 1.
  write(
      {{"z.npy", z}, {"x.npy", x}, {"sum.npy", npy_bytes<std::int64_t>("<i8", "(3,)", {0, 1, 0})}});
  Result result = octet(eval);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out.rfind("sum: accuracy 66.67 % (2 of 3)\n3 samples, rounding fp32, ", 0), 0U)
      << result.out;
  write({{"z.npy", z},
         {"x.npy", x},
         {"sum.npy", npy_bytes<float>("<f4", "(3, 2)", {1, 0.5F, 0, 1, 2, 1})}});
  result = octet(eval + " --json");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(nlohmann::json::parse(result.out).at("outputs")[0].at("mean_absolute_error"), 0.5);
  write({{"x.npy", x}, {"sum.npy", x}});
  expect_failure(eval, 1, "expected an array \"z\" for the input of that name, found sum");
  write({{"x.npy", x}, {"z.npy", z}, {"sum.npy", x}, {"other.npy", x}});
  expect_failure(eval, 1, "of the model, and \"sample_weight\", found other too");
  write({{"x.npy", x}, {"z.npy", npy_bytes<float>("<f4", "(2, 2)", {0, 0, 0, 0})}, {"sum.npy", x}});
  expect_failure(eval, 1, "features 2 of shape [3, ...], one row per example");
}

/// An IDX file of unsigned bytes.
void write_idx(const fs::path& path, const std::vector<std::uint32_t>& extents,
               const std::vector<std::uint8_t>& values) {
  std::vector<std::uint8_t> bytes{0, 0, 8, static_cast<std::uint8_t>(extents.size())};
  for (const std::uint32_t extent : extents) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      bytes.push_back(static_cast<std::uint8_t>(extent >> shift));
    }
  }
  bytes.insert(bytes.end(), values.begin(), values.end());
  write_file_atomic(path, bytes);
}

TEST_F(OctetTool, EvalCountsRightAnswers) {
  // Images of two pixels; the class is the brighter one. The last of five labels is wrong.
  RawModelBuilder b;
  b.model.inputs = {b.activation("x", {1, 2}, DType::int8, quant(1.0F / 255, -128))};
  b.model.outputs = b.model.inputs;
  write_tflite(b.model, path("m.tflite"));
  const std::vector<std::uint8_t> pixels{9, 1, 3, 200, 0, 1, 255, 254, 80, 7};
  write_idx(folder_ / "t10k-images-idx3-ubyte", {5, 1, 2}, pixels);
  write_idx(folder_ / "t10k-labels-idx1-ubyte", {5}, {0, 1, 1, 0, 1});
  const std::string command = "eval '" + path("m.tflite") + "' --data '" + folder_.string() + "'";
  const Result text = octet(command);
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_EQ(text.out.substr(0, 36), "accuracy 80.00 % (4 of 5 examples), ");
  const Result result = octet(command + " --json --limit 4 --rounding single --threads 1");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json.at("samples"), 4);
  EXPECT_EQ(json.at("correct"), 4);
  EXPECT_EQ(json.at("accuracy"), 1.0);
  EXPECT_EQ(json.at("rounding"), "single");

  write_tflite(make_mlp(1, {3, 2}, false, false), path("other.tflite"));
  expect_failure("eval '" + path("other.tflite") + "' --data '" + folder_.string() + "'", 1,
                 "the model takes samples [1, 3]");
}

/// A model that ends in ARG_MAX says classes: the brightest of three pixels.
TEST_F(OctetTool, ArgMaxGivesClasses) {
  const IntegerModel model = batched_arg_max_model({{3}, 0, quant(1.0F / 255, -128)});
  write_tflite(model, path("m.tflite"));
  const std::string of_model = " '" + path("m.tflite") + "' ";
  write_file_atomic(path("in.bin"), std::vector<std::uint8_t>{1, 2, 3, 9, 9, 255});
  const Result raw = octet("run" + of_model + "--input '" + path("in.bin") + "' --output '" +
                           path("out.bin") + "'");
  EXPECT_EQ(raw.exit_code, 0) << raw.err;
  EXPECT_EQ(read_file(path("out.bin")), (std::vector<std::uint8_t>{2, 0, 0, 0, 0, 0, 0, 0}));

  write_idx(folder_ / "t10k-images-idx3-ubyte", {4, 1, 3}, {9, 1, 0, 3, 200, 0, 0, 1, 2, 7, 7, 0});
  write_idx(folder_ / "t10k-labels-idx1-ubyte", {4}, {0, 1, 2, 1});
  const std::string eval = "eval" + of_model + "--data '" + folder_.string() + "'";
  EXPECT_EQ(octet(eval).out.substr(0, 36), "accuracy 75.00 % (3 of 4 examples), ");
  expect_failure(eval + " --metrics confusion", 2,
                 "--metrics: expected a score of each class, found output 'y' of int32");
  const Bytes x = npy_bytes<float>("<f4", "(2, 3)", {0, 1, 0.5F, 0, 0.5F, 1});
  const Bytes y = npy_bytes<std::int32_t>("<i4", "(2,)", {1, 0});
  write_file_atomic(path("all.npz"), zip_bytes({{"x.npy", x}, {"y.npy", y}}, false));
  const Result arrays = octet("eval" + of_model + "--data '" + path("all.npz") + "'");
  EXPECT_EQ(arrays.out.substr(0, 31), "y: accuracy 50.00 % (1 of 2)\n2 ") << arrays.err;
  write_file_atomic(path("x.npy"), x);
  const Result told = octet("predict" + of_model + "'" + path("x.npy") + "' --json");
  EXPECT_EQ(nlohmann::json::parse(told.out)[1].at("class"), "2") << told.err;

  EXPECT_EQ(octet("verify" + of_model + of_model + "--layers").exit_code, 0);
  write_c_source(model, path("net"));
  expect_failure("verify" + of_model + "'" + path("net.c") + "'", 1,
                 "expected outputs of quantized values, found output of int32");
}

}  // namespace
}  // namespace octet::test::octet_run_test
