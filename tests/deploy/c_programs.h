#pragma once

#include <fmt/core.h>
#include <octet/core/quant/quantize.h>
#include <octet/deploy/c/writer.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/cli/process.h>
#include <octet/tests/runtime/models.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

// Compiles exported C source with the compilers of this machine, and runs it. Where the environment
// has OCTET_ONE_C_COMPILER, one of them compiles it, for one processor. That is enough under
// sanitizers, which look at the exporter and not at C compilers.

namespace octet::test {

/// The program of that name in $PATH; empty where there is none.
inline std::string find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::stringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    folder.append("/").append(name);
    if (::access(folder.c_str(), X_OK) == 0) return folder;
  }
  return "";
}

inline bool one_c_compiler() { return std::getenv("OCTET_ONE_C_COMPILER") != nullptr; }

/// The compilers among gcc and clang that are installed.
inline std::vector<std::string> c_compilers() {
  std::vector<std::string> found;
  for (const char* name : {"gcc", "clang"}) {
    if (const std::string path = find_program(name); !path.empty()) found.push_back(path);
    if (one_c_compiler() && !found.empty()) break;
  }
  return found;
}

using Words = std::vector<std::string>;

inline Words joined(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

inline const Words kStrict = {"-Wall",        "-Wextra",  "-Wpedantic",
                              "-Wconversion", "-Wshadow", "-Werror"};

/// Ends a program at the first undefined operation; needs no library of the compiler's.
inline const Words kTrapUndefined = {"-fsanitize=undefined,float-cast-overflow",
                                     "-fsanitize-undefined-trap-on-error"};

/// Flags that each make the preprocessor take another path through the kernels, which this
/// processor can run.
inline std::vector<Words> path_flags() {
  if (one_c_compiler()) return {{}};
#ifdef __x86_64__
  std::vector<Words> flags = {{"-U__SSE2__"}, {}};
  if (__builtin_cpu_supports("sse4.1")) flags.push_back({"-msse4.1"});
  if (__builtin_cpu_supports("avx2")) flags.push_back({"-mavx2"});
  return flags;
#else
  return {{}};
#endif
}

/// Files and the programs made of them.
class CProject {
 public:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  void write(const std::string& name, const std::string& text) const {
    write_file_atomic(path(name), text);
  }
  void write(const CSource& source) const {
    write(source.name + ".h", source.header);
    write(source.name + ".c", source.source);
  }

  /// `compiler flags -o out files`.
  ProcessResult compile(const std::string& compiler, const Words& flags, const std::string& out,
                        const Words& files) const {
    Words command = joined({compiler, "-I", folder_.path().string()}, flags);
    for (const std::string& file : files) command.push_back(path(file));
    command = joined(command, {"-o", path(out)});
    return run_process(command);
  }

  /// Compiles and expects that it works.
  void build(const std::string& compiler, const Words& flags, const std::string& out,
             const Words& files) const {
    const ProcessResult result = compile(compiler, flags, out, files);
    ASSERT_EQ(result.exit_code, 0) << compiler << " " << ::testing::PrintToString(flags) << "\n"
                                   << result.err;
  }

  ProcessResult run(const std::string& program, const Words& arguments = {}) const {
    return run_process(joined({path(program)}, arguments));
  }
  /// Runs a program whose standard input is a file.
  ProcessResult run_on(const std::string& program, const std::string& file) const {
    return run_process({"/bin/sh", "-c", path(program) + " < " + path(file)});
  }

 private:
  ScratchDirectory folder_;
};

/// A model, and samples for it as bytes.
struct CCase {
  IntegerModel model;
  Rounding rounding = Rounding::fp32;
  Bytes inputs;
  CWeights weights = CWeights::int8;
  CCode code = CCode::fast;
  bool input_in_arena = false;
  std::int64_t rows = 0;
};

/// The codes of one sample of these inputs or outputs.
inline std::size_t sample_size(const IntegerModel& model, const std::vector<std::int32_t>& ends) {
  std::int64_t size = 0;
  for (const std::int32_t end : ends) size += model.tensors[static_cast<std::size_t>(end)].size();
  return static_cast<std::size_t>(size);
}

/// The bytes that the interpreter makes of a case's inputs: samples end to end, in each its outputs
/// one behind the other, as `inputs` has the inputs.
inline Bytes interpreted(const CCase& c) {
  Interpreter interpreter(c.model, {.rounding = c.rounding});
  Bytes bytes;
  const std::size_t step = sample_size(c.model, c.model.inputs);
  for (auto rest = std::span(c.inputs); rest.size() >= step;) {
    for (std::size_t k = 0; k < c.model.inputs.size(); ++k) {
      const auto to = interpreter.input_bytes(k);
      std::memcpy(to.data(), rest.data(), to.size());
      rest = rest.subspan(to.size());
    }
    interpreter.invoke();
    for (std::size_t k = 0; k < c.model.outputs.size(); ++k) {
      const auto out = interpreter.output_bytes(k);
      const auto* from = reinterpret_cast<const std::uint8_t*>(out.data());
      bytes.insert(bytes.end(), from, from + out.size());
    }
  }
  return bytes;
}

/// A program that holds all cases as net_0, net_1, ... in one translation unit, reads their inputs
/// from the file named first and writes their outputs to the file named second.
class CDriver {
 public:
  explicit CDriver(std::vector<CCase> cases) : cases_(std::move(cases)) {
    std::string text = "#include <stdio.h>\n";
    std::string calls;
    Bytes inputs;
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      const CCase& c = cases_[i];
      const std::string name = "net_" + std::to_string(i);
      const CSource source = to_c_source(c.model, name,
                                         {.rounding = c.rounding,
                                          .weights = c.weights,
                                          .code = c.code,
                                          .input_in_arena = c.input_in_arena,
                                          .rows = c.rows});
      by_rows_ += source.rows > 0 ? 1 : 0;
      project_.write(source);
      text += "#include \"" + name + ".c\"\n";
      calls += call(c, "NET_" + std::to_string(i), name);
      inputs.insert(inputs.end(), c.inputs.begin(), c.inputs.end());
      const Bytes outputs = interpreted(c);
      expected_.insert(expected_.end(), outputs.begin(), outputs.end());
      ends_.push_back(expected_.size());
    }
    project_.write("driver.c", text + main_text(calls));
    write_file_atomic(project_.path("in"), inputs);
  }

  /// How many output bytes differ, compiled and run like that; names the first net that does.
  std::size_t differing(const std::string& compiler, const Words& flags) const {
    project_.build(compiler, flags, "driver", {"driver.c"});
    if (::testing::Test::HasFatalFailure()) return expected_.size();
    const ProcessResult result =
        project_.run("driver", {project_.path("in"), project_.path("out")});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const Bytes found = read_file(project_.path("out"));
    EXPECT_EQ(found.size(), expected_.size());
    if (found.size() != expected_.size()) return expected_.size();
    std::size_t count = 0;
    for (std::size_t i = 0; i < found.size(); ++i) count += found[i] != expected_[i] ? 1 : 0;
    if (count > 0) ADD_FAILURE() << "first in " << net_at(found);
    return count;
  }

  std::size_t output_bytes() const { return expected_.size(); }
  /// How many of the cases run some layers by rows.
  std::size_t by_rows() const { return by_rows_; }

 private:
  static std::string call(const CCase& c, const std::string& macro, const std::string& name) {
    const IntegerModel& model = c.model;
    std::string buffers;
    std::string reads;
    std::string arguments;
    std::string writes;
    const auto add = [&](const std::vector<std::int32_t>& ends, const std::string& role) {
      for (std::size_t k = 0; k < ends.size(); ++k) {
        const auto& tensor = model.tensors[static_cast<std::size_t>(ends[k])];
        const std::string number = ends.size() == 1 ? "" : std::to_string(k + 1);
        const std::string buffer = (role == "INPUT" ? "x" : "y") + number;
        const char* const type = tensor.dtype == DType::int32   ? "int32_t"
                                 : tensor.dtype == DType::uint8 ? "uint8_t"
                                                                : "int8_t";
        const std::string size = fmt::format("{}_{}{}_SIZE", macro, role, number);
        const bool in_arena = c.input_in_arena && role == "INPUT";
        buffers += in_arena ? fmt::format("    {} *{} = {}_input{}_buffer();\n", type, buffer, name,
                                          number)
                            : fmt::format("    static {} {}[{}];\n", type, buffer, size);
        arguments += fmt::format("{}{}", arguments.empty() ? "" : ", ", buffer);
        if (role == "INPUT") {
          reads += fmt::format("      if (fread({}, {}, 1, in) != 1) return 3;\n", buffer, size);
        } else {
          writes += fmt::format("      fwrite({0}, sizeof {0}, 1, out);\n", buffer);
        }
      }
    };
    add(model.inputs, "INPUT");
    add(model.outputs, "OUTPUT");
    return "  {\n" + buffers + "    long i;\n    for (i = 0; i < " +
           std::to_string(c.inputs.size() / sample_size(model, model.inputs)) + "; ++i) {\n" +
           reads + "      if (" + name + "_invoke(" + arguments + ") != 0) return 4;\n" + writes +
           "    }\n  }\n";
  }

  static std::string main_text(const std::string& calls) {
    return "int main(int argc, char **argv)\n{\n"
           "  FILE *in = argc == 3 ? fopen(argv[1], \"rb\") : NULL;\n"
           "  FILE *out = argc == 3 ? fopen(argv[2], \"wb\") : NULL;\n"
           "  if (!in || !out) return 2;\n" +
           calls + "  fclose(in);\n  return fclose(out) == 0 ? 0 : 5;\n}\n";
  }

  std::string net_at(const Bytes& found) const {
    std::size_t at = 0;
    while (found[at] == expected_[at]) ++at;
    std::size_t net = 0;
    while (ends_[net] <= at) ++net;
    return "net_" + std::to_string(net) + ", contract " +
           std::string(to_string(cases_[net].rounding)) + ": " + std::to_string(found[at]) +
           ", expected " + std::to_string(expected_[at]);
  }

  std::vector<CCase> cases_;
  CProject project_;
  Bytes expected_;
  std::size_t by_rows_ = 0;
  std::vector<std::size_t> ends_;
};

