#include <fmt/core.h>
#include <octet/core/autograd.h>
#include <octet/core/error.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/ops/map.h>
#include <octet/core/ops/reduce.h>
#include <octet/core/ops/reduction.h>
#include <octet/core/tensor_internal.h>

#include <limits>

namespace octet {
namespace {

using detail::Axis;
using detail::broadcast_map;
using detail::Walk;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Add {
  static constexpr double kStart = 0.0;
  double operator()(double a, double b) const { return a + b; }
};
struct Largest {
  static constexpr double kStart = -kInfinity;
  double operator()(double a, double b) const { return a > b || a != a ? a : b; }
};
struct Smallest {
  static constexpr double kStart = kInfinity;
  double operator()(double a, double b) const { return a < b || a != a ? a : b; }
};

constexpr Index kLanes = 8;
constexpr Index kRunBlock = 1 << 14;
constexpr Index kColumnBlock = 256;

/// Combines at most kRunBlock neighbours: in lanes, for speed, then the lanes in order.
template <class Combine>
double reduce_block(const float* x, Index count, Combine combine) {
  std::array<double, kLanes> lanes;
  lanes.fill(Combine::kStart);
  Index i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] = combine(lanes[lane], static_cast<double>(x[i + static_cast<Index>(lane)]));
    }
  }
  for (std::size_t lane = 0; i < count; ++i, ++lane) {
    lanes[lane] = combine(lanes[lane], static_cast<double>(x[i]));
  }
  double total = lanes[0];
  for (std::size_t lane = 1; lane < kLanes; ++lane) total = combine(total, lanes[lane]);
  return total;
}

/// Combines neighbours: blocks of a fixed size on any thread, then the blocks in order.
template <class Combine>
double reduce_run(const float* x, Index count, Combine combine) {
  if (count <= kRunBlock) return reduce_block(x, count, combine);
  std::vector<double> partial(static_cast<std::size_t>((count + kRunBlock - 1) / kRunBlock));
  parallel_for(static_cast<std::size_t>(count), kRunBlock, [&](std::size_t begin, std::size_t end) {
    partial[begin / kRunBlock] = reduce_block(x + begin, static_cast<Index>(end - begin), combine);
  });
  double total = Combine::kStart;
  for (const double value : partial) total = combine(total, value);
  return total;
}

/// A reduction in few axes, [0] the stride in the input, [1] in the result (0 where reduced). The
/// innermost axis is kept separately in `inner`; `kept` and `reduced` are the others.
struct Plan {
  std::vector<Axis<2>> kept;
  std::vector<Axis<2>> reduced;
  Axis<2> inner{1, {1, 1}};
};

/// `repeated` is the result's shape with an extent of 1, or no axis, where x is reduced.
Plan make_plan(const Shape& shape, const Shape& repeated) {
  const std::vector<Index> in = detail::row_major_strides(shape);
  const std::vector<Index> out = detail::broadcast_strides(repeated, shape);
  std::vector<Axis<2>> axes;
  for (std::size_t i = 0; i < in.size(); ++i) {
    axes.push_back({shape[static_cast<Index>(i)], {in[i], out[i]}});
  }
  axes = detail::merge_axes(axes);
  Plan plan;
  if (!axes.empty()) {
    plan.inner = axes.back();
    axes.pop_back();
  }
  for (const Axis<2>& axis : axes) {
    (axis.strides[1] == 0 ? plan.reduced : plan.kept).push_back(axis);
  }
  return plan;
}

/// The inner axis is reduced: each result is runs of neighbours.
template <class Combine, class Finish>
void reduce_runs(const Plan& plan, const float* x, float* out, Combine combine, Finish finish) {
  const std::span<const Axis<2>> kept(plan.kept);
  const std::span<const Axis<2>> reduced(plan.reduced);
  const Index runs = detail::count_of(reduced);
  parallel_for(static_cast<std::size_t>(detail::count_of(kept)),
               detail::row_grain(Work::map_floats, runs * plan.inner.extent),
               [&](std::size_t begin, std::size_t end) {
                 Walk<2> row(kept, static_cast<Index>(begin));
                 for (std::size_t i = begin; i < end; ++i, row.next()) {
                   double total = Combine::kStart;
                   Walk<2> run(reduced);
                   for (Index r = 0; r < runs; ++r, run.next()) {
                     const float* start = x + row.offset(0) + run.offset(0);
                     total = combine(total, reduce_run(start, plan.inner.extent, combine));
                   }
                   out[row.offset(1)] = finish(total);
                 }
               });
}

/// total[j] = combine(total[j], x[i * stride + j]), row i after row.
template <class Combine>
void add_rows(const float* x, Index stride, Index rows, std::size_t size, double* total,
              Combine combine) {
  for (Index i = 0; i < rows; ++i, x += stride) {
    for (std::size_t j = 0; j < size; ++j) total[j] = combine(total[j], static_cast<double>(x[j]));
  }
}
void add_rows(const float* x, Index stride, Index rows, std::size_t size, double* total,
              Add /*combine*/) {
  kernels().passes.add_to_totals(x, stride, static_cast<std::size_t>(rows), size, total);
}

