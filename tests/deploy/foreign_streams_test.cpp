// Networks of others that carry states give what their runtimes give, step after step.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/runtime/streaming_interpreter.h>
#include <octet/tests/deploy/foreign_streams.h>
#include <octet/tests/runtime/naive.h>
#include <octet/train/data/idx.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace octet::test::foreign_streams_test {
namespace {

using Bytes = std::vector<std::uint8_t>;

StreamingInterpreter stream_of(const IntegerModel& model, Rounding rounding) {
  return {model, kept_states(model).states, {.rounding = rounding}};
}

/// The first output of one step more.
Bytes step(StreamingInterpreter& stream, const Bytes& x) {
  const auto to = stream.interpreter().input_bytes(0);
  std::ranges::copy(std::as_bytes(std::span(x)), to.begin());
  stream.step();
  Bytes y;
  for (const std::byte b : std::as_const(stream).interpreter().output_bytes(0)) {
    y.push_back(static_cast<std::uint8_t>(b));
  }
  return y;
}

std::size_t input_size(const IntegerModel& model) {
  return static_cast<std::size_t>(model.tensors[static_cast<std::size_t>(model.inputs[0])].size());
}

/// Codes of rows of so many columns, in which ridges move, steeper or flatter by turns; from
/// `bright` columns on they are lower.
struct Ridges {
  int columns;
  int turns;
  int length;
  int bright;

  std::int8_t operator()(int i) const {
    const int row = i / columns;
    const int column = i % columns;
    const int at = (column * (3 + (row >> length) % turns) + row) % 64;
    const int height = std::min(at, 63 - at) * 6;
    return static_cast<std::int8_t>(-128 +
                                    std::min(255, column < bright ? height : height * 3 / 10));
  }
};

/// What a runtime gave, which kept the states itself.
struct Recorded {
  std::string name;
  Ridges input;
  Bytes expected;
};

// LiteRT.js 2.5.3 ran microWakeWord's, whose states are resource variables; tfjs-tflite
// 0.0.1-alpha.10 the LSTM, of which LiteRT.js loads no file. It takes hidden zero points for their
// negatives, so that it gives other values for the networks whose LSTMs have one that is not 0.
const std::vector<Recorded>& recorded() {
  static const std::vector<Recorded> all = {
      {"microwakeword_v2",
       {40, 4, 4, 40},
       {6,   17,  21,  16,  31, 52, 72,  141, 173, 154, 141, 115, 83, 141, 167, 141,
        167, 167, 148, 121, 95, 31, 44,  121, 135, 141, 141, 95,  77, 95,  57,  25,
        21,  34,  48,  89,  95, 72, 102, 95,  89,  77,  31,  23,  44, 148, 121, 135}},
      {"microwakeword_v2_2", {40, 2, 5, 2}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                             0, 0, 0, 0, 0, 0, 0, 1, 3, 4, 4, 3, 1, 1, 0, 0,
                                             0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
      {"lstm_mnist_2", {28, 2, 5, 2}, {128, 128, 128, 128, 128, 129, 126, 128, 128, 128,
                                       128, 128, 128, 128, 128, 20,  232, 131, 129, 128,
                                       131, 128, 129, 128, 128, 147, 89,  144, 128, 128,
                                       131, 128, 128, 128, 128, 128, 9,   243, 128, 128}}};
  return all;
}

TEST(ForeignStreams, GiveTheBytesOfTheirRuntime) {
  if (foreign_models_folder().empty()) GTEST_SKIP() << "OCTET_MODELS_DIR is not set";
  for (const Recorded& one : recorded()) {
    const IntegerModel model = foreign_stream(one.name);
    StreamingInterpreter stream = stream_of(model, Rounding::fp32);
    Bytes found;
    for (int i = 0; found.size() < one.expected.size();) {
      Bytes x(input_size(model));
      for (std::uint8_t& code : x) code = static_cast<std::uint8_t>(one.input(i++));
      const Bytes y = step(stream, x);
      found.insert(found.end(), y.begin(), y.end());
    }
    EXPECT_EQ(found, one.expected) << one.name;
  }
}

TEST(ForeignStreams, AreWrittenAgainAndStartAnew) {
  if (foreign_models_folder().empty()) GTEST_SKIP() << "OCTET_MODELS_DIR is not set";
  for (const char* const name : kForeignStreams) {
    const IntegerModel model = foreign_stream(name);
    EXPECT_FALSE(kept_states(model).states.empty()) << name;
    const IntegerModel again = from_tflite(to_tflite(model));
    for (const Rounding rounding : {Rounding::fp32, Rounding::double_rounding}) {
      StreamingInterpreter first = stream_of(model, rounding);
      StreamingInterpreter second = stream_of(again, rounding);
      std::vector<Bytes> inputs;
      std::vector<Bytes> outputs;
      Draw draw(3);
      bool depends = false;
      for (int i = 0; i < 20; ++i) {
        inputs.push_back(to_bytes(random_codes(input_size(model), draw)));
        outputs.push_back(step(first, inputs.back()));
        ASSERT_EQ(step(second, inputs.back()), outputs.back()) << name;
        StreamingInterpreter fresh = stream_of(model, rounding);
        depends = depends || step(fresh, inputs.back()) != outputs.back();
      }
      EXPECT_TRUE(depends || std::string(name) == "microwakeword_v2_2") << name;
      first.reset();
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        ASSERT_EQ(step(first, inputs[i]), outputs[i]) << name;
      }
    }
  }
}

TEST(ForeignStreams, ReadHandwrittenDigits) {
  const char* mnist = std::getenv("OCTET_MNIST_DIR");
  if (foreign_models_folder().empty() || mnist == nullptr || *mnist == '\0') {
    GTEST_SKIP() << "OCTET_MODELS_DIR or OCTET_MNIST_DIR is not set";
  }
  const Dataset images = load_idx_test(mnist).head(300);
  for (const char* const name : {"lstm_mnist", "lstm_mnist_2"}) {
    const IntegerModel model = foreign_stream(name);
    const bool is_signed =
        model.tensors[static_cast<std::size_t>(model.inputs[0])].dtype == DType::int8;
    for (const Rounding rounding : {Rounding::fp32, Rounding::double_rounding}) {
      StreamingInterpreter stream = stream_of(model, rounding);
      std::size_t right = 0;
      for (std::size_t i = 0; i < images.size(); ++i) {
        const Batch batch = images.batch(i, i + 1);
        Bytes x;
        for (const float v : batch.features.span()) {
          const auto code = static_cast<int>(std::lround(v * 255.0F));
          x.push_back(static_cast<std::uint8_t>(is_signed ? code - 128 : code));
        }
        stream.reset();
        Bytes y = step(stream, x);
        if (is_signed) {
          for (std::uint8_t& code : y) code ^= 0x80U;
        }
        const auto found = std::ranges::max_element(y) - y.begin();
        if (found == batch.targets.labels().front()) ++right;
      }
      EXPECT_GE(right, images.size() * 95 / 100) << name;
    }
  }
}

}  // namespace
}  // namespace octet::test::foreign_streams_test
