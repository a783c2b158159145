// `octet export` as its users run it.

#include <fmt/core.h>
#include <octet/deploy/c/writer.h>
#include <octet/deploy/constant_units.h>
#include <octet/deploy/onnx/writer.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/runtime/packed_weights.h>
#include <octet/tests/cli/process.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/deploy/drawn_networks.h>
#include <octet/tests/runtime/packed_models.h>
#include <octet_test_paths.h>

#include <algorithm>

namespace octet::test::octet_export_test {
namespace {

class OctetExport : public ::testing::Test {
 protected:
  OctetExport() {
    write_tflite(make_mlp(1, {4, 5, 3}, true, false), path("m"));
    model_ = read_tflite(path("m"));
  }

  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  /// `octet export` of the model with these options.
  ProcessResult run(std::vector<std::string> options) const {
    options.insert(options.begin(), {OCTET_TOOL, "export", path("m")});
    return run_process(options);
  }

  /// Runs it with `--onnx` and expects the file that to_onnx() gives.
  void expect_onnx(const OnnxOptions& expected, std::vector<std::string> options) const {
    options.insert(options.end(), {"--onnx", path("m.onnx")});
    const ProcessResult result = run(options);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out + result.err, "");
    EXPECT_EQ(read_file(path("m.onnx")), to_onnx(model_, expected));
  }

  void expect_failure(const std::vector<std::string>& options, int exit_code,
                      const std::string& message) const {
    const ProcessResult result = run(options);
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    EXPECT_NE(result.err.find(message), std::string::npos) << result.err;
    EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
  }

