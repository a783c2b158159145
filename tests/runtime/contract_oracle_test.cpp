// The interpreter against a second implementation of the three rounding contracts, on random nets,
// at the edges of int32 and of the multipliers, and both against the upstream numbers.

#include <octet/layers/lower.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/core/quant/vectors.h>
#include <octet/tests/layers/quantize/random_nets.h>
#include <octet/tests/runtime/naive.h>

#include <limits>
#include <map>
#include <optional>

namespace octet::test::contract_oracle_test {
namespace {

using Codes = std::vector<std::int8_t>;

Codes codes_of(const Interpreter& interpreter, std::int32_t tensor) {
  const auto bytes = interpreter.tensor_bytes(tensor);
  Codes codes(bytes.size());
  std::memcpy(codes.data(), bytes.data(), bytes.size());
  return codes;
}

/// What the operator gives for `x`; none for an operator that the random nets do not hold.
std::optional<Codes> expected(const IntegerModel& model, const Operator& op, const Codes& x,
                              oracle::Contract contract) {
  const ModelTensor& in = model.tensors[static_cast<std::size_t>(op.inputs[0])];
  const ModelTensor& out = model.tensors[static_cast<std::size_t>(op.outputs[0])];
  switch (op.code) {
    case OpCode::fully_connected:
      return oracle::dense(oracle_dense(model, op), x, contract);
    case OpCode::softmax:
      return oracle::softmax(x, static_cast<std::size_t>(in.shape.back()), in.quantization.scale(),
                             op.as<SoftmaxAttributes>().beta, contract);
    case OpCode::relu:
    case OpCode::relu6:
      return oracle::activation(
          op.code == OpCode::relu ? oracle::Clamp::relu : oracle::Clamp::relu6, oracle_quant(in),
          oracle_quant(out), x);
    case OpCode::logistic:
    case OpCode::tanh:
      return oracle::table(op.code == OpCode::tanh ? oracle::Table::tanh : oracle::Table::logistic,
                           oracle_quant(in), x, contract);
    case OpCode::reshape:
      return x;
    default:
      return std::nullopt;
  }
}

/// Compares every operator's output and counts it.
void compare(const IntegerModel& model, Rounding rounding, Index batch, Draw& draw,
             std::map<OpCode, std::size_t>& compared) {
  Interpreter interpreter(model, {.rounding = rounding, .batch = batch, .keep_tensors = true});
  const std::size_t size = interpreter.input<std::int8_t>().size();
  run<std::int8_t, std::int8_t>(interpreter, random_codes(size, draw));
  for (const Operator& op : model.operators) {
    const auto want =
        expected(model, op, codes_of(interpreter, op.inputs[0]), oracle_contract(rounding));
    if (!want) continue;
    ASSERT_EQ(codes_of(interpreter, op.outputs[0]), *want)
        << to_string(op.code) << " " << model.tensors[static_cast<std::size_t>(op.outputs[0])].name;
    compared[op.code] += want->size();
  }
}

TEST(ContractOracle, AgreesWithTheInterpreterOnRandomNets) {
  std::map<OpCode, std::size_t> compared;
  for (std::uint32_t seed = 1000; seed < 1200; ++seed) {
    test::RandomNet net(seed);
    Sequential model = quantize_model(net.model(), net.options(Rounding::fp32));
    calibrate(model, net.batch(9));
    const IntegerModel lowered = lower(model);
    Draw draw(seed);
    for (const Rounding rounding : kContracts) {
      SCOPED_TRACE("seed " + std::to_string(seed) + " " + std::string(to_string(rounding)));
      compare(lowered, rounding, draw.between(1, 20), draw, compared);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(compared[OpCode::fully_connected], 200'000U);
  for (const OpCode code : {OpCode::softmax, OpCode::relu, OpCode::relu6, OpCode::logistic,
                            OpCode::tanh, OpCode::reshape}) {
    EXPECT_GT(compared[code], 10'000U) << to_string(code);
  }
}

TEST(ContractOracle, AgreesOnDenseLayersOfEveryKind) {
  std::map<OpCode, std::size_t> compared;
  Draw draw(3);
  for (int round = 0; round < 120; ++round) {
    const DenseSpec spec{.units = draw.between(1, 41),
                         .per_channel = round % 2 == 0,
                         .weight_zero_point = round % 4 == 1 ? draw.between(-30, 30) : 0,
                         .bias = round % 5 != 0,
                         .activation = static_cast<FusedActivation>(round / 2 % 4),
                         // A tenth of them with factors above 1.
                         .output_scale = round % 10 == 3 ? 1e-5F : draw.uniform(0.01F, 0.3F),
                         .output_zero_point = draw.between(-128, 127)};
    RawModelBuilder b;
    b.model.inputs = {b.activation("x", {1, draw.between(1, 150)}, DType::int8,
                                   quant(draw.uniform(0.003F, 0.05F), draw.between(-128, 127)))};
    b.model.outputs = {add_dense(b, 0, spec, draw)};
    for (const Rounding rounding : kContracts) {
      compare(b.model, rounding, draw.between(1, 9), draw, compared);
      if (HasFatalFailure()) return;
    }
  }
}

/// Sums at the ends of int32, at powers of two and their halves, and next to them.
std::vector<std::int32_t> edge_sums() {
  std::vector<std::int32_t> sums = {0};
  for (int bit = 0; bit < 31; ++bit) {
    for (const std::int64_t odd : {1, 3, 5, 255, 257}) {
      for (std::int64_t off = -1; off <= 1; ++off) {
        const std::int64_t sum = (odd << bit) + off;
        if (sum > std::numeric_limits<std::int32_t>::max()) continue;
        sums.push_back(static_cast<std::int32_t>(sum));
        sums.push_back(static_cast<std::int32_t>(-sum));
      }
    }
  }
  sums.push_back(std::numeric_limits<std::int32_t>::max());
  sums.push_back(-std::numeric_limits<std::int32_t>::max());
  return sums;
}

/// A layer whose sums are its biases and whose factor is input_scale * weight_scale: the weights
/// are 0.
IntegerModel make_rescaler(const std::vector<std::int32_t>& sums, float weight_scale,
                           bool per_channel) {
  const auto units = static_cast<std::int32_t>(sums.size());
  RawModelBuilder b;
  b.model.inputs = {b.activation("x", {1, 1}, DType::int8, quant(1.0F, 0))};
  QuantParams weights{std::vector<float>(per_channel ? sums.size() : 1, weight_scale),
                      std::vector<std::int32_t>(per_channel ? sums.size() : 1, 0)};
  const std::int32_t w = b.constant("w", {units, 1}, DType::int8, Codes(sums.size(), 0), weights);
  const auto [lo, hi] = integer_limits(DType::int32);
  const std::int32_t bias = b.constant("b", {units}, DType::int32, sums,
                                       {weights.scales, weights.zero_points, 0, lo, hi});
  b.model.outputs = {b.activation("y", {1, units}, DType::int8, quant(1.0F, 3))};
  b.op(OpCode::fully_connected, {0, w, bias}, b.model.outputs[0]);
  return b.model;
}

TEST(ContractOracle, AgreesAtTheEdges) {
  const std::vector<std::int32_t> sums = edge_sums();
  std::vector<float> factors;
  for (int exponent = -34; exponent <= 3; ++exponent) {
    const float power = std::ldexp(1.0F, exponent);
    for (const float factor : {power, std::nextafter(power, 0.0F), std::nextafter(power, 2 * power),
                               0.75F * power, power / 3.0F, 1.1F * power}) {
      factors.push_back(factor);
    }
  }
  Draw draw(1);
  std::map<OpCode, std::size_t> compared;
  for (const float factor : factors) {
    for (const bool per_channel : {false, true}) {
      for (const Rounding rounding : kContracts) {
        SCOPED_TRACE(std::string(to_string(rounding)) + " factor " + std::to_string(factor));
        compare(make_rescaler(sums, factor, per_channel), rounding, 1, draw, compared);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(ContractOracle, TheContractsAreThreeOnThatData) {
  const IntegerModel model = make_rescaler(edge_sums(), 0.125F, false);
  std::vector<Codes> results;
  for (const auto contract :
       {oracle::Contract::fp32, oracle::Contract::single, oracle::Contract::twice}) {
    results.push_back(oracle::dense(oracle_dense(model, model.operators[0]), {0}, contract));
  }
  EXPECT_NE(results[0], results[1]);
  EXPECT_NE(results[0], results[2]);
  EXPECT_NE(results[1], results[2]);
}

// The oracle itself against the upstream numbers.

oracle::Clamp clamp_named(const std::string& name) {
  if (name == "relu") return oracle::Clamp::relu;
  if (name == "relu6") return oracle::Clamp::relu6;
  return name == "relu_n1_to_1" ? oracle::Clamp::relu_n1_to_1 : oracle::Clamp::none;
}

oracle::Quant quant_of(const Vector& v, const std::string& side) {
  return {v.params.at(side + "_scale"), v.params.at(side + "_zero_point")};
}

void expect_codes(const Codes& got, const Vector& v) {
  if (v.expected.contains("data")) return expect_close(got, v.expected.at("data"), v);
  const oracle::Quant out = quant_of(v, "output");
  std::vector<float> real;
  for (const int code : got) real.push_back(static_cast<float>(code - out.zero_point) * out.scale);
  expect_close(std::span<const float>(real), v.expected.at("dequantized"), v);
}

Codes dense_of(const Vector& v) {
  oracle::Dense d;
  d.weights = integers<std::int8_t>(v.input.at("weights").at("data"));
  d.bias = integers<std::int32_t>(v.input.at("bias").at("data"));
  d.units = d.bias.size();
  d.depth = d.weights.size() / d.units;
  d.weight_scales = floats(v.params.at("weight_scales"));
  d.weight_zero_point = v.params.at("weight_zero_point");
  d.in = quant_of(v, "input");
  d.out = quant_of(v, "output");
  d.clamp = clamp_named(v.params.at("activation"));
  return oracle::dense(d, integers<std::int8_t>(v.input.at("x").at("data")),
                       oracle::Contract::twice);
}

TEST(ContractOracle, MeetsTheUpstreamNumbers) {
  std::map<std::string, int> met;
  for (const Vector& v : all_vectors()) {
    if (v.op == "fully_connected" && v.integer_rule == "tflm") {
      expect_codes(dense_of(v), v);
    } else if (v.op == "softmax") {
      const auto x = integers<std::int8_t>(v.input.at("x").at("data"));
      const auto depth = static_cast<std::size_t>(shape_of(v.input.at("x")).back());
      for (const auto contract :
           {oracle::Contract::fp32, oracle::Contract::single, oracle::Contract::twice}) {
        expect_codes(
            oracle::softmax(x, depth, v.params.at("input_scale"), v.params.at("beta"), contract),
            v);
      }
    } else if (v.op == "relu" || v.op == "relu6" || v.op == "relu_n1_to_1") {
      expect_codes(
          oracle::activation(clamp_named(v.op), quant_of(v, "input"), quant_of(v, "output"),
                             integers<std::int8_t>(v.input.at("x").at("data"))),
          v);
    } else if (v.op == "multiply_by_quantized_multiplier" && v.params.at("width") == 32 &&
               v.input.contains("multiplier")) {
      const std::string rounding = v.params.at("rounding");
      for (const auto contract : {oracle::Contract::single, oracle::Contract::twice}) {
        const char* name = contract == oracle::Contract::single ? "single" : "double";
        if (rounding != "both" && rounding != name) continue;
        EXPECT_EQ(
            oracle::rescale(v.input.at("x").get<std::int64_t>(),
                            oracle::multiplier_of(v.input.at("multiplier"), contract), contract),
            v.expected.at("value").get<std::int64_t>())
            << v.id << " " << name;
      }
    } else {
      continue;
    }
    ++met[v.op];
  }
  EXPECT_EQ(met["fully_connected"], 3);
  EXPECT_EQ(met["softmax"], 6);
  EXPECT_EQ(met["relu"] + met["relu6"] + met["relu_n1_to_1"], 3);
  EXPECT_GT(met["multiply_by_quantized_multiplier"], 2);
}

}  // namespace
}  // namespace octet::test::contract_oracle_test
