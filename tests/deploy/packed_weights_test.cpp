#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/core/quant/packed_codes.h>
#include <octet/deploy/c/writer.h>
#include <octet/deploy/onnx/writer.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/runtime/dense_form.h>
#include <octet/runtime/interpreter.h>
#include <octet/runtime/operator_cost.h>
#include <octet/runtime/packed_weights.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/runtime/packed_models.h>

#include <algorithm>
#include <array>

namespace octet::test::packed_weights_test {
namespace {

constexpr auto kFp32 = Rounding::fp32;
constexpr auto kSingle = Rounding::single_rounding;
constexpr auto kDouble = Rounding::double_rounding;
constexpr auto kDense = OpCode::fully_connected;
constexpr auto kConv = OpCode::conv_2d;
constexpr auto kDepthwise = OpCode::depthwise_conv_2d;

std::vector<std::byte> run(const IntegerModel& model, Rounding rounding) {
  Interpreter interpreter(model, {.rounding = rounding, .batch = 400});
  Draw draw(5);
  for (std::byte& b : interpreter.input_bytes()) b = static_cast<std::byte>(draw.between(0, 255));
  interpreter.invoke();
  return {interpreter.output_bytes().begin(), interpreter.output_bytes().end()};
}

/// What each contract stands for where weights are stored in few bits, as measured of LiteRT.js.
TEST(PackedWeights, AreRescaledAsTheRuntimesOfTheContractDo) {
  struct Case {
    FewBits of;
    Rounding fp32_means;
  };
  const std::vector<Case> cases = {
      {{kDense, 4, 6, true}, kFp32},   {{kDense, 4, 6, false}, kFp32},
      {{kDense, 4, 7, true}, kSingle}, {{kDense, 4, 7, false}, kSingle},
      {{kDense, 2, 8, true}, kFp32},   {{kDense, 2, 8, false}, kSingle},
      {{kDense, 2, 6, true}, kSingle}, {{kConv, 4, 6, true}, kSingle},
      {{kConv, 4, 3, false}, kSingle}, {{kDepthwise, 4, 6, true}, kDouble}};
  for (const auto& [of, means] : cases) {
    SCOPED_TRACE(std::string(to_string(of.code)) + " " + std::to_string(of.bits) + " bits, depth " +
                 std::to_string(of.depth) + (of.per_channel ? ", per channel" : ""));
    const IntegerModel model = few_bits_model(of, 3);
    const IntegerModel packed = stored_in(model, of.bits);
    EXPECT_EQ(run(packed, kFp32), run(model, means));
    EXPECT_EQ(run(packed, kSingle), run(model, kSingle));
    EXPECT_EQ(run(packed, kDouble), run(model, kDouble));
    if (means != kFp32) {
      EXPECT_NE(run(packed, kFp32), run(model, kFp32)) << "half way codes tell";
    }
  }
}

TEST(PackedWeights, FilesHoldThemAndGiveThemBack) {
  struct Case {
    FewBits of;
    int version;
  };
  const std::vector<Case> cases = {{{kDense, 4, 6, true}, 10},
                                   {{kDense, 4, 7, false}, 10},
                                   {{kDense, 2, 7, true}, 14},
                                   {{kConv, 4, 3, true}, 7},
                                   {{kDepthwise, 4, 5, true}, 7}};
  for (const auto& [of, version] : cases) {
    const IntegerModel packed = stored_in(few_bits_model(of, 4), of.bits);
    const auto bytes = to_tflite(packed);
    const IntegerModel again = from_tflite(bytes);
    EXPECT_EQ(again.operators[0].version, version);
    EXPECT_EQ(stored_bits(again), of.bits);
    EXPECT_EQ(again.tensors[1].data, packed.tensors[1].data);
    EXPECT_EQ(to_tflite(again), bytes);
    EXPECT_EQ(run(again, kFp32), run(packed, kFp32));
    const std::size_t count = packed.tensors[1].data.size();
    EXPECT_EQ(packed.tensors[1].stored_bytes(), packed_bytes(count, of.bits));
    EXPECT_EQ(model_cost(packed).constant_bytes,
              packed_bytes(count, of.bits) + packed.tensors[2].data.size());
  }
  const IntegerModel large = few_bits_model({kDense, 4, 4000, true}, 5);
  EXPECT_NEAR(static_cast<double>(to_tflite(large).size()) - 10000.0,
              static_cast<double>(to_tflite(stored_in(large, 4)).size()), 64.0);
}

TEST(PackedWeights, PackingChangesNoResult) {
  for (const Rounding rounding : {kFp32, kSingle, kDouble}) {
    for (const OpCode code : {kDense, kConv, kDepthwise}) {
      for (const bool per_channel : {true, false}) {
        for (const int bits : {2, 4}) {
          for (const std::int32_t depth : {5, 6, 8}) {
            IntegerModel model = few_bits_model({code, bits, depth, per_channel}, 9);
            model.metadata["octet.rounding"] = to_string(rounding);
            EXPECT_EQ(run(pack_weights(model), rounding), run(model, rounding));
          }
        }
      }
    }
  }
}

TEST(PackedWeights, PacksWhatTheRuntimesOfTheContractTake) {
  const auto bits_of = [](const FewBits& of, Rounding rounding) {
    IntegerModel model = few_bits_model(of, 9);
    model.metadata["octet.rounding"] = to_string(rounding);
    return stored_bits(pack_weights(model));
  };
  EXPECT_EQ(bits_of({kDense, 4, 6, true}, kFp32), 4);
  EXPECT_EQ(bits_of({kDense, 4, 5, true}, kFp32), 8);
  EXPECT_EQ(bits_of({kDense, 3, 6, true}, kFp32), 4);
  EXPECT_EQ(bits_of({kDense, 5, 6, true}, kFp32), 8);
  EXPECT_EQ(bits_of({kDense, 2, 8, true}, kFp32), 2);
  EXPECT_EQ(bits_of({kDense, 2, 8, false}, kFp32), 4);
  EXPECT_EQ(bits_of({kConv, 4, 6, true}, kFp32), 8);
  EXPECT_EQ(bits_of({kConv, 2, 6, true}, kSingle), 4);
  EXPECT_EQ(bits_of({kDense, 2, 5, true}, kSingle), 2);
  EXPECT_EQ(bits_of({kDepthwise, 4, 6, true}, kSingle), 4);
  EXPECT_EQ(bits_of({kDepthwise, 4, 6, true}, kFp32), 8);
  EXPECT_EQ(bits_of({kDepthwise, 4, 6, true}, kDouble), 4);
  EXPECT_EQ(bits_of({kDense, 2, 8, true}, kDouble), 8);
  EXPECT_EQ(bits_of({kDense, 2, 8, false}, kDouble), 4);
  // A convolution of the same numbers would be rescaled otherwise.
  EXPECT_EQ(per_channel_as_conv_2d(pack_weights(few_bits_model({kDense, 4, 6, true}, 9)))
                .tensors[1]
                .stored_bits,
            8);
}

void expect_refused(const IntegerModel& model, const std::string& why) {
  expect_throws<FormatError>([&] { model.validate(); }, {why});
}

TEST(PackedWeights, RefusesWhatNoFileCanHold) {
  const IntegerModel dense = few_bits_model({kDense, 4, 6, true}, 1);
  expect_refused(stored_in(dense, 3), "expected 2, 4 or 8 stored bits, found 3");
  expect_refused(stored_in(dense, 2), "stored in 2 bits, which do not hold its value");
  expect_refused(stored_in(few_bits_model({kConv, 2, 6, true}, 1), 2),
                 "is stored in 2 bits, expected 4 or more");
  IntegerModel input = dense;
  input.tensors[0].stored_bits = 4;
  expect_refused(input, "expected a constant of int8 with zero points 0");
  // A filter over 3 of 6 channels: two groups.
  IntegerModel groups = few_bits_model({kConv, 4, 6, false}, 1);
  groups.tensors[1].shape = {10, 2, 2, 3};
  groups.tensors[2] = few_bits_model({kDepthwise, 4, 10, false}, 1).tensors[2];
  groups.tensors[3].shape = {1, 2, 2, 10};
  EXPECT_NO_THROW(groups.validate());
  expect_refused(stored_in(groups, 4), "expected a filter of several groups stored in 8 bits");
}

TEST(PackedWeights, OtherExportsRefuseWhatTheyWouldComputeOtherwise) {
  const IntegerModel even = stored_in(few_bits_model({kDense, 4, 6, true}, 1), 4);
  EXPECT_NO_THROW(static_cast<void>(to_onnx(even)));
  EXPECT_NO_THROW(static_cast<void>(to_c_source(even, "even")));
  for (const FewBits& of : {FewBits{kDense, 4, 7, true}, FewBits{kConv, 4, 6, true}}) {
    const IntegerModel odd = stored_in(few_bits_model(of, 1), 4);
    EXPECT_THROW(static_cast<void>(to_onnx(odd)), InvalidArgument);
    EXPECT_THROW(static_cast<void>(to_c_source(odd, "odd")), InvalidArgument);
  }
}

TEST(PackedWeights, TooFewBytesInAFileAreRefused) {
  auto bytes = to_tflite(stored_in(few_bits_model({kDense, 4, 7, true}, 1), 4));
  // The shape [5, 7] of the weights becomes [5, 9]: 45 codes instead of 35.
  const std::array<std::uint8_t, 8> shape{5, 0, 0, 0, 7, 0, 0, 0};
  const auto found = std::search(bytes.begin(), bytes.end(), shape.begin(), shape.end());
  ASSERT_NE(found, bytes.end());
  found[4] = 9;
  expect_throws<FormatError>([&] { static_cast<void>(from_tflite(bytes)); },
                             {"18 bytes of data, but its shape [5, 9] of int4 needs 23"});
}

}  // namespace
}  // namespace octet::test::packed_weights_test
