#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/layers/layers.h>
#include <octet/runtime/interpreter.h>
#include <octet/runtime/joined_reshapes.h>
#include <octet/tests/deploy/lowered.h>
#include <octet/tests/layers/quantize/same_as_shipped.h>
#include <octet/tests/runtime/models.h>

namespace octet::test::joined_reshapes_test {
namespace {

using Codes = std::vector<OpCode>;
using Extents = std::vector<std::int32_t>;

/// A tensor of [1, 2, 6] that RESHAPEs make others of: each reads the tensor of that number and
/// makes the next one, a RELU each of those in `read`; `outputs` are the model's.
struct Rows {
  std::string name;
  std::vector<std::pair<std::int32_t, Extents>> reshapes;
  Extents read;
  Extents outputs;
  /// RESHAPEs that are left.
  std::ptrdiff_t left;
};

IntegerModel model_of(const Rows& rows) {
  RawModelBuilder b;
  const auto tensor = [&](const Extents& shape) {
    return b.activation("t" + std::to_string(b.model.tensors.size()), shape, DType::int8,
                        quant(0.1F, 3));
  };
  Extents numbers = {tensor({1, 2, 6})};
  b.model.inputs = {numbers[0]};
  for (const auto& [from, shape] : rows.reshapes) {
    numbers.push_back(tensor(shape));
    const std::int32_t target =
        b.constant("shape of " + std::to_string(numbers.back()),
                   {static_cast<std::int32_t>(shape.size())}, DType::int32, shape);
    b.op(OpCode::reshape, {numbers[static_cast<std::size_t>(from)], target}, numbers.back(),
         ReshapeAttributes{.new_shape = shape});
  }
  for (const std::int32_t read : rows.read) {
    const std::int32_t from = numbers[static_cast<std::size_t>(read)];
    const std::int32_t to = tensor(b.model.tensors[static_cast<std::size_t>(from)].shape);
    b.op(OpCode::relu, {from}, to);
    b.model.outputs.push_back(to);
  }
  for (const std::int32_t output : rows.outputs) {
    b.model.outputs.push_back(numbers[static_cast<std::size_t>(output)]);
  }
  b.model.validate();
  return b.model;
}

/// The bytes of every output for one input.
std::vector<std::vector<std::byte>> run(const IntegerModel& model) {
  Interpreter interpreter(model, {.keep_tensors = true});
  Draw draw(1);
  for (std::byte& b : interpreter.input_bytes()) b = static_cast<std::byte>(draw.between(0, 255));
  interpreter.invoke();
  std::vector<std::vector<std::byte>> result;
  for (const std::int32_t output : model.outputs) {
    const auto bytes = interpreter.tensor_bytes(output);
    result.emplace_back(bytes.begin(), bytes.end());
  }
  return result;
}

TEST(JoinedReshapes, RowsBecomeOneOrNoneAndAllElseStays) {
  const Extents flat = {1, 12};
  const Extents square = {1, 3, 4};
  const Extents first = {1, 2, 6};
  for (const Rows& rows : std::vector<Rows>{
           {"one stays", {{0, flat}}, {1}, {}, 1},
           {"one to the same shape stays", {{0, first}}, {1}, {}, 1},
           {"two become one", {{0, flat}, {1, square}}, {2}, {}, 1},
           {"three become one", {{0, flat}, {1, square}, {2, flat}}, {3}, {}, 1},
           {"and back: none", {{0, flat}, {1, first}}, {2}, {}, 0},
           {"what another reads stays", {{0, flat}, {1, square}}, {1, 2}, {}, 2},
           {"what is an output stays", {{0, flat}, {1, square}}, {2}, {1}, 2},
           {"an output is made", {{0, flat}, {1, first}}, {}, {2}, 1},
           {"two rows from one", {{0, flat}, {1, square}, {1, first}}, {2, 3}, {}, 1}}) {
    SCOPED_TRACE(rows.name);
    const IntegerModel before = model_of(rows);
    IntegerModel after = before;
    const std::vector<std::int32_t> tensors = join_reshapes(after);
    after.validate();
    const auto is_reshape = [](const Operator& op) { return op.code == OpCode::reshape; };
    EXPECT_EQ(std::ranges::count_if(after.operators, is_reshape), rows.left);
    EXPECT_EQ(after.operators.size() - static_cast<std::size_t>(rows.left), rows.read.size());
    EXPECT_EQ(run(after), run(before));
    // Nothing is left behind, and each tensor is found again.
    EXPECT_EQ(before.tensors.size() - after.tensors.size(),
              2 * (before.operators.size() - after.operators.size()));
    ASSERT_EQ(tensors.size(), before.tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (before.tensors[i].is_constant()) continue;
      EXPECT_EQ(after.tensors.at(static_cast<std::size_t>(tensors[i])).size(),
                before.tensors[i].size());
    }
    if (before.operators.size() == after.operators.size()) {
      EXPECT_EQ(to_tflite(after), to_tflite(before));
    }
  }
}

TEST(JoinedReshapes, OfAnotherSignatureIsMade) {
  IntegerModel model = model_of({"", {{0, {1, 12}}, {1, {1, 2, 6}}}, {2}, {}, 1});
  const auto made = static_cast<std::size_t>(model.operators[1].outputs[0]);
  model.tensors[made].shape_signature = {-1, 2, 6};
  join_reshapes(model);
  EXPECT_EQ(operator_lines(model).size(), 2U);
}

TEST(JoinedReshapes, ConvolutionsOfSequencesWithAPoolBetweenAreOneRowOfImages) {
  Sequential source("m", Input({16, 3}), Conv1D(4, 3, Activation::relu), Reshape({1, 14, 4}),
                    MaxPool2D({.size = {1, 2}}), Reshape({7, 4}), Conv1D(5, 3, Activation::relu),
                    Flatten(), Dense(3, Activation::softmax));
  source.build(1);
  Model model = quantize_model(source);
  calibrate(model, random_tensor({40, 16, 3}, 2));
  const IntegerModel shipped = from_tflite(to_tflite(lower(model)));
  EXPECT_EQ(operator_lines(shipped),
            (std::vector<std::string>{"RESHAPE conv1d/images", "CONV_2D conv1d/convolution",
                                      "MAX_POOL_2D max_pool2d", "CONV_2D conv1d_1/convolution",
                                      "RESHAPE flatten", "FULLY_CONNECTED dense/linear",
                                      "SOFTMAX dense"}));
  expect_same_as_shipped(model, shipped, random_tensor({9, 16, 3}, 3));
}

}  // namespace
}  // namespace octet::test::joined_reshapes_test
