#include <octet/core/error.h>
#include <octet/core/parallel.h>
#include <octet/core/quant/round.h>
#include <octet/runtime/operators/resize_bilinear.h>
#include <octet/runtime/operators/resize_nearest_neighbor.h>

#include <algorithm>
#include <type_traits>
#include <utility>

namespace octet::detail {
namespace {

using Tap = QuantizedBilinear::Tap;

/// Places in steps of 1/1024. Far from the start they may be beyond the image, where the runtimes
/// read whatever lies behind it; here its last pixel.
std::vector<Tap> fixed_point_taps(std::int64_t input, std::int64_t output,
                                  ResizeCoordinates coordinates) {
  constexpr std::int64_t kOne = 1024;
  const bool aligns = coordinates == ResizeCoordinates::align_corners && output > 1;
  const std::int64_t from = aligns ? input - 1 : input;
  const std::int64_t to = aligns ? output - 1 : output;
  const std::int64_t step = (kOne * from + to / 2) / to;
  const std::int64_t start = coordinates == ResizeCoordinates::half_pixel ? step / 2 - kOne / 2 : 0;
  std::vector<Tap> taps;
  taps.reserve(static_cast<std::size_t>(output));
  for (std::int64_t o = 0; o < output; ++o) {
    const std::int64_t place = o * step + start;
    const std::int64_t lower = std::clamp<std::int64_t>(place / kOne, 0, input - 1);
    const std::int64_t upper = std::clamp<std::int64_t>((place + kOne - 1) / kOne, 0, input - 1);
    const bool between = lower < upper;
    taps.push_back({lower, upper, between ? static_cast<std::int32_t>(place - kOne * lower) : 0});
  }
  return taps;
}

std::vector<Tap> rounded_taps(Index input, Index output, ResizeCoordinates coordinates, int bits) {
  const auto one = static_cast<float>(1 << bits);
  std::vector<Tap> taps;
  taps.reserve(static_cast<std::size_t>(output));
  for (const BilinearTap<float>& tap : bilinear_taps(input, output, coordinates)) {
    taps.push_back(
        {tap.lower, tap.upper, static_cast<std::int32_t>(round_half_even(tap.weight * one))});
  }
  return taps;
}

/// Runs `line(image, top, bottom, weight, y)` for every row of the result.
template <class T, class Weight, class Line>
void for_each_row(const KernelArguments& a, const std::vector<std::int32_t>& input,
                  std::span<const BilinearTap<Weight>> rows, Index row_size, Line&& line) {
  const auto height = static_cast<Index>(rows.size());
  const Index from_size = Index{input[2]} * input[3];
  const auto count = static_cast<std::size_t>(a.samples * input[0] * height);
  parallel_for(count, parallel_grain(Work::map_floats, static_cast<std::size_t>(row_size)),
               [&](std::size_t begin, std::size_t end) {
                 for (auto i = static_cast<Index>(begin); i < static_cast<Index>(end); ++i) {
                   const auto& tap = rows[static_cast<std::size_t>(i % height)];
                   const T* image = a.input<T>() + i / height * input[1] * from_size;
                   line(image + tap.lower * from_size, image + tap.upper * from_size, tap.weight,
                        a.to<T>() + i * row_size);
                 }
               });
}

class FloatBilinear final : public Kernel {
 public:
  explicit FloatBilinear(const KernelSource& source)
      : input_(source.input().shape),
        row_size_(Index{source.output().shape[2]} * source.output().shape[3]) {
    const auto coordinates = resize_coordinates(source.op.as<ResizeAttributes>());
    rows_ = bilinear_taps(input_[1], source.output().shape[1], coordinates);
    columns_ = bilinear_taps(input_[2], source.output().shape[2], coordinates);
  }

  std::size_t bytes() const override {
    return (rows_.size() + columns_.size()) * sizeof(BilinearTap<float>);
  }

  void run(const KernelArguments& a) const override {
    for_each_row<float, float>(a, input_, rows_, row_size_,
                               [&](const float* top, const float* bottom, float weight, float* y) {
                                 bilinear_line(top, bottom, weight, columns_, input_[3], y);
                               });
  }

