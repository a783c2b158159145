// Small files that ask for much: what is allocated stays within the multiples of the file's size
// that docs/guarantees.md states.

#include <fmt/core.h>
#include <octet/core/buffer.h>
#include <octet/core/error.h>
#include <octet/core/json_text.h>
#include <octet/deploy/c/writer.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/import/onnx/import_onnx.h>
#include <octet/import/weights/weight_file.h>
#include <octet/layers/architecture.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/deploy/raw_flatbuffer.h>
#include <octet/tests/import/onnx_file.h>
#include <octet/tests/import/safetensors_files.h>
#include <octet/tests/import/zip_files.h>
#include <octet/tests/robustness/archive_bytes.h>
#include <octet/tests/robustness/counting_new.h>
#include <octet/tests/runtime/models.h>
#include <octet/tests/train/data/npy_files.h>
#include <octet/tests/train/data/random_bytes.h>
#include <octet/tests/train/training.h>
#include <octet/train/data/cifar10.h>
#include <octet/train/data/csv.h>
#include <octet/train/data/idx.h>
#include <octet/train/data/npy.h>
#include <octet/train/history.h>

#include <functional>

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
                    "16777216 codes of input and 16777216 of output, more than the 4194304");
  });
  EXPECT_LT(peak, kMiB);
  // The largest that fits has one sample in its self-test.
  const CSource source = to_c_source(wide_model(1 << 21), "net");
  expect_mentions(source.source, "net_golden_input[1][2097152]");
  const std::vector<float> two(std::size_t{2} << 21U);
  expect_mentions(message_of<InvalidArgument>(
                      [&] { to_c_source(wide_model(1 << 21), "net", {.self_test_inputs = two}); }),
                  "the self-test has 2 samples, more than 1 of 2097152 + 2097152 codes");
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

TEST(MemoryBound, TensorsOfAnArchiveHaveBytesOfTheirOwn) {
  std::string tensors;
  for (int i = 0; i < 1000; ++i) {
    tensors += R"(,"t)" + std::to_string(i) + R"(":{"shape":[10000],"offset":0})";
  }
  const Bytes file = archive_bytes(R"({"texts":{},"tensors":{)" + tensors.substr(1) + "}}", 40000);
  const std::size_t peak = peak_of([&] {
    expect_mentions(message_of<FormatError>([&] { Archive::from_bytes(file, "f"); }),
                    "tensors share bytes");
  });
  EXPECT_LT(peak, 64 * file.size());
}

TEST(MemoryBound, AnArchiveOfNothingButNamesTakesFewTimesItsFile) {
  // What costs most per byte: empty lists, empty tensors, short texts.
  std::string lists;
  for (int i = 0; i < 100000; ++i) lists += ",[]";
  std::string tensors;
  std::string texts;
  for (int i = 0; i < 20000; ++i) {
    tensors += ",\"" + std::to_string(i) + R"(":{"shape":[0],"offset":0})";
    texts += ",\"" + std::to_string(i) + R"(":"")";
  }
  for (const std::string& header : {R"({"texts":{},"tensors":{},"x":[)" + lists.substr(1) + "]}",
                                    R"({"texts":{},"tensors":{)" + tensors.substr(1) + "}}",
                                    R"({"texts":{)" + texts.substr(1) + R"(},"tensors":{}})"}) {
    const Bytes file = archive_bytes(header);
    const std::size_t peak = peak_of([&] { Archive::from_bytes(file, "f"); });
    EXPECT_LT(peak, 64 * file.size());
    RecordProperty("times", static_cast<int>(peak / file.size()));
  }
}

