#include <fmt/format.h>
#include <octet/core/buffer.h>
#include <octet/core/kernels/gemm.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/kernels/patches.h>
#include <octet/core/parallel.h>
#include <octet/runtime/operators/conv_2d.h>
#include <octet/runtime/operators/image_window.h>
#include <octet/runtime/operators/int16_sums.h>

#include <algorithm>
#include <utility>

namespace octet::detail {
namespace {

/// Patches that are made and multiplied at once stay in the cache.
constexpr Index kPatchBytes = 32768;
/// Fewer rows than a product has tiles for would leave them half empty.
constexpr Index kLeastPatchRows = 32;

/// Whether tiles read the pixels in place: then the codes of a patch are not added up, which
/// weights with a zero point take.
bool correlates(const Conv2DGeometry& geometry, std::int32_t weight_zero_point) {
  return weight_zero_point == 0 && CorrelationS8::is_suited(geometry);
}

/// A patch that is gathered is one piece, whose depth is a multiple of what tiles read at a time,
/// so that rows need no padding of their own.
PatchLayout gathered_layout(const Conv2DGeometry& geometry) {
  constexpr Index kMultiple = 8;
  return {1, geometry.patch(), divided_up(geometry.patch(), kMultiple) * kMultiple};
}

Index padded_patch(const Conv2DGeometry& geometry) { return gathered_layout(geometry).depth(); }

/// The rows of one block, which a thread makes at once.
Index rows_per_block(const Conv2DGeometry& geometry, std::size_t element) {
  const Index row = geometry.patch() * static_cast<Index>(element);
  return std::max(kPatchBytes / std::max<Index>(row, 1), kLeastPatchRows);
}

/// Calls body(begin, end) for blocks of rows.
template <class Body>
void for_blocks(Index rows, const Conv2DGeometry& geometry, Index block, Work work, Body&& body) {
  const auto products = static_cast<std::size_t>(geometry.patch() * geometry.filters);
  const auto grain = std::max(static_cast<std::size_t>(block), parallel_grain(work, products));
  parallel_for(static_cast<std::size_t>(rows), grain, [&](std::size_t first, std::size_t last) {
    const auto end = static_cast<Index>(last);
    for (auto i = static_cast<Index>(first); i < end; i += block) body(i, std::min(i + block, end));
  });
}

class Int8Conv final : public Kernel {
 public:
  Int8Conv(const Conv2DGeometry& geometry, const FullyConnectedNumbers& n)
      : sums_(geometry, pack_groups(geometry, n.weights, n.weight_zero_point), n.bias,
              n.input_zero_point, n.weight_zero_point),
        weight_zero_point_(n.weight_zero_point) {
    const auto units = static_cast<std::size_t>(geometry.filters_per_group());
    for (std::size_t g = 0; g < static_cast<std::size_t>(geometry.groups); ++g) {
      epilogues_.push_back(n.epilogue);
      epilogues_.back().requantizer = n.epilogue.requantizer.part(g * units, units);
    }
  }

  std::size_t bytes() const override {
    std::size_t total = ConvSums::bytes(geometry(), weight_zero_point_);
    for (const DenseEpilogue& epilogue : epilogues_) {
      total += epilogue.requantizer.factors().size_bytes() +
               epilogue.requantizer.multipliers().size_bytes();
    }
    return total;
  }
  std::size_t thread_bytes(Index samples) const override {
    return sums_.thread_bytes(samples) +
           static_cast<std::size_t>(sums_.block_rows() * geometry().filters_per_group());
  }

  void run(const KernelArguments& a) const override {
    auto* y = a.to<std::int8_t>();
    sums_.sums(a.samples, a.input<std::int8_t>(),
               [&](Index group, Index begin, Index end, std::int32_t* sums) {
                 requantize(group, begin, end, sums, y);
               });
  }

 private:
  const Conv2DGeometry& geometry() const { return sums_.geometry(); }

  void requantize(Index group, Index begin, Index end, const std::int32_t* sums,
                  std::int8_t* y) const {
    const Index units = geometry().filters_per_group();
    const auto count = static_cast<std::size_t>((end - begin) * units);
    const DenseEpilogue& epilogue = epilogues_[static_cast<std::size_t>(group)];
    if (geometry().groups == 1) {
      return epilogue.requantize({sums, count}, {y + begin * units, count});
    }
    const ScratchBuffer<std::int8_t, struct ConvCodes> codes(count);
    epilogue.requantize({sums, count}, {codes.data(), count});
    for (Index i = begin; i < end; ++i) {
      std::copy_n(codes.data() + (i - begin) * units, units,
                  y + i * geometry().filters + group * units);
    }
  }

