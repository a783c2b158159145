// Operators that TensorFlow's converter spells out by others: files of ours whose operators and
// shapes are renamed to those that Octet has not.

#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/import/tflite/import_tflite.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/deploy/raw_flatbuffer.h>
#include <octet/tests/runtime/models.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

namespace octet::test::tflite_composites_test {
namespace {

using Bytes = std::vector<std::uint8_t>;
using Extents = std::vector<std::int32_t>;

/// Gives operators of one code another, by their numbers in the format.
void rename(Bytes& file, const std::map<OpCode, std::int8_t>& names) {
  for (const RawTable& code : RawTable::root(file).tables(model_field::operator_codes)) {
    const auto found =
        names.find(static_cast<OpCode>(code.scalar<std::int32_t>(code_field::builtin_code)));
    if (found == names.end()) continue;
    const std::int32_t number = found->second;
    std::memcpy(file.data() + code.place(code_field::builtin_code), &number, sizeof(number));
    std::memcpy(file.data() + code.place(code_field::deprecated_builtin_code), &found->second, 1);
  }
}

void reshape(Bytes& file, const std::string& name, const Extents& shape) {
  const RawTable graph = RawTable::root(file).tables(model_field::subgraphs)[0];
  for (const RawTable& tensor : graph.tables(graph_field::tensors)) {
    if (tensor.text(tensor_field::name) != name) continue;
    std::memcpy(file.data() + tensor.start_of_values(tensor_field::shape), shape.data(),
                shape.size() * sizeof(std::int32_t));
  }
}

constexpr std::int8_t kDiv = 42;
constexpr std::int8_t kExp = 47;
constexpr std::int8_t kNeg = 59;
constexpr std::int8_t kSum = 74;
constexpr std::int8_t kReduceMax = 82;

/// The softmax of images; `more` is an output, too.
Bytes spelled_softmax(const std::string& more = "") {
  RawModelBuilder b;
  const Extents image{1, 2, 2, 3};
  std::map<std::string, std::int32_t> made;
  const auto reals = [&](const std::string& name, const Extents& shape) {
    return made[name] = b.activation(name, shape, DType::float32);
  };
  const std::int32_t x = reals("x", image);
  const std::int32_t most = reals("most", {1, 1, 1, 3});
  const std::int32_t apart = reals("apart", image);
  const std::int32_t power = reals("power", image);
  const std::int32_t sum = reals("sum", {1, 1, 1, 3});
  const std::int32_t y = reals("y", image);
  b.op(OpCode::mean, {x, b.constant("axes", {2}, DType::int32, Extents{1, 2})}, most,
       MeanAttributes{.keep_dims = true});
  b.op(OpCode::sub, {x, most}, apart);
  b.op(OpCode::rsqrt, {apart}, power);
  b.op(OpCode::resize_nearest_neighbor,
       {power, b.constant("size", {2}, DType::int32, Extents{1, 1})}, sum);
  b.op(OpCode::mul, {power, sum}, y);
  b.model.inputs = {x};
  b.model.outputs = {y};
  if (!more.empty()) b.model.outputs.push_back(made.at(more));
  Bytes file = to_tflite(b.model);
  for (const char* name : {"most", "sum"}) reshape(file, name, {1, 2, 2, 1});
  rename(file, {{OpCode::mean, kReduceMax},
                {OpCode::rsqrt, kExp},
                {OpCode::resize_nearest_neighbor, kSum},
                {OpCode::mul, kDiv}});
  return file;
}

std::vector<OpCode> codes_of(const IntegerModel& model) {
  std::vector<OpCode> codes;
  for (const Operator& op : model.operators) codes.push_back(op.code);
  return codes;
}

TEST(TfliteComposites, ASoftmaxOfItsPartsIsOneOperator) {
  const IntegerModel model = from_tflite(spelled_softmax());
  ASSERT_EQ(codes_of(model), std::vector{OpCode::softmax});
  const Tensor x = Tensor::uniform({2, 2, 2, 3}, Random(1), -3.0F, 3.0F);
  const Tensor y = import_float_model(model).forward(x);
  for (Index i = 0; i < x.size(); ++i) {
    double sum = 0;
    for (Index c = 0; c < 3; ++c) sum += std::exp(double{x.data()[i / 3 * 3 + c]});
    EXPECT_NEAR(y.data()[i], std::exp(double{x.data()[i]}) / sum, 1e-6);
  }
}

TEST(TfliteComposites, AreNoneWhereTheirPartsAreReadBeside) {
  for (const char* more : {"power", "most"}) {
    expect_throws<FormatError>([&] { from_tflite(spelled_softmax(more)); },
                               {"REDUCE_MAX is not supported"});
  }
  Bytes along_rows = spelled_softmax();
  reshape(along_rows, "sum", {1, 2, 1, 3});
  EXPECT_THROW(from_tflite(along_rows), FormatError);
}

TEST(TfliteComposites, APReLUOfItsPartsIsOneOperator) {
  for (const bool first : {false, true}) {
    RawModelBuilder b;
    const auto reals = [&](const char* name) { return b.activation(name, {1, 3}, DType::float32); };
    const std::int32_t x = reals("x");
    const std::int32_t above = reals("above");
    const std::int32_t mirrored = reals("mirrored");
    const std::int32_t clamped = reals("clamped");
    const std::int32_t below = reals("below");
    const std::int32_t scaled = reals("scaled");
    const std::int32_t y = reals("y");
    const std::int32_t alpha =
        b.constant("alpha", {3}, DType::float32, std::vector<float>{0.5F, -1, 2});
    b.op(OpCode::relu, {x}, above);
    b.op(OpCode::elu, {x}, mirrored);
    b.op(OpCode::relu, {mirrored}, clamped);
    b.op(OpCode::elu, {clamped}, below);
    b.op(OpCode::mul, first ? Extents{alpha, below} : Extents{below, alpha}, scaled);
    b.op(OpCode::add, first ? Extents{above, scaled} : Extents{scaled, above}, y);
    b.model.inputs = {x};
    b.model.outputs = {y};
    Bytes file = to_tflite(b.model);
    rename(file, {{OpCode::elu, kNeg}});
    const IntegerModel model = from_tflite(file);
    ASSERT_EQ(codes_of(model), std::vector{OpCode::prelu});
    const Tensor found =
        import_float_model(model).forward(Tensor::from({2, 3}, {1, 2, 3, -1, -2, -3}));
    EXPECT_EQ(std::vector<float>(found.span().begin(), found.span().end()),
              (std::vector<float>{1, 2, 3, -0.5F, 2, -6}));
  }
}

}  // namespace
}  // namespace octet::test::tflite_composites_test
