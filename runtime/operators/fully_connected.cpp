#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/kernels/gemm.h>
#include <octet/core/kernels/isa.h>
#include <octet/runtime/operators/fully_connected.h>
#include <octet/runtime/operators/int16_sums.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace octet::detail {
namespace {

/// An int8 operator: sums, and the epilogue on those that are in the cache.
class Int8Dense final : public Kernel {
 public:
  explicit Int8Dense(const FullyConnectedNumbers& n)
      : rows_(n.rows),
        sums_(PackedS8(n.weights.data(), n.units, n.depth), n.bias, n.input_zero_point,
              n.weight_zero_point),
        epilogue_(n.epilogue) {}

  std::size_t bytes() const override {
    return DenseSums::bytes(units(), sums_.weights().depth()) +
           epilogue_.requantizer.factors().size_bytes() +
           epilogue_.requantizer.multipliers().size_bytes();
  }
  std::size_t thread_bytes(Index samples) const override {
    return sums_.thread_bytes(samples * rows_);
  }

  void run(const KernelArguments& a) const override {
    auto* y = a.to<std::int8_t>();
    const auto take = [&](Index begin, Index end, std::int32_t* sums) {
      const auto count = static_cast<std::size_t>((end - begin) * units());
      epilogue_.requantize({sums, count}, {y + begin * units(), count});
    };
    sums_.sums(a.samples * rows_, a.input<std::int8_t>(), take, a.prefetch);
  }

 private:
  Index units() const { return sums_.weights().rows(); }

  Index rows_;
  DenseSums sums_;
  DenseEpilogue epilogue_;
};

class FloatDense final : public Kernel {
 public:
  explicit FloatDense(const KernelSource& source)
      : units_(source.input(1).shape[0]),
        depth_(source.input(1).shape.back()),
        rows_(source.input().size() / depth_),
        weights_(values_of<float>(source.input(1))),
        bias_(bias_of<float>(source)),
        limits_(real_limits(source.op.activation())) {}

  std::size_t bytes() const override { return (weights_.size() + bias_.size()) * sizeof(float); }
  std::size_t thread_bytes(Index samples) const override {
    return gemm_f32_thread_bytes(samples * rows_, units_, depth_);
  }

  void run(const KernelArguments& a) const override {
    auto* y = a.to<float>();
    gemm_f32(a.samples * rows_, units_, depth_, {a.input<float>(), depth_},
             {weights_.data(), depth_, Transpose::yes}, y, units_);
    for (Index i = 0; i < a.samples * rows_; ++i, y += units_) {
      kernels().passes.add_bias(y, bias_.size(), bias_.data(), limits_.lo, limits_.hi);
    }
  }

 private:
  Index units_;
  Index depth_;
  Index rows_;
  std::vector<float> weights_;
  std::vector<float> bias_;
  RealLimits limits_;
};

// ---- Rules

bool has_zero_points(const QuantParams& params) {
  return std::ranges::any_of(params.zero_points, [](std::int32_t z) { return z != 0; });
}

/// A bias of another tool may come without a scale: it is in_scale * w_scale all the same. One of
/// zeros may have any: layers share it.
void check_bias_quantization(const OperatorView& view) {
  const QuantParams& bias = view.input(2).quantization;
  const std::vector<std::uint8_t>& data = view.input(2).data;
  const auto is_zero = [&] { return std::ranges::count(data, 0) == std::ssize(data); };
  const QuantParams& weights = view.input(1).quantization;
  const std::size_t count = std::max(bias.scales.size(), weights.scales.size());
  for (std::size_t i = 0; i < count && !bias.scales.empty(); ++i) {
    const double expected = double{view.input().quantization.scales[0]} *
                            double{weights.scales[std::min(i, weights.scales.size() - 1)]};
    const std::size_t j = std::min(i, bias.scales.size() - 1);
    if (!is_close(double{bias.scales[j]}, expected, kBiasScaleTolerance)) {
      if (is_zero()) return;
      view.fail(fmt::format("scale {} of bias {} is not input scale times weight scale, {}",
                            bias.scales[j], i, expected));
    }
    if (bias.zero_points[j] != 0) {
      view.fail(fmt::format("zero point {} of bias {} is not 0", bias.zero_points[j], i));
    }
  }
}

void check_int8_types(const OperatorView& view) {
  if (view.input().dtype != DType::int8 || view.input(1).dtype != DType::int8 ||
      view.output().dtype != DType::int8 ||
      (view.has_input(2) && view.input(2).dtype != DType::int32)) {
    view.fail_types();
  }
}

void check_integer_operands(const OperatorView& view, std::size_t axis) {
  const ModelTensor& weights = view.input(1);
  if (view.input().dtype == DType::int16) {
    check_int16_operands(view);
  } else {
    check_int8_types(view);
  }
  view.require_per_tensor(view.input(), "input");
  view.require_per_tensor(view.output(), "output");
  view.require_quantized(weights, "weights");
  const QuantParams& q = weights.quantization;
  if (q.scales.size() > 1) {
    if (static_cast<std::size_t>(q.quantized_dimension) != axis) {
      view.fail(
          fmt::format("weights quantized along axis {}, not {}", q.quantized_dimension, axis));
    }
    if (has_zero_points(q)) view.fail("weights of several scales have a zero point other than 0");
  }
  if (view.has_input(2)) check_bias_quantization(view);
}

}  // namespace

