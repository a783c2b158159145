#include <octet/core/autograd.h>
#include <octet/core/buffer.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/kernels/repeated_row.h>
#include <octet/core/ops/conv2d_internal.h>
#include <octet/core/parallel.h>
#include <octet/core/tensor_internal.h>
#include <octet/layers/quantize/integer_ops.h>
#include <octet/layers/quantize/tensor_codes.h>
#include <octet/layers/quantize/weighted_sums.h>
#include <octet/runtime/operators/fully_connected.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>

namespace octet {
namespace {

constexpr std::size_t kRowsPerChunk = 32;

}  // namespace

/// What the backward pass needs beyond the sums.
struct IntegerLinear::Operands {
  Tensor x;
  /// Whether x has asked for a gradient before the forward pass.
  bool to_input;
  Tensor kernel;
  Tensor bias;
  std::shared_ptr<const WeightedSums> sums;
  QuantParams weight_params;
  float input_scale;
  std::string owner;
  /// Of the kernel's grid.
  LearnedRange learned;

  float weight_scale(std::size_t unit) const {
    return weight_params.scale(weight_params.per_channel() ? unit : 0);
  }
  std::size_t units() const { return static_cast<std::size_t>(kernel.dim(-1)); }

  /// Gradients that reach the kernel where its code is not clamped: half a step beyond the reals of
  /// qmin and qmax. At those reals themselves the weight that made the range would get a gradient
  /// or none as its scale happened to be rounded.
  /// Empty where it is known that no weight lies outside.
  std::function<void(Index begin, Index end, float* rows)> kernel_mask() const {
    const float below = static_cast<float>(weight_params.qmin) - 0.5F;
    const float above = static_cast<float>(weight_params.qmax) + 0.5F;
    if (!weight_params.per_channel()) {
      const MinMax limits = detail::TensorAccess::limits(kernel);
      if (limits.finite && limits.min >= below * weight_scale(0) &&
          limits.max <= above * weight_scale(0)) {
        return {};
      }
    }
    std::vector<float> lowest(units());
    std::vector<float> highest(lowest.size());
    for (std::size_t j = 0; j < lowest.size(); ++j) {
      lowest[j] = below * weight_scale(j);
      highest[j] = above * weight_scale(j);
    }
    // Detached: the gradient of a kernel must not hold the kernel, which holds it.
    return [kernel = kernel.detach(), lowest = std::move(lowest), highest = std::move(highest)](
               Index begin, Index end, float* rows) {
      const std::size_t columns = lowest.size();
      kernels().passes.mask_columns(kernel.data() + static_cast<std::size_t>(begin) * columns,
                                    static_cast<std::size_t>(end - begin), columns, lowest.data(),
                                    highest.data(), rows);
    };
  }

  /// Written to `to`, of as many elements as g.
  SumsGradient passed(const Tensor& real, const Tensor& g, const GradientWindow& window,
                      const Tensor& to) const {
    return window_gradient_of_lines(real, g.reshape(real.shape()), sums->rows_per_line(), window,
                                    to.reshape(real.shape()));
  }