/// The inner axis is kept: whole rows are combined, a block of columns at a time.
template <class Combine, class Finish>
void reduce_columns(const Plan& plan, const float* x, float* out, Combine combine, Finish finish) {
  const std::span<const Axis<2>> kept(plan.kept);
  const std::span<const Axis<2>> reduced(plan.reduced);
  const Index rows = detail::count_of(reduced);
  // The last of these axes goes along in one call.
  const std::span<const Axis<2>> others = reduced.first(reduced.empty() ? 0 : reduced.size() - 1);
  const Axis<2> last = reduced.empty() ? Axis<2>{1, {0, 0}} : reduced.back();
  const Index blocks = (plan.inner.extent + kColumnBlock - 1) / kColumnBlock;
  const auto run_block = [&](Index in_offset, Index out_offset, Index column) {
    const Index width = std::min(kColumnBlock, plan.inner.extent - column);
    std::array<double, kColumnBlock> total;
    total.fill(Combine::kStart);
    Walk<2> row(others);
    for (Index r = 0; r < rows; r += last.extent, row.next()) {
      const float* start = x + in_offset + row.offset(0) + column;
      add_rows(start, last.strides[0], last.extent, static_cast<std::size_t>(width), total.data(),
               combine);
    }
    float* target = out + out_offset + column;
    for (Index j = 0; j < width; ++j) target[j] = finish(total[static_cast<std::size_t>(j)]);
  };
  const Index block_size = rows * std::min(kColumnBlock, plan.inner.extent);
  parallel_for(static_cast<std::size_t>(detail::count_of(kept) * blocks),
               detail::row_grain(Work::map_floats, block_size),
               [&](std::size_t begin, std::size_t end) {
                 for (auto i = static_cast<Index>(begin); i < static_cast<Index>(end); ++i) {
                   const Walk<2> outer(kept, i / blocks);
                   run_block(outer.offset(0), outer.offset(1), i % blocks * kColumnBlock);
                 }
               });
}

/// finish(combination of x over the axes where `repeated` has an extent of 1 or none), in the
/// shape `result`, which has as many elements as `repeated`.
template <class Combine, class Finish>
Tensor reduce(const Tensor& x, const Shape& repeated, const Shape& result_shape, Combine combine,
              Finish finish) {
  Tensor result(result_shape);
  if (result.size() == 0) return result;
  if (x.size() == 0) {
    std::ranges::fill(result.mutable_span(), finish(Combine::kStart));
    return result;
  }
  const Plan plan = make_plan(x.shape(), repeated);
  const auto run =
      plan.inner.strides[1] == 0 ? reduce_runs<Combine, Finish> : reduce_columns<Combine, Finish>;
  run(plan, x.data(), result.mutable_data(), combine, finish);
  return result;
}

float to_float(double value) { return static_cast<float>(value); }

/// What a public reduction was asked for.
struct Request {
  Shape repeated;
  Shape result;
  Index count = 1;
};

Request request_all(const Shape& shape) {
  return {Shape(std::vector<Index>(static_cast<std::size_t>(shape.rank()), 1)), Shape{},
          shape.size()};
}

Request request_axes(std::string_view operation, const Shape& shape, const std::vector<Index>& axes,
                     bool keep_dims) {
  std::vector<bool> reduced(static_cast<std::size_t>(shape.rank()), false);
  for (const Index axis : axes) {
    if (axis < -shape.rank() || axis >= shape.rank()) {
      throw InvalidArgument(
          fmt::format("{}: axis {} is outside shape {}", operation, axis, shape.to_string()));
    }
    const auto counted = static_cast<std::size_t>(shape.normalize_axis(axis));
    if (reduced[counted]) {
      throw InvalidArgument(fmt::format("{}: axis {} of shape {} is listed twice", operation, axis,
                                        shape.to_string()));
    }
    reduced[counted] = true;
  }
  std::vector<Index> repeated;
  std::vector<Index> dropped;
  Request request;
  for (std::size_t i = 0; i < reduced.size(); ++i) {
    const Index extent = shape[static_cast<Index>(i)];
    repeated.push_back(reduced[i] ? 1 : extent);
    if (!reduced[i]) dropped.push_back(extent);
    if (reduced[i]) request.count *= extent;
  }
  request.repeated = Shape(std::move(repeated));
  request.result = keep_dims ? request.repeated : Shape(std::move(dropped));
  return request;
}

void check_not_empty(std::string_view operation, const Shape& shape, const Request& request) {
  if (request.count == 0) {
    throw InvalidArgument(fmt::format("{}: expected at least one element to reduce, found shape {}",
                                      operation, shape.to_string()));
  }
}