// ---- Sums

DenseSums::DenseSums(PackedS8 weights, std::span<const std::int32_t> bias,
                     std::int32_t input_zero_point, std::int32_t weight_zero_point,
                     std::optional<Index> depth)
    : weights_(std::move(weights)),
      weight_zero_point_(weight_zero_point),
      depth_(depth.value_or(weights_.depth())) {
  const auto row_sums = weights_.row_sums();
  start_.reserve(row_sums.size());
  const std::int64_t both = depth_ * input_zero_point * weight_zero_point;
  for (std::size_t j = 0; j < row_sums.size(); ++j) {
    const std::int64_t from = bias.empty() ? 0 : bias[j];
    const std::int64_t offset = from - std::int64_t{input_zero_point} * row_sums[j] + both;
    // Only the sum with the product of codes has to fit: that one is exact modulo 2^32.
    start_.push_back(static_cast<std::int32_t>(static_cast<std::uint32_t>(offset)));
  }
}

std::size_t DenseSums::bytes(Index units, Index depth) {
  return PackedS8::bytes(units, depth) + static_cast<std::size_t>(units) * sizeof(std::int32_t);
}

/// Takes weight_zero_point * sum of the row's codes off each row's sums, modulo 2^32.
void DenseSums::subtract_rows(const std::int8_t* x, std::span<std::int32_t> sums) const {
  const auto units = static_cast<std::size_t>(weights_.rows());
  for (std::size_t row = 0; row * units < sums.size(); ++row, x += weights_.depth()) {
    std::int64_t sum = 0;
    for (Index i = 0; i < depth_; ++i) sum += x[i];
    const auto weighed = static_cast<std::uint32_t>(sum * weight_zero_point_);
    for (std::int32_t& value : sums.subspan(row * units, units)) {
      value = static_cast<std::int32_t>(static_cast<std::uint32_t>(value) - weighed);
    }
  }
}

void DenseSums::sums(Index rows, const std::int8_t* x, std::int32_t* sums,
                     FunctionRef<void(Index begin, Index end)> rows_done) const {
  if (weight_zero_point_ == 0) {
    gemm_s8(rows, x, weights_.depth(), weights_, sums, start_, rows_done);
    return;
  }
  gemm_s8(rows, x, weights_.depth(), weights_, sums, start_, [&](Index begin, Index end) {
    std::int32_t* first = sums + begin * weights_.rows();
    subtract_rows(x + begin * weights_.depth(),
                  {first, static_cast<std::size_t>((end - begin) * weights_.rows())});
    if (rows_done) rows_done(begin, end);
  });
}