  ScratchDirectory folder_;
  IntegerModel model_;
};

TEST_F(OctetExport, WritesOnnx) {
  expect_onnx({}, {});
  expect_onnx({.style = OnnxStyle::exact}, {"--style", "exact"});
  expect_onnx({.style = OnnxStyle::standard}, {"--style", "standard"});
  expect_onnx({.float_io = false}, {"--int8-io"});
  expect_onnx({.code_outputs = {"dense_1", "softmax"}},
              {"--codes", "dense_1", "--codes", "softmax"});
}

TEST_F(OctetExport, WritesWeightsForTFLiteMicroToDecode) {
  const std::vector<std::string> options = {"--tflm", path("t.tflite")};
  expect_failure(options, 1, "expected a model in rounding mode double or q15");
  EXPECT_FALSE(std::filesystem::exists(path("t.tflite")));
  IntegerModel model = few_bits_model({OpCode::fully_connected, 3, 4000, true}, 1);
  model.metadata["octet.rounding"] = std::string(to_string(Rounding::double_rounding));
  write_tflite(model, path("m"));
  const ProcessResult result = run(options);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(read_file(path("t.tflite")), to_tflite(decode_weights(model)));
}

TEST_F(OctetExport, WritesCSourceAsItIsTold) {
  for (const auto& [word, code] : {std::pair{"fast", CCode::fast}, {"small", CCode::small}}) {
    EXPECT_EQ(run({"--c", path("net"), "--no-prune-constant", "--c-code", word}).exit_code, 0);
    EXPECT_EQ(text_of(path("net.c")), to_c_source(model_, "net", {.code = code}).source);
  }
  expect_failure({"--c", path("net"), "--c-code", "tiny"}, 2, "--c-code");
  EXPECT_EQ(run({"--c", path("net"), "--no-prune-constant", "--c-input-in-arena"}).exit_code, 0);
  EXPECT_EQ(text_of(path("net.h")), to_c_source(model_, "net", {.input_in_arena = true}).header);
}

TEST_F(OctetExport, MeetsABoundOfRamOrSaysTheLeast) {
  const CSource fast = to_c_source(model_, "net");
  const CSource least = to_c_source(model_, "net", {.code = CCode::small, .input_in_arena = true});
  const std::vector<std::string> source = {"--c", path("net"), "--no-prune-constant", "--ram"};
  const auto with = [&](std::int64_t bytes) {
    std::vector<std::string> options = source;
    options.push_back(std::to_string(bytes));
    return options;
  };
  const ProcessResult result = run(with(fast.ram_bytes + fast.caller_bytes));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  expect_mentions(result.out, fmt::format("RAM: {} bytes of static buffers", fast.ram_bytes));
  EXPECT_EQ(text_of(path("net.h")), fast.header);
  const std::int64_t total = least.ram_bytes + least.caller_bytes;
  EXPECT_EQ(run(with(total)).exit_code, 0);
  expect_failure(with(1), 1, "expected a network that takes at most 1 bytes of RAM");
  expect_failure(with(0), 2, "--ram");
}

TEST_F(OctetExport, DropsConstantUnitsInCSourceOrWhereItIsTold) {
  IntegerModel model = model_;
  set_bias(model, 0, 2, -kHuge);
  write_tflite(model, path("m"));
  IntegerModel pruned = model;
  prune_constant_units(pruned);
  expect_mentions(run_process({OCTET_TOOL, "inspect", path("m")}).out,
                  "no output depends on 2 units");
  struct Case {
    std::vector<std::string> options;
    const IntegerModel& of_c;
    const IntegerModel& of_others;
  };
  for (const Case& c : {Case{{}, pruned, model}, Case{{"--prune-constant"}, pruned, pruned},
                        Case{{"--no-prune-constant"}, model, model}}) {
    std::vector<std::string> options = {"--c",     path("net"), "--tflite",
                                        path("t"), "--onnx",    path("o")};
    options.insert(options.end(), c.options.begin(), c.options.end());
    const ProcessResult result = run(options);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const bool prints = &c.of_c == &pruned;
    EXPECT_EQ(result.out.find("dense_0") != std::string::npos, prints) << result.out;
    EXPECT_EQ(result.out.find("multiply-adds: 21 of 35, bytes of constants: 45 of 67") !=
                  std::string::npos,
              prints)
        << result.out;
    EXPECT_EQ(text_of(path("net.c")), to_c_source(c.of_c, "net").source);
    EXPECT_EQ(read_file(path("t")), to_tflite(c.of_others));
    EXPECT_EQ(read_file(path("o")), to_onnx(c.of_others));
  }
}

TEST_F(OctetExport, ChoosesTheRoundingModeOfAFileThatNamesNone) {
  const std::vector<std::string> options = {"--tflite", path("t"), "--target"};
  const auto to = [&](const std::string& target) {
    std::vector<std::string> with = options;
    with.push_back(target);
    return with;
  };
  expect_failure(to("cmsis-nn"), 1, "rounding mode fp32, but --target cmsis-nn asks for double");
  expect_failure(to("stm32"), 2,
                 "expected one of litert, tflm, cmsis-nn, onnxruntime, found stm32");
  expect_failure({"--tflite", path("t"), "--rounding", "single"}, 1, "--rounding asks for single");
  EXPECT_EQ(run(to("litert")).exit_code, 0);
  EXPECT_EQ(read_file(path("t")), to_tflite(model_));
  model_.metadata.clear();
  write_tflite(model_, path("m"));
  for (const auto& [target, rounding] :
       {std::pair("cmsis-nn", "double"), {"tflm", "double"}, {"litert", "fp32"}}) {
    EXPECT_EQ(run(to(target)).exit_code, 0);
    EXPECT_EQ(read_tflite(path("t")).metadata.at("octet.rounding"), rounding);
  }
  // Of int16, there is but one that TFLite Micro computes.
  write_tflite(int16_inner(int16_mlp(make_mlp(1, {4, 5, 3}, true, true))), path("m"));
  EXPECT_EQ(run(to("tflm")).exit_code, 0);
  expect_failure(to("litert"), 1, "rounding mode q15, but --target litert asks for fp32");
}

TEST_F(OctetExport, WrongUsage) {
  expect_failure({}, 2, "--onnx");
  expect_failure({"--style", "exact"}, 2, "--onnx");
  expect_failure({"--onnx", path("m.onnx"), "--style", "round"}, 2, "--style");
  expect_failure({"--onnx", path("m.onnx"), "--codes", "none"}, 1, "'none'");
  expect_failure({"--onnx", path("no/m.onnx")}, 1, "no/m.onnx");
  EXPECT_FALSE(std::filesystem::exists(path("m.onnx")));
}

}  // namespace
}  // namespace octet::test::octet_export_test