 private:
  std::vector<std::int32_t> input_;
  Index row_size_;
  std::vector<BilinearTap<float>> rows_;
  std::vector<BilinearTap<float>> columns_;
};

template <class Code>
class CodeBilinear final : public Kernel {
 public:
  using Sum = std::conditional_t<sizeof(Code) == 1, std::int32_t, std::int64_t>;

  explicit CodeBilinear(const KernelSource& source)
      : input_(source.input().shape),
        row_size_(Index{source.output().shape[2]} * source.output().shape[3]),
        bilinear_(QuantizedBilinear::make(source)) {}

  std::size_t bytes() const override {
    return (bilinear_.rows.size() + bilinear_.columns.size()) * sizeof(Tap);
  }

  void run(const KernelArguments& a) const override {
    for_each_row<Code, std::int32_t>(
        a, input_, bilinear_.rows, row_size_,
        [&](const Code* top, const Code* bottom, std::int32_t weight, Code* y) {
          bilinear_line(
              top, bottom, std::span<const Tap>(bilinear_.columns), input_[3], y,
              [&](Code tl, Code tr, Code bl, Code br, std::int32_t right) {
                return static_cast<Code>(bilinear_.apply<Sum>(tl, tr, bl, br, right, weight));
              });
        });
  }

 private:
  std::vector<std::int32_t> input_;
  Index row_size_;
  QuantizedBilinear bilinear_;
};

std::unique_ptr<Kernel> make_resize_bilinear(const KernelSource& source) {
  if (source.input().dtype == DType::float32) return std::make_unique<FloatBilinear>(source);
  if (source.input().dtype == DType::int16) {
    return std::make_unique<CodeBilinear<std::int16_t>>(source);
  }
  return std::make_unique<CodeBilinear<std::int8_t>>(source);
}

std::size_t resize_bilinear_bytes(const Operands& operands) {
  const auto& shape = operands.output().shape;
  static_assert(sizeof(Tap) >= sizeof(BilinearTap<float>));
  return (static_cast<std::size_t>(shape[1]) + static_cast<std::size_t>(shape[2])) * sizeof(Tap);
}

int bilinear_version(const Operands& o) {
  if (o.input().dtype == DType::int16) return 4;
  return o.op.as<ResizeAttributes>().half_pixel_centers ? 3 : version_by_type<>(o);
}

}  // namespace

ResizeAttributes resize_attributes(ResizeCoordinates coordinates) {
  return {.align_corners = coordinates == ResizeCoordinates::align_corners,
          .half_pixel_centers = coordinates == ResizeCoordinates::half_pixel};
}

ResizeCoordinates resize_coordinates(const ResizeAttributes& attributes) {
  if (attributes.align_corners && attributes.half_pixel_centers) {
    throw InvalidArgument(
        "RESIZE_BILINEAR: expected align_corners or half_pixel_centers, found both");
  }
  if (attributes.align_corners) return ResizeCoordinates::align_corners;
  return attributes.half_pixel_centers ? ResizeCoordinates::half_pixel
                                       : ResizeCoordinates::asymmetric;
}

QuantizedBilinear QuantizedBilinear::make(const KernelSource& source) {
  const auto& from = source.input().shape;
  const auto& to = source.output().shape;
  const auto coordinates = resize_coordinates(source.op.as<ResizeAttributes>());
  if (source.rounding == Rounding::fp32) {
    constexpr int kBits = 11;
    return {rounded_taps(from[1], to[1], coordinates, kBits),
            rounded_taps(from[2], to[2], coordinates, kBits), kBits, true};
  }
  return {fixed_point_taps(from[1], to[1], coordinates),
          fixed_point_taps(from[2], to[2], coordinates), 10, false};
}

OperatorDefinition definitions::resize_bilinear() {
  return checked({.name = "RESIZE_BILINEAR",
                  .releases = {10700, 11400, 20200, 20500},
                  .required_version = bilinear_version,
                  .least_inputs = 2,
                  .most_inputs = 2,
                  .output_grid = OutputGrid::same_as_input,
                  .takes_int16 = true,
                  .check = check_resize,
                  .make_kernel = make_resize_bilinear,
                  .kernel_bytes = resize_bilinear_bytes});
}

}  // namespace octet::detail
