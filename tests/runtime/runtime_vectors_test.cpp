// What real runtimes computed of single operators: tests/data/vectors_*.json.

#include <gtest/gtest.h>
#include <octet/runtime/streaming_interpreter.h>
#include <octet/tests/runtime/models.h>
#include <octet/tests/runtime/naive.h>
#include <octet_test_paths.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace octet::test::runtime_vectors_test {
namespace {

using nlohmann::json;
using Shape32 = std::vector<std::int32_t>;

struct Row {
  std::string op;
  /// How many results are compared: one for each vector and runtime that has a rounding mode.
  int results;
  std::string file = "conv";
  /// The rounding mode of tfjs-tflite; none where its arithmetic is of another kind.
  std::optional<Rounding> tfjs = Rounding::fp32;
};

// NOLINTNEXTLINE(readability-identifier-naming): the name that GoogleTest looks for
void PrintTo(const Row& row, std::ostream* out) { *out << row.op; }

std::vector<Row> rows() {
  return {
      {"ADD", 3 * 21},
      {"ARG_MAX", 3 * 3, "sequence"},
      {"AVERAGE_POOL_2D", 3 * 11},
      {"BATCH_MATMUL", 3 * 22, "sequence", Rounding::single_rounding},
      {"CONCATENATION", 3 * 5},
      // LiteRT.js refuses a convolution without bias.
      {"CONV_2D", 3 * 25 - 2},
      // TFLite Micro ends a program without a bias in a depthwise convolution.
      {"DEPTHWISE_CONV_2D", 3 * 17 - 1},
      {"ELU", 3 * 3, "sequence"},
      // TFLite Micro has none of int8, tfjs-tflite no EXP, LOG and SQRT.
      {"EXP", 3, "sequence"},
      {"GELU", 2 * 6, "sequence"},
      {"HARD_SWISH", 3 * 5},
      {"LEAKY_RELU", 3 * 9},
      {"LOG", 3, "sequence"},
      {"LOGISTIC", 3 * 5},
      {"MAX_POOL_2D", 3 * 6},
      {"MAXIMUM", 3 * 3, "sequence"},
      {"MEAN", 2 * 18, "conv", std::nullopt},
      {"MINIMUM", 3 * 3, "sequence"},
      {"MUL", 3 * 9},
      {"PAD", 3 * 5},
      {"PADV2", 3 * 5},
      {"PRELU", 2 * 9, "prelu"},
      {"QUANTIZE", 3 * 10},
      {"RESHAPE", 3 * 5},
      // TFLite Micro has none of int16.
      {"RESIZE_BILINEAR", 3 * 3 + 3 * 2, "sequence"},
      {"RESIZE_NEAREST_NEIGHBOR", 3 * 5},
      {"RSQRT", 3 * 5, "sequence"},
      {"SOFTMAX", 3 * 8},
      {"SPLIT", 3 * 6, "sequence", Rounding::single_rounding},
      {"SQRT", 3, "sequence"},
      {"SQUEEZE", 3 * 5},
      {"STRIDED_SLICE", 3 * 4, "sequence", Rounding::single_rounding},
      {"SUB", 3 * 7},
      // tfjs-tflite takes RELU and states of int16 alone.
      {"SVDF", 15 + 4, "sequence"},
      {"TANH", 3 * 5},
      {"TRANSPOSE", 3 * 9, "sequence", Rounding::single_rounding},
      {"TRANSPOSE_CONV", 2 * 8, "conv", std::nullopt},
      // On int16 in TFLite Micro alone.
      {"UNIDIRECTIONAL_SEQUENCE_LSTM", 10 + 4 + 3, "sequence", Rounding::single_rounding},
      // On int16, where all of these runtimes compute the same.
      {"ADD", 9, "sequence"},
      {"CONCATENATION", 9, "sequence"},
      {"LOGISTIC", 12, "sequence"},
      {"MUL", 9, "sequence"},
      {"QUANTIZE", 9, "sequence"},
      {"SUB", 9, "sequence"},
      {"TANH", 12, "sequence"},
  };
}

json vectors_in(const std::string& file) {
  std::ifstream stream(OCTET_TEST_DATA_DIR "/vectors_" + file + ".json");
  return json::parse(stream).at("vectors");
}

std::optional<Rounding> rounding_of(const std::string& runtime, const Row& row) {
  if (runtime.starts_with("LiteRT.js")) return Rounding::fp32;
  if (runtime.starts_with("tfjs-tflite")) return row.tfjs;
  if (runtime.starts_with("TFLite Micro reference kernels")) return Rounding::double_rounding;
  return std::nullopt;
}

DType type_of(const json& tensor) {
  const std::map<std::string, DType> types{{"int8", DType::int8},
                                           {"int16", DType::int16},
                                           {"int32", DType::int32},
                                           {"int64", DType::int64}};
  return types.at(tensor.value("type", "int8"));
}

template <class T>
void read(T& field, const json& value) {
  value.get_to(field);
}
void read(Padding& field, const json& value) {
  field = value == "SAME" ? Padding::same : Padding::valid;
}
void read(FusedActivation& field, const json& value) {
  const std::map<std::string, FusedActivation> activations{
      {"NONE", FusedActivation::none},
      {"RELU", FusedActivation::relu},
      {"RELU_N1_TO_1", FusedActivation::relu_n1_to_1},
      {"RELU6", FusedActivation::relu6}};
  field = activations.at(value);
}

/// Attributes by the names of their fields; `stride` of a vector is [stride_h, stride_w].
OperatorAttributes attributes_of(OpCode code, const json& a) {
  OperatorAttributes attributes = default_attributes(code);
  const auto read_field = [&](std::string_view field, auto& value) {
    const std::string name(field);
    const std::string pair = name.substr(0, name.size() - 2);
    if (a.contains(name)) {
      read(value, a.at(name));
    } else if (name.ends_with("_h") || name.ends_with("_w")) {
      read(value, a.at(pair)[name.ends_with("_h") ? 0 : 1]);
    }
  };
  std::visit(
      [&]<class Attributes>(Attributes& of) {
        std::apply(
            [&](auto&... value) {
              auto name = kFieldNames<Attributes>.begin();
              (read_field(*name++, value), ...);
            },
            of.fields());
      },
      attributes);
  return attributes;
}

/// The model of one vector, operand by operand.
class VectorModel : private RawModelBuilder {
 public:
  explicit VectorModel(const json& vector) {
    const auto code = *std::ranges::find(kOpCodes, vector.at("op").get<std::string>(),
                                         [](OpCode each) { return to_string(each); });
    // Operands that a file leaves out are none of an Operator.
    for (const json& input : vector.at("inputs")) {
      if (input.is_null()) continue;
      operands_.push_back(add_tensor(input, "input" + std::to_string(operands_.size())));
      if (!input.value("constant", false)) model.inputs.push_back(operands_.back());
      if (is_state(input)) states_.push_back(input);
    }
    // A file has the axis of SPLIT in front, and the bias of SVDF before its state.
    if (code == OpCode::svdf) std::swap(operands_[3], operands_[4]);
    if (code == OpCode::split) std::swap(operands_[0], operands_[1]);
    if (vector.contains("weights")) add_weights(vector);
    add_attribute_operands(code, vector.at("attributes"));
    for (const json& output : outputs_of(vector)) {
      model.outputs.push_back(add_tensor(output, "output" + std::to_string(model.outputs.size())));
    }
    const std::size_t results = model.outputs.size();
    for (const json& state : states_) {
      model.outputs.push_back(add_tensor(state, "next" + std::to_string(model.outputs.size())));
    }
    op(code, operands_, model.outputs[0], attributes_of(code, vector.at("attributes"))).outputs =
        model.outputs;
    CarriedStates carried{.states = {}, .results = results};
    const std::size_t others = model.inputs.size() - states_.size();
    for (std::size_t i = 0; i < states_.size(); ++i) {
      carried.states.push_back({others + i, results + i});
    }
    keep_states(model, carried);
  }

