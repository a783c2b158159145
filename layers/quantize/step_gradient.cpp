#include <octet/core/kernels/isa.h>
#include <octet/core/kernels/passes.h>
#include <octet/core/parallel.h>
#include <octet/core/tensor_internal.h>
#include <octet/layers/quantize/step_gradient.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <span>

namespace octet {
namespace {

using detail::LazyData;
using detail::TensorAccess;

/// Values of a tensor of one step are cut into rows of so many.
constexpr std::size_t kColumns = 256;
/// Values whose sums are made together, about.
constexpr std::size_t kValuesPerPart = 1U << 14;

/// The next float away from zero, or towards it.
float away_from_zero(float x) { return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) + 1U); }
float towards_zero(float x) { return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) - 1U); }

/// The largest magnitude whose quotient by `step` is below `limit`, which is above 0.
float largest_below(float step, float limit) {
  float x = limit * step;
  while (x / step < limit) x = away_from_zero(x);
  while (!(x / step < limit)) x = towards_zero(x);
  return x;
}

/// How the elements of x will be computed, in whole rows of `columns`; null where they are there
/// already.
const LazyData* pending_rows(const Tensor& x, std::size_t columns) {
  const LazyData* pending = TensorAccess::pending(x);
  return pending != nullptr && pending->grain > 0 && pending->grain % columns == 0 ? pending
                                                                                   : nullptr;
}

/// About kValuesPerPart of `multiple` values.
std::size_t part_of(std::size_t multiple) {
  return std::max<std::size_t>(1, kValuesPerPart / multiple) * multiple;
}

/// Calls body(begin, end) for the rows of each part.
void for_each_part(std::size_t rows, std::size_t size,
                   FunctionRef<void(std::size_t begin, std::size_t end)> body) {
  const std::size_t parts = (rows + size - 1) / size;
  parallel_for(parts, thread_share(parts, 1), [&](std::size_t begin, std::size_t end) {
    for (std::size_t part = begin; part < end; ++part) {
      body(part * size, std::min(rows, (part + 1) * size));
    }
  });
}

}  // namespace

RealLimits values_between(float step, std::int32_t lo, std::int32_t hi) {
  // Above 0 is above 0, however large the step.
  const float lowest = lo == 0 ? std::numeric_limits<float>::denorm_min()
                               : -largest_below(step, static_cast<float>(-lo));
  return {lowest, largest_below(step, static_cast<float>(hi))};
}

StepSumParts::StepSumParts(const LearnedSteps& learned, std::size_t rows, std::size_t columns,
                           std::size_t rows_per_part)
    : per_channel_(learned.steps.size() > 1), columns_(columns), rows_per_part_(rows_per_part) {
  constexpr float kLeast = 1e-30F;
  constexpr float kMost = 1e30F;
  for (std::vector<float>* each : {&steps_, &reciprocals_, &lowest_, &highest_}) {
    each->reserve(columns);
  }
  for (std::size_t j = 0; j < columns; ++j) {
    const std::size_t channel = per_channel_ ? j : 0;
    const float step = learned.steps[channel];
    const bool normal = step > kLeast && step < kMost;
    steps_.push_back(step);
    reciprocals_.push_back(normal ? 1.0F / step : std::numeric_limits<float>::quiet_NaN());
    lowest_.push_back(learned.passes[channel].lo);
    highest_.push_back(learned.passes[channel].hi);
  }
  const std::size_t parts = (rows + rows_per_part - 1) / rows_per_part;
  totals_.resize(parts * 3 * columns);
}

void StepSumParts::add(std::size_t begin, std::size_t end, const float* x, const float* g,
                       float* passed) {
  kernels().passes.step_sums(x, g, end - begin, columns_,
                             {steps_.data(), reciprocals_.data(), lowest_.data(), highest_.data()},
                             passed, totals_.data() + begin / rows_per_part_ * 3 * columns_);
}

std::vector<StepSums> StepSumParts::total() const {
  std::vector<StepSums> result(per_channel_ ? columns_ : 1);
  for (std::size_t at = 0; at < totals_.size(); at += 3 * columns_) {
    const double* const sums = totals_.data() + at;
    for (std::size_t j = 0; j < columns_; ++j) {
      StepSums& to = result[per_channel_ ? j : 0];
      to.inside += sums[j];
      to.below += sums[columns_ + j];
      to.above += sums[2 * columns_ + j];
    }
  }
  return result;
}

