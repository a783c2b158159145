// What import_onnx() does not take, and that it says so.

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/import/onnx/import_onnx.h>
#include <octet/tests/import/onnx_file.h>
#include <octet/tests/train/data/idx_files.h>

#include <string>

namespace octet::test::onnx_refusal_test {
namespace {

using Bytes = std::vector<std::uint8_t>;

template <class E>
std::string message_of(const Bytes& file) {
  try {
    import_onnx(file);
  } catch (const E& error) {
    return error.what();
  }
  return "";
}

const std::vector<std::int64_t> kImages = {-1, 2, 6, 6};

TEST(OnnxRefusals, NameOperatorNodeAndReason) {
  const auto refuse = [](const char* name, const std::vector<std::int64_t>& input,
                         const std::vector<Message>& nodes, const std::vector<Message>& tensors,
                         const char* says) {
    EXPECT_THAT(message_of<InvalidArgument>(onnx_file(input, nodes, tensors)),
                testing::HasSubstr(says))
        << name;
  };
  const Message w = floats("w", {3, 2, 3, 3});
  const auto conv = [&](const std::vector<Message>& attributes) {
    return std::vector{node("Conv", {"x", "w"}, "y", attributes)};
  };
  const auto pool = [&](const char* op, std::vector<Message> attributes) {
    attributes.push_back(attribute("kernel_shape", {2, 2}));
    return std::vector{node(op, {"x"}, "y", attributes)};
  };
  Message many_outputs = node("Relu", {"x"}, "y");
  for (int i = 0; i < 1000; ++i) many_outputs.text(2, fmt::format("more{}", i));
  refuse("Unknown", kImages,
         {node("Relu", {"x"}, "a"), node("Einsum", {"a"}, "b"), node("Relu", {"b"}, "y")}, {},
         "node \"node b\" (Einsum): Octet has no such operator; the other 2 of 3 nodes");
  refuse("OtherDomain", kImages, {node("Relu", {"x"}, "a"), node("Erf", {"a"}, "y")}, {}, "Erf");
  refuse("OtherPad", kImages, conv({attribute("auto_pad", "SAME")}), {w}, "found SAME");
  refuse("Groups", kImages, conv({attribute("group", std::int64_t{2})}), {w},
         "2 channels / 2 groups");
  refuse("NegativePads", kImages, conv({attribute("pads", {-1, 0, 0, 0})}), {w},
         "pads of 0 or more");
  refuse("ZeroStrides", kImages, conv({attribute("strides", {0, 1})}), {w},
         "numbers above 0 as strides");
  refuse("KernelTooLarge", {-1, 2, 2, 6}, conv({}), {w}, "does not fit");
  refuse("MaxPoolOfNegatives", kImages, pool("MaxPool", {attribute("pads", {1, 1, 1, 1})}), {},
         "behind a Relu it would import");
  refuse("AverageWithoutPadding", kImages, pool("AveragePool", {attribute("pads", {1, 1, 1, 1})}),
         {}, "count_include_pad=1");
  refuse("Clip", {-1, 4}, {node("Clip", {"x", "lo", "hi"}, "y")},
         {real("lo", 2.0F), real("hi", 1.0F)}, "expected bounds in order, found 2 and 1");
  refuse("MovedBatch", {-1, 4}, {node("Transpose", {"x"}, "y", {attribute("perm", {1, 0})})}, {},
         "batch to stay in front");
  refuse("CutBatch", {-1, 4}, {node("Slice", {"x", "s", "e"}, "y")},
         {integers("s", {0}), integers("e", {3})}, "expected an axis of examples, found 0");
  refuse("StepsOfSlice", {-1, 4}, {node("Slice", {"x", "s", "e", "s", "k"}, "y")},
         {integers("s", {1}), integers("e", {3}), integers("k", {-2})},
         "expected steps of 1 or more, one for each axis, found [-2]");
  refuse("EndsOfSlice", {-1, 4}, {node("Slice", {"x", "s", "e"}, "y")},
         {integers("s", {0, 1}), integers("e", {3})},
         "expected starts, ends and axes for at most 2 axes, found 2, 1 and 2");
  refuse("NothingOfSlice", {-1, 4}, {node("Slice", {"x", "s", "s", "a"}, "y")},
         {integers("s", {2}), integers("a", {1})}, "found 0 from 2 on");
  refuse("UnequalSplit", {-1, 5},
         {node("Split", {"x"}, "a", {attribute("axis", std::int64_t{1})}).text(2, "b"),
          node("Add", {"a", "b"}, "y")},
         {}, "expected 2 parts of at least 1 that are 5 together, found []");
  refuse("SplitOfMore", {-1, 5},
         {node("Split", {"x", "s"}, "a", {attribute("axis", std::int64_t{1})}).text(2, "b"),
          node("Add", {"a", "b"}, "y")},
         {integers("s", {3, 3})},
         "expected 2 parts of at least 1 that are 5 together, found [3, 3]");
  refuse("SecondResult", kImages,
         {node("MaxPool", {"x"}, "a", {attribute("kernel_shape", {2, 2})}).text(2, "indices"),
          node("Add", {"a", "indices"}, "y")},
         {}, "expected its first result alone to be read, found \"indices\"");
  refuse("SoftmaxOfBatch", kImages,
         {node("Conv", {"x", "w"}, "a"),
          node("Softmax", {"a"}, "y", {attribute("axis", std::int64_t{0})})},
         {w}, "expected an axis of examples, found 0 of [batch, 3, 4, 4]");
  refuse("WrongFeatures", {-1, 5}, {node("MatMul", {"x", "m"}, "y")}, {floats("m", {4, 2})},
         "weights for 5 features");
  refuse("TransposedA", {-1, 4},
         {node("Gemm", {"x", "m"}, "y", {attribute("transA", std::int64_t{1})})},
         {floats("m", {4, 2})}, "transA");
  refuse("TrainingBatchNorm", {-1, 2},
         {node("BatchNormalization", {"x", "n", "n", "n", "n"}, "y",
               {attribute("training_mode", std::int64_t{1})})},
         {floats("n", {2})}, "eval mode");
  refuse("ReflectedPad", kImages, {node("Pad", {"x", "p"}, "y", {attribute("mode", "reflect")})},
         {integers("p", {0, 0, 1, 1, 0, 0, 1, 1})}, "expected mode constant, found reflect");
  refuse("ConstantOfPixels", {-1, 2, 3}, {node("Mul", {"x", "c"}, "y")}, {floats("c", {2, 3})},
         "one for each index of one axis");
  refuse("ConstantThatRepeatsX", {-1, 1}, {node("Add", {"x", "c"}, "y")}, {floats("c", {3})},
         "one for each index of one axis");
  refuse("DividedConstant", {-1, 4}, {node("Div", {"c", "x"}, "y")}, {floats("c", {4})},
         "divides a constant by a value");
  refuse("DivOfTwo", {-1, 4}, {node("Div", {"x", "x"}, "y")}, {}, "found two computed values");
  refuse("OpenExtents", {-1, -1, 6, 6}, {node("Relu", {"x"}, "y")}, {}, "fixed extents");
  refuse(
      "BatchArithmetic", {-1, 4},
      {node("Shape", {"x"}, "s"), node("Mul", {"s", "s"}, "t"), node("Reshape", {"x", "t"}, "y")},
      {}, "number of examples");
  refuse("ManyOutputs", {-1, 4}, {many_outputs}, {},
         "at most 1000 inputs and outputs, found 1 and 1001");
  refuse("ManyAxes", {-1, 4}, {node("Reshape", {"x", "s"}, "r"), node("Flatten", {"r"}, "y")},
         {integers("s", {0, 1, 1, 1, 1, 1, 1, 1, 1, 4})}, "at most 8 axes, found 9");
  refuse("Bfloat16", {-1, 4}, {node("MatMul", {"x", "m"}, "y")}, {tensor("m", 16, {4, 2})},
         "bfloat16");
}

TEST(OnnxRefusals, OpsetsOutsideOfTheRange) {
  for (const std::int64_t opset : {-1, 25}) {
    const Bytes file = onnx_file({-1, 4}, {node("Relu", {"x"}, "y")}, {}, opset);
    EXPECT_THAT(message_of<InvalidArgument>(file), testing::HasSubstr("opset 1 to 24"));
  }
}

TEST(OnnxRefusals, BrokenGraphs) {
  const auto says = [](const Bytes& file, const char* text) {
    EXPECT_THAT(message_of<FormatError>(file), testing::HasSubstr(text));
  };
  const std::vector relu = {node("Relu", {"x"}, "y")};
  says({}, "0 bytes");
  says({'n', 'o', ' ', 'O', 'N', 'N', 'X'}, "cut off");
  says(onnx_file({-1, 4}, {node("Relu", {"z"}, "y")}), "which nothing in front of it gives");
  says(onnx_file({-1, 4}, {node("Relu", {"x"}, "y"), node("Relu", {"x"}, "y")}), "given twice");
  says(onnx_file({-1, 4}, relu, {floats("m", {2}), floats("m", {2})}), "given twice");
  says(onnx_file({-1, 4}, relu, {tensor("m", 1, {1 << 30, 1 << 30})}),
       "expected 1152921504606846976");
  says(onnx_file({-1, 4}, relu, {tensor("m", 1, {INT64_MAX, 4})}), "\"m\"");
  says(onnx_file({-1, 4}, relu, {tensor("m", 1, {-3})}), "\"m\"");
  says(onnx_file({-1, 4}, relu, {tensor("m", 1, {3}).text(9, "1234")}),
       "expected 12 bytes, found 4");
  says(onnx_file({-1, 4}, {node("Flatten", {"x"}, "y", {attribute("axis", 1.0F)})}), "an integer");
}

TEST(OnnxRefusals, ConstantsThatGrow) {
  // Each Concat doubles.
  std::vector<Message> nodes;
  std::string last = "c0";
  for (int i = 1; i < 60; ++i) {
    const std::string next = fmt::format("c{}", i);
    nodes.push_back(node("Concat", {last, last}, next, {attribute("axis", std::int64_t{0})}));
    last = next;
  }
  nodes.push_back(node("Relu", {"x"}, "y"));
  EXPECT_THAT(message_of<FormatError>(onnx_file({-1, 4}, nodes, {integers("c0", {1, 2})})),
              testing::HasSubstr("much more than the file"));
}

class OnnxExternalData : public testing::Test {
 protected:
  OnnxExternalData() {
    std::filesystem::create_directories(folder_ / "inner");
    const std::vector<float> values(8, 0.5F);
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(values.data());
    write_file_atomic(folder_ / "w.data", std::span(bytes, 32));
    write_file_atomic(folder_ / "inner" / "w.data", std::span(bytes, 32));
  }