  const IntegerModel& get() const { return model; }

  static bool is_state(const json& input) { return input.value("variable", false); }

 private:
  static json outputs_of(const json& vector) {
    return vector.contains("output") ? json::array({vector.at("output")}) : vector.at("outputs");
  }

  std::int32_t add_integers(const std::string& name, const Shape32& shape, const Shape32& values) {
    return constant(name, shape, DType::int32, values, QuantParams{{}, {}, 0, 0, 0});
  }

  std::int32_t add_tensor(const json& from, const std::string& name) {
    const Shape32 shape = from.at("shape");
    const DType dtype = type_of(from);
    if (dtype == DType::int32 && !from.contains("data")) {
      return add({name, dtype, shape, {}, QuantParams{{}, {}, 0, 0, 0}, {}});
    }
    if (dtype == DType::int32) return add_integers(name, shape, from.at("data"));
    if (dtype == DType::int64) {
      return constant(name, shape, dtype, from.at("data").get<std::vector<std::int64_t>>());
    }
    const QuantParams params = quant(from.at("scale"), from.at("zero_point"), dtype);
    if (!from.value("constant", false)) return add({name, dtype, shape, {}, params, {}});
    if (dtype == DType::int8) {
      return constant(name, shape, dtype, from.at("data").get<std::vector<std::int8_t>>(), params);
    }
    return constant(name, shape, dtype, from.at("data").get<std::vector<std::int16_t>>(), params);
  }

  void add_weights(const json& vector) {
    const json& w = vector.at("weights");
    const std::vector<float> scales = w.at("scale");
    const std::vector<std::int32_t> zeros(scales.size(), 0);
    operands_.push_back(constant("weights", w.at("shape"), DType::int8,
                                 w.at("data").get<std::vector<std::int8_t>>(),
                                 {scales, zeros, w.at("quantized_dimension"), -128, 127}));
    if (!vector.contains("bias") || vector.at("bias").is_null()) return;
    const Shape32 bias = vector.at("bias");
    const auto [lo, hi] = integer_limits(DType::int32);
    QuantParams params{scales, zeros, 0, lo, hi};
    const float input_scale = vector.at("inputs")[0].at("scale");
    for (float& scale : params.scales) scale *= input_scale;
    operands_.push_back(constant("bias", {static_cast<std::int32_t>(bias.size())}, DType::int32,
                                 bias, std::move(params)));
  }

