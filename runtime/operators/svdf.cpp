#include <fmt/format.h>
#include <octet/core/parallel.h>
#include <octet/core/quant/fixed_point.h>
#include <octet/runtime/operators/definitions.h>
#include <octet/runtime/operators/float_clamp.h>
#include <octet/runtime/operators/svdf.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace octet::detail {
namespace {

struct SvdfGeometry {
  Index batch;
  Index features;
  Index filters;
  Index memory;
  Index units;

  /// What the filters of one unit remember.
  Index unit_size() const { return filters / units * memory; }
};

SvdfGeometry svdf_geometry(const Operands& o) {
  const auto& weights = o.input(kSvdfFeatureWeights).shape;
  return {.batch = o.input().shape[0],
          .features = weights[1],
          .filters = weights[0],
          .memory = o.input(kSvdfTimeWeights).shape[1],
          .units = weights[0] / o.op.as<SvdfAttributes>().rank};
}

/// Adds products modulo 2^32, as the int32 of runtimes wraps.
template <class A, class B>
std::uint32_t wrapping_sum(std::uint32_t sum, const A* a, const B* b, Index count) {
  for (Index i = 0; i < count; ++i) {
    sum += static_cast<std::uint32_t>(std::int32_t{a[i]} * std::int32_t{b[i]});
  }
  return sum;
}

/// The numbers of codes, whose sums are rescaled with two roundings in every contract.
template <class StateCode>
class CodeFilters {
 public:
  using Code = std::int8_t;
  using State = StateCode;

  explicit CodeFilters(const KernelSource& source)
      : geometry_(svdf_geometry(source)),
        feature_weights_(values_of<std::int8_t>(source.input(kSvdfFeatureWeights))),
        time_weights_(values_of<State>(source.input(kSvdfTimeWeights))),
        bias_(values_of<std::int32_t>(source.input(kSvdfBias))),
        to_state_(
            factor(source.input(), source.input(kSvdfFeatureWeights), source.input(kSvdfState))),
        to_output_(
            factor(source.input(kSvdfState), source.input(kSvdfTimeWeights), source.output())),
        zero_point_(source.output().quantization.zero_point()) {
    const std::int64_t input_zero_point = source.input().quantization.zero_point();
    for (Index filter = 0; filter < geometry_.filters; ++filter) {
      const auto first = feature_weights_.begin() + filter * geometry_.features;
      const std::int64_t sum = std::accumulate(first, first + geometry_.features, std::int64_t{0});
      start_.push_back(static_cast<std::uint32_t>(-input_zero_point * sum));
    }
  }

  std::size_t bytes() const {
    return feature_weights_.size() + time_weights_.size() * sizeof(State) +
           (bias_.size() + start_.size()) * sizeof(std::int32_t);
  }

  /// What a filter makes of the features of one step.
  State seen(const Code* x, Index filter) const {
    const std::int8_t* weights = feature_weights_.data() + filter * geometry_.features;
    const std::uint32_t sum =
        wrapping_sum(start_[static_cast<std::size_t>(filter)], x, weights, geometry_.features);
    return clamped<State>(rescaled(sum, to_state_));
  }

  /// The result of a unit, whose filters remember `state`.
  Code result(const State* state, Index unit) const {
    const Index size = geometry_.unit_size();
    const auto bias = static_cast<std::uint32_t>(bias_[static_cast<std::size_t>(unit)]);
    const std::uint32_t sum = wrapping_sum(bias, state, time_weights_.data() + unit * size, size);
    return clamped<Code>(std::int64_t{rescaled(sum, to_output_)} + zero_point_);
  }

 private:
  /// Every step is rounded to float32.
  static QuantizedMultiplier factor(const ModelTensor& x, const ModelTensor& weights,
                                    const ModelTensor& y) {
    const float product = x.quantization.scale() * weights.quantization.scale();
    return quantize_multiplier(double{product / y.quantization.scale()});
  }
  static std::int32_t rescaled(std::uint32_t sum, QuantizedMultiplier by) {
    return multiply_by_quantized_multiplier_double(static_cast<std::int32_t>(sum), by);
  }
  template <class T>
  static T clamped(std::int64_t x) {
    using Limits = std::numeric_limits<T>;
    return static_cast<T>(std::clamp<std::int64_t>(x, Limits::min(), Limits::max()));
  }

  SvdfGeometry geometry_;
  std::vector<std::int8_t> feature_weights_;
  std::vector<State> time_weights_;
  std::vector<std::int32_t> bias_;
  QuantizedMultiplier to_state_;
  QuantizedMultiplier to_output_;
  std::int32_t zero_point_;
  /// What the sum of each filter starts from, modulo 2^32.
  std::vector<std::uint32_t> start_;
};

class FloatFilters {
 public:
  using Code = float;
  using State = float;

