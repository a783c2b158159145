#include <fmt/format.h>
#include <octet/core/buffer.h>
#include <octet/core/function_ref.h>
#include <octet/core/kernels/gemm.h>
#include <octet/core/kernels/gemm_s16.h>
#include <octet/core/parallel.h>
#include <octet/runtime/operators/batch_matmul.h>
#include <octet/runtime/operators/matmul_terms.h>

#include <algorithm>
#include <utility>

namespace octet::detail {
namespace {

/// The most axes that runtimes take.
constexpr std::size_t kMostMatmulAxes = 5;

/// Calls multiply(sample, number) for all products of all samples.
void for_each_product(const MatmulGeometry& g, const KernelArguments& a,
                      FunctionRef<void(Index sample, Index number)> multiply) {
  const Index products = product_count(g);
  const auto work = static_cast<std::size_t>(g.rows * g.columns * g.depth);
  parallel_for(static_cast<std::size_t>(a.samples * products),
               parallel_grain(Work::integer_multiply_adds, work),
               [&](std::size_t begin, std::size_t end) {
                 for (auto i = static_cast<Index>(begin); i < static_cast<Index>(end); ++i) {
                   multiply(i / products, i % products);
                 }
               });
}

/// Where matrix `operand` of a product begins.
template <class T>
const T* matrix_at(const KernelArguments& a, std::size_t operand, Index sample, Index offset) {
  const std::byte* of_sample =
      a.inputs[operand].data + static_cast<std::size_t>(sample) * a.inputs[operand].stride;
  return reinterpret_cast<const T*>(of_sample) + offset;
}

std::array<std::int32_t, 2> zero_points_of(const KernelSource& source) {
  return {source.input(0).quantization.zero_point(), source.input(1).quantization.zero_point()};
}

class Int8Matmul final : public Kernel {
 public:
  explicit Int8Matmul(const KernelSource& source)
      : sums_(matmul_geometry(source), zero_points_of(source)),
        requantizer_(matmul_requantizer(source)),
        output_zero_point_(source.output().quantization.zero_point()) {}

  std::size_t bytes() const override { return sums_.bytes(); }
  std::size_t thread_bytes(Index /*samples*/) const override {
    return sums_.thread_bytes() + sums_.size() * sizeof(std::int32_t);
  }

  void run(const KernelArguments& a) const override {
    const MatmulGeometry& g = sums_.geometry();
    for_each_product(g, a, [&](Index sample, Index number) {
      const auto offsets = matrices_at(g, number);
      const ScratchBuffer<std::int32_t, Int8Matmul> sums(sums_.size());
      sums_.write(matrix_at<std::int8_t>(a, 0, sample, offsets[0]),
                  matrix_at<std::int8_t>(a, 1, sample, offsets[1]), sums.data());
      std::int8_t* const y =
          a.to<std::int8_t>() + (sample * product_count(g) + number) * g.rows * g.columns;
      requantizer_.requantize({sums.data(), sums_.size()}, {y, sums_.size()}, output_zero_point_,
                              -128, 127);
    });
  }

 private:
  Int8MatmulSums sums_;
  Requantizer requantizer_;
  std::int32_t output_zero_point_;
};

/// int16 factors are multiplied as two numbers of 8 bits each.
class Int16Matmul final : public Kernel {
 public:
  explicit Int16Matmul(const KernelSource& source)
      : g_(matmul_geometry(source)),
        requantizer_(matmul_requantizer(source)),
        zero_points_(zero_points_of(source)),
        start_(static_cast<std::size_t>(g_.columns)) {}

  std::size_t bytes() const override { return start_.size() * sizeof(std::int64_t); }
  std::size_t thread_bytes(Index /*samples*/) const override {
    return terms_of(g_, kParts) * sizeof(std::int16_t) + kParts * sums() * sizeof(std::int64_t);
  }

  void run(const KernelArguments& a) const override {
    for_each_product(g_, a, [&](Index sample, Index number) {
      const auto offsets = matrices_at(g_, number);
      const ScratchBuffer<std::int16_t, Int16Matmul> terms(terms_of(g_, kParts));
      const ScratchBuffer<std::int64_t, Int16Matmul> total(kParts * sums());
      const auto [left, right] =
          gathered(g_, zero_points_, matrix_at<std::int16_t>(a, 0, sample, offsets[0]),
                   matrix_at<std::int16_t>(a, 1, sample, offsets[1]), terms.data());
      multiply_halves(left, right, total.data());
      std::int16_t* const y =
          a.to<std::int16_t>() + (sample * product_count(g_) + number) * g_.rows * g_.columns;
      requantizer_.requantize({total.data(), sums()}, {y, sums()}, -32768, 32767);
    });
  }

