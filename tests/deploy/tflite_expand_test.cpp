// Operators of .tflite files that are read as others.

#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/deploy/tflite_file.h>

#include <functional>
#include <numeric>
#include <string>

namespace octet::test::tflite_expand_test {
namespace {

using Extents = TfliteFile::Extents;
using Values = std::vector<float>;

// Numbers of the format.
enum Code : std::int32_t {
  kDepthToSpace = 5,
  kEmbeddingLookup = 7,
  kReshape = 22,
  kSpaceToDepth = 26,
  kGather = 36,
  kMean = 40,
  kDiv = 42,
  kStridedSlice = 45,
  kCast = 53,
  kSlice = 65,
  kExpandDims = 70,
  kShape = 77,
  kPack = 83,
  kUnpack = 88,
  kSquaredDifference = 99,
  kSplitV = 102
};
enum Options : std::uint8_t {
  kSpaceToDepths = 19,
  kReducer = 27,
  kStrided = 32,
  kPacked = 59,
  kUnpacked = 64,
  kSplitVs = 79,
  kDepthToSpaces = 94
};

/// What a file computes of the halves 0, 0.5, 1, ..., which are codes of int8 and uint8, too.
struct Case {
  std::string name;
  Extents input;
  /// Adds operators that read tensor 0 and returns their results.
  std::function<Extents(TfliteFile&, TfliteFile::Type)> add;
  std::vector<Values> expected;
  bool in_floats_alone = false;
};

std::vector<Case> cases() {
  using File = TfliteFile;
  using Type = TfliteFile::Type;
  return {
      {"EXPAND_DIMS",
       {-1, 2},
       [](File& f, Type type) {
         const auto y = f.add(type, {-1, 1, 2});
         f.op(kExpandDims, {0, f.add_numbers({1})}, {y});
         return Extents{y};
       },
       {{0, 0.5F}}},
      {"SLICE",
       {-1, 2, 3},
       [](File& f, Type type) {
         const auto y = f.add(type, {-1, 2, 2});
         f.op(kSlice, {0, f.add_numbers({0, 0, 1}), f.add_numbers({-1, 2, -1})}, {y});
         return Extents{y};
       },
       {{0.5F, 1, 2, 2.5F}}},
      {"SPLIT_V",
       {-1, 6},
       [](File& f, Type type) {
         const Extents parts = {f.add(type, {-1, 1}), f.add(type, {-1, 3}), f.add(type, {-1, 2})};
         f.op(kSplitV, {0, f.add_numbers({1, -1, 2}), f.add_numbers({-1})}, parts, kSplitVs, {3});
         return parts;
       },
       {{0}, {0.5F, 1, 1.5F}, {2, 2.5F}}},
      {"UNPACK",
       {-1, 2, 2},
       [](File& f, Type type) {
         const Extents parts = {f.add(type, {-1, 2}), f.add(type, {-1, 2})};
         f.op(kUnpack, {0}, parts, kUnpacked, {2, 2});
         return parts;
       },
       {{0, 1}, {0.5F, 1.5F}}},
      {"UNPACK of one",
       {-1, 1, 2},
       [](File& f, Type type) {
         const auto y = f.add(type, {-1, 2});
         f.op(kUnpack, {0}, {y}, kUnpacked, {1, 1});
         return Extents{y};
       },
       {{0, 0.5F}}},
      {"PACK",
       {-1, 2},
       [](File& f, Type type) {
         const auto y = f.add(type, {-1, 2, 3});
         f.op(kPack, {0, 0, 0}, {y}, kPacked, {3, -1});
         return Extents{y};
       },
       {{0, 0, 0, 0.5F, 0.5F, 0.5F}}},
      {"SHAPE, STRIDED_SLICE, PACK, RESHAPE",
       {-1, 4},
       [](File& f, Type type) {
         const auto shape = f.add(File::int32, {2});
         const auto batch = f.add(File::int32, {});
         const auto target = f.add(File::int32, {3});
         const auto two = f.add_constant(File::int32, {}, Extents{2});
         const auto zero = f.add_numbers({0});
         const auto one = f.add_numbers({1});
         const auto y = f.add(type, {-1, 2, 2});
         f.op(kShape, {0}, {shape});
         f.op(kStridedSlice, {shape, zero, one, one}, {batch}, kStrided, {0, 0, 0, 0, 1});
         f.op(kPack, {batch, two, two}, {target}, kPacked, {3, 0});
         f.op(kReshape, {0, target}, {y});
         return Extents{y};
       },
       {{0, 0.5F, 1, 1.5F}}},
      {"DEPTH_TO_SPACE",
       {-1, 1, 2, 4},
       [](File& f, Type type) {
         const auto y = f.add(type, {-1, 2, 4, 1});
         f.op(kDepthToSpace, {0}, {y}, kDepthToSpaces, {2});
         return Extents{y};
       },
       {{0, 0.5F, 2, 2.5F, 1, 1.5F, 3, 3.5F}}},
      {"SPACE_TO_DEPTH",
       {-1, 2, 4, 1},
       [](File& f, Type type) {
         const auto y = f.add(type, {-1, 1, 2, 4});
         f.op(kSpaceToDepth, {0}, {y}, kSpaceToDepths, {2});
         return Extents{y};
       },
       {{0, 0.5F, 2, 2.5F, 1, 1.5F, 3, 3.5F}}},
      {"DIV by a constant",
       {-1, 3},
       [](File& f, Type type) {
         const auto y = f.add(type, {-1, 3});
         f.op(kDiv, {0, f.add_constant(type, {3}, Values{1, 4, -0.5F})}, {y});
         return Extents{y};
       },
       {{0, 0.125F, -2}},
       true},
      {"SQUARED_DIFFERENCE",
       {-1, 3},
       [](File& f, Type type) {
         const auto y = f.add(type, {-1, 3});
         f.op(kSquaredDifference, {0, f.add_constant(type, {3}, Values{1, 1, 3})}, {y});
         return Extents{y};
       },
       {{1, 0.25F, 4}},
       true},
      {"MEAN over time",
       {-1, 2, 2},
       [](File& f, Type type) {
         const auto kept = f.add(type, {-1, 1, 2});
         const auto y = f.add(type, {-1, 2});
         f.op(kMean, {0, f.add_numbers({1})}, {kept}, kReducer, {1});
         f.op(kMean, {0, f.add_numbers({-2})}, {y});
         return Extents{kept, y};
       },
       {{0.5F, 1}, {0.5F, 1}}},
      {"CAST, GATHER, EMBEDDING_LOOKUP",
       {-1, 4},
       [](File& f, Type type) {
         const auto indices = f.add(File::int32, {-1, 4});
         const auto table = f.add_constant(type, {2, 1}, Values{7, 8});
         const Extents rows = {f.add(type, {-1, 4, 1}), f.add(type, {-1, 4, 1})};
         f.op(kCast, {0}, {indices});
         f.op(kGather, {table, indices}, {rows[0]});
         f.op(kEmbeddingLookup, {indices, table}, {rows[1]});
         return rows;
       },
       {{7, 7, 8, 8}, {7, 7, 8, 8}},
       true},
      {"MEAN of rows",
       {-1, 2, 2},
       [](File& f, Type type) {
         const auto kept = f.add(type, {-1, 2, 1});
         const auto y = f.add(type, {-1, 2});
         f.op(kMean, {0, f.add_numbers({2})}, {kept}, kReducer, {1});
         f.op(kMean, {0, f.add_numbers({-1})}, {y});
         return Extents{kept, y};
       },
       {{0.25F, 1.25F}, {0.25F, 1.25F}},
       true},
  };
}

TEST(TfliteExpand, ComputesWhatTheOperatorDoes) {
  for (const Case& c : cases()) {
    for (const auto type : {TfliteFile::float32, TfliteFile::int8, TfliteFile::uint8}) {
      if (c.in_floats_alone && type != TfliteFile::float32) continue;
      SCOPED_TRACE(c.name + " of type " + std::to_string(type));
      TfliteFile file;
      file.add(type, c.input);
      const Extents outputs = c.add(file, type);
      Interpreter interpreter(from_tflite(file.bytes({0}, outputs)));
      Values x(static_cast<std::size_t>(
          std::accumulate(c.input.begin(), c.input.end(), -1, std::multiplies<>())));
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.5F * static_cast<float>(i);
      const std::span<const float> inputs(x);
      EXPECT_EQ(interpreter.run_all({&inputs, 1}), c.expected);
    }
  }
}

TEST(TfliteExpand, NamesWhatItDoesNotTake) {
  using Add = std::function<void(TfliteFile&, std::int32_t y)>;
  const std::vector<std::pair<Add, const char*>> faults = {
      {[](TfliteFile& f, auto y) {
         f.op(kUnpack, {0}, {y}, kUnpacked, {2, 1});
       },
       "operator 0 (UNPACK): expected 1 inputs and 2 outputs, found 1 and 1"},
      {[](TfliteFile& f, auto y) {
         f.op(kUnpack, {0}, {y}, kUnpacked, {1, 7});
       },
       "axis 7 of 2 axes"},
      {[](TfliteFile& f, auto y) {
         f.op(kPack, {0, 99}, {y}, kPacked, {2, 0});
       },
       "tensor 99 outside the"},
      {[](TfliteFile& f, auto y) { f.op(kPack, {0}, {y}); }, "expected 0 inputs"},
      {[](TfliteFile& f, auto y) {
         f.op(kUnpack, {0}, {y}, kPacked, {1, 1});
       },
       "expected UnpackOptions, found PackOptions"},
      {[](TfliteFile& f, auto y) {
         f.op(kDiv, {0, 0}, {y});
       },
       "a constant to divide by, found float32 and 't0'"},
      {[](TfliteFile& f, auto y) { f.op(kDepthToSpace, {0}, {y}, kDepthToSpaces, {2}); },
       "and a block, found [1, 4] and 2"},
      {[](TfliteFile& f, auto y) {
         f.op(kSlice, {0, 0, 0}, {y});
       },
       "expected input 1 as an int32 constant, found 't0'"},
      {[](TfliteFile& f, auto y) {
         f.op(kSlice, {0, f.add_numbers({0, 1}), f.add_numbers({1, 9})}, {y});
       },
       "[1, 9] of [1, 4] begins at [0, 1] outside of it"},
      {[](TfliteFile& f, auto y) {
         f.op(kSplitV, {0, f.add_numbers({9}), f.add_numbers({1})}, {y}, kSplitVs, {1});
       },
       "[9] are no parts of an axis of 4"},
      {[](TfliteFile& f, auto y) {
         const auto shape = f.add(TfliteFile::int32, {2});
         f.op(kShape, {0}, {shape});
         f.op(kSlice, {0, shape, shape}, {y});
       },
       "[-1, 4] of [1, 4] begins at [-1, 4] outside of it"},
      {[](TfliteFile& f, auto y) {
         const auto shape = f.add(TfliteFile::int32, {2});
         f.op(kShape, {0}, {shape});
         f.op(kStridedSlice, {0, shape, shape, shape}, {y}, kStrided, {0});
       },
       "operator 1 (STRIDED_SLICE): computes with the number of examples"}};
  for (const auto& [add, says] : faults) {
    TfliteFile file;
    file.add(TfliteFile::float32, {-1, 4});
    const auto y = file.add(TfliteFile::float32, {-1, 4});
    add(file, y);
    const auto bytes = file.bytes({0}, {y});
    expect_throws<FormatError>([&] { from_tflite(bytes); }, {says});
  }
}

}  // namespace
}  // namespace octet::test::tflite_expand_test
