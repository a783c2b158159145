// `octet verify` as its users run it.

#include <octet/deploy/c/writer.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/layers/add.h>
#include <octet/layers/lower.h>
#include <octet/runtime/dense_form.h>
#include <octet/tests/cli/mnist_qat.h>
#include <octet/tests/cli/npz_files.h>
#include <octet/tests/core/ops/op_testing.h>
#include <octet/tests/import/zip_files.h>
#include <octet/tests/runtime/contract_oracle.h>
#include <octet/tests/runtime/models.h>
#include <octet/tests/train/training.h>
#include <octet/train/data/idx.h>
#include <octet_test_paths.h>

#include <fmt/format.h>

namespace octet::test::octet_verify_test {
namespace {

using nlohmann::json;

/// One Dense layer of 3 units on 4 inputs, with relu, in every form.
struct SmallModel {
  oracle::Dense dense{.units = 3,
                      .depth = 4,
                      .weights = {127, -3, 40, 7, -90, 5, 64, 1, 33, -128, 2, 99},
                      .weight_scales = {0.0123F},
                      .weight_zero_point = 0,
                      .bias = {100, -250, 3},
                      .in = {0.05F, -7},
                      .out = {0.031F, -20},
                      .clamp = oracle::Clamp::relu};

  IntegerModel integers() const {
    RawModelBuilder b;
    b.model.inputs = {
        b.activation("x", {1, 4}, DType::int8, quant(dense.in.scale, dense.in.zero_point))};
    const std::int32_t w =
        b.constant("w", {3, 4}, DType::int8, dense.weights, quant(dense.weight_scales[0], 0));
    const std::int32_t bias =
        b.constant("b", {3}, DType::int32, dense.bias,
                   quant(dense.in.scale * dense.weight_scales[0], 0, DType::int32));
    b.model.outputs = {
        b.activation("y", {1, 3}, DType::int8, quant(dense.out.scale, dense.out.zero_point))};
    b.op(OpCode::fully_connected, {0, w, bias}, b.model.outputs[0]).attributes =
        FullyConnectedAttributes{.activation = FusedActivation::relu};
    b.model.metadata["octet.rounding"] = "single";
    return b.model;
  }

