#include <octet/core/autograd.h>
#include <octet/core/buffer.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/ops/conv2d_internal.h>
#include <octet/core/ops/gradients_internal.h>
#include <octet/core/ops/quantized_tensor.h>
#include <octet/core/parallel.h>
#include <octet/core/profile.h>
#include <octet/core/tensor_internal.h>
#include <octet/layers/quantize/gradient_angles.h>
#include <octet/layers/quantize/integer_linear.h>
#include <octet/layers/quantize/integer_ops.h>
#include <octet/layers/quantize/measured_gradient.h>
#include <octet/layers/quantize/quantize_tensor.h>
#include <octet/layers/quantize/real_sums.h>
#include <octet/layers/quantize/step_rules.h>
#include <octet/layers/quantize/sums_inside.h>
#include <octet/layers/quantize/weight_codes.h>
#include <octet/layers/quantize/weighted_sums.h>
#include <octet/runtime/operators/fully_connected.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

namespace octet {
namespace {

constexpr std::size_t kRowsPerChunk = 32;

void append(std::vector<Tensor>& list, std::vector<Tensor> more) {
  std::ranges::move(more, std::back_inserter(list));
}

/// Whether all that quantized values pass lies between the activation's clamps.
bool is_within_activation(const GradientWindow& window) {
  return window.lo > window.above && window.hi < window.below;
}

/// Changes the rows [begin, end) of a kernel's gradient.
using KernelMask = std::function<void(Index begin, Index end, float* rows)>;

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
  /// The parameters that the kernel's scale and zero point are learned from.
  LearnedRange learned;
  GradientRule rule;

  float weight_scale(std::size_t unit) const {
    return weight_params.scale(weight_params.per_channel() ? unit : 0);
  }
  std::size_t units() const { return static_cast<std::size_t>(kernel.dim(-1)); }
  /// The scale of the sums of each unit.
  std::vector<float> sum_scales() const {
    std::vector<float> scales(units());
    for (std::size_t j = 0; j < scales.size(); ++j) scales[j] = input_scale * weight_scale(j);
    return scales;
  }

  /// The limits within which the weights of a unit pass their gradient. With an observed range they
  /// lie half a step beyond the real values of qmin and qmax, where clamping begins. Clipping
  /// exactly at qmin and qmax would make the extreme weight's gradient depend on how the scale was
  /// rounded.
  RealLimits passes(std::size_t unit) const {
    const std::vector<RealLimits>& known = learned.steps.passes;
    if (!known.empty()) return known[known.size() > 1 ? unit : 0];
    return {(static_cast<float>(weight_params.qmin) - 0.5F) * weight_scale(unit),
            (static_cast<float>(weight_params.qmax) + 0.5F) * weight_scale(unit)};
  }