TEST(MemoryBound, NestedTextIsRefusedBeforeItFillsTheStack) {
  for (const char* bracket : {"[", R"({"a":)"}) {
    std::string deep;
    for (int i = 0; i < 1000000; ++i) deep += bracket;
    expect_mentions(message_of<FormatError>([&] { detail::ParsedJson{deep}; }), "32 levels");
    EXPECT_THROW(parse_history(deep), FormatError);
    EXPECT_THROW(model_from_json(deep), FormatError);
    EXPECT_THROW(Archive::from_bytes(archive_bytes(deep), "f"), FormatError);
  }
  EXPECT_NO_THROW(detail::ParsedJson(std::string(32, '[') + std::string(32, ']')));
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

TEST(MemoryBound, DataTakesWhatItsFileHolds) {
  const ScratchDirectory scratch;
  const std::uint32_t count = 3 * kMiB + 1;
  const Bytes whole = idx_bytes({count}, Bytes(count));
  EXPECT_LT(peak_of([&] { read_idx(scratch.write("a", whole)); }), count + kMiB);
  const Bytes zipped = gzipped(whole);
  EXPECT_LT(peak_of([&] { read_idx(scratch.write("a", zipped)); }), count + kMiB);
  // 1032 values for every byte is the most that deflate can make of one.
  const auto path = scratch.write("a", gzipped(idx_bytes({1U << 30}, counting(9))));
  const std::size_t peak = peak_of([&] { EXPECT_THROW(read_idx(path), FormatError); });
  EXPECT_LT(peak, kMiB);
}

TEST(MemoryBound, AnNpyFileTakesWhatItHolds) {
  const ScratchDirectory scratch;
  const std::vector<float> values(kMiB + 1);
  const Bytes whole = npy_bytes("<f4", "(1048577,)", values);
  for (const Bytes& file : {whole, gzipped(whole)}) {
    const auto path = scratch.write("a", file);
    EXPECT_LT(peak_of([&] { read_npy(path); }), 4 * values.size() + kMiB);
  }
  for (const std::string shape : {"(268435456,)", "(4294967296, 4294967296)"}) {
    const auto path = scratch.write("a", gzipped(npy_file(npy_header("<f4", shape), counting(9))));
    EXPECT_LT(peak_of([&] { EXPECT_THROW(read_npy(path), FormatError); }), kMiB);
  }
}

TEST(MemoryBound, ASafetensorsFileTakesFewTimesItsSize) {
  const ScratchDirectory scratch;
  const Bytes halves(2 * kMiB);
  const auto path = scratch.write(
      "a", safetensors_bytes(
               R"({"a":{"dtype":"F16","shape":[1048576],"data_offsets":[0,2097152]}})", halves));
  EXPECT_LT(peak_of([&] { read_safetensors(path); }), 3 * halves.size() + kMiB);
  // A header of nothing but tensors without values.
  std::string header = "{";
  for (int i = 0; header.size() < kMiB; ++i) {
    header += fmt::format(R"({}"{}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
                          i == 0 ? "" : ",", i);
  }
  const auto names = scratch.write("b", safetensors_bytes(header + "}", {}));
  EXPECT_LT(peak_of([&] { read_safetensors(names); }), 64 * header.size() + kMiB);
  Bytes huge = safetensors_bytes("{}", {});
  huge[6] = 1;
  const auto cut = scratch.write("c", huge);
  EXPECT_LT(peak_of([&] { EXPECT_THROW(read_safetensors(cut), FormatError); }), kMiB);
}

TEST(MemoryBound, AnNpzFileTakesWhatItHolds) {
  const ScratchDirectory scratch;
  const Bytes array = npy_bytes("<f4", "(262144,)", std::vector<float>(kMiB / 4));
  const auto stored = scratch.write("a", zip_bytes({{"a.npy", array}, {"b.npy", array}}, false));
  EXPECT_LT(peak_of([&] { read_npz(stored); }), 6 * array.size() + kMiB);
  // A file of little that promises much.
  const Bytes promise = npy_file(npy_header("<f4", "(268435456,)"), counting(9));
  const auto bomb = scratch.write("b", zip_bytes({{"a.npy", promise}}, true));
  EXPECT_LT(peak_of([&] { EXPECT_THROW(read_npz(bomb), FormatError); }), kMiB);
}

TEST(MemoryBound, ACifarFileTakesTwiceItsSize) {
  const ScratchDirectory scratch;
  constexpr std::size_t kBytes = 1000 * 3073;
  const auto plain = scratch.write("a", Bytes(kBytes));
  EXPECT_LT(peak_of([&] { read_cifar10(plain); }), 2 * kBytes + kMiB);
  const auto packed = scratch.write("b", gzipped(Bytes(kBytes)));
  EXPECT_LT(peak_of([&] { read_cifar10(packed); }), 3 * kBytes + kMiB);
}

TEST(MemoryBound, ACsvFileTakesFewTimesItsSize) {
  const ScratchDirectory scratch;
  const auto peak = [&](const std::string& text, const CsvOptions& options) {
    const auto path = scratch.write("a", Bytes(text.begin(), text.end()));
    return peak_of([&] {
      try {
        load_csv(path, options);
      } catch (const FormatError&) {
        // Of the file of nothing but separators.
      }
    });
  };
  // The most values that a file can hold, one more than a vector's capacity before it grows.
  std::string column;
  for (std::size_t i = 0; i <= kMiB; ++i) column += "1\n";
  const CsvOptions features = {.header = false, .targets = CsvTargets::features};
  EXPECT_LT(peak(column, features), 16 * column.size() + 8 * kMiB);
  std::string pairs;
  for (std::size_t i = 0; i <= kMiB; ++i) pairs += "1,1\n";
  EXPECT_LT(peak(pairs, {.header = false}), 16 * pairs.size() + 8 * kMiB);
  EXPECT_LT(peak(std::string(kMiB - 1, ','), {}), 144 * kMiB);
}

/// The test files of a set in which `count` images of one pixel are promised.
void write_test_set(const ScratchDirectory& scratch, std::uint32_t count, const Bytes& images,
                    const Bytes& labels, bool gzip) {
  const auto write = [&](const std::string& name, const Bytes& bytes) {
    scratch.write(name, gzip ? gzipped(bytes) : bytes);
  };
  write("t10k-images-idx3-ubyte", idx_bytes({count, 1, 1}, images));
  write("t10k-labels-idx1-ubyte", idx_bytes({count}, labels));
}

TEST(MemoryBound, ADataSetTakesWhatItsFilesHoldAndFourBytesALabel) {
  constexpr std::size_t kCount = 3 * kMiB + 1;
  for (const bool gzip : {false, true}) {
    const ScratchDirectory scratch;
    write_test_set(scratch, kCount, Bytes(kCount), Bytes(kCount), gzip);
    EXPECT_LT(peak_of([&] { load_idx_test(scratch.path()); }), 6 * kCount + kMiB);
  }
}

TEST(MemoryBound, WhatTheGzippedFilesOfASetComeToIsKnownBeforeTheyAreInflated) {
  // As images alone it would do; with their labels it comes to more than 1 GiB.
  constexpr std::uint32_t kCount = 180000000;
  const Bytes noise = random_bytes(200000);
  const ScratchDirectory scratch;
  write_test_set(scratch, kCount, noise, noise, true);
  const std::size_t peak = peak_of([&] {
    const auto message = message_of<FormatError>([&] { load_idx_test(scratch.path()); });
    expect_mentions(message, "promise 1080000000 bytes, but a gzipped set may have 1073741824");
  });
  EXPECT_LT(peak, kMiB);
  // Two sets that would do, one beside the other.
  write_test_set(scratch, kCount / 2, noise, noise, true);
  for (const std::string file : {"-images-idx3-ubyte", "-labels-idx1-ubyte"}) {
    std::filesystem::copy(scratch.path() / ("t10k" + file), scratch.path() / ("train" + file));
  }
  expect_mentions(message_of<FormatError>([&] { load_idx(scratch.path()); }), "promise 1080000000");
  expect_mentions(message_of<FormatError>([&] { load_idx_test(scratch.path()); }),
                  "but only 200000 follow");
}

}  // namespace
}  // namespace octet::test::memory_bound_test