void DenseSums::sums(Index rows, const std::int8_t* x,
                     FunctionRef<void(Index begin, Index end, std::int32_t* sums)> take,
                     std::span<const std::byte> prefetch) const {
  if (weight_zero_point_ == 0) {
    gemm_s8(rows, x, weights_.depth(), weights_, start_, take, prefetch);
    return;
  }
  const auto subtract_and_take = [&](Index begin, Index end, std::int32_t* sums) {
    subtract_rows(x + begin * weights_.depth(),
                  {sums, static_cast<std::size_t>((end - begin) * weights_.rows())});
    take(begin, end, sums);
  };
  gemm_s8(rows, x, weights_.depth(), weights_, start_, subtract_and_take, prefetch);
}

// ---- Epilogue

DenseEpilogue::DenseEpilogue(Requantizer rescaling, const QuantParams& output,
                             FusedActivation activation)
    : requantizer(std::move(rescaling)),
      zero_point(output.zero_point()),
      range(activation_range(activation, output, requantizer.rounding())) {}

// ---- Numbers

FullyConnectedNumbers dense_numbers(const KernelSource& source, Requantizer requantizer) {
  const ModelTensor& weights = source.input(1);
  const QuantParams input = stored_params(source.input());
  const QuantParams output = stored_params(source.output());
  const std::int64_t units = weights.shape[0];
  const std::int64_t depth = weights.size() / units;
  FullyConnectedNumbers n{
      .rows = source.output().size() / units,
      .depth = depth,
      .units = units,
      .input_zero_point = input.zero_point(),
      .weight_zero_point = weights.quantization.zero_point(),
      .weights = {reinterpret_cast<const std::int8_t*>(weights.data.data()), weights.data.size()},
      .bias = bias_of<std::int32_t>(source),
      .epilogue = {std::move(requantizer), output, source.op.activation()},
      .largest_sum = 0};
  std::vector<std::int64_t> magnitudes;
  for (std::int64_t unit = 0; unit < units; ++unit) {
    const auto row =
        n.weights.subspan(static_cast<std::size_t>(unit * depth), static_cast<std::size_t>(depth));
    magnitudes.push_back(magnitude_of(row, n.weight_zero_point));
  }
  n.largest_sum =
      accumulator_bound(magnitudes, n.bias, farthest_from_zero_point(input), weights.name);
  return n;
}

Rounding contract_of_weights(OpCode code, Rounding rounding, int bits, Index depth,
                             bool per_channel) {
  if (bits == 8 || rounding != Rounding::fp32) return rounding;
  switch (code) {
    case OpCode::fully_connected: {
      const bool of_xnnpack = bits == 4 ? depth % 2 == 0 : depth % 4 == 0 && per_channel;
      return of_xnnpack ? Rounding::fp32 : Rounding::single_rounding;
    }
    case OpCode::conv_2d:
      return Rounding::single_rounding;
    case OpCode::depthwise_conv_2d:
      return Rounding::double_rounding;
    default:
      throw InvalidArgument(
          fmt::format("{}: expected weights stored in 8 bits, found {}", to_string(code), bits));
  }
}

Rounding contract_of_weights(const KernelSource& source) {
  const ModelTensor& weights = source.input(1);
  return contract_of_weights(source.op.code, source.rounding, weights.stored_bits,
                             weights.size() / weights.shape[0],
                             weights.quantization.scales.size() > 1);
}

Requantizer fully_connected_requantizer(const KernelSource& source) {
  return Requantizer::fully_connected(
      source.input().quantization.scale(), source.input(1).quantization.scales,
      source.output().quantization.scale(), contract_of_weights(source));
}

FullyConnectedNumbers fully_connected_numbers(const KernelSource& source) {
  return dense_numbers(source, fully_connected_requantizer(source));
}

QuantParams bias_quantization(const ModelTensor& input, const ModelTensor& weights, DType dtype) {
  QuantParams params = weights.quantization;
  for (float& scale : params.scales) scale *= input.quantization.scale();
  std::ranges::fill(params.zero_points, 0);
  std::tie(params.qmin, params.qmax) = integer_limits(dtype);
  params.quantized_dimension = 0;
  return params;
}

// ---- The operator

