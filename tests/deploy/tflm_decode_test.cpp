// Weights behind TFLM_DECODE: the bytes of the file against a decoder written from its description,
// and what damaged files say.

#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/layers/lower.h>
#include <octet/runtime/interpreter.h>
#include <octet/runtime/packed_weights.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/deploy/raw_flatbuffer.h>
#include <octet/tests/layers/quantize/random_nets.h>
#include <octet/tests/runtime/packed_models.h>

#include <algorithm>

namespace octet::test::tflm_decode_test {
namespace {

using Bytes = std::vector<std::uint8_t>;
constexpr std::int32_t kCustom = 32;

/// The operators TFLM_DECODE of a file, by hand.
struct Decode {
  Bytes indices;
  Bytes tables;
  RawTable output;
  std::size_t place = 0;
};

Bytes buffer_of(const RawTable& model, const RawTable& tensor) {
  const auto index = tensor.scalar<std::uint32_t>(tensor_field::buffer);
  return model.tables(model_field::buffers)[index].values<std::uint8_t>(0);
}

std::vector<Decode> decodes_of(const Bytes& file) {
  const RawTable model = RawTable::root(file);
  const auto codes = model.tables(model_field::operator_codes);
  const RawTable graph = model.tables(model_field::subgraphs)[0];
  const auto tensors = graph.tables(graph_field::tensors);
  const auto operators = graph.tables(graph_field::operators);
  std::vector<Decode> found;
  for (std::size_t i = 0; i < operators.size(); ++i) {
    const RawTable& code = codes[operators[i].scalar<std::uint32_t>(operator_field::opcode_index)];
    if (code.scalar<std::int32_t>(code_field::builtin_code) != kCustom) continue;
    EXPECT_EQ(code.text(code_field::custom_code), "TFLM_DECODE");
    EXPECT_EQ(code.scalar<std::int8_t>(code_field::deprecated_builtin_code), kCustom);
    const auto inputs = operators[i].values<std::int32_t>(operator_field::inputs);
    const auto outputs = operators[i].values<std::int32_t>(operator_field::outputs);
    const auto at = [&](std::int32_t tensor) { return tensors[static_cast<std::size_t>(tensor)]; };
    found.push_back({buffer_of(model, at(inputs.at(0))), buffer_of(model, at(inputs.at(1))),
                     at(outputs.at(0)), i});
  }
  return found;
}

/// Element by element and bit by bit, after the description in tflite-micro's decode_state_lut.
Bytes naive_decode(const Decode& of) {
  const auto shape = of.output.values<std::int32_t>(tensor_field::shape);
  const RawTable q = of.output.table(tensor_field::quantization);
  const std::size_t channels = q.values<float>(quantization_field::scale).size();
  const auto axis =
      static_cast<std::size_t>(q.scalar<std::int32_t>(quantization_field::quantized_dimension));
  std::size_t count = 1;
  for (const std::int32_t extent : shape) count *= static_cast<std::size_t>(extent);
  const std::size_t bits = of.tables.at(5) & 7U;
  const std::size_t stride = of.tables.at(6);
  Bytes result;
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t index = 0;
    for (std::size_t b = i * bits; b < (i + 1) * bits; ++b) {
      index = 2 * index + ((of.indices.at(b / 8) >> (7 - b % 8)) & 1U);
    }
    const bool last = channels > 1 && axis + 1 == shape.size();
    const std::size_t channel = last ? i % channels : i / (count / channels);
    result.push_back(of.tables.at(16 + channel * stride + index));
  }
  return result;
}

std::vector<std::byte> run(const IntegerModel& model) {
  Interpreter interpreter(model, {.batch = 20});
  Draw draw(5);
  for (std::byte& b : interpreter.input_bytes()) b = static_cast<std::byte>(draw.between(0, 255));
  interpreter.invoke();
  return {interpreter.output_bytes().begin(), interpreter.output_bytes().end()};
}

IntegerModel for_tflm(const FewBits& of, std::uint64_t seed = 1) {
  IntegerModel model = few_bits_model(of, seed);
  model.metadata["octet.rounding"] = std::string(to_string(Rounding::double_rounding));
  return model;
}

TEST(TflmDecode, FilesDecodeToTheWeightsAsTFLiteMicroDoesIt) {
  std::size_t decoded = 0;
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    test::RandomNet net(seed);
    const int bits = 2 + static_cast<int>(seed % 6);
    Sequential model = quantize_model(
        net.model(),
        {.rounding = Rounding::double_rounding, .weight_bits = bits, .per_channel = seed % 2 == 0});
    calibrate(model, net.batch(9));
    const IntegerModel plain = lower(model);
    const IntegerModel packed = decode_weights(plain);
    const Bytes file = to_tflite(packed);
    const auto decodes = decodes_of(file);
    std::size_t next = 0;
    for (const ModelTensor& tensor : packed.tensors) {
      if (tensor.decoded_bits == 0) continue;
      ASSERT_LT(next, decodes.size());
      EXPECT_LE(tensor.decoded_bits, bits);
      ASSERT_EQ(naive_decode(decodes[next]), tensor.data) << tensor.name;
      EXPECT_FALSE(decodes[next].output.has(tensor_field::buffer)) << "no bytes of its own";
      ++next;
      ++decoded;
    }
    EXPECT_EQ(next, decodes.size());
    const IntegerModel read = from_tflite(file);
    EXPECT_EQ(to_tflite(read), file);
    ASSERT_EQ(read.tensors.size(), plain.tensors.size());
    EXPECT_EQ(run(read), run(plain));
  }
  EXPECT_GT(decoded, 100U);
}

