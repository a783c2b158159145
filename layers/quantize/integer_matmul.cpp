#include <octet/core/buffer.h>
#include <octet/core/ops/gradients_internal.h>
#include <octet/core/ops/quantized_tensor.h>
#include <octet/core/parallel.h>
#include <octet/core/tensor_internal.h>
#include <octet/core/transpose.h>
#include <octet/layers/quantize/integer_matmul.h>
#include <octet/layers/quantize/integer_ops.h>
#include <octet/layers/quantize/quantize_config.h>
#include <octet/layers/quantize/quantize_tensor.h>
#include <octet/layers/quantize/quantizer.h>
#include <octet/layers/quantize/real_sums.h>
#include <octet/layers/quantize/shared_range.h>
#include <octet/layers/quantize/step_rules.h>
#include <octet/runtime/operators/batch_matmul.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <variant>
#include <vector>

namespace octet {
namespace {

constexpr std::size_t kOperands = 2;

std::vector<std::int32_t> dims_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

Shape result_of(const StepInputs& in) { return in.result.with_batch(in.x[0].dim(0)); }

const BatchMatmulAttributes& attributes_of(const Step& step) {
  return std::get<BatchMatmulAttributes>(step.attributes);
}

detail::Int8MatmulSums kernel_of(const Step& step, const StepInputs& in) {
  return {detail::matmul_geometry(dims_of(in.x[0].shape()), dims_of(in.x[1].shape()),
                                  dims_of(result_of(in)), attributes_of(step)),
          {in.x[0].quantization()->zero_point(), in.x[1].quantization()->zero_point()}};
}

/// The sums of all products, row by row, and their real values.
class SumsOfStep {
 public:
  SumsOfStep(const Step& step, const StepInputs& in)
      : kernel_(kernel_of(step, in)),
        sums_(allocate_array<std::int32_t>(static_cast<std::size_t>(result_of(in).size()))) {
    const detail::MatmulGeometry& g = kernel_.geometry();
    const float scale = in.x[0].quantization()->scale() * in.x[1].quantization()->scale();
    const auto reals = std::make_shared<const RealSums>(
        sums_, std::vector<float>(static_cast<std::size_t>(g.columns), scale),
        real_limits(FusedActivation::none));
    const MinMax limits = compute(in, *reals);
    const auto write = [reals](std::size_t begin, std::size_t end, float* out, MemoryParts) {
      reals->write(begin, end, out);
    };
    Tensor real = detail::TensorAccess::lazy(
        result_of(in), {reals->grain(), write, static_cast<std::size_t>(g.columns)});
    detail::TensorAccess::set_limits(real, limits);
    const auto& attributes = attributes_of(step);
    real_ = record_batch_matmul(real, in.x[0], in.x[1], transpose_of(attributes.adj_x),
                                transpose_of(attributes.adj_y));
  }

  /// With the gradients of batch_matmul().
  const Tensor& real() const { return real_; }

  Tensor rescaled(const Requantizer& requantizer, const QuantParams& params) const {
    const auto size = static_cast<std::size_t>(real_.size());
    const auto codes = allocate_array<std::int8_t>(size);
    parallel_for(size, parallel_grain(Work::write_floats), [&](std::size_t begin, std::size_t end) {
      requantizer.requantize({sums_.get() + begin, end - begin}, {codes.get() + begin, end - begin},
                             params.zero_point(), -128, 127);
    });
    return quantized_tensor(real_.shape(), std::make_shared<const QuantParams>(params), codes);
  }

 private:
  MinMax compute(const StepInputs& in, const RealSums& reals) const {
    const detail::MatmulGeometry& g = kernel_.geometry();
    const auto stored = [&](std::size_t i) {
      return integers_of(in.x[i], *in.x[i].quantization());
    };
    const std::array<detail::StoredIntegers, kOperands> codes = {stored(0), stored(1)};
    const auto products = static_cast<std::size_t>(product_count(g));
    const auto work = static_cast<std::size_t>(g.rows * g.columns * g.depth);
    std::optional<MinMax> limits;
    std::mutex mutex;
    parallel_for(
        products, thread_share(products, parallel_grain(Work::integer_multiply_adds, work)),
        [&](std::size_t begin, std::size_t end) {
          for (std::size_t i = begin; i < end; ++i) {
            const auto offsets = matrices_at(g, static_cast<Index>(i));
            kernel_.write(codes[0].as<std::int8_t>() + offsets[0],
                          codes[1].as<std::int8_t>() + offsets[1],
                          sums_.get() + i * kernel_.size());
          }
          // Measured while the last of them are in the cache.
          const MinMax found = reals.limits(static_cast<Index>(begin) * g.rows,
                                            static_cast<Index>(end) * g.rows, 0, g.columns);
          const std::lock_guard guard(mutex);
          if (!limits) limits = found;
          limits->include(found);
        });
    return *limits;
  }

  detail::Int8MatmulSums kernel_;
  std::shared_ptr<std::int32_t[]> sums_;
  /// Lazy: see RealSums.
  Tensor real_;
};

}  // namespace

bool is_int8_matmul(const Step& step, const StepInputs& in) {
  if (step.kind != Step::Kind::op || step.code != OpCode::batch_matmul) return false;
  // Other operands go the way of other operators, which refuse them by name.
  const auto fits = [&](const Tensor& x) {
    return x.rank() > 2 && x.dim(0) == in.x[0].dim(0) && x.size() > 0 && !is_int16(x);
  };
  return step.parameter_inputs.empty() && std::ranges::all_of(in.x, fits) &&
         step.scheme->result->spec().num_bits == 8 &&
         detail::matmul_extents(dims_of(in.x[0].shape()), attributes_of(step).adj_x)[1] <=
             detail::kMostMatmulDepth;
}

Tensor integer_matmul(const Step& step, const StepInputs& in) {
  const StepScheme& scheme = *step.scheme;
  const SumsOfStep sums(step, in);
  watch_result(step, sums.real(), in.context);
  const QuantParams params = scheme.result->params();
  require_operator_range(params, /*clamps_at_zero=*/false, scheme.owner);
  const Requantizer requantizer =
      detail::matmul_requantizer(in.x[0].quantization()->scale(), *in.x[1].quantization(),
                                 params.scale(), scheme.options->rounding);
  return with_gradients_of(sums.real(), sums.rescaled(requantizer, params), /*clips=*/true,
                           scheme.result->learned_range());
}

}  // namespace octet