void check_dense_operands(const OperatorView& view, std::size_t axis) {
  const ModelTensor& weights = view.input(1);
  const std::int64_t units = weights.shape[axis];
  if (!weights.is_constant()) view.fail(fmt::format("weights '{}' are no constant", weights.name));
  if (view.has_input(2) && (view.input(2).size() != units || !view.input(2).is_constant())) {
    view.fail(fmt::format("expected a constant bias of {} values, found shape [{}]", units,
                          fmt::join(view.input(2).shape, ", ")));
  }
  view.require_known(view.op.activation());
  if (view.input().dtype != DType::float32) return check_integer_operands(view, axis);
  const bool floats = weights.dtype == DType::float32 && view.output().dtype == DType::float32 &&
                      (!view.has_input(2) || view.input(2).dtype == DType::float32);
  if (!floats) view.fail_types();
}

std::unique_ptr<Kernel> make_float_dense(const KernelSource& source) {
  return std::make_unique<FloatDense>(source);
}

std::unique_ptr<Kernel> make_int8_dense(const FullyConnectedNumbers& numbers) {
  return std::make_unique<Int8Dense>(numbers);
}

std::size_t dense_bytes(const Operands& operands) {
  const Index units = operands.input(1).shape[0];
  const Index depth = operands.input(1).shape.back();
  if (operands.input().dtype == DType::int16) return int16_bytes(operands);
  if (operands.input().dtype == DType::float32) {
    return static_cast<std::size_t>(units * (depth + 1)) * sizeof(float);
  }
  return DenseSums::bytes(units, depth) +
         static_cast<std::size_t>(units) * sizeof(QuantizedMultiplier);
}

namespace {

std::int64_t dense_products(const Operands& operands) { return products_with_units(operands, 0); }

void check_fully_connected(const OperatorView& view) {
  const ModelTensor& weights = view.input(1);
  if (weights.shape.size() != 2) {
    view.fail(fmt::format("expected weights [units, inputs], found shape [{}]",
                          fmt::join(weights.shape, ", ")));
  }
  const std::int32_t units = weights.shape[0];
  const std::int32_t depth = weights.shape[1];
  const auto& shape = view.input().shape;
  if (view.input().size() % depth != 0) {
    view.fail(fmt::format("input shape [{}] is no whole number of rows of {} weights",
                          fmt::join(shape, ", "), depth));
  }
  std::vector<std::int32_t> expected{static_cast<std::int32_t>(view.input().size() / depth), units};
  if (view.op.as<FullyConnectedAttributes>().keep_num_dims) {
    expected = shape;
    if (expected.empty() || expected.back() != depth) {
      view.fail(fmt::format("keep_num_dims: last axis of input shape [{}] is not the {} inputs",
                            fmt::join(expected, ", "), depth));
    }
    expected.back() = units;
  }
  view.require_output_shape(expected);
  check_dense_operands(view);
}

std::unique_ptr<Kernel> make_fully_connected(const KernelSource& source) {
  if (source.input().dtype == DType::float32) return make_float_dense(source);
  if (source.input().dtype == DType::int16) {
    return make_int16_dense(source, int16_numbers(source, fully_connected_requantizer(source)));
  }
  return make_int8_dense(fully_connected_numbers(source));
}

int fully_connected_version(const Operands& o) {
  if (o.input(1).stored_bits != 8) return o.input(1).stored_bits == 4 ? 10 : 14;
  if (o.input().dtype == DType::int16) return 7;
  if (!o.has_input(2)) return 6;
  if (o.op.as<FullyConnectedAttributes>().keep_num_dims) return 5;
  return o.input().dtype == DType::int8 ? 4 : 1;
}

}  // namespace

OperatorDefinition definitions::fully_connected() {
  return checked({.name = "FULLY_CONNECTED",
                  // Versions 7 to 9 have int16, 10 has weights of 4 bits, and 14 of 2.
                  .releases = {11000, 11000, 11400, 11400, 20000, 20100, 20300, 20300, 20300, 21100,
                               22100, 22100, 22100, 22100},
                  .required_version = fully_connected_version,
                  .least_inputs = 2,
                  .most_inputs = 3,
                  .output_grid = OutputGrid::measured,
                  .least_weight_bits = 2,
                  .takes_int16 = true,
                  .check = check_fully_connected,
                  .make_kernel = make_fully_connected,
                  .kernel_bytes = dense_bytes,
                  .multiply_adds = dense_products});
}

}  // namespace octet::detail
