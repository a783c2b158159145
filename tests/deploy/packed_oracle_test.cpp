// Packed .tflite files of 4 bits against a second implementation of what TFLite Micro computes,
// contract double, and of the other contracts: on random scales and on powers of two.

#include <octet/core/quant/quantize.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/examples/networks/networks.h>
#include <octet/layers/lower.h>
#include <octet/runtime/interpreter.h>
#include <octet/runtime/packed_weights.h>
#include <octet/tests/core/random_networks.h>
#include <octet/tests/layers/quantize/random_nets.h>
#include <octet/tests/runtime/naive.h>
#include <octet/train/data/digits.h>
#include <octet/train/data/idx.h>

#include <cmath>
#include <cstdlib>

namespace octet::test::packed_oracle_test {
namespace {

using Codes = std::vector<std::int8_t>;

/// Every scale as the next power of two, so that sums often lie half way between two codes.
IntegerModel on_powers_of_two(IntegerModel model) {
  for (ModelTensor& tensor : model.tensors) {
    for (float& scale : tensor.quantization.scales) scale = std::exp2(std::round(std::log2(scale)));
  }
  // A bias has the scale of its sums.
  for (const Operator& op : model.operators) {
    if (op.code != OpCode::fully_connected || op.inputs.size() < 3 || op.inputs[2] < 0) continue;
    const auto scales_of = [&](std::size_t i) -> std::vector<float>& {
      return model.tensors[static_cast<std::size_t>(op.inputs[i])].quantization.scales;
    };
    for (std::size_t i = 0; i < scales_of(2).size(); ++i) {
      scales_of(2)[i] = scales_of(0)[0] * scales_of(1)[i];
    }
  }
  return model;
}

/// What was compared: codes, and how many layers had packed weights.
struct Compared {
  std::size_t codes = 0;
  std::size_t packed = 0;
};

/// The results of all FULLY_CONNECTED of a file, which the interpreter runs on rows of `x`, against
/// the naive arithmetic.
void compare(const IntegerModel& model, Rounding rounding, const Codes& x, Compared& compared) {
  const IntegerModel file = from_tflite(to_tflite(pack_weights(model)));
  const auto& input = file.tensors[static_cast<std::size_t>(file.inputs[0])];
  Interpreter interpreter(
      file, {.rounding = rounding, .batch = std::ssize(x) / input.size(), .keep_tensors = true});
  run<std::int8_t, std::int8_t>(interpreter, x);
  const auto codes_of = [&](std::int32_t tensor) {
    const auto bytes = interpreter.tensor_bytes(tensor);
    const auto* first = reinterpret_cast<const std::int8_t*>(bytes.data());
    return Codes(first, first + bytes.size());
  };
  for (std::size_t i = 0; i < file.operators.size(); ++i) {
    const Operator& op = file.operators[i];
    if (op.code != OpCode::fully_connected) continue;
    const ModelTensor& weights = file.tensors[static_cast<std::size_t>(op.inputs[1])];
    const Codes want = naive_dense(file, i, codes_of(op.inputs[0]), rounding);
    ASSERT_EQ(codes_of(op.outputs[0]), want) << weights.name;
    compared.codes += want.size();
    compared.packed += weights.stored_bits == 4 ? 1U : 0U;
  }
}

TEST(PackedOracle, RandomNetsComputeAsTheRuntimesOfTheContract) {
  for (const Rounding rounding : {Rounding::double_rounding, Rounding::single_rounding}) {
    Compared compared;
    for (std::uint32_t seed = 0; seed < random_networks(20); ++seed) {
      test::RandomNet net(seed);
      Sequential model = quantize_model(net.model(), {.rounding = rounding, .weight_bits = 4});
      calibrate(model, net.batch(9));
      const IntegerModel lowered = lower(model);
      Draw draw(seed);
      const auto& input = lowered.tensors[static_cast<std::size_t>(lowered.inputs[0])];
      const Codes x = random_codes(static_cast<std::size_t>(50 * input.size()), draw);
      for (const bool powers : {false, true}) {
        SCOPED_TRACE("seed " + std::to_string(seed) + (powers ? ", powers of two" : ""));
        compare(powers ? on_powers_of_two(lowered) : lowered, rounding, x, compared);
        if (HasFatalFailure()) return;
      }
    }
    EXPECT_GT(compared.packed, random_networks(20));
    EXPECT_GT(compared.codes, 1000U * random_networks(20));
  }
}

/// 2,000 test images where OCTET_MNIST_DIR is set, else drawn digits.
TEST(PackedOracle, ImagesAreComputedAsTFLiteMicroDoes) {
  const char* folder = std::getenv("OCTET_MNIST_DIR");
  const bool real = folder != nullptr && *folder != '\0';
  DataSplit data = real ? load_idx(folder) : make_digits(0, 200, 100);
  data.test = data.test.head(std::min<std::size_t>(data.test.size(), 2000));
  Sequential net = networks::mlp(data.train.example_shape(), {256, 128}, 10, {});
  net.build(3);
  Sequential model = quantize_model(net, {.rounding = Rounding::double_rounding, .weight_bits = 4});
  const Index pixels = data.train.example_shape().size();
  calibrate(model, data.train.features(0, 200).reshape({200, pixels}));
  const IntegerModel lowered = lower(model);
  const QuantParams grid =
      lowered.tensors[static_cast<std::size_t>(lowered.inputs[0])].quantization;
  Compared compared;
  for (std::size_t begin = 0; begin < data.test.size(); begin += 500) {
    const Tensor images =
        data.test.features(begin, std::min<std::size_t>(begin + 500, data.test.size()));
    Codes x(static_cast<std::size_t>(images.size()));
    quantize(images.span(), grid, std::span(x));
    compare(lowered, Rounding::double_rounding, x, compared);
    compare(on_powers_of_two(lowered), Rounding::double_rounding, x, compared);
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(compared.codes, 2 * data.test.size() * (256 + 128 + 10));
}

}  // namespace
}  // namespace octet::test::packed_oracle_test