  ConvSums sums_;
  std::int32_t weight_zero_point_;
  /// One per group.
  std::vector<DenseEpilogue> epilogues_;
};

class FloatConv final : public Kernel {
 public:
  FloatConv(const Conv2DGeometry& geometry, const KernelSource& source)
      : geometry_(geometry),
        block_(rows_per_block(geometry, sizeof(float))),
        weights_(values_of<float>(source.input(1))),
        bias_(bias_of<float>(source)),
        limits_(real_limits(source.op.activation())) {}

  std::size_t bytes() const override { return (weights_.size() + bias_.size()) * sizeof(float); }
  std::size_t thread_bytes(Index samples) const override {
    const Index rows = std::min(samples * geometry_.rows(), block_);
    return static_cast<std::size_t>(rows * geometry_.patch() + padded_elements(geometry_, rows)) *
               sizeof(float) +
           gemm_f32_thread_bytes(rows, geometry_.filters_per_group(), geometry_.patch());
  }

  void run(const KernelArguments& a) const override {
    const auto* x = a.input<float>();
    auto* y = a.to<float>();
    for_blocks(a.samples * geometry_.rows(), geometry_, block_, Work::float_multiply_adds,
               [&](Index begin, Index end) {
                 for (Index g = 0; g < geometry_.groups; ++g) run_group(x, g, begin, end, y);
                 for (Index i = begin; i < end; ++i) {
                   kernels().passes.add_bias(y + i * geometry_.filters, bias_.size(), bias_.data(),
                                             limits_.lo, limits_.hi);
                 }
               });
  }

 private:
  void run_group(const float* x, Index g, Index begin, Index end, float* y) const {
    const Index depth = geometry_.patch();
    const Index units = geometry_.filters_per_group();
    const ScratchBuffer<float, struct ConvPatches> patches(
        static_cast<std::size_t>((end - begin) * depth));
    gather_rows(geometry_, x, g, 0.0F, begin, end, depth, patches.data());
    gemm_f32(end - begin, units, depth, {patches.data(), depth},
             {weights_.data() + g * units * depth, depth, Transpose::yes},
             y + begin * geometry_.filters + g * units, geometry_.filters);
  }

