#include <octet/import/tflite/svdf.h>
#include <octet/runtime/model_builder.h>
#include <octet/runtime/operators/operands.h>
#include <octet/runtime/operators/svdf.h>

#include <algorithm>
#include <utility>

namespace octet::detail {
namespace {

using Extents = std::vector<std::int32_t>;

bool is_of_layers(const IntegerModel& model, const Operator& op) {
  if (op.code != OpCode::svdf || Operands(model, op).input().dtype != DType::float32) return false;
  // A state of one step is not read.
  return Operands(model, op).input(kSvdfTimeWeights).shape[1] > 1 &&
         op.activation() != FusedActivation::relu_n1_to_1;
}

class Spelling {
 public:
  explicit Spelling(IntegerModel model) : builder_(std::move(model)) {}

  IntegerModel run() {
    std::vector<Operator> given = std::exchange(builder_.model().operators, {});
    for (Operator& op : given) {
      if (is_of_layers(builder_.model(), op)) {
        spell_out(op);
      } else {
        builder_.model().operators.push_back(std::move(op));
      }
    }
    return std::move(builder_.model());
  }

 private:
  void spell_out(const Operator& op) {
    const std::int32_t batch = builder_.tensor(op.inputs[0]).shape[0];
    const Extents over_time = builder_.tensor(op.inputs[kSvdfTimeWeights]).shape;
    const std::int32_t filters = over_time[0];
    const std::int32_t memory = over_time[1];
    const std::int32_t units = filters / op.as<SvdfAttributes>().rank;
    const std::int32_t taps = op.as<SvdfAttributes>().rank * memory;
    const std::int32_t seen = add({batch, filters});
    builder_.op(OpCode::fully_connected, {op.inputs[0], op.inputs[kSvdfFeatureWeights]}, seen);
    const std::int32_t kept = add({batch, filters, memory - 1});
    builder_.op(OpCode::strided_slice,
                {reshaped(op.inputs[kSvdfState], {batch, filters, memory}), numbers({0, 0, 1}),
                 numbers({batch, filters, memory}), numbers({1, 1, 1})},
                kept);
    const std::int32_t window = add({batch, filters, memory});
    builder_.op(OpCode::concatenation, {kept, reshaped(seen, {batch, filters, 1})}, window,
                ConcatenationAttributes{.axis = 2});
    reshape(window, op.outputs[1]);
    const std::int32_t columns = add({batch, taps, units});
    builder_.op(OpCode::transpose, {reshaped(window, {batch, units, taps}), numbers({0, 2, 1})},
                columns);
    const std::int32_t sums = add({batch, 1, 1, units});
    builder_.op(OpCode::depthwise_conv_2d,
                {reshaped(columns, {batch, taps, 1, units}),
                 column_weights(op.inputs[kSvdfTimeWeights], units, taps), op.inputs[kSvdfBias]},
                sums, DepthwiseConv2DAttributes{.activation = op.activation()});
    reshape(sums, op.outputs[0]);
  }

  std::int32_t add(Extents shape) {
    ModelTensor made;
    made.dtype = DType::float32;
    made.shape = std::move(shape);
    return builder_.add(std::move(made));
  }
  std::int32_t numbers(const Extents& values) {
    return builder_.constant(std::string(), DType::int32,
                             {static_cast<std::int32_t>(values.size())},
                             std::span<const std::int32_t>(values));
  }
  void reshape(std::int32_t from, std::int32_t to) {
    builder_.reshape_to(std::string(), from, to, Extents(builder_.tensor(to).shape));
  }
  std::int32_t reshaped(std::int32_t from, Extents shape) {
    const std::int32_t to = add(std::move(shape));
    reshape(from, to);
    return to;
  }

  /// [units, taps] as [1, taps, 1, units].
  std::int32_t column_weights(std::int32_t weights, std::int32_t units, std::int32_t taps) {
    const std::vector<float> rows = values_of<float>(builder_.tensor(weights));
    std::vector<float> columns;
    columns.reserve(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto across = static_cast<std::size_t>(units);
      columns.push_back(rows[i % across * static_cast<std::size_t>(taps) + i / across]);
    }
    return builder_.constant(std::string(), DType::float32, {1, taps, 1, units},
                             std::span<const float>(columns));
  }

  ModelBuilder builder_;
};

}  // namespace

std::optional<IntegerModel> svdf_spelled_out(const IntegerModel& model) {
  const auto is_svdf = [](const Operator& op) { return op.code == OpCode::svdf; };
  if (std::ranges::none_of(model.operators, is_svdf)) return std::nullopt;
  return Spelling(model).run();
}

}  // namespace octet::detail
