// Parts of ONNX files, and inputs whose extents the file leaves open.

#include <octet/core/error.h>
#include <octet/core/ops/activation.h>
#include <octet/core/ops/ops.h>
#include <octet/core/random.h>
#include <octet/tests/import/onnx_computed.h>

#include <string>

namespace octet::test::onnx_cut_test {
namespace {

using namespace onnx_computed;

std::string refusal(const Bytes& file, const ImportOptions& options) {
  try {
    import_onnx(file, options);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "";
}

/// An operator that is not imported between others, of which each adds 0.1.
Bytes with_middle(const char* op) {
  const std::vector<Message> nodes = {node("Add", {"x", "c"}, "a"), node(op, {"a"}, "b"),
                                      node("Add", {"b", "c"}, "d"), node("Relu", {"d"}, "y")};
  return onnx_file({-1, 3}, nodes, {floats("c", {1})});
}

TEST(OnnxCut, LeavesWhatLiesBetweenFromAndTo) {
  const Tensor x = Tensor::uniform({2, 3}, Random(1), -1.0F, 1.0F);
  const Tensor tenth = Tensor::full({3}, 0.1F);
  struct Case {
    ImportOptions options;
    Tensor expected;
  };
  const std::vector<Case> cases = {
      {{.shapes = {}, .from = {}, .to = {"a"}}, x + tenth},
      {{.shapes = {{"b", {1, 3}}}, .from = {"b"}, .to = {}}, relu(x + tenth)},
      {{.shapes = {{"b", {1, 3}}}, .from = {"b"}, .to = {"d"}}, x + tenth}};
  for (const auto& [options, expected] : cases) {
    const std::string name = options.to.empty() ? "to the end" : options.to[0];
    expect_same(import_onnx(with_middle("Einsum"), options).forward(x), expected, name);
  }
}

TEST(OnnxCut, RefusalsProposeIt) {
  EXPECT_THAT(refusal(with_middle("Einsum"), {}),
              testing::HasSubstr("; octet import --to 'a' imports the nodes in front of it"));
  // A node that is of a known operator, and refused all the same.
  const Bytes file = onnx_file({-1, 3}, {node("Relu", {"x"}, "a"), node("Div", {"a", "a"}, "y")});
  EXPECT_THAT(refusal(file, {}), testing::HasSubstr("--to 'a'"));
  const Bytes classes = onnx_file({-1, 3}, {node("Relu", {"x"}, "a"), node("ArgMax", {"a"}, "y")});
  EXPECT_THAT(refusal(classes, {}),
              testing::HasSubstr("nothing trains through it; the largest output is the same; "));
  EXPECT_THAT(refusal(classes, {}), testing::HasSubstr("--to 'a'"));
  EXPECT_THAT(refusal(with_middle("ArgMax"), {}), testing::HasSubstr("Octet has no such operator"));
  // Nothing would be left.
  const Bytes first = onnx_file({-1, 3}, {node("Einsum", {"x"}, "y")});
  EXPECT_THAT(refusal(first, {}), testing::Not(testing::HasSubstr("--to")));
}

TEST(OnnxCut, RefusesNamesAndShapesThatTheFileDoesNotHave) {
  const Bytes file = with_middle("Relu");
  const std::vector<std::pair<ImportOptions, const char*>> cases = {
      {{.shapes = {}, .from = {}, .to = {"z"}}, "--to: the file has no value \"z\""},
      {{.shapes = {}, .from = {}, .to = {"node b"}},
       "found the node \"node b\", which gives \"b\""},
      {{.shapes = {}, .from = {"z"}, .to = {}}, "--from: the file has no value \"z\""},
      {{.shapes = {}, .from = {"b"}, .to = {"a"}}, "read the input \"x\", too"},
      {{.shapes = {}, .from = {"b"}, .to = {}}, "--shape b=1,..."},
      {{.shapes = {{"z", {1, 3}}}, .from = {}, .to = {}}, "one of x, found \"z\""},
      {{.shapes = {{"x", {1, 4}}}, .from = {}, .to = {}}, "expected [-1, 3] (-1: any)"}};
  for (const auto& [options, says] : cases) {
    EXPECT_THAT(refusal(file, options), testing::HasSubstr(says)) << says;
  }
}

TEST(OnnxShapes, FillOpenExtents) {
  const Bytes file = onnx_file({-1, 2, -1, -1}, {images_first(), node("Relu", {"i"}, "y")});
  EXPECT_THAT(refusal(file, {}), testing::HasSubstr("--shape x=1,..."));
  const ImportOptions options = {.shapes = {{"x", {1, 2, 5, 4}}}, .from = {}, .to = {}};
  EXPECT_EQ(import_onnx(file, options).input_shape(), (Shape{5, 4, 2}));
}

// [1, 1, 3] is the same with its first two axes exchanged: where the batch is known to be 1, what
// reads it as either is taken.
TEST(OnnxShapes, AKnownBatchOfOneMayStandOnEitherSide) {
  const Bytes file = onnx_file(
      {-1, 1, 3}, {node("Transpose", {"x"}, "t", {attribute("perm", Integers{1, 0, 2})}),
                   node("Concat", {"t", "x"}, "y", {attribute("axis", std::int64_t{2})})});
  EXPECT_THAT(refusal(file, {}), testing::HasSubstr("found [1, batch, 3] and [batch, 1, 3]"));
  const ImportOptions options = {.shapes = {{"x", {1, 1, 3}}}, .from = {}, .to = {}};
  const Tensor x = Tensor::uniform({1, 1, 3}, Random(2), -1.0F, 1.0F);
  const Tensor y = import_onnx(file, options).forward(x);
  ASSERT_EQ(y.size(), 6);
  for (Index i = 0; i < 6; ++i) EXPECT_EQ(y.data()[i], x.data()[i % 3]);
}

/// The importer's own choice is that of the readers: channels first for a MaxPool, as given for
/// Relu.
TEST(OnnxCut, TheLayoutOfInputsMayBeSaid) {
  const Message pool =
      node("MaxPool", {"x"}, "y", {attribute("kernel_shape", std::vector<std::int64_t>{1, 1})});
  const Shape first{3, 4, 2};
  const Shape given{2, 3, 4};
  struct Row {
    Message reader;
    InputLayout layout;
    Shape input;
  };
  for (const Row& row :
       {Row{pool, InputLayout::of_readers, first}, Row{pool, InputLayout::as_given, given},
        Row{node("Relu", {"x"}, "y"), InputLayout::of_readers, given},
        Row{node("Relu", {"x"}, "y"), InputLayout::channels_first, first}}) {
    const Model model = import_onnx(onnx_file({-1, 2, 3, 4}, {row.reader}), {.layout = row.layout});
    EXPECT_EQ(model.input_shape(), row.input);
    const Tensor x = Tensor::uniform(row.input.with_batch(2), Random(1));
    EXPECT_EQ(model.forward(x).size(), x.size());
  }
}

}  // namespace
}  // namespace octet::test::onnx_cut_test