Tensor sum_as(const Tensor& x, const Request& request) {
  const Tensor y = reduce(x, request.repeated, request.result, Add(), to_float);
  const auto backward = [shape = x.shape(), request](const Tensor& g) {
    return std::vector<Tensor>{broadcast_map(
        shape, [](float v) { return v; }, detail::TensorAccess::view(g, request.repeated))};
  };
  return record("sum", y, {x}, backward, BackwardReads::nothing);
}

Tensor mean_as(const Tensor& x, const Request& request) {
  check_not_empty("mean", x.shape(), request);
  const auto count = static_cast<double>(request.count);
  const auto divide = [count](double total) { return static_cast<float>(total / count); };
  const Tensor y = reduce(x, request.repeated, request.result, Add(), divide);
  const auto backward = [shape = x.shape(), request, divide](const Tensor& g) {
    const auto share = [divide](float v) { return divide(static_cast<double>(v)); };
    const Tensor shares = detail::map(Work::map_floats, share, g);
    return std::vector<Tensor>{broadcast_map(
        shape, [](float v) { return v; }, detail::TensorAccess::view(shares, request.repeated))};
  };
  return record("mean", y, {x}, backward, BackwardReads::nothing);
}

template <class Combine>
Tensor extreme_as(std::string_view operation, const Tensor& x, const Request& request) {
  check_not_empty(operation, x.shape(), request);
  const Tensor y = reduce(x, request.repeated, request.result, Combine(), to_float);
  const auto backward = [x, y = y.detach(), request](const Tensor& g) {
    const auto attains = [](float v, float extreme) {
      return v == extreme || (v != v && extreme != extreme);
    };
    const Tensor extreme = detail::TensorAccess::view(y, request.repeated);
    const Tensor ties = detail::sum_to_shape(
        broadcast_map(
            x.shape(), [attains](float v, float e) { return attains(v, e) ? 1.0F : 0.0F; }, x,
            extreme),
        request.repeated);
    const Tensor share = detail::map(
        Work::map_floats, [](float v, float n) { return v / n; },
        detail::TensorAccess::view(g, request.repeated), ties);
    return std::vector<Tensor>{broadcast_map(
        x.shape(), [attains](float v, float e, float s) { return attains(v, e) ? s : 0.0F; }, x,
        extreme, share)};
  };
  return record(operation, y, {x}, backward, BackwardReads::inputs_and_result);
}

}  // namespace

Tensor detail::sum_to_shape(const Tensor& x, const Shape& shape) {
  return x.shape() == shape ? x : reduce(x, shape, shape, Add(), to_float);
}

Tensor sum(const Tensor& x) { return sum_as(x, request_all(x.shape())); }
Tensor sum(const Tensor& x, const std::vector<Index>& axes, bool keep_dims) {
  return sum_as(x, request_axes("sum", x.shape(), axes, keep_dims));
}

Tensor mean(const Tensor& x) { return mean_as(x, request_all(x.shape())); }
Tensor mean(const Tensor& x, const std::vector<Index>& axes, bool keep_dims) {
  return mean_as(x, request_axes("mean", x.shape(), axes, keep_dims));
}

Tensor max(const Tensor& x) { return extreme_as<Largest>("max", x, request_all(x.shape())); }
Tensor max(const Tensor& x, const std::vector<Index>& axes, bool keep_dims) {
  return extreme_as<Largest>("max", x, request_axes("max", x.shape(), axes, keep_dims));
}

Tensor min(const Tensor& x) { return extreme_as<Smallest>("min", x, request_all(x.shape())); }
Tensor min(const Tensor& x, const std::vector<Index>& axes, bool keep_dims) {
  return extreme_as<Smallest>("min", x, request_axes("min", x.shape(), axes, keep_dims));
}

Labels argmax(const Tensor& x) {
  if (x.rank() == 0) throw InvalidArgument("argmax: expected rank 1 or more, found a scalar");
  const Index columns = x.dim(-1);
  const Index rows = x.shape().without_dim(-1).size();
  if (columns == 0 && rows > 0) {
    throw InvalidArgument(fmt::format(
        "argmax: expected at least one element per row, found shape {}", x.shape().to_string()));
  }
  Labels labels(static_cast<std::size_t>(rows));
  parallel_for(labels.size(), detail::row_grain(Work::map_floats, columns),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t row = begin; row < end; ++row) {
                   const float* start = x.data() + static_cast<Index>(row) * columns;
                   Index best = 0;
                   for (Index j = 1; j < columns && start[best] == start[best]; ++j) {
                     // Not "greater than or equal": the first of equals wins; NaN wins over all.
                     if (!(start[j] <= start[best])) best = j;
                   }
                   labels[row] = static_cast<std::int32_t>(best);
                 }
               });
  return labels;
}

}  // namespace octet