  Conv2DGeometry geometry_;
  Index block_;
  std::vector<float> weights_;
  std::vector<float> bias_;
  RealLimits limits_;
};

// ---- The operator

/// Throws FormatError unless the filter's channels divide those of the input into whole groups.
void check_groups(const OperatorView& view) {
  const std::int32_t channels = view.input().shape[3];
  const std::int32_t read = view.input(1).shape[3];
  const std::int32_t units = view.input(1).shape[0];
  if (read > 0 && channels % read == 0 && units % (channels / read) == 0) return;
  view.fail(
      fmt::format("expected filters over all {} channels of the input, or over those of a group "
                  "among groups of equally many of the {} filters, found filters over {} channels",
                  channels, units, read));
}

void check_conv_2d(const OperatorView& view) {
  const ModelTensor& filter = view.input(1);
  if (filter.shape.size() != 4) {
    view.fail(fmt::format("expected a filter [units, height, width, inputs], found shape [{}]",
                          fmt::join(filter.shape, ", ")));
  }
  require_window(view, view.op.as<Conv2DAttributes>(), filter.shape[1], filter.shape[2],
                 filter.shape[0]);
  check_groups(view);
  if (filter.stored_bits != 8 && filter.shape[3] != view.input().shape[3]) {
    view.fail(fmt::format("expected a filter of several groups stored in 8 bits, found {}",
                          filter.stored_bits));
  }
  check_dense_operands(view);
}

std::unique_ptr<Kernel> make_conv_2d(const KernelSource& source) {
  const Conv2DGeometry geometry = conv_2d_geometry(source);
  if (source.input().dtype == DType::float32) {
    if (geometry.is_matrix_product()) return make_float_dense(source);
    return std::make_unique<FloatConv>(geometry, source);
  }
  if (source.input().dtype == DType::int16) {
    return make_int16_conv(geometry, int16_numbers(source, conv_2d_requantizer(source)));
  }
  const FullyConnectedNumbers numbers = conv_2d_numbers(source);
  if (geometry.is_matrix_product()) return make_int8_dense(numbers);
  return std::make_unique<Int8Conv>(geometry, numbers);
}

std::int64_t conv_2d_products(const Operands& operands) { return products_with_units(operands, 0); }

std::size_t conv_2d_bytes(const Operands& operands) {
  const Conv2DGeometry geometry = conv_2d_geometry(operands);
  if (operands.input().dtype == DType::int16) return int16_bytes(operands, geometry.groups);
  if (operands.input().dtype == DType::float32) {
    return static_cast<std::size_t>(geometry.filters * (geometry.patch() + 1)) * sizeof(float);
  }
  return ConvSums::bytes(geometry, operands.input(1).quantization.zero_point()) +
         static_cast<std::size_t>(std::max(geometry.filters, geometry.groups)) *
             sizeof(QuantizedMultiplier);
}

int conv_2d_version(const Operands& o) {
  if (o.input(1).stored_bits != 8) return 7;
  if (o.input().shape[3] != o.input(1).shape[3]) return 6;  // groups
  if (o.input().dtype == DType::int16) return 4;
  return o.input().dtype == DType::int8 ? 3 : 1;
}

}  // namespace

Conv2DGeometry conv_2d_geometry(const Operands& operands) {
  const auto& filter = operands.input(1).shape;
  const auto& image = operands.input().shape;
  return {.window = window_of(operands, operands.op.as<Conv2DAttributes>(), filter[1], filter[2]),
          .images = image[0],
          .channels = image[3],
          .filters = filter[0],
          .groups = image[3] / filter[3]};
}

// ---- Sums

std::vector<PackedS8> pack_groups(const Conv2DGeometry& geometry,
                                  std::span<const std::int8_t> weights,
                                  std::int32_t weight_zero_point) {
  const Index filters = geometry.filters_per_group();
  const PatchLayout patch = correlates(geometry, weight_zero_point)
                                ? CorrelationS8::layout(geometry)
                                : gathered_layout(geometry);
  std::vector<PackedS8> groups;
  for (Index g = 0; g < geometry.groups; ++g) {
    std::vector<std::int8_t> rows(static_cast<std::size_t>(filters * patch.depth()));
    const std::int8_t* from = weights.data() + g * filters * geometry.patch();
    std::int8_t* to = rows.data();
    for (Index p = 0; p < filters * patch.pieces; ++p, from += patch.piece, to += patch.padded) {
      std::copy_n(from, patch.piece, to);
    }
    groups.emplace_back(rows.data(), filters, patch.depth());
  }
  return groups;
}

ConvSums::ConvSums(const Conv2DGeometry& geometry, std::vector<PackedS8> groups,
                   std::span<const std::int32_t> bias, std::int32_t input_zero_point,
                   std::int32_t weight_zero_point)
    : geometry_(geometry),
      block_(rows_per_block(geometry, sizeof(std::int8_t))),
      padding_(static_cast<std::int8_t>(input_zero_point)) {
  if (correlates(geometry, weight_zero_point)) {
    correlation_.emplace(geometry, std::move(groups), bias, input_zero_point);
    block_ = correlation_->block_lines() * geometry.window.x.output;
    return;
  }
  const auto filters = static_cast<std::size_t>(geometry.filters_per_group());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    groups_.emplace_back(std::move(groups[g]),
                         bias.empty() ? bias : bias.subspan(g * filters, filters), input_zero_point,
                         weight_zero_point, geometry.patch());
  }
}

std::size_t ConvSums::bytes(const Conv2DGeometry& geometry, std::int32_t weight_zero_point) {
  if (correlates(geometry, weight_zero_point)) return CorrelationS8::bytes(geometry);
  return static_cast<std::size_t>(geometry.groups) *
         DenseSums::bytes(geometry.filters_per_group(), padded_patch(geometry));
}

std::size_t ConvSums::thread_bytes(Index samples) const {
  if (correlation_) {
    const auto sums = static_cast<std::size_t>(block_ * geometry_.filters_per_group());
    return correlation_->thread_bytes() + sums * sizeof(std::int32_t);
  }
  const Index rows = std::min(samples * geometry_.rows(), block_);
  return groups_.front().thread_bytes(rows) +
         static_cast<std::size_t>(rows * padded_patch(geometry_) +
                                  padded_elements(geometry_, rows));
}

void ConvSums::sums(Index samples, const std::int8_t* x, Take take) const {
  if (!correlation_) return gather(samples, x, take);
  const Index units = geometry_.filters_per_group();
  correlate(samples, x, [&](Index begin, Index end, const CorrelationS8::Lines& lines) {
    const ScratchBuffer<std::int32_t, ConvSums> sums(
        static_cast<std::size_t>((end - begin) * units));
    for (Index g = 0; g < geometry_.groups; ++g) {
      correlation_->sums(lines, g, sums.data(), units);
      take(g, begin, end, sums.data());
    }
  });
}