/// `count` samples of random codes for a model.
inline Bytes random_codes(const IntegerModel& model, std::size_t count, std::uint64_t seed) {
  const Random random(seed);
  Bytes bytes(count * sample_size(model, model.inputs));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::uint8_t>(random.below(i, 256));
  }
  return bytes;
}

/// The codes of `reals`, as training quantizes them.
inline Bytes quantized_codes(const IntegerModel& model, std::span<const float> reals,
                             Rounding rounding) {
  Bytes bytes(reals.size());
  quantize(reals, model.tensors[static_cast<std::size_t>(model.inputs[0])].quantization,
           std::span(reinterpret_cast<std::int8_t*>(bytes.data()), bytes.size()),
           quantize_mode(rounding));
  return bytes;
}

/// An MLP of the example's size.
inline IntegerModel example_model() { return make_mlp(3, {784, 256, 128, 10}, false, false); }

/// FULLY_CONNECTED with every activation, scales per tensor and per channel, several rows,
/// LOGISTIC, TANH, RELUs, QUANTIZE and SOFTMAX, from bytes to bytes.
inline IntegerModel everything() {
  Draw draw(5);
  RawModelBuilder b;
  std::int32_t x = b.activation("bytes", {3, 7}, DType::uint8, quant(0.013F, 120, DType::uint8));
  b.model.inputs = {x};
  const auto unary = [&](OpCode code, const QuantParams& q, DType type = DType::int8) {
    const ModelTensor input = b.model.tensors[static_cast<std::size_t>(x)];
    const std::int32_t y = b.activation("unary", input.shape, type, q);
    b.op(code, {x}, y);
    x = y;
  };
  const auto dense = [&](const DenseSpec& spec) { x = add_dense(b, x, spec, draw); };
  unary(OpCode::quantize, quant(0.02F, -5));
  dense({.units = 9, .activation = FusedActivation::relu6, .output_zero_point = -90});
  unary(OpCode::tanh, quant(1.0F / 128, 0));
  dense({.units = 5, .per_channel = true, .activation = FusedActivation::relu_n1_to_1});
  dense({.units = 11, .weight_zero_point = -3, .bias = false, .output_zero_point = 4});
  unary(OpCode::relu, quant(0.09F, -128));
  unary(OpCode::relu6, quant(0.07F, -100));
  unary(OpCode::relu_n1_to_1, quant(0.05F, 7));
  dense({.units = 6, .per_channel = true, .activation = FusedActivation::relu});
  unary(OpCode::logistic, quant(1.0F / 256, -128));
  dense({.units = 4, .output_scale = 0.05F});
  const std::int32_t flat = b.activation("flat", {1, 12}, DType::int8, quant(0.05F, 0));
  b.op(OpCode::reshape, {x}, flat, ReshapeAttributes{.new_shape = {1, 12}});
  x = flat;
  unary(OpCode::softmax, quant(1.0F / 256, -128));
  unary(OpCode::quantize, quant(1.0F / 256, 0, DType::uint8), DType::uint8);
  b.model.outputs = {x};
  return b.model;
}

/// Tests that need a C compiler.
class CompiledC : public ::testing::Test {
 protected:
  void SetUp() override {
    if (c_compilers().empty()) GTEST_SKIP() << "neither gcc nor clang is here";
  }

  CProject project_;
};

}  // namespace octet::test
