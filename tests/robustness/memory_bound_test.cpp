// Small models that ask for much: what is allocated stays within the multiples of the file's size
// that docs/guarantees.md states.

#include <fmt/core.h>
#include <octet/core/buffer.h>
#include <octet/core/error.h>
#include <octet/deploy/c/writer.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/import/onnx/import_onnx.h>
#include <octet/layers/architecture.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/deploy/raw_flatbuffer.h>
#include <octet/tests/import/onnx_file.h>
#include <octet/tests/robustness/counting_new.h>
#include <octet/tests/runtime/models.h>
#include <octet/tests/train/data/idx_files.h>

#include <memory>

namespace octet::test::memory_bound_test {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20U;

template <class T>
void put(Bytes& file, std::size_t place, T value) {
  std::memcpy(file.data() + place, &value, sizeof(value));
}

/// `count` tensors that are all one and the same table: of nothing but defaults, or with a name of
/// `name_bytes` bytes.
Bytes with_shared_tensors(std::uint32_t count, std::uint32_t name_bytes = 0) {
  Bytes file = to_tflite(make_mlp(1, {3, 2}, false, false));
  const RawTable graph = RawTable::root(file).tables(model_field::subgraphs)[0];
  const std::size_t field = graph.place(graph_field::tensors);
  file.resize((file.size() + 15) / 16 * 16);
  // Sizes of the vtable and of the table, then where each field lies; the fourth is the name.
  const std::vector<std::uint16_t> vtable_words =
      name_bytes > 0 ? std::vector<std::uint16_t>{12, 8, 0, 0, 0, 4}
                     : std::vector<std::uint16_t>{4, 4};
  const std::size_t vtable = file.size();
  const std::size_t vector = vtable + 2 * vtable_words.size();
  const std::size_t table = vector + 4 + 4 * std::size_t{count};
  const std::size_t name = table + vtable_words[1];
  file.resize(name + (name_bytes > 0 ? 4 + name_bytes + 1 : 0), 'n');
  for (std::size_t i = 0; i < vtable_words.size(); ++i) put(file, vtable + 2 * i, vtable_words[i]);
  put<std::uint32_t>(file, vector, count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::size_t entry = vector + 4 + 4 * std::size_t{i};
    put(file, entry, static_cast<std::uint32_t>(table - entry));
  }
  put(file, table, static_cast<std::int32_t>(table - vtable));
  if (name_bytes > 0) {
    put(file, table + 4, static_cast<std::uint32_t>(name - (table + 4)));
    put(file, name, name_bytes);
    file.back() = 0;
  }
  put(file, field, static_cast<std::uint32_t>(vector - field));
  return file;
}

TEST(MemoryBound, TablesThatAModelSharesAreCounted) {
  const Bytes file = with_shared_tensors(500000);
  const std::size_t peak = peak_of(
      [&] { expect_mentions(message_of<FormatError>([&] { from_tflite(file); }), "share bytes"); });
  EXPECT_LT(peak, 16 * file.size() + kMiB);
  // A few are no harm: they are read, and the model is refused for another reason.
  expect_mentions(message_of<FormatError>([] { from_tflite(with_shared_tensors(20)); }), "");
}

TEST(MemoryBound, ANameThatTensorsShareIsCountedForEach) {
  const Bytes file = with_shared_tensors(200, kMiB);
  const std::size_t peak = peak_of(
      [&] { expect_mentions(message_of<FormatError>([&] { from_tflite(file); }), "share bytes"); });
  EXPECT_LT(peak, 16 * file.size() + kMiB);
}

TEST(MemoryBound, AWholeModelTakesFewTimesItsFile) {
  const Bytes file = to_tflite(make_mlp(1, {3000, 300, 100}, true, true));
  EXPECT_LT(peak_of([&] { from_tflite(file); }), 2 * file.size());
}

TEST(MemoryBound, WeightsThatOnnxNodesShareAreCounted) {
  std::vector<Message> nodes;
  std::string last = "x";
  for (int i = 0; i < 1000; ++i) {
    nodes.push_back(node("MatMul", {last, "w"}, fmt::format("m{}", i)));
    last = fmt::format("m{}", i);
  }
  nodes.push_back(node("Relu", {last}, "y"));
  const Bytes file = onnx_file({-1, 300}, nodes, {floats("w", {300, 300})});
  const std::size_t peak = peak_of([&] {
    expect_mentions(message_of<FormatError>([&] { import_onnx(file); }), "much more than the file");
  });
  // Storage of tensors is taken in blocks of whole huge pages, 2 MiB each, and kept for the next.
  EXPECT_LT(peak, 16 * file.size() + 8 * kMiB);
}

TEST(MemoryBound, OnnxFilesOfNothingButNames) {
  std::vector<Message> nodes;
  std::string last = "x";
  for (int i = 0; i < 9999; ++i) {
    nodes.push_back(node("Relu", {last}, fmt::format("{}", i)));
    last = fmt::format("{}", i);
  }
  nodes.push_back(node("Relu", {last}, "y"));
  std::vector<Message> tensors;
  tensors.reserve(100000);
  for (int i = 0; i < 100000; ++i) tensors.push_back(tensor(fmt::format("t{}", i), 1, {0}));
  const Bytes chain = onnx_file({-1, 3}, nodes);
  EXPECT_LT(peak_of([&] { import_onnx(chain); }), 64 * chain.size() + 32 * kMiB);
  const Bytes names = onnx_file({-1, 3}, {node("Relu", {"x"}, "y")}, tensors);
  EXPECT_LT(peak_of([&] { import_onnx(names); }), 64 * names.size() + 32 * kMiB);
}

TEST(MemoryBound, AnOnnxNetworkTakesFewTimesItsFile) {
  const Bytes file =
      onnx_file({-1, 3000}, {node("MatMul", {"x", "w"}, "y")}, {floats("w", {3000, 1000})});
  EXPECT_LT(peak_of([&] { import_onnx(file); }), 6 * file.size());
}

/// Reads bytes as codes, RELU, on a shape that the file promises.
IntegerModel wide_model(std::int32_t extent) {
  const ModelTensor x{"x", DType::int8, {extent}, {}, quant(0.1F, 0), {}};
  return make_unary(OpCode::relu, x, x);
}

TEST(MemoryBound, AModelRunsInWhatItMayTake) {
  const IntegerModel large = wide_model(1 << 30);
  const std::size_t peak = peak_of([&] {
    expect_mentions(message_of<InvalidArgument>([&] { Interpreter{large}; }),
                    "bytes, more than the 1073741824 that are allowed");
  });
  EXPECT_LT(peak, kMiB);
  const IntegerModel small = wide_model(1000);
  EXPECT_NO_THROW(Interpreter(small, {.max_bytes = 4096}));
  EXPECT_THROW(Interpreter(small, {.max_bytes = 1000}), InvalidArgument);
  Interpreter interpreter(small, {.max_bytes = 10000});
  EXPECT_THROW(interpreter.resize_batch(100), InvalidArgument);
  EXPECT_EQ(interpreter.batch(), 1);
  interpreter.invoke();
}

/// A chain of 3000 dense operators of this kind, all on the same weights [1000, 1000].
IntegerModel with_shared_weights(OpCode code) {
  const bool conv = code == OpCode::conv_2d;
  const std::vector<std::int32_t> shape =
      conv ? std::vector<std::int32_t>{1, 1, 1, 1000} : std::vector<std::int32_t>{1, 1000};
  RawModelBuilder b;
  std::int32_t x = b.activation("x", shape, DType::int8, quant(0.01F, 0));
  b.model.inputs = {x};
  const std::int32_t weights = b.constant(
      "w",
      conv ? std::vector<std::int32_t>{1000, 1, 1, 1000} : std::vector<std::int32_t>{1000, 1000},
      DType::int8, std::vector<std::int8_t>(1000000, 3), quant(0.01F, 0));
  for (int i = 0; i < 3000; ++i) {
    const std::int32_t y = b.activation("y", shape, DType::int8, quant(0.01F, 0));
    b.op(code, {x, weights}, y);
    x = y;
  }
  b.model.outputs = {x};
  return b.model;
}

TEST(MemoryBound, WeightsThatOperatorsShareAreCountedForEach) {
  for (const OpCode code : {OpCode::fully_connected, OpCode::conv_2d}) {
    const IntegerModel model = with_shared_weights(code);
    const std::size_t peak = peak_of([&] {
      expect_mentions(message_of<InvalidArgument>([&] { Interpreter{model}; }),
                      "the weights of 3000 operators");
    });
    EXPECT_LT(peak, 20 * kMiB) << to_string(code);
  }
}

TEST(MemoryBound, CSourceOfSharedWeightsIsRefusedBeforeItIsWrittenOut) {
  const IntegerModel model = with_shared_weights(OpCode::fully_connected);
  const std::size_t peak = peak_of([&] {
    expect_mentions(message_of<InvalidArgument>([&] { to_c_source(model, "net"); }),
                    "3000 operators on 1000000 bytes of constants make more than 67108864 bytes");
  });
  // 64 MiB of text, in strings that have room to grow.
  EXPECT_LT(peak, 192 * kMiB);
}

TEST(MemoryBound, CSourceHoldsNoSamplesThatShapesInASmallFileAskFor) {
  const IntegerModel wide = wide_model(1 << 24);
  const std::size_t peak = peak_of([&] {
    expect_mentions(message_of<InvalidArgument>([&] { to_c_source(wide, "net"); }),
                    "16777216 values of input and 16777216 of output, more than the 4194304");
  });
  EXPECT_LT(peak, kMiB);
  // The largest that fits has one sample in its self-test.
  const CSource source = to_c_source(wide_model(1 << 21), "net");
  expect_mentions(source.source, "net_golden_input[1][2097152]");
  const std::vector<float> two(std::size_t{2} << 21U);
  expect_mentions(message_of<InvalidArgument>(
                      [&] { to_c_source(wide_model(1 << 21), "net", {.self_test_inputs = two}); }),
                  "the self-test has 2 samples, more than 1 of 2097152 + 2097152 values");
}

TEST(MemoryBound, SumsOfADenseLayerAreCounted) {
  // 40 rows of one value each, and a million units: the sums of a tile are 4 bytes per code.
  constexpr std::int32_t kRows = 40;
  constexpr std::int32_t kUnits = 1000000;
  RawModelBuilder b;
  const std::int32_t x = b.activation("x", {1, kRows}, DType::int8, quant(0.01F, 0));
  b.model.inputs = {x};
  const std::int32_t rows = b.activation("rows", {kRows, 1}, DType::int8, quant(0.01F, 0));
  b.op(OpCode::reshape, {x}, rows, ReshapeAttributes{.new_shape = {-1, 1}});
  const std::int32_t w = b.constant("w", {kUnits, 1}, DType::int8,
                                    std::vector<std::int8_t>(kUnits, 3), quant(0.01F, 0));
  const std::int32_t y = b.activation("y", {kRows, kUnits}, DType::int8, quant(0.01F, 0));
  b.op(OpCode::fully_connected, {rows, w}, y);
  b.model.outputs = {y};
  int ran = 0;
  for (const std::size_t limit : {100 * kMiB, 2000 * kMiB}) {
    const std::size_t peak = peak_of([&] {
      try {
        Interpreter(b.model, {.max_bytes = limit}).invoke();
        ++ran;
      } catch (const InvalidArgument&) {
      }
    });
    EXPECT_LT(peak, limit + kMiB);
  }
  EXPECT_EQ(ran, 1);
}

TEST(MemoryBound, AModelOfTooManyOperatorsIsRefused) {
  RawModelBuilder b;
  const QuantParams q = quant(0.1F, 0);
  std::int32_t x = b.activation("x", {1}, DType::int8, q);
  b.model.inputs = {x};
  for (int i = 0; i < 10001; ++i) {
    const std::int32_t y = b.activation("y", {1}, DType::int8, q);
    b.op(OpCode::relu, {x}, y);
    x = y;
  }
  b.model.outputs = {x};
  const auto file = to_tflite(b.model);
  expect_mentions(message_of<FormatError>([&] { from_tflite(file); }), "10001 operators");
}

TEST(MemoryBound, AModelOfTooManyLayersIsRefused) {
  std::string layers;
  for (int i = 0; i < 10001; ++i) {
    layers += R"(,{"type":"ReLU","inputs":[],"name":")" + std::to_string(i) + "\"}";
  }
  const std::string text =
      R"({"format":2,"name":"m","outputs":[],"layers":[)" + layers.substr(1) + "]}";
  expect_mentions(message_of<FormatError>([&] { model_from_json(text); }), "10001 layers");
}

TEST(MemoryBound, BuffersShareSlabsAndGoBackToTheSystem) {
  const std::size_t before = live_bytes();
  std::vector<std::shared_ptr<std::byte[]>> buffers;
  for (std::size_t i = 0; i < 1200; ++i) buffers.push_back(allocate_bytes(kMiB / 4 + 64 * i));
  const std::size_t held = live_bytes() - before;
  EXPECT_GE(held, 340 * kMiB);
  // Slabs of 8 MiB, of which a few per cent are left over, each aligned to 2 MiB.
  EXPECT_LT(held, 460 * kMiB);
  buffers.clear();
  // What was in use a while ago is not kept for ever.
  for (int i = 0; i < 2048; ++i) allocate_bytes(64);
  // 64 MiB are kept, in slabs that may hold others that are not.
  EXPECT_LT(live_bytes(), before + 100 * kMiB);
}

}  // namespace
}  // namespace octet::test::memory_bound_test