 private:
  static constexpr Index kParts = 2;

  std::size_t sums() const { return static_cast<std::size_t>(g_.rows * g_.columns); }

  /// gemm_s16() takes one factor of 8 bits: a right value is 256 h + l, l of int8.
  void multiply_halves(const std::int16_t* left, std::int16_t* right, std::int64_t* total) const {
    const Index size = g_.columns * g_.depth;
    std::int16_t* const high = right + size;
    for (Index i = 0; i < size; ++i) {
      const std::int32_t value = right[i];
      const auto low = static_cast<std::int8_t>(value & 255);
      high[i] = static_cast<std::int16_t>((value - low) / 256);
      right[i] = low;
    }
    std::int64_t* const of_high = total + sums();
    gemm_s16(g_.rows, g_.columns, g_.depth, left, right, start_.data(), total);
    gemm_s16(g_.rows, g_.columns, g_.depth, left, high, start_.data(), of_high);
    for (std::size_t i = 0; i < sums(); ++i) total[i] += 256 * of_high[i];
  }

  MatmulGeometry g_;
  Requantizer requantizer_;
  std::array<std::int32_t, 2> zero_points_;
  /// Zeros, which gemm_s16() starts with: there is no bias.
  std::vector<std::int64_t> start_;
};

class FloatMatmul final : public Kernel {
 public:
  explicit FloatMatmul(const KernelSource& source)
      : g_(matmul_geometry(source)), attributes_(source.op.as<BatchMatmulAttributes>()) {}

  std::size_t thread_bytes(Index /*samples*/) const override {
    return gemm_f32_thread_bytes(g_.rows, g_.columns, g_.depth);
  }

  void run(const KernelArguments& a) const override {
    const Index products = product_count(g_);
    const auto operand = [&](std::size_t i, Index sample, Index offset, Index length, bool adj) {
      const std::byte* of_sample =
          a.inputs[i].data + static_cast<std::size_t>(sample) * a.inputs[i].stride;
      return GemmOperand{reinterpret_cast<const float*>(of_sample) + offset, length,
                         adj ? Transpose::yes : Transpose::no};
    };
    for (Index i = 0; i < a.samples * products; ++i) {
      const auto offsets = matrices_at(g_, i % products);
      const Index sample = i / products;
      const auto [adj_x, adj_y] = attributes_;
      gemm_f32(g_.rows, g_.columns, g_.depth,
               operand(0, sample, offsets[0], adj_x ? g_.rows : g_.depth, adj_x),
               operand(1, sample, offsets[1], adj_y ? g_.depth : g_.columns, adj_y),
               a.to<float>() + i * g_.rows * g_.columns, g_.columns);
    }
  }