  /// Constant operands that stand among the attributes of a vector.
  void add_attribute_operands(OpCode code, const json& a) {
    if (code == OpCode::transpose_conv && operands_.size() == 2) operands_.push_back(-1);
    const std::map<OpCode, std::string> names{{OpCode::mean, "axes"},
                                              {OpCode::pad, "paddings"},
                                              {OpCode::padv2, "paddings"},
                                              {OpCode::resize_nearest_neighbor, "size"},
                                              {OpCode::transpose_conv, "output_shape"}};
    const auto name = names.find(code);
    if (name == names.end()) return;
    const json& values = a.at(name->second);
    Shape32 shape{static_cast<std::int32_t>(values.size())};
    if (values[0].is_array()) shape.push_back(static_cast<std::int32_t>(values[0].size()));
    Shape32 flat;
    for (const json& row : values) {
      for (const json& value : row.is_array() ? row : json::array({row})) flat.push_back(value);
    }
    operands_.push_back(add_integers(name->second, shape, flat));
    if (code != OpCode::padv2) return;
    operands_.push_back(constant("value", {1}, DType::int8, std::vector<std::int8_t>{a.at("value")},
                                 quant(a.at("value_scale"), a.at("value_zero_point"))));
  }

  Shape32 operands_;
  std::vector<json> states_;
};

template <class T, class Result = T>
std::vector<Result> computed(const json& vector, Rounding rounding) {
  const IntegerModel model = VectorModel(vector).get();
  const CarriedStates kept = kept_states(model);
  StreamingInterpreter stream(model, kept.states, {.rounding = rounding});
  std::vector<Result> values;
  for (int invocation = 0; invocation < vector.value("invocations", 1); ++invocation) {
    std::size_t next = 0;
    for (const json& input : vector.at("inputs")) {
      if (input.is_null() || input.value("constant", false) || VectorModel::is_state(input)) {
        continue;
      }
      const std::span<T> to = stream.interpreter().template input<T>(next++);
      const auto data = input.at("data").get<std::vector<T>>();
      std::copy_n(data.data() + static_cast<std::size_t>(invocation) * to.size(), to.size(),
                  to.begin());
    }
    stream.step();
    for (std::size_t i = 0; i < kept.results; ++i) {
      const auto output = std::as_const(stream).interpreter().template output<Result>(i);
      values.insert(values.end(), output.begin(), output.end());
    }
  }
  return values;
}

/// tfjs-tflite subtracts the zero point of an LSTM's hidden state instead of adding it.
bool is_defective(const json& vector, const std::string& runtime) {
  return vector.at("op") == "UNIDIRECTIONAL_SEQUENCE_LSTM" && runtime.starts_with("tfjs") &&
         vector.at("output").at("zero_point") != 0;
}

class RuntimeVectors : public ::testing::TestWithParam<Row> {};

TEST_P(RuntimeVectors, AreWhatTheInterpreterComputes) {
  int compared = 0;
  for (const json& vector : vectors_in(GetParam().file)) {
    if (vector.at("op") != GetParam().op) continue;
    const bool wide = std::ranges::any_of(vector.at("inputs"), [](const json& input) {
      return !input.is_null() && !input.contains("constant") && !VectorModel::is_state(input) &&
             type_of(input) == DType::int16;
    });
    for (const json& expected : vector.at("expected")) {
      for (const std::string runtime : expected.at("runtimes")) {
        const auto rounding = rounding_of(runtime, GetParam());
        if (!rounding || is_defective(vector, runtime)) continue;
        SCOPED_TRACE(vector.at("id").get<std::string>() + " of " + runtime);
        if (vector.at("op") == "ARG_MAX") {
          EXPECT_EQ((computed<std::int8_t, std::int32_t>(vector, *rounding)),
                    expected.at("data").get<std::vector<std::int32_t>>());
        } else if (wide) {
          EXPECT_EQ(computed<std::int16_t>(vector, Rounding::q15),
                    expected.at("data").get<std::vector<std::int16_t>>());
        } else {
          EXPECT_EQ(computed<std::int8_t>(vector, *rounding),
                    expected.at("data").get<std::vector<std::int8_t>>());
        }
        ++compared;
      }
    }
  }
  EXPECT_EQ(compared, GetParam().results);
}

INSTANTIATE_TEST_SUITE_P(, RuntimeVectors, ::testing::ValuesIn(rows()),
                         [](const auto& test) { return test.param.op + "_" + test.param.file; });

TEST(RuntimeVectorRows, AreThereForEveryOperator) {
  std::set<std::string> compared;
  for (const Row& row : rows()) compared.insert(row.op);
  for (const char* file : {"conv", "prelu", "sequence"}) {
    for (const json& vector : vectors_in(file)) EXPECT_TRUE(compared.contains(vector.at("op")));
  }
}

}  // namespace
}  // namespace octet::test::runtime_vectors_test