  explicit FloatFilters(const KernelSource& source)
      : geometry_(svdf_geometry(source)),
        feature_weights_(values_of<float>(source.input(kSvdfFeatureWeights))),
        time_weights_(values_of<float>(source.input(kSvdfTimeWeights))),
        bias_(values_of<float>(source.input(kSvdfBias))),
        clamp_(source.op.activation()) {}

  std::size_t bytes() const {
    return (feature_weights_.size() + time_weights_.size() + bias_.size()) * sizeof(float);
  }

  float seen(const float* x, Index filter) const {
    return sum(0.0F, x, feature_weights_.data() + filter * geometry_.features, geometry_.features);
  }
  float result(const float* state, Index unit) const {
    const Index size = geometry_.unit_size();
    return clamp_(sum(bias_[static_cast<std::size_t>(unit)], state,
                      time_weights_.data() + unit * size, size));
  }

 private:
  static float sum(float start, const float* a, const float* b, Index count) {
    for (Index i = 0; i < count; ++i) start += a[i] * b[i];
    return start;
  }

  SvdfGeometry geometry_;
  std::vector<float> feature_weights_;
  std::vector<float> time_weights_;
  std::vector<float> bias_;
  FloatClamp clamp_;
};

/// One step of time.
template <class Filters>
class Svdf final : public Kernel {
 public:
  explicit Svdf(const KernelSource& source) : geometry_(svdf_geometry(source)), filters_(source) {}

  std::size_t bytes() const override { return filters_.bytes(); }

  void run(const KernelArguments& a) const override {
    const SvdfGeometry& g = geometry_;
    const auto work = static_cast<std::size_t>(g.filters * (g.features + g.memory));
    parallel_for(static_cast<std::size_t>(a.samples * g.batch),
                 parallel_grain(Work::integer_multiply_adds, work),
                 [&](std::size_t begin, std::size_t end) {
                   for (auto i = static_cast<Index>(begin); i < static_cast<Index>(end); ++i) {
                     run_row(a, i / g.batch, i % g.batch);
                   }
                 });
  }

 private:
  using Code = typename Filters::Code;
  using State = typename Filters::State;

  void run_row(const KernelArguments& a, Index sample, Index row) const {
    const SvdfGeometry& g = geometry_;
    const auto operand = [&]<class T>(std::size_t i, T /*type*/) {
      return reinterpret_cast<const T*>(a.inputs[i].data +
                                        static_cast<std::size_t>(sample) * a.inputs[i].stride);
    };
    const Index number = sample * g.batch + row;
    const Code* x = operand(0, Code{}) + row * g.features;
    const State* before = operand(kSvdfState, State{}) + row * g.filters * g.memory;
    State* next = a.to<State>(1) + number * g.filters * g.memory;
    for (Index filter = 0; filter < g.filters; ++filter) {
      const Index first = filter * g.memory;
      std::copy_n(before + first + 1, g.memory - 1, next + first);
      next[first + g.memory - 1] = filters_.seen(x, filter);
    }
    Code* y = a.to<Code>() + number * g.units;
    for (Index unit = 0; unit < g.units; ++unit) {
      y[unit] = filters_.result(next + unit * g.unit_size(), unit);
    }
  }

