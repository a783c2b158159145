// Files whose parts take the most memory for their bytes that a reader or writer lets them: what is
// allocated stays within the multiples that docs/guarantees.md states.

#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/deploy/onnx/writer.h>
#include <octet/deploy/tflite/decode.h>
#include <octet/deploy/tflite/operators.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/import/onnx/import_onnx.h>
#include <octet/import/weights/weights.h>
#include <octet/layers/layers.h>
#include <octet/tests/import/onnx_file.h>
#include <octet/tests/import/safetensors_files.h>
#include <octet/tests/import/zip_files.h>
#include <octet/tests/robustness/counting_new.h>
#include <octet/tests/runtime/models.h>
#include <octet/tests/train/data/npy_files.h>
#include <octet/tests/train/training.h>

#include <algorithm>
#include <functional>

namespace octet::test::worst_shapes_test {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20U;

/// The most that `read` holds, whether it takes its bytes or refuses them.
std::size_t peak_of_reading(const std::function<void()>& read) {
  return peak_of([&] {
    try {
      read();
    } catch (const FormatError&) {
    } catch (const InvalidArgument&) {
    }
  });
}

// ---- .tflite

/// A model that gives the result of one TFLM_DECODE, and `count` tensors more that are one table
/// with everything that a table may have. `padding` bytes that nothing reads make the file so large
/// that they may be.
Bytes with_copies(std::size_t count, std::size_t padding) {
  flatbuffers::FlatBufferBuilder b;
  const std::vector<std::uint8_t> data{7};
  std::vector<std::uint8_t> tables(18);
  tables[1] = tables[4] = tables[5] = 1;
  const std::vector<std::uint8_t> nothing(padding);
  const std::vector buffers{tflite::CreateBufferDirect(b), tflite::CreateBufferDirect(b, &data),
                            tflite::CreateBufferDirect(b, &tables),
                            tflite::CreateBufferDirect(b, &nothing)};
  const std::vector<std::int32_t> one{1};
  const std::vector<std::int32_t> eighteen{18};
  const std::vector<float> scale{0.5F};
  const std::vector<std::int64_t> zero_point{3};
  const auto quantization =
      tflite::CreateQuantizationParametersDirect(b, nullptr, nullptr, &scale, &zero_point);
  const auto tensor = [&](const std::vector<std::int32_t>& shape, tflite::TensorType type,
                          std::uint32_t buffer) {
    return tflite::CreateTensorDirect(b, &shape, type, buffer, "a name of 20 letters", quantization,
                                      false, 0, &shape, true);
  };
  std::vector tensors{
      tensor(one, tflite::TensorType::UINT8, 1), tensor(eighteen, tflite::TensorType::UINT8, 2),
      tensor(one, tflite::TensorType::INT8, 0), tensor(one, tflite::TensorType::INT8, 0)};
  tensors.insert(tensors.end(), count, tensor(one, tflite::TensorType::INT8, 1));
  const std::vector<std::int32_t> inputs{0, 1};
  const std::vector<std::int32_t> output{2};
  const std::vector operators{tflite::CreateOperatorDirect(b, 0, &inputs, &output)};
  const std::vector codes{tflite::CreateOperatorCodeDirect(
      b, 32, std::string(detail::kTflmDecode).c_str(), 1, tflite::BuiltinOperator::CUSTOM)};
  const std::vector<std::int32_t> input{3};
  const std::vector graphs{
      tflite::CreateSubGraphDirect(b, &tensors, &input, &output, &operators, "g")};
  tflite::FinishModelBuffer(
      b, tflite::CreateModelDirect(b, detail::kSchemaVersion, &codes, &graphs, "", &buffers));
  return {b.GetBufferPointer(), b.GetBufferPointer() + b.GetSize()};
}

TEST(WorstShapes, TensorsOfATfliteFile) {
  constexpr std::size_t kCount = 50000;
  // What the file leaves for a tensor, from what is refused at once to what is read.
  for (std::size_t each = 0; each <= 32; each += 4) {
    const Bytes file = with_copies(kCount, each * kCount);
    const std::size_t peak = peak_of_reading([&] { from_tflite(file); });
    EXPECT_LT(peak, 16 * file.size() + kMiB) << each;
  }
  EXPECT_NO_THROW(from_tflite(with_copies(kCount, 40 * kCount)));
}

// ---- ONNX, imported

/// A file of x -> Relu -> y and of `more` in its graph.
Bytes with_more(const Message& more, int field, int count) {
  Message graph;
  graph.message(1, node("Relu", {"x"}, "y"));
  for (int i = 0; i < count; ++i) graph.message(field, more);
  graph.message(11, value_info("x", {-1, 3})).message(12, value_info("y", {-1, 3}));
  return Message()
      .number(1, 8)
      .message(7, graph)
      .message(8, Message().text(1, "").number(2, 13))
      .bytes();
}

Message repeated(int field, const Message& what, int count) {
  Message message;
  for (int i = 0; i < count; ++i) message.message(field, what);
  return message;
}

/// Constants of no elements and short names, which are read.
Bytes named_empties() {
  std::vector<Message> tensors;
  tensors.reserve(100000);
  for (int i = 0; i < 100000; ++i) tensors.push_back(tensor(fmt::format("{:x}", i), 1, {0}));
  return onnx_file({-1, 3}, {node("Relu", {"x"}, "y")}, tensors);
}

/// A node of one attribute with as many numbers as there are bytes.
Bytes packed_numbers() {
  const std::string ones(kMiB, '\1');
  const Message numbers = Message().text(1, "value_ints").text(8, ones).number(20, 7);
  return onnx_file({-1, 3}, {node("Constant", {}, "c", {numbers}), node("Relu", {"x"}, "y")});
}

TEST(WorstShapes, PartsOfAnOnnxFile) {
  // So many that what any file may take does not hide what these take.
  constexpr int kCount = 2000000;
  const Message empty;
  std::vector<Message> attributes;
  constexpr int kNames = 300000;
  attributes.reserve(kNames);
  for (int i = 0; i < kNames; ++i) attributes.push_back(attribute(fmt::format("{:x}", i), ""));
  const std::vector<std::pair<const char*, Bytes>> files = {
      {"empty nodes", with_more(empty, 1, kCount)},
      {"empty tensors", with_more(empty, 5, kCount)},
      {"empty inputs", with_more(empty, 11, kCount)},
      {"tensors of a name and no element", named_empties()},
      {"entries of external data", with_more(repeated(13, empty, kCount), 5, 1)},
      {"axes", with_more(Message().text(1, std::string(kMiB, '\1')).text(8, "t"), 5, 1)},
      {"empty attributes", with_more(repeated(5, empty, kCount), 1, 1)},
      {"named attributes", onnx_file({-1, 3}, {node("Relu", {"x"}, "y", attributes)})},
      {"inputs of a node", with_more(repeated(1, empty, kCount), 1, 1)},
      {"numbers of a byte", packed_numbers()}};
  for (const auto& file : files) {
    const std::size_t peak = peak_of_reading([&] { import_onnx(file.second); });
    EXPECT_LT(peak, 64 * file.second.size() + 32 * kMiB) << file.first;
  }
}

/// Nodes that each compute something large of the same constants.
struct Shared {
  const char* what;
  std::vector<Message> tensors;
  std::function<std::vector<Message>(const std::string& from, const std::string& to)> nodes;
};

TEST(WorstShapes, ConstantsThatNodesOfAnOnnxFileShare) {
  constexpr std::int64_t kMany = 100000;
  const std::vector<std::int64_t> ones(kMany, 1);
  const auto unary = [](const char* op, const std::vector<std::string>& inputs) {
    return [op, inputs](const std::string& from, const std::string& to) {
      std::vector<std::string> all = inputs;
      std::ranges::replace(all, "x", from);
      return std::vector<Message>{node(op, all, to)};
    };
  };
  const std::vector<Shared> cases = {
      {"a bias",
       {floats("w", {1, kMany}), floats("b", {kMany})},
       [](const std::string& from, const std::string& to) {
         return std::vector<Message>{node("MatMul", {from, "w"}, to + "/p"),
                                     node("Add", {to + "/p", "b"}, to)};
       }},
      {"the pads of a Pad",
       {integers("p", std::vector<std::int64_t>(kMany, 0)), floats("w", {3, 3, 1, 1})},
       [](const std::string& from, const std::string& to) {
         return std::vector<Message>{node("Pad", {from, "p"}, to + "/p"),
                                     node("Conv", {to + "/p", "w"}, to)};
       }},
      {"a constant of many axes",
       {tensor("a", 1, ones).text(9, std::string(4, '\0'))},
       unary("Add", {"a", "a"})},
      {"a shape of many axes", {integers("s", ones)}, unary("Reshape", {"x", "s"})},
      {"rows without elements",
       {tensor("a", 1, {std::int64_t{1} << 40, 0}), integers("start", {0}),
        integers("end", {std::int64_t{1} << 40})},
       unary("Slice", {"a", "start", "end"})}};
  for (const Shared& shared : cases) {
    std::vector<Message> nodes;
    std::string last = "x";
    for (int i = 0; i < 2000; ++i) {
      const std::string next = fmt::format("v{}", i);
      for (Message& each : shared.nodes(last, next)) nodes.push_back(std::move(each));
      last = next;
    }
    nodes.push_back(node("Relu", {"x"}, "y"));
    const Bytes file = onnx_file({-1, 3, 1, 1}, nodes, shared.tensors);
    const std::size_t peak = peak_of_reading([&] { import_onnx(file); });
    EXPECT_LT(peak, 64 * file.size() + 32 * kMiB) << shared.what;
  }
}

TEST(WorstShapes, AnInputOfManyAxes) {
  const Bytes file = onnx_file(std::vector<std::int64_t>(100000, 1), {node("Relu", {"x"}, "y")});
  expect_mentions(message_of<InvalidArgument>([&] { import_onnx(file); }),
                  "input \"x\": expected at most 8 axes, found 100000");
}

// ---- ONNX, written

TEST(WorstShapes, ALongNameThatAllTensorsOfAnExportHave) {
  const std::string name(3000, 'n');
  RawModelBuilder b;
  std::int32_t x = b.activation(name, {1, 3}, DType::int8, quant(0.1F, 0));
  b.model.inputs = {x};
  for (int i = 0; i < 9999; ++i) {
    const std::int32_t y = b.activation(name, {1, 3}, DType::int8, quant(0.1F, 0));
    b.op(OpCode::tanh, {x}, y);
    b.model.tensors.back().quantization = quant(1.0F / 128, 0);
    x = y;
  }
  b.model.outputs = {x};
  const std::size_t peak = peak_of([&] {
    expect_mentions(
        message_of<InvalidArgument>([&] { to_onnx(b.model); }),
        "to_onnx: 9999 operators on 0 bytes of constants make more than 67108864 bytes; "
        "do they share their constants, or tensors a long name?");
  });
  EXPECT_LT(peak, 320 * kMiB);
  // The file has it once for each.
  EXPECT_LT(peak_of([&] { to_tflite(b.model); }), 4 * 10000 * (name.size() + 512));
}

// ---- Checkpoints and weights, written

TEST(WorstShapes, ArchivesAndWeightsThatAreWritten) {
  Archive names;
  Archive numbers;
  for (int i = 0; i < 20000; ++i) names.add(fmt::format("{:x}", i), Tensor::zeros({0}));
  numbers.add("a", Tensor::zeros({1 << 20}));
  numbers.add_text("t", std::string(kMiB, '\n'));
  for (const Archive* archive : {&names, &numbers}) {
    const std::size_t size = archive->to_bytes().size();
    EXPECT_LT(peak_of([&] { archive->to_bytes(); }), 4 * size + kMiB);
  }
  const ScratchDirectory scratch;
  Sequential model("m", Input({1024}), Dense(1024));
  model.build(0);
  const std::size_t weights = std::size_t{4} * 1024 * 1025;
  EXPECT_LT(peak_of([&] { save_weights(model, scratch.path() / "w"); }), 2 * weights + kMiB);
}

// ---- Weights

TEST(WorstShapes, NamesOfLettersAndDigitsInTurns) {
  const ScratchDirectory scratch;
  std::string turns;
  for (std::size_t i = 0; i < kMiB; ++i) turns += "a1";
  std::string header = "{";
  for (const char* end : {"x/kernel", "y/kernel"}) {
    header += fmt::format(R"({}"{}{}":{{"dtype":"F32","shape":[1],"data_offsets":[{},{}]}})",
                          header == "{" ? "" : ",", turns, end, end[0] == 'x' ? 0 : 4,
                          end[0] == 'x' ? 4 : 8);
  }
  const auto path = scratch.write("a", safetensors_bytes(header + "}", Bytes(8)));
  Sequential model("m", Input({2}), Dense(2));
  model.build(0);
  const std::size_t peak = peak_of_reading([&] { load_weights(model, path); });
  EXPECT_LT(peak, 64 * header.size() + kMiB);
}

TEST(WorstShapes, ArraysOfAnNpzFileWithoutValues) {
  const ScratchDirectory scratch;
  std::vector<std::pair<std::string, Bytes>> arrays;
  const Bytes empty = npy_bytes("<f4", "(0,)", std::vector<float>());
  arrays.reserve(20000);
  for (int i = 0; i < 20000; ++i) arrays.emplace_back(fmt::format("{:x}.npy", i), empty);
  const Bytes file = zip_bytes(arrays, false);
  const auto path = scratch.write("a", file);
  const std::size_t peak = peak_of_reading([&] { read_npz(path); });
  EXPECT_LT(peak, 6 * file.size() + kMiB);
}

}  // namespace
}  // namespace octet::test::worst_shapes_test