TEST(TflmDecode, TakesTheBitsThatTheoryAsksFor) {
  for (const int bits : {2, 3, 4, 5, 6, 7}) {
    const IntegerModel model = for_tflm({OpCode::fully_connected, bits, 4000, true});
    const IntegerModel decoded = decode_weights(model);
    const std::size_t weights = 5 * 4000;
    const std::size_t saved = to_tflite(model).size() - to_tflite(decoded).size();
    const std::size_t theory = weights - weights * static_cast<std::size_t>(bits) / 8;
    // The table and 16 bytes are the format's; the rest of what is not saved is two tensors and an
    // operator.
    EXPECT_GE(saved + (std::size_t{1} << static_cast<unsigned>(bits)) + 16 + 500, theory) << bits;
    EXPECT_EQ(decoded.tensors[1].stored_bytes(),
              weights * static_cast<std::size_t>(bits) / 8 + 16 +
                  (std::size_t{1} << static_cast<unsigned>(bits)));
  }
}

TEST(TflmDecode, LeavesWhatWouldNotGetSmaller) {
  const auto decoded_bits = [](const IntegerModel& model) {
    return decode_weights(model).tensors[1].decoded_bits;
  };
  EXPECT_EQ(decoded_bits(for_tflm({OpCode::fully_connected, 4, 6, true})), 0);
  EXPECT_EQ(decoded_bits(for_tflm({OpCode::fully_connected, 8, 4000, true})), 0);
  EXPECT_EQ(decoded_bits(for_tflm({OpCode::depthwise_conv_2d, 3, 900, true})), 3);
  EXPECT_EQ(decoded_bits(for_tflm({OpCode::conv_2d, 5, 900, true})), 5);
  IntegerModel packed = for_tflm({OpCode::conv_2d, 4, 900, true});
  packed.tensors[1].stored_bits = 4;
  EXPECT_EQ(decoded_bits(packed), 0) << "4 packed bits are as small";
  packed = for_tflm({OpCode::conv_2d, 3, 900, true});
  packed.tensors[1].stored_bits = 4;
  EXPECT_EQ(decoded_bits(packed), 3);
  EXPECT_EQ(decode_weights(packed).tensors[1].stored_bits, 8);
  EXPECT_EQ(run(from_tflite(to_tflite(decode_weights(packed)))), run(packed));
}

TEST(TflmDecode, AskedOfAnotherContractIsRefused) {
  expect_throws<InvalidArgument>(
      [&] {
        static_cast<void>(
            decode_weights(few_bits_model({OpCode::fully_connected, 4, 4000, true}, 1)));
      },
      {"expected a model in rounding mode double or q15"});
}

/// The file of a model of 3 bits whose table of 8 values is made two of 4, one apart.
Bytes with_two_tables(IntegerModel model) {
  model.tensors[1].decoded_bits = 3;
  Bytes file = to_tflite(model);
  const auto tables = decodes_of(file)[0].tables;
  const auto place = std::search(file.begin(), file.end(), tables.begin(), tables.end());
  if (place == file.end()) throw InvalidArgument("the file does not hold its tables");
  place[5] = 2;
  place[6] = 1;
  return file;
}

TEST(TflmDecode, ATableForEachChannelIsRead) {
  const Bytes file = with_two_tables(for_tflm({OpCode::fully_connected, 3, 4000, true}));
  const IntegerModel read = from_tflite(file);
  EXPECT_EQ(read.tensors[1].data, naive_decode(decodes_of(file)[0]));
  EXPECT_EQ(read.tensors[1].decoded_bits, 3) << "one table for all channels";
  EXPECT_EQ(from_tflite(to_tflite(read)).tensors[1].data, read.tensors[1].data);
}

TEST(TflmDecode, ATableForEachChannelOfTheLastAxisIsRead) {
  const Bytes file = with_two_tables(for_tflm({OpCode::depthwise_conv_2d, 3, 5, true}));
  EXPECT_EQ(from_tflite(file).tensors[1].data, naive_decode(decodes_of(file)[0]));
}

TEST(TflmDecode, DamagedFilesAreRefused) {
  const IntegerModel model = decode_weights(for_tflm({OpCode::fully_connected, 3, 4000, true}));
  const Bytes file = to_tflite(model);
  const auto tables = decodes_of(file)[0].tables;
  const auto says = [&](std::size_t at, std::uint8_t value, const char* text) {
    Bytes damaged = file;
    const auto place = std::search(damaged.begin(), damaged.end(), tables.begin(), tables.end());
    ASSERT_NE(place, damaged.end());
    place[static_cast<std::ptrdiff_t>(at)] = value;
    expect_throws<FormatError>([&] { static_cast<void>(from_tflite(damaged)); }, {text});
  };
  says(0, 2, "tables of type 0, version 1");
  says(1, 2, "tables of type 0, version 1");
  says(5, 0, "of 0 bits");
  says(5, 7, "found 7500 bytes of 7 bits");
  says(6, 200, "outside of its table");
}

}  // namespace
}  // namespace octet::test::tflm_decode_test