void ConvSums::sums(Index samples, const std::int8_t* x, std::int32_t* sums,
                    FunctionRef<void(Index begin, Index end, Index unit, Index units)> done) const {
  const Index units = geometry_.filters_per_group();
  const Index filters = geometry_.filters;
  if (correlation_) {
    return correlate(samples, x, [&](Index begin, Index end, const CorrelationS8::Lines& lines) {
      for (Index g = 0; g < geometry_.groups; ++g) {
        correlation_->sums(lines, g, sums + begin * filters + g * units, filters);
        done(begin, end, g * units, units);
      }
    });
  }
  gather(samples, x, [&](Index group, Index begin, Index end, const std::int32_t* block) {
    const Index unit = group * units;
    if (units == filters) {
      std::copy_n(block, (end - begin) * units, sums + begin * units);
    } else {
      for (Index i = begin; i < end; ++i) {
        std::copy_n(block + (i - begin) * units, units, sums + i * filters + unit);
      }
    }
    done(begin, end, unit, units);
  });
}

/// Calls take(begin, end, lines) for blocks of lines of all images, with the rows of their outputs.
void ConvSums::correlate(
    Index samples, const std::int8_t* x,
    FunctionRef<void(Index begin, Index end, const CorrelationS8::Lines& lines)> take) const {
  const Window& window = geometry_.window;
  const Index step = correlation_->block_lines();
  const Index blocks = divided_up(window.y.output, step);
  const auto products =
      static_cast<std::size_t>(step * window.x.output * geometry_.patch() * geometry_.filters);
  parallel_for(static_cast<std::size_t>(samples * geometry_.images * blocks),
               parallel_grain(Work::integer_multiply_adds, products),
               [&](std::size_t first, std::size_t last) {
                 for (auto i = static_cast<Index>(first); i < static_cast<Index>(last); ++i) {
                   const Index image = i / blocks;
                   const Index begin = i % blocks * step;
                   const Index end = std::min(begin + step, window.y.output);
                   const Index row = image * window.outputs();
                   const CorrelationS8::Lines lines(
                       *correlation_, x + image * window.inputs() * geometry_.channels, begin, end);
                   take(row + begin * window.x.output, row + end * window.x.output, lines);
                 }
               });
}

void ConvSums::gather(Index samples, const std::int8_t* x, Take take) const {
  const Index depth = padded_patch(geometry_);
  for_blocks(samples * geometry_.rows(), geometry_, block_, Work::integer_multiply_adds,
             [&](Index begin, Index end) {
               const ScratchBuffer<std::int8_t, struct ConvPatches> patches(
                   static_cast<std::size_t>((end - begin) * depth));
               for (Index g = 0; g < geometry_.groups; ++g) {
                 gather_rows(geometry_, x, g, padding_, begin, end, depth, patches.data());
                 groups_[static_cast<std::size_t>(g)].sums(
                     end - begin, patches.data(), [&](Index first, Index last, std::int32_t* sums) {
                       take(g, begin + first, begin + last, sums);
                     });
               }
             });
}

// ---- Epilogue

Requantizer conv_2d_requantizer(float input_scale, std::span<const float> weight_scales,
                                float output_scale, Rounding rounding, Index groups) {
  const bool by_reference_kernel = groups > 1 && rounding == Rounding::single_rounding;
  return Requantizer::convolution(input_scale, weight_scales, output_scale,
                                  by_reference_kernel ? Rounding::double_rounding : rounding);
}

Requantizer conv_2d_requantizer(const KernelSource& source) {
  return conv_2d_requantizer(source.input().quantization.scale(),
                             source.input(1).quantization.scales,
                             source.output().quantization.scale(), contract_of_weights(source),
                             conv_2d_geometry(source).groups);
}

FullyConnectedNumbers conv_2d_numbers(const KernelSource& source) {
  return dense_numbers(source, conv_2d_requantizer(source));
}

OperatorDefinition definitions::conv_2d() {
  return checked({.name = "CONV_2D",
                  .releases = {10500, 11400, 11400, 20300, 20300, 20900, 21100, 21100},
                  .required_version = conv_2d_version,
                  .least_inputs = 2,
                  .most_inputs = 3,
                  .output_grid = OutputGrid::measured,
                  .least_weight_bits = 4,
                  .takes_int16 = true,
                  .check = check_conv_2d,
                  .make_kernel = make_conv_2d,
                  .kernel_bytes = conv_2d_bytes,
                  .multiply_adds = conv_2d_products});
}

}  // namespace octet::detail