  /// What is said of weights [4, 2] that `entries` tell of; empty where they are read.
  std::string said(const std::vector<std::pair<std::string, std::string>>& entries) const {
    return said_of({external("m", {4, 2}, entries)});
  }
  std::string said_of(const std::vector<Message>& tensors) const {
    write_file_atomic(folder_ / "net.onnx",
                      onnx_file({-1, 4}, {node("MatMul", {"x", "m"}, "y")}, tensors));
    try {
      import_onnx(folder_ / "net.onnx");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  const ScratchDirectory scratch_;
  const std::filesystem::path folder_ = scratch_.path() / "octet_external";
};

TEST_F(OnnxExternalData, IsReadFromTheFolderAlone) {
  EXPECT_EQ(said({{"location", "w.data"}}), "");
  EXPECT_EQ(said({{"location", "inner/w.data"}, {"offset", "0"}, {"length", "32"}}), "");
  const auto outside = testing::HasSubstr("in the folder of the file");
  EXPECT_THAT(said({{"location", (folder_ / "w.data").string()}}), outside);
  EXPECT_THAT(said({{"location", "../octet_external/w.data"}}), outside);
  EXPECT_THAT(said({{"location", "inner/../w.data"}}), outside);
  EXPECT_THAT(said({}), outside);
  std::filesystem::create_symlink(folder_ / "w.data", folder_ / "link.data");
  EXPECT_THAT(said({{"location", "link.data"}}), testing::HasSubstr("symbolic link"));
  EXPECT_THAT(said({{"location", "none.data"}}), testing::HasSubstr("none.data"));
}

TEST_F(OnnxExternalData, LiesInsideItsFile) {
  const auto says = testing::HasSubstr("of the file's 32");
  EXPECT_THAT(said({{"location", "w.data"}, {"offset", "1"}}), says);
  EXPECT_THAT(said({{"location", "w.data"}, {"offset", "18446744073709551615"}}), says);
  EXPECT_THAT(said({{"location", "w.data"}, {"length", "16"}}), says);
  EXPECT_THAT(said({{"location", "w.data"}, {"offset", "-1"}}), testing::HasSubstr("a number for"));
  EXPECT_THAT(said_of({external("m", {4, 2}, {{"location", "w.data"}}),
                       external("n", {4, 2}, {{"location", "w.data"}})}),
              testing::HasSubstr("add up to more than the file"));
}

TEST_F(OnnxExternalData, NeedsAPath) {
  const Bytes file = onnx_file({-1, 4}, {node("MatMul", {"x", "m"}, "y")},
                               {external("m", {4, 2}, {{"location", "w.data"}})});
  EXPECT_THAT(message_of<InvalidArgument>(file), testing::HasSubstr("by its path"));
}

}  // namespace
}  // namespace octet::test::onnx_refusal_test