  /// Of x, the kernel, the bias and what the kernel's grid is learned from.
  std::vector<Tensor> gradients(const SumsGradient& passed) const {
    std::vector<Tensor> result(3);
    if (to_input) result[0] = sums->input_gradient(passed.sums);
    result[1] = sums->kernel_gradient(x, passed.sums, kernel_mask());
    if (bias.defined()) result[2] = passed.bias;
    if (!learned.parameters.empty()) {
      learned.append_gradients(result, kernel, sums->kernel_gradient(x, passed.sums));
    }
    return result;
  }
};

IntegerLinear::IntegerLinear(const LayerWeights& layer, FusedActivation activation, const Tensor& x,
                             const QuantParams& kernel_params, Rounding rounding,
                             const std::string& owner, LearnedRange learned, Sums use)
    : rounding_(rounding), activation_(activation) {
  const QuantParams& grid = require_grid(x, owner);
  WeightCodes codes = make_weight_codes(layer, kernel_params, grid.scale(), owner);
  // Every sum below fits int32 because this one does.
  accumulator_bound(codes, grid, owner);
  QuantParams weight_params = codes.weight_params;
  auto operands = std::make_shared<Operands>(
      Operands{x, x.requires_grad(), layer.kernel, layer.bias,
               make_weighted_sums(layer, std::move(codes), x, grid.zero_point()),
               std::move(weight_params), grid.scale(), owner, std::move(learned)});
  const WeightedSums& form = *operands->sums;
  const auto width = static_cast<Index>(operands->units());

  std::vector<float> sum_scales(operands->units());
  for (std::size_t j = 0; j < sum_scales.size(); ++j) {
    sum_scales[j] = grid.scale() * operands->weight_scale(j);
  }
  const RepeatedRow repeated(sum_scales, static_cast<std::size_t>(std::max<Index>(form.rows(), 1)));
  const RealLimits clamp = real_limits(activation_);
  real_ = Tensor({form.rows(), width});
  float* real = real_.data();
  // Rows [begin, end) of units [unit, unit + units), whose sums lie `stride` apart.
  const auto convert = [&](Index begin, Index end, Index unit, Index units,
                           const std::int32_t* sums, Index stride) {
    const Index step = units == width ? static_cast<Index>(repeated.rows()) : 1;
    const float* scales = units == width ? repeated.data() : sum_scales.data() + unit;
    for (Index i = begin; i < end; i += step, sums += step * stride) {
      kernels().passes.real_sums(sums, static_cast<std::size_t>(std::min(step, end - i) * units),
                                 scales, clamp.lo, clamp.hi, real + i * width + unit);
    }
  };
  const TensorCodes x_codes = codes_on_grid(x, grid);
  operands_ = std::move(operands);
  if (use == Sums::dropped) {
    form.compute(x_codes.get(),
                 [&](Index begin, Index end, Index unit, Index units, const std::int32_t* sums) {
                   convert(begin, end, unit, units, sums, units);
                 });
    return;
  }
  sums_ = allocate_array<std::int32_t>(static_cast<std::size_t>(real_.size()));
  // Measured while they are in the cache: the range of the output is to be observed.
  std::optional<MinMax> limits;
  std::mutex mutex;
  const auto done = [&](Index begin, Index end, Index unit, Index units) {
    convert(begin, end, unit, units, sums_.get() + begin * width + unit, width);
    MinMax found = min_max({real + begin * width + unit,
                            real + (units == width ? end * width : begin * width + unit + units)});
    for (Index i = begin + 1; units < width && i < end; ++i) {
      const float* row = real + i * width + unit;
      found.include(min_max({row, row + units}));
    }
    const std::lock_guard guard(mutex);
    if (!limits) limits = found;
    limits->include(found);
  };
  form.compute(x_codes.get(), sums_.get(), done);
  if (limits) detail::TensorAccess::set_limits(real_, *limits);
}

/// What the recorded ops read: those that Operands::gradients() is about.
std::vector<Tensor> IntegerLinear::inputs() const {
  std::vector<Tensor> inputs = {operands_->x, operands_->kernel, operands_->bias};
  operands_->learned.append_to(inputs);
  return inputs;
}

Tensor IntegerLinear::real() const {
  const Tensor result = detail::TensorAccess::view(real_, operands_->sums->result_shape());
  if (activation_ == FusedActivation::none && !operands_->bias.defined()) {
    // Every gradient passes.
    return record("integer_linear", result, inputs(),
                  [operands = operands_, shape = real_.shape()](const Tensor& gradient) {
                    return operands->gradients({gradient.reshape(shape), {}});
                  });
  }
  const auto backward = [operands = operands_, real = real_,
                         clamp = real_limits(activation_)](const Tensor& gradient) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    return operands->gradients(operands->passed(
        real, gradient, {-kInfinity, kInfinity, clamp.lo, clamp.hi}, writable_gradient(gradient)));
  };
  return record("integer_linear", result, inputs(), backward);
}

Tensor IntegerLinear::requantized(const QuantParams& output, FusedActivation activation) const {
  require_int8(output, operands_->owner);
  const detail::DenseEpilogue epilogue(
      operands_->sums->requantizer(operands_->input_scale, operands_->weight_params.scales,
                                   output.scale(), rounding_),
      output, activation);
  const auto size = static_cast<std::size_t>(real_.size());
  const std::span<const std::int32_t> sums(sums_.get(), size);
  const auto codes = allocate_array<std::int8_t>(size);
  const std::size_t units = operands_->units();
  const auto rows = static_cast<std::size_t>(real_.dim(0));
  parallel_for(
      rows, thread_share(rows, std::max(kRowsPerChunk, parallel_grain(Work::write_floats, units))),
      [&](std::size_t begin, std::size_t end) {
        const std::size_t at = begin * units;
        const std::span<std::int8_t> part(codes.get() + at, end * units - at);
        epilogue.requantize(sums.subspan(at, part.size()), part);
      });
  return tensor_of_codes(operands_->sums->result_shape(),
                         std::make_shared<const QuantParams>(output), codes);
}

Tensor IntegerLinear::output(const QuantParams& output, const LearnedRange& learned) const {
  const Tensor y = requantized(output, activation_);
  const auto backward = [operands = operands_, real = real_, codes = real_limits(output),
                         activation = real_limits(activation_), learned](const Tensor& gradient) {
    // What a scale is learned from is read after that.
    const Tensor to =
        learned.parameters.empty() ? writable_gradient(gradient) : Tensor(gradient.shape());
    std::vector<Tensor> gradients = operands->gradients(
        operands->passed(real, gradient, {codes.lo, codes.hi, activation.lo, activation.hi}, to));
    learned.append_gradients(gradients, real, gradient.reshape(real.shape()));
    return gradients;
  };
  std::vector<Tensor> read = inputs();
  learned.append_to(read);
  return record("integer_linear", y, read, backward);
}

}  // namespace octet