  /// Sets the gradients of weights that pass none to 0. Empty where it is known that there are none
  /// such.
  KernelMask kernel_mask() const {
    if (!weight_params.per_channel()) {
      const MinMax limits = detail::TensorAccess::limits(kernel);
      const auto [lo, hi] = passes(0);
      if (limits.finite && limits.min >= lo && limits.max <= hi) return {};
    }
    std::vector<float> lowest(units());
    std::vector<float> highest(lowest.size());
    for (std::size_t j = 0; j < lowest.size(); ++j) {
      lowest[j] = passes(j).lo;
      highest[j] = passes(j).hi;
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

  /// kernel_mask() on a whole gradient.
  void mask(Tensor& gradient) const {
    const KernelMask mask_rows = kernel_mask();
    if (!mask_rows) return;
    const std::size_t rows = static_cast<std::size_t>(kernel.size()) / units();
    float* const to = gradient.mutable_data();
    parallel_for(rows, thread_share(rows, parallel_grain(Work::map_floats, units())),
                 [&](std::size_t begin, std::size_t end) {
                   mask_rows(static_cast<Index>(begin), static_cast<Index>(end),
                             to + begin * units());
                 });
  }

  /// Written over g where nobody else holds it.
  SumsGradient passed(const Tensor& real, const Tensor& g, const GradientWindow& window) const {
    const Tensor to = is_known_inside(real, window) ? Tensor() : writable_gradient(g);
    const Tensor rows = g.reshape(real.shape());
    if (!to.defined()) {
      return {rows, bias.defined() ? column_sums_of_lines(rows, sums->rows_per_line()) : Tensor()};
    }
    return window_gradient_of_lines(real, rows, sums->rows_per_line(), window,
                                    to.reshape(real.shape()));
  }

  /// Computes passed() of a result whose quantized values clamp at least as much as the window's
  /// activation does; and the gradients of what that is learned from, in one pass over `real`.
  std::pair<SumsGradient, std::vector<Tensor>> passed_and_learned(
      const Tensor& real, const Tensor& g, const LearnedRange& output) const {
    const Tensor rows = writable_gradient(g).reshape(real.shape());
    std::vector<Tensor> learned_from =
        output.from_sums(step_sums_and_passed(real, g.reshape(real.shape()), output.steps, rows));
    Tensor of_bias;
    if (bias.defined()) of_bias = column_sums_of_lines(rows, sums->rows_per_line());
    return {SumsGradient{rows, std::move(of_bias)}, std::move(learned_from)};
  }

  /// Whether gradients_inside() does without the sums: then a byte for each stands for them.
  bool reads_mask() const {
    return !learned.wants_gradient() &&
           (rule.backward != Backward::float32 || sums->reads_gradient_once());
  }

  /// How the input's and the kernel's gradients are rounded, each by random numbers of its own.
  GradientRounding rounding(GradientProduct product) const {
    if (rule.backward != Backward::int8_stochastic) return std::nullopt;
    return rule.random.fork(static_cast<std::uint64_t>(product));
  }

  /// Computes the gradients of x and the kernel on int8; none where a value of g is not finite.
  Int8Gradients int8_gradients(const MeasuredGradient& g, const KernelMask& finish) const {
    if (!g.is_finite()) return {};
    const QuantParams& grid = require_grid(x, owner);
    const detail::StoredIntegers codes = integers_of(x, grid);
    Int8Gradients found =
        sums->int8_gradients(g, {.x = {codes.as<std::int8_t>(), static_cast<std::size_t>(x.size())},
                                 .params = grid,
                                 .to_input = to_input,
                                 .input_rounding = rounding(GradientProduct::input),
                                 .kernel_rounding = rounding(GradientProduct::kernel),
                                 .finish = finish});
    if (rule.angles == nullptr) return found;
    if (found.input) {
      measure(GradientProduct::input, *found.input, sums->input_gradient(g.values()));
    }
    if (found.kernel) {
      measure(GradientProduct::kernel, *found.kernel, sums->kernel_gradient(x, g.values(), finish));
    }
    return found;
  }
  void measure(GradientProduct product, const Tensor& on_int8, const Tensor& in_floats) const {
    rule.angles->add(rule.layer, product, on_int8.span(), in_floats.span());
  }
  /// Computes the gradients of x and the kernel on int8 where the layer is to, else in floats.
  std::pair<Tensor, Tensor> product_gradients(const Tensor& g, const MeasuredGradient* measured,
                                              const KernelMask& finish) const {
    Int8Gradients found;
    if (measured != nullptr) {
      found = int8_gradients(*measured, finish);
    } else if (rule.backward != Backward::float32) {
      found = int8_gradients(MeasuredGradient(g, sums->rows_per_block()), finish);
    }
    if (to_input && !found.input) found.input = sums->input_gradient(g);
    if (!found.kernel) found.kernel = sums->kernel_gradient(x, g, finish);
    return {found.input.value_or(Tensor()), *found.kernel};
  }
  /// gradients() of g where `inside` is 1. In floats it is masked where it is read: once.
  std::vector<Tensor> gradients_inside(const Mask& inside, const Tensor& g) const {
    const Shape shape{sums->rows(), kernel.dim(-1)};
    if (rule.backward != Backward::float32) {
      const Tensor to = writable_gradient(g).reshape(shape);
      const MeasuredGradient measured(inside, g.reshape(shape), to, sums->rows_per_block());
      return gradients({measured.values(), measured.bias()}, &measured);
    }
    const Tensor rows = lazy_masked(inside, detail::TensorAccess::view(g, shape));
    ConvGradients all = sums->gradients(x, rows, {to_input, true, bias.defined()});
    std::vector<Tensor> result = {std::move(all.x), std::move(all.kernel), std::move(all.bias)};
    mask(result[1]);
    learned.append_gradients(result, kernel, {});
    return result;
  }

  /// Returns the gradients of x, the kernel, the bias and what the kernel's scale and zero point
  /// are learned from. `measured`, where given, is passed.sums.
  std::vector<Tensor> gradients(const SumsGradient& passed,
                                const MeasuredGradient* measured = nullptr) const {
    std::vector<Tensor> result(3);
    if (bias.defined()) result[2] = passed.bias;
    // What is learned reads the products as the kernel does.
    const KernelMask finish = learned.wants_gradient() ? KernelMask() : kernel_mask();
    std::tie(result[0], result[1]) = product_gradients(passed.sums, measured, finish);
    if (!learned.wants_gradient()) {
      learned.append_gradients(result, kernel, {});
    } else if (learned.from_sums) {
      append(result, learned.from_sums(step_sums_and_mask(kernel, result[1], learned.steps)));
    } else {
      append(result, learned.gradients(kernel, result[1]));
      mask(result[1]);
    }
    return result;
  }
};

namespace {

/// Makes the integers of the weights anew unless `integers` are those already.
void update(IntegerWeights& integers, const LayerWeights& layer, const Tensor& x,
            const QuantParams& kernel_params, const QuantParams& grid, const std::string& owner) {
  if (integers.sums != nullptr && integers.kernel_params == kernel_params &&
      integers.input_params == grid && integers.input_shape == x.shape()) {
    return;
  }
  WeightCodes codes = make_weight_codes(layer, kernel_params, grid.scale(), owner);
  // Every sum fits int32 because this one does.
  accumulator_bound(codes, grid, owner);
  integers = {.kernel_params = kernel_params,
              .input_params = grid,
              .input_shape = x.shape(),
              .sums = nullptr,
              .weight_params = codes.weight_params};
  integers.sums = make_weighted_sums(layer, std::move(codes), x, grid.zero_point());
}

}  // namespace

IntegerLinear::IntegerLinear(const LayerWeights& layer, FusedActivation activation, const Tensor& x,
                             const QuantParams& kernel_params, Rounding rounding,
                             const std::string& owner, LearnedRange learned, Sums use,
                             IntegerWeights* shared, const GradientRule& gradients)
    : rounding_(rounding), activation_(activation) {
  const QuantParams& grid = require_grid(x, owner);
  IntegerWeights own;
  IntegerWeights& integers = shared == nullptr ? own : *shared;
  update(integers, layer, x, kernel_params, grid, owner);
  auto operands = std::make_shared<Operands>(
      Operands{x, x.requires_grad(), layer.kernel, layer.bias, integers.sums,
               integers.weight_params, grid.scale(), owner, std::move(learned),
               has_int8_gradients(layer) ? gradients : GradientRule{}});
  const WeightedSums& products = *operands->sums;
  const auto width = static_cast<Index>(operands->units());

  std::vector<float> scales = operands->sum_scales();
  const RealLimits clamp = real_limits(activation_);
  const detail::StoredIntegers stored = integers_of(x, grid);
  const auto* const x_codes = stored.as<std::int8_t>();
  operands_ = std::move(operands);
  const ProfilePart profiled("products");
  if (use == Sums::dropped) {
    const RealForm reals_of(std::move(scales), clamp);
    real_ = Tensor({products.rows(), width});
    float* const real = real_.mutable_data();
    products.compute(
        x_codes, [&](Index begin, Index end, Index unit, Index units, const std::int32_t* sums) {
          reals_of.write(sums, units, end - begin, unit, units, real + begin * width + unit, width);
        });
    return;
  }
  sums_ = allocate_array<std::int32_t>(static_cast<std::size_t>(products.rows() * width));
  const auto reals = std::make_shared<const RealSums>(sums_, std::move(scales), clamp);
  real_ = detail::TensorAccess::lazy({products.rows(), width},
                                     {reals->grain(),
                                      [reals](std::size_t begin, std::size_t end, float* out,
                                              MemoryParts) { reals->write(begin, end, out); },
                                      static_cast<std::size_t>(width)});
  // Measured while the sums are in the cache: the range of the output is to be observed.
  std::optional<MinMax> limits;
  std::mutex mutex;
  const auto measure = [&](Index begin, Index end, Index unit, Index units) {
    const MinMax found = reals->limits(begin, end, unit, units);
    const std::lock_guard guard(mutex);
    if (!limits) limits = found;
    limits->include(found);
  };
  products.compute(x_codes, sums_.get(), measure);
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
    return operands->gradients(
        operands->passed(real, gradient, {-kUnbounded, kUnbounded, clamp.lo, clamp.hi}));
  };
  return record("integer_linear", result, inputs(), backward);
}

Tensor IntegerLinear::requantized(const QuantParams& output, FusedActivation activation,
                                  FunctionRef<void(Index begin, Index end)> done) const {
  const ProfilePart profiled("requantization");
  require_operator_range(output, real_limits(activation_).lo == 0.0F, operands_->owner);
  // The operator clamps to all of int8, also where the range ends above it.
  const QuantParams stored = QuantParams::per_tensor(output.scale(), output.zero_point());
  const detail::DenseEpilogue epilogue(
      operands_->sums->requantizer(operands_->input_scale, operands_->weight_params.scales,
                                   output.scale(), rounding_),
      stored, activation);
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
        if (done) done(static_cast<Index>(begin), static_cast<Index>(end));
      });
  return quantized_tensor(operands_->sums->result_shape(),
                          std::make_shared<const QuantParams>(output), codes);
}