  SvdfGeometry geometry_;
  Filters filters_;
};

// ---- The operator

bool is_float_svdf(const OperatorView& view) {
  return std::ranges::all_of(
      view.op.inputs, [&](std::int32_t i) { return view.tensor(i).dtype == DType::float32; });
}

void check_svdf_types(const OperatorView& view) {
  const DType output = view.output().dtype;
  if (is_float_svdf(view) && output == DType::float32) return;
  const DType state = view.input(kSvdfState).dtype;
  const bool sound = view.input().dtype == DType::int8 && output == DType::int8 &&
                     view.input(kSvdfFeatureWeights).dtype == DType::int8 &&
                     view.input(kSvdfTimeWeights).dtype == state &&
                     (state == DType::int8 || state == DType::int16) &&
                     view.input(kSvdfBias).dtype == DType::int32;
  if (!sound) view.fail_types();
}

void check_svdf_constants(const OperatorView& view) {
  for (const std::size_t i : {kSvdfFeatureWeights, kSvdfTimeWeights, kSvdfBias}) {
    if (view.input(i).is_constant()) continue;
    view.fail(fmt::format("expected constant weights and bias, found '{}'", view.input(i).name));
  }
}

void check_svdf_shapes(const OperatorView& view) {
  const auto& x = view.input().shape;
  const auto& weights = view.input(kSvdfFeatureWeights).shape;
  const auto& over_time = view.input(kSvdfTimeWeights).shape;
  if (x.size() != 2 || weights.size() != 2 || over_time.size() != 2) {
    view.fail(
        fmt::format("expected values [batch, features] and weights [filters, features] and "
                    "[filters, memory], found [{}], [{}] and [{}]",
                    fmt::join(x, ", "), fmt::join(weights, ", "), fmt::join(over_time, ", ")));
  }
  const std::int32_t rank = view.op.as<SvdfAttributes>().rank;
  if (rank < 1 || weights[0] % rank != 0) {
    view.fail(fmt::format("expected a rank of which {} filters are a multiple, found {}",
                          weights[0], rank));
  }
  const std::int64_t units = weights[0] / rank;
  view.require_shape(view.input(kSvdfFeatureWeights), {weights[0], x[1]});
  view.require_shape(view.input(kSvdfTimeWeights), {weights[0], over_time[1]});
  view.require_shape(view.input(kSvdfBias), {units});
  const std::int64_t remembered = std::int64_t{weights[0]} * over_time[1];
  view.require_shape(view.input(kSvdfState), {x[0], remembered});
  view.require_shape(view.output(1), {x[0], remembered});
  view.require_output_shape({x[0], static_cast<std::int32_t>(units)});
}

void check_svdf_grids(const OperatorView& view) {
  const ModelTensor& before = view.input(kSvdfState);
  const ModelTensor& next = view.output(1);
  if (next.dtype != before.dtype || next.quantization != before.quantization) {
    view.fail(
        fmt::format("expected the type and scale of state '{}' behind the step, found "
                    "others in '{}'",
                    before.name, next.name));
  }
  if (view.input().dtype == DType::float32) return;
  view.require_per_tensor(view.input(), "input");
  view.require_per_tensor(view.output(), "output");
  for (const std::size_t i : {kSvdfFeatureWeights, kSvdfTimeWeights, kSvdfState}) {
    const ModelTensor& tensor = view.input(i);
    view.require_per_tensor(tensor, i == kSvdfState ? "state" : "weights");
    if (tensor.quantization.zero_point() == 0) continue;
    view.fail(fmt::format("expected zero point 0 of '{}', found {}", tensor.name,
                          tensor.quantization.zero_point()));
  }
  const FusedActivation activation = view.op.activation();
  if (activation == FusedActivation::none || activation == FusedActivation::relu) return;
  view.fail("expected activation NONE or RELU on integers, where no runtime applies another");
}

void check_svdf(const OperatorView& view) {
  view.require_known(view.op.activation());
  if (view.op.outputs.size() != 2) {
    view.fail("expected two outputs, the second of them the next state, found one");
  }
  if (!view.has_input(kSvdfBias)) {
    view.fail("expected a bias, without which TFLite Micro crashes, found none; add zeros");
  }
  check_svdf_types(view);
  check_svdf_constants(view);
  check_svdf_shapes(view);
  check_svdf_grids(view);
}

std::unique_ptr<Kernel> make_svdf(const KernelSource& source) {
  if (source.input().dtype == DType::float32) return std::make_unique<Svdf<FloatFilters>>(source);
  if (source.input(kSvdfState).dtype == DType::int8) {
    return std::make_unique<Svdf<CodeFilters<std::int8_t>>>(source);
  }
  return std::make_unique<Svdf<CodeFilters<std::int16_t>>>(source);
}

std::size_t svdf_bytes(const Operands& operands) {
  std::size_t bytes = operands.input(kSvdfFeatureWeights).data.size();
  bytes += operands.input(kSvdfTimeWeights).data.size();
  bytes += operands.input(kSvdfBias).data.size();
  return bytes + static_cast<std::size_t>(svdf_geometry(operands).filters) * sizeof(std::int32_t);
}

std::int64_t svdf_products(const Operands& operands) {
  const SvdfGeometry g = svdf_geometry(operands);
  return g.batch * g.filters * (g.features + g.memory);
}

/// A file has the bias in front of the state.
constexpr std::array<std::size_t, 5> kSvdfOrder = {0, kSvdfFeatureWeights, kSvdfTimeWeights,
                                                   kSvdfBias, kSvdfState};
constexpr std::array<std::size_t, 1> kSvdfStates = {kSvdfState};

int svdf_version(const Operands& o) {
  if (o.input().dtype == DType::float32) return 1;
  return o.input(kSvdfState).dtype == DType::int8 ? 4 : 3;
}

}  // namespace

OperatorDefinition definitions::svdf() {
  return checked({.name = "SVDF",
                  .releases = {10500, 11400, 20200, 20300},
                  .required_version = svdf_version,
                  .file_order = kSvdfOrder,
                  .file_states = kSvdfStates,
                  .least_inputs = kSvdfState + 1,
                  .most_inputs = kSvdfBias + 1,
                  .most_outputs = 2,
                  .output_grid = OutputGrid::measured,
                  .check = check_svdf,
                  .make_kernel = make_svdf,
                  .kernel_bytes = svdf_bytes,
                  .multiply_adds = svdf_products});
}

}  // namespace octet::detail