 private:
  MatmulGeometry g_;
  BatchMatmulAttributes attributes_;
};

/// The extents of the matrices of an operand, an adjoint one's exchanged.
std::array<std::int32_t, 2> matrix_of(const Operands& operands, std::size_t i) {
  const auto& a = operands.op.as<BatchMatmulAttributes>();
  return matmul_extents(operands.input(i).shape, i == 0 ? a.adj_x : a.adj_y);
}

std::vector<std::int32_t> expected_shape(const OperatorView& view) {
  const auto& a = view.input(0).shape;
  const auto& b = view.input(1).shape;
  std::vector<std::int32_t> shape(std::max(a.size(), b.size()));
  for (std::size_t back = 1; back <= shape.size(); ++back) {
    const std::int32_t mine = back <= a.size() ? a[a.size() - back] : 1;
    const std::int32_t other = back <= b.size() ? b[b.size() - back] : 1;
    if (back > 2 && mine != other && mine != 1 && other != 1) {
      view.fail(fmt::format("shapes [{}] and [{}] do not broadcast in front of their matrices",
                            fmt::join(a, ", "), fmt::join(b, ", ")));
    }
    shape[shape.size() - back] = std::max(mine, other);
  }
  shape[shape.size() - 2] = matrix_of(view, 0)[0];
  shape.back() = matrix_of(view, 1)[1];
  return shape;
}

/// A batch of any size has to be the first axis of operand and result, in front of the matrices.
void check_batch(const OperatorView& view, std::size_t i) {
  const auto& operand = view.input(i);
  for (std::size_t axis = 0; axis < operand.shape_signature.size(); ++axis) {
    if (operand.shape_signature[axis] != -1) continue;
    const auto& result = view.output().shape;
    if (axis == 0 && operand.shape.size() == result.size() && result.size() > 2 &&
        result[0] == operand.shape[0]) {
      continue;
    }
    view.fail(
        fmt::format("axis {} of operand {} is the batch, which has to be the first axis of "
                    "the result, in front of the matrices",
                    axis, i));
  }
}

void check_types(const OperatorView& view) {
  const DType dtype = view.input().dtype;
  if (view.input(1).dtype != dtype || view.output().dtype != dtype) view.fail_types();
  if (dtype == DType::float32) return;
  if (dtype != DType::int8 && dtype != DType::int16) view.fail_types();
  view.require_per_tensor(view.input(0), "first operand");
  view.require_per_tensor(view.input(1), "second operand");
  view.require_per_tensor(view.output(), "output");
  if (dtype != DType::int16) return;
  for (const ModelTensor* tensor : {&view.input(0), &view.input(1), &view.output()}) {
    view.require_int16_grid(*tensor);
  }
}

void check_depth(const OperatorView& view) {
  const std::int64_t depth = matrix_of(view, 1)[0];
  if (view.input().dtype != DType::int8 || depth <= kMostMatmulDepth) return;
  view.fail(fmt::format("sums of {} products could leave int32", depth));
}

void check_batch_matmul(const OperatorView& view) {
  check_types(view);
  for (std::size_t i = 0; i < 2; ++i) {
    const std::size_t rank = view.input(i).shape.size();
    if (rank >= 2 && rank <= kMostMatmulAxes) continue;
    view.fail(fmt::format("expected operands of 2 to {} axes, found {} as operand {}",
                          kMostMatmulAxes, rank, i));
  }
  const std::int32_t depth = matrix_of(view, 0)[1];
  if (const std::int32_t other = matrix_of(view, 1)[0]; depth != other) {
    view.fail(
        fmt::format("rows of {} do not fit columns of {}: did you mean another adj_x or "
                    "adj_y?",
                    depth, other));
  }
  view.require_output_shape(expected_shape(view));
  check_depth(view);
  for (std::size_t i = 0; i < 2; ++i) check_batch(view, i);
}

std::unique_ptr<Kernel> make_batch_matmul(const KernelSource& source) {
  const DType dtype = source.input().dtype;
  if (dtype == DType::float32) return std::make_unique<FloatMatmul>(source);
  if (dtype == DType::int16) return std::make_unique<Int16Matmul>(source);
  return std::make_unique<Int8Matmul>(source);
}

std::size_t matmul_bytes(const Operands& operands) {
  return static_cast<std::size_t>(operands.output().shape.back()) * sizeof(std::int64_t);
}

std::int64_t matmul_products(const Operands& operands) {
  return operands.output().size() * matrix_of(operands, 0)[1];
}

}  // namespace

Requantizer matmul_requantizer(float first_scale, const QuantParams& second, float output_scale,
                               Rounding rounding) {
  const bool leaves_xnnpack = rounding == Rounding::fp32 && second.zero_point() != 0;
  return Requantizer::fully_connected(first_scale, second.scales, output_scale,
                                      leaves_xnnpack ? Rounding::double_rounding : rounding);
}

Requantizer matmul_requantizer(const KernelSource& source) {
  Requantizer requantizer =
      matmul_requantizer(source.input().quantization.scale(), source.input(1).quantization,
                         source.output().quantization.scale(), source.rounding);
  if (source.input().dtype == DType::int16) {
    constexpr std::int64_t kMostProduct = std::int64_t{1} << 30;
    requantizer.require_fitting(matrix_of(source, 0)[1] * kMostProduct, source.output().name);
  }
  return requantizer;
}

OperatorDefinition definitions::batch_matmul() {
  return checked({.name = "BATCH_MATMUL",
                  .releases = {20300, 20300, 20400},
                  .required_version = version_by_type<3>,
                  .least_inputs = 2,
                  .most_inputs = 2,
                  .output_grid = OutputGrid::measured,
                  .takes_int16 = true,
                  .check = check_batch_matmul,
                  .make_kernel = make_batch_matmul,
                  .kernel_bytes = matmul_bytes,
                  .multiply_adds = matmul_products});
}

}  // namespace octet::detail