namespace {

void add(StepSums& to, const StepSums& more) {
  to.inside += more.inside;
  to.below += more.below;
  to.above += more.above;
}

/// step_sums() of a grid of one step: values in rows of kColumns, whatever their shape, and the
/// rest. Writes g where x passes, else 0, to `passed`, which may be g's memory, unless it is null.
StepSums sums_of_one_step(const Tensor& x, const Tensor& g, const LearnedSteps& learned,
                          float* passed) {
  const auto size = static_cast<std::size_t>(x.size());
  const LazyData* pending = pending_rows(x, 1);
  const std::size_t grain = pending == nullptr ? 1 : pending->grain;
  const std::size_t rows = size / kColumns;
  const std::size_t part = part_of(std::lcm(grain, kColumns));
  StepSumParts parts(learned, rows, kColumns, part / kColumns);
  const std::size_t rest = size % kColumns;
  StepSumParts last(learned, 1, std::max<std::size_t>(rest, 1), 1);
  const float* values = pending == nullptr ? x.data() : nullptr;
  const float* gradients = g.data();
  for_each_part(size, part, [&](std::size_t begin, std::size_t end) {
    const ScratchBuffer<float, StepSumParts> computed(pending == nullptr ? 0 : end - begin);
    for (std::size_t at = begin; pending != nullptr && at < end; at += grain) {
      pending->compute(at, std::min(end, at + grain), computed.data() + (at - begin), {});
    }
    const float* from = pending == nullptr ? values + begin : computed.data();
    float* const to = passed == nullptr ? nullptr : passed + begin;
    const std::size_t whole = (end - begin) / kColumns;
    if (whole > 0) {
      parts.add(begin / kColumns, begin / kColumns + whole, from, gradients + begin, to);
    }
    // The rest of the last part: fewer values than kColumns.
    const std::size_t done = whole * kColumns;
    if (begin + done < end) {
      last.add(0, 1, from + done, gradients + begin + done, to == nullptr ? nullptr : to + done);
    }
  });
  StepSums result = parts.total().front();
  if (rest > 0) add(result, last.total().front());
  return result;
}

}  // namespace

std::vector<StepSums> step_sums(const Tensor& x, const Tensor& g, const LearnedSteps& learned) {
  if (learned.steps.size() == 1) return {sums_of_one_step(x, g, learned, nullptr)};
  const std::size_t columns = learned.steps.size();
  const std::size_t rows = static_cast<std::size_t>(x.size()) / columns;
  StepSumParts parts(learned, rows, columns, part_of(columns) / columns);
  const float* values = x.data();
  const float* gradients = g.data();
  for_each_part(rows, parts.rows_per_part(), [&](std::size_t begin, std::size_t end) {
    parts.add(begin, end, values + begin * columns, gradients + begin * columns, nullptr);
  });
  return parts.total();
}

std::vector<StepSums> step_sums_and_passed(const Tensor& x, const Tensor& g,
                                           const LearnedSteps& learned, const Tensor& to) {
  Tensor passed = to;
  return {sums_of_one_step(x, g, learned, passed.mutable_data())};
}

std::vector<StepSums> step_sums_and_mask(const Tensor& x, Tensor& g, const LearnedSteps& learned) {
  const auto columns = static_cast<std::size_t>(x.dim(-1));
  const std::size_t rows = static_cast<std::size_t>(x.size()) / columns;
  const LazyData* pending = pending_rows(g, columns);
  const std::size_t part = pending == nullptr ? part_of(columns) : pending->grain;
  StepSumParts parts(learned, rows, columns, part / columns);
  Tensor result = pending == nullptr ? g : Tensor(g.shape());
  const float* values = x.data();
  float* const to = result.mutable_data();
  for_each_part(rows, parts.rows_per_part(), [&](std::size_t begin, std::size_t end) {
    const std::size_t at = begin * columns;
    // Summed while it is in the cache, and the kernel too.
    const std::span<const float> read_next(values + at, (end - begin) * columns);
    if (pending != nullptr) pending->compute(at, end * columns, to + at, {&read_next, 1});
    parts.add(begin, end, values + at, to + at, to + at);
  });
  g = result;
  return parts.total();
}

Tensor passed_gradient(const Tensor& x, const Tensor& g, const LearnedSteps& learned) {
  Tensor result(g.shape());
  const std::size_t channels = learned.passes.size();
  const float* values = x.data();
  const float* from = g.data();
  float* to = result.mutable_data();
  const auto size = static_cast<std::size_t>(x.size());
  parallel_for(size, thread_share(size, parallel_grain(Work::map_floats)),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t i = begin; i < end; ++i) {
                   const auto [lo, hi] = learned.passes[channels > 1 ? i % channels : 0];
                   to[i] = values[i] >= lo && values[i] <= hi ? from[i] : 0.0F;
                 }
               });
  return result;
}

}  // namespace octet