  /// What an export looks like from outside: NAME_invoke and two sizes. Contract single.
  std::string c_source(const std::string& name) const {
    const float product = dense.in.scale * dense.weight_scales[0];
    const oracle::Multiplier m =
        oracle::multiplier_of(double{product} / double{dense.out.scale}, oracle::Contract::single);
    return fmt::format(R"(#include "{}.h"
static const int8_t weights[] = {{{}}};
static const int32_t bias[] = {{{}}};
int {}_invoke(const int8_t *x, int8_t *y) {{
  for (int u = 0; u < 3; ++u) {{
    int64_t acc = bias[u];
    for (int i = 0; i < 4; ++i) acc += (x[i] - ({})) * weights[4 * u + i];
    acc = ((acc * {} + ((int64_t)1 << {})) >> {}) + ({});
    y[u] = (int8_t)(acc < {} ? {} : acc > 127 ? 127 : acc);
  }}
  return 0;
}}
)",
                       name, fmt::join(dense.weights, ","), fmt::join(dense.bias, ","), name,
                       dense.in.zero_point, m.m, 30 - m.shift, 31 - m.shift, dense.out.zero_point,
                       dense.out.zero_point, dense.out.zero_point);
  }
};

class OctetVerify : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (scratch_.path() / name).string(); }

  ProcessResult verify(const Arguments& arguments,
                       const std::map<std::string, std::string>& environment = {}) const {
    return run_process(Arguments{OCTET_TOOL, "verify"} + arguments, environment);
  }
  json verify_json(const Arguments& arguments, int exit_code) const {
    const ProcessResult result = verify(arguments + Arguments{"--json"});
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    EXPECT_EQ(result.err, "");
    return json::parse(result.out);
  }
  void expect_failure(const Arguments& arguments, int exit_code, std::string_view part,
                      const std::map<std::string, std::string>& environment = {}) const {
    const ProcessResult result = verify(arguments, environment);
    expect_one_error(result, exit_code, part);
    EXPECT_EQ(result.out, "");
  }

  void write_text(const std::string& name, const std::string& text) const {
    write_file_atomic(path(name), text);
  }
  /// NAME.h and NAME.c of the small model, changed by `edit`.
  void write_c(const std::string& name, const std::function<void(std::string&)>& edit = {}) const {
    std::string upper = name;
    std::ranges::transform(upper, upper.begin(),
                           [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    write_text(name + ".h",
               fmt::format("#include <stdint.h>\n#define {0}_INPUT_SIZE 4\n#define "
                           "{0}_OUTPUT_SIZE 3\nint {1}_invoke(const int8_t *x, int8_t *y);\n",
                           upper, name));
    std::string source = SmallModel().c_source(name);
    if (edit) edit(source);
    write_text(name + ".c", source);
  }

  /// A trained model of the set "set": its checkpoint, and its file with any ends.
  void train() const {
    write_set(path("set"), 200, 303);
    const Dataset data = load_idx(path("set")).train;
    Sequential net("net", Input({63}), Dense(31, Activation::tanh), Dense(17, Activation::relu),
                   Dense(4, Activation::softmax));
    net.build(1);
    Sequential model = quantize_model(net);
    Trainer trainer(model, Adam());
    trainer.fit(data, 2);
    trainer.save_checkpoint(path("c.ckpt"));
    trainer.export_int8(path("m.tflite"));
    trainer.export_int8(path("f.tflite"), {.input = IoType::float32, .output = IoType::float32});
    trainer.export_int8(path("u.tflite"), {.input = IoType::uint8, .output = IoType::uint8});
  }

 private:
  ScratchDirectory scratch_;
};

TEST_F(OctetVerify, ACheckpointAndItsFilesAgree) {
  train();
  for (const char* file : {"m.tflite", "f.tflite", "u.tflite"}) {
    const json layers =
        verify_json({path("c.ckpt"), path(file), "--layers", "--data", path("set")}, 0);
    EXPECT_EQ(layers.at("a").at("kind"), "simulation");
    EXPECT_EQ(layers.at("b").at("kind"), "integers");
    EXPECT_EQ(layers.at("samples"), 303);
    EXPECT_EQ(layers.at("total").at("compared"), 303 * (63 + 31 + 31 + 17 + 4 + 4));
    EXPECT_EQ(layers.at("total").at("differing"), 0);
    EXPECT_EQ(layers.at("layers").size(), 6U);
    EXPECT_EQ(layers.at("layers")[1].at("name"), "dense/linear");
    const json outputs =
        verify_json({path(file), path("c.ckpt"), "--random", "77", "--threads", "1"}, 0);
    EXPECT_EQ(outputs.at("samples"), 77);
    EXPECT_EQ(outputs.at("total").at("compared"), 77 * 4);
    EXPECT_FALSE(outputs.contains("layers"));
  }
  const ProcessResult text =
      verify({path("c.ckpt"), path("m.tflite"), "--layers", "--data", path("set")});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  for (const char* part :
       {"A: ", "c.ckpt (simulation, rounding fp32)", "m.tflite (integers, rounding fp32)",
        "303 samples of set", "dense_1 ", "dense_2/linear",
        "layer outputs that differ: 0 of 45450 (0.00000 %)", "predictions that differ: 0 of 303"}) {
    expect_mentions(text.out, part);
  }
}

TEST_F(OctetVerify, SeveralInputsAndOutputsAreCompared) {
  Model model("two");
  const Value x = model.add(Dense(8, Activation::relu), model.input({6}, "x"));
  const Value z = model.add(Dense(8, Activation::relu), model.input({3}, "z"));
  const Value sum = model.add(Add(), {x, z});
  model.output(model.add(Dense(3, Activation::softmax, "kind"), sum));
  model.output(model.add(Dense(2, Activation::none, "size"), sum));
  model.build(1);
  const std::vector<Tensor> inputs = {random_tensor({64, 6}, 1), random_tensor({64, 3}, 2)};
  const Model quantized = quantize_post_training(model, inputs);
  quantized.save(path("two.ckpt"));
  for (const IoType type : {IoType::int8, IoType::uint8, IoType::float32}) {
    const IntegerModel integers = lower(quantized, {.input = type, .output = type});
    write_tflite(integers, path("two.tflite"));
    write_c_source(integers, path("two"));
    for (const char* other : {"two.tflite", "two.c"}) {
      for (const auto& [a, b] :
           {std::pair(path("two.ckpt"), path(other)), std::pair(path(other), path("two.ckpt"))}) {
        const json outputs = verify_json({a, b, "--random", "50"}, 0);
        EXPECT_EQ(outputs.at("total").at("compared"), 50 * (3 + 2));
        EXPECT_EQ(outputs.at("differing_predictions"), 0);
      }
    }
  }
  write_file_atomic(path("data.npz"),
                    zip_bytes({named("x", inputs[0]), named("z", inputs[1]),
                               named("kind", Labels(64, 0)), named("size", Tensor::ones({64, 2}))},
                              false));
  write_tflite(lower(quantized), path("named.tflite"));
  const json on_data =
      verify_json({path("two.ckpt"), path("named.tflite"), "--data", path("data.npz")}, 0);
  EXPECT_EQ(on_data.at("total").at("compared"), 64 * (3 + 2));
  const json layers = verify_json({path("two.ckpt"), path("two.tflite"), "--layers"}, 0);
  EXPECT_EQ(layers.at("layers")[0].at("name"), "x");
  EXPECT_EQ(layers.at("layers")[1].at("name"), "z");
  // A difference in either output is one.
  IntegerModel changed = lower(quantized);
  std::swap(changed.outputs[0], changed.outputs[1]);
  write_tflite(changed, path("swapped.tflite"));
  expect_failure({path("two.ckpt"), path("swapped.tflite")}, 1,
                 "a sample's output 1 has 3 quantized values");
  changed.outputs.pop_back();
  write_tflite(changed, path("one.tflite"));
  expect_failure({path("two.ckpt"), path("one.tflite")}, 1, "as many outputs, found 2 and 1");
}

TEST_F(OctetVerify, AnotherContractDiffers) {
  write_tflite(make_mlp(3, {100, 64, 10}, false, false), path("m.tflite"));
  const Arguments both = {path("m.tflite"), path("m.tflite"), "--random", "2000"};
  EXPECT_EQ(verify_json(both, 0).at("total").at("differing"), 0);
  const json crossed = verify_json(both + Arguments{"--layers", "--rounding-b", "double"}, 1);
  EXPECT_EQ(crossed.at("a").at("rounding"), "fp32");
  EXPECT_EQ(crossed.at("b").at("rounding"), "double");
  // Every pass draws samples of its own: those of the first alone would differ in equal numbers.
  const auto differing = [&](const char* samples) {
    const Arguments all = {path("m.tflite"), path("m.tflite"), "--random", samples,
                           "--layers",       "--rounding-b",   "double"};
    return verify_json(all, 1).at("layers")[1].at("differing").get<int>();
  };
  EXPECT_NE(differing("8000"), 2 * differing("4000"));
  const json& hidden = crossed.at("layers")[1];
  EXPECT_EQ(crossed.at("layers")[0].at("differing"), 0);
  EXPECT_GT(hidden.at("differing"), 0);
  EXPECT_LT(hidden.at("share"), 0.005);
  EXPECT_EQ(hidden.at("largest"), 1);
  // A sum that lies one code apart is one code in the mean of those that differ.
  EXPECT_DOUBLE_EQ(hidden.at("mean").get<double>(), hidden.at("share").get<double>());
  EXPECT_EQ(verify_json(both + Arguments{"--rounding-a", "double", "--rounding-b", "double"}, 0)
                .at("total")
                .at("differing"),
            0);
  EXPECT_EQ(verify_json(both + Arguments{"--layers", "--target-b", "cmsis-nn"}, 1), crossed);
  const ProcessResult text = verify(both + Arguments{"--rounding-b", "double", "--layers"});
  EXPECT_EQ(text.exit_code, 1);
  expect_mentions(text.out, "rounding double");
  expect_mentions(text.out, "layer outputs that differ: " +
                                crossed.at("total").at("differing").dump() + " of 368000 (");
}

TEST_F(OctetVerify, DenseLayersAsConvolutionsAreTheSame) {
  const IntegerModel dense = make_mlp(3, {100, 64, 10}, true, false);
  write_tflite(dense, path("fc.tflite"));
  write_tflite(per_channel_as_conv_2d(dense), path("conv.tflite"));
  const Arguments both = {path("fc.tflite"), path("conv.tflite"), "--random", "500"};
  // Input, two dense layers and the softmax.
  const json same = verify_json(both + Arguments{"--layers"}, 0);
  EXPECT_EQ(same.at("total").at("compared"), 500 * (100 + 64 + 10 + 10));
  EXPECT_EQ(verify_json(both + Arguments{"--rounding-b", "double"}, 1).at("samples"), 500);
}

TEST_F(OctetVerify, CSourceIsCompiledAndRun) {
  write_tflite(SmallModel().integers(), path("small.tflite"));
  write_c("small");
  for (const Arguments& order : {Arguments{path("small.c"), path("small.tflite")},
                                 Arguments{path("small.tflite"), path("small.c")}}) {
    const json same = verify_json(order + Arguments{"--random", "1203"}, 0);
    EXPECT_EQ(same.at("total").at("compared"), 1203 * 3);
    EXPECT_EQ(same.at("samples"), 1203);
  }
  EXPECT_EQ(verify_json({path("small.c"), path("small.c")}, 0).at("samples"), 1000);

  // A bias that is off shows in that unit alone.
  write_c("off", [](std::string& source) { source.replace(source.find("-250"), 4, "-290"); });
  const json off = verify_json({path("small.tflite"), path("off.c"), "--random", "500"}, 1);
  EXPECT_GT(off.at("total").at("differing"), 50);
  EXPECT_LE(off.at("total").at("differing"), 500);
  EXPECT_EQ(off.at("b").at("kind"), "C source");

  const ProcessResult layers = verify({path("small.c"), path("small.tflite"), "--layers"});
  EXPECT_EQ(layers.exit_code, 0);
  EXPECT_EQ(lines_in(layers.err), 1);
  expect_mentions(layers.err, "no layers");
  expect_mentions(layers.out, "\noutputs that differ: 0 of 3000 (0.00000 %)");
  // Under another contract the interpreter gives other codes than the source's.
  EXPECT_EQ(verify_json({path("small.c"), path("small.tflite"), "--rounding-b", "double",
                         "--random", "100000"},
                        1)
                .at("total")
                .at("largest"),
            1);
}

TEST_F(OctetVerify, ExportedCSourceEqualsItsFileAndItsCheckpoint) {
  train();
  const std::string stem = path("net");
  ASSERT_EQ(run_process({OCTET_TOOL, "export", path("m.tflite"), "--c", stem}).exit_code, 0);
  for (const std::string& other : {path("m.tflite"), path("c.ckpt")}) {
    const json same = verify_json({stem + ".c", other, "--data", path("set")}, 0);
    EXPECT_EQ(same.at("samples"), 303);
    EXPECT_EQ(same.at("total").at("differing"), 0);
  }
}

TEST_F(OctetVerify, ExportedCSourceMayHaveEndsOfUint8) {
  write_set(path("set"), 200, 303);
  const Dataset data = load_idx(path("set")).train;
  Sequential net("net", Input({63}), Dense(31, Activation::tanh), Dense(4));
  net.build(1);
  Sequential model = quantize_model(net);
  Trainer trainer(model, Adam());
  trainer.fit(data, 1);
  trainer.save_checkpoint(path("c.ckpt"));
  for (const IoType input : {IoType::int8, IoType::uint8}) {
    for (const IoType output : {IoType::int8, IoType::uint8}) {
      trainer.export_int8(path("m.tflite"), {.input = input, .output = output});
      ASSERT_EQ(run_process({OCTET_TOOL, "export", path("m.tflite"), "--c", path("net")}).exit_code,
                0);
      for (const std::string& other : {path("m.tflite"), path("c.ckpt")}) {
        for (const Arguments& samples : {Arguments{"--random", "500"}, {"--data", path("set")}}) {
          const json same = verify_json(Arguments{other, path("net.c")} + samples, 0);
          EXPECT_EQ(same.at("total").at("differing"), 0);
          EXPECT_EQ(same.at("differing_predictions"), 0);
        }
      }
    }
  }
  // A model of equal shapes with other numbers.
  write_tflite(make_mlp(7, {63, 4}, false, false), path("other.tflite"));
  expect_failure({path("other.tflite"), path("net.c")}, 1, "were both made of one model?");
}

TEST_F(OctetVerify, ADamagedCheckpointIsNoOtherOne) {
  train();
  std::filesystem::copy_file(path("c.ckpt"), path("c.ckpt.1"));
  Bytes damaged = read_file(path("c.ckpt"));
  damaged[damaged.size() / 2] ^= 1U;
  write_file_atomic(path("c.ckpt"), damaged);
  expect_failure({path("c.ckpt"), path("m.tflite")}, 1, path("c.ckpt") + ": expected an octet");
}

TEST_F(OctetVerify, CSourceReadsThePicturesOfADataSet) {
  write_set(path("set"), 5, 50, 2, 2, 3);
  write_tflite(SmallModel().integers(), path("small.tflite"));
  write_c("small");
  const Arguments data = {"--data", path("set")};
  EXPECT_EQ(verify_json(Arguments{path("small.tflite"), path("small.c")} + data, 0).at("samples"),
            50);
  expect_failure(Arguments{path("small.c"), path("small.c")} + data, 1,
                 "which quantized value a pixel is");
}

TEST_F(OctetVerify, CSourceThatDoesNotServe) {
  write_tflite(SmallModel().integers(), path("m.tflite"));
  const auto fails = [&](const std::string& file, std::string_view part,
                         const std::map<std::string, std::string>& environment = {}) {
    expect_failure({path("m.tflite"), path(file)}, 1, part, environment);
  };
  fails("none.c", "No such file");
  write_c("two words");
  fails("two words.c", "found \"two words\"");
  write_c("good");
  fails("good.c", "no C compiler found", {{"CC", "/nowhere/cc"}});
  write_c("stream");
  write_text("stream.h", "int stream_step(stream_state *state, const int8_t *x, int8_t *y);\n");
  fails("stream.c",
        "expected stream_invoke(), found stream_step(), of a model that carries states");
  write_c("alone");
  std::filesystem::remove(path("alone.h"));
  fails("alone.c", "alone.h");
  write_c("wrong", [](std::string& source) { source += "this is no C\n"; });
  fails("wrong.c", "cannot compile it");
  fails("wrong.c", "error");
  write_c("failing",
          [](std::string& source) { source.replace(source.find("return 0"), 8, "return 9"); });
  fails("failing.c", "ended with 3");
  write_c("crashing", [](std::string& source) {
    source.replace(source.find("return 0"), 8, "return *(volatile int *)0");
  });
  fails("crashing.c", "ended with 139");
  write_c("small");
  write_tflite(make_mlp(1, {5, 3}, false, false), path("other.tflite"));
  expect_failure({path("other.tflite"), path("small.c")}, 1, "input has 5 quantized values");
}

TEST_F(OctetVerify, RefusalsAreOneLine) {
  train();
  expect_failure({path("c.ckpt")}, 2, "B");
  expect_failure({path("c.ckpt"), path("m.tflite"), "--rounding-b", "up"}, 2, "--rounding-b");
  expect_failure({path("c.ckpt"), path("m.tflite"), "--rounding-a", "double"}, 2,
                 "one rounding mode");
  expect_failure({path("c.ckpt"), path("m.tflite"), "--target-a", "tflm"}, 2, "one rounding mode");
  expect_failure({path("c.ckpt"), path("m.tflite"), "--target-b", "tflm", "--rounding-b", "fp32"},
                 2, "--target-b and --rounding-b: target tflm");
  expect_failure({path("c.ckpt"), path("m.tflite"), "--random", "0"}, 2, "--random");
  expect_failure({path("c.ckpt"), path("m.tflite"), "--random", "5", "--data", "x"}, 2, "--data");
  write_c("small");
  expect_failure({path("m.tflite"), path("small.c"), "--rounding-b", "double"}, 2,
                 "one rounding mode");
  expect_failure({path("none.tflite"), path("m.tflite")}, 1, "none.tflite");
  write_text("bad.tflite", "not a model, but longer than 8");
  expect_failure({path("bad.tflite"), path("m.tflite")}, 1, "no TFL3 identifier");
  write_tflite(make_mlp(1, {63, 4}, false, false), path("short.tflite"));
  expect_failure({path("short.tflite"), path("m.tflite"), "--layers"}, 1, "3 and 6 layers");
  EXPECT_EQ(verify_json({path("short.tflite"), path("m.tflite")}, 1).at("total").at("compared"),
            4000);
  write_set(path("tiny"), 3, 3, 2, 2, 2);
  expect_failure({path("c.ckpt"), path("m.tflite"), "--data", path("tiny")}, 1,
                 "samples of 63 values");
  Sequential plain = small_mlp();
  plain.save(path("float.ckpt"));
  expect_failure({path("float.ckpt"), path("m.tflite")}, 1, "not quantized");
  write_tflite(lower_float(plain), path("float.tflite"));
  expect_failure({path("float.tflite"), path("m.tflite")}, 1, "float model");
}

}  // namespace
}  // namespace octet::test::octet_verify_test