Tensor IntegerLinear::output(const QuantParams& output, const LearnedRange& learned) const {
  std::vector<Tensor> read = inputs();
  learned.append_to(read);
  const RealLimits codes = learned.passes_or(real_limits(output));
  const RealLimits activation = real_limits(activation_);
  const GradientWindow window{codes.lo, codes.hi, activation.lo, activation.hi};
  if (records_gradient(read) && operands_->reads_mask() && !learned.wants_gradient()) {
    // A byte for each sum: the sums are not needed any more.
    const auto inside = allocate_array<std::int8_t>(static_cast<std::size_t>(real_.size()));
    const SumsInside limits(operands_->sum_scales(), activation, window);
    const Tensor y = requantized(output, activation_, [&](Index begin, Index end) {
      limits.write_mask(sums_.get(), begin, end, inside.get());
    });
    const auto backward = [operands = operands_, inside = Mask(inside),
                           count = learned.parameters.size()](const Tensor& gradient) {
      std::vector<Tensor> gradients = operands->gradients_inside(inside, gradient);
      gradients.resize(gradients.size() + count);
      return gradients;
    };
    return record("integer_linear", y, read, backward);
  }
  const Tensor y = requantized(output, activation_, {});
  const auto backward = [operands = operands_, real = real_, window,
                         learned](const Tensor& gradient) {
    if (learned.wants_gradient() && learned.from_sums && is_within_activation(window)) {
      auto [passed, of_scale] = operands->passed_and_learned(real, gradient, learned);
      std::vector<Tensor> gradients = operands->gradients(passed);
      append(gradients, std::move(of_scale));
      return gradients;
    }
    // Before the gradient may be written over.
    std::vector<Tensor> of_scale;
    learned.append_gradients(of_scale, real, gradient.reshape(real.shape()));
    std::vector<Tensor> gradients = operands->gradients(operands->passed(real, gradient, window));
    append(gradients, std::move(of_scale));
    return gradients;
  };
  return record("integer_linear", y, read, backward);
}

}  // namespace octet
