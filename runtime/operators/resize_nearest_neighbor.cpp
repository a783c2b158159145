#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/parallel.h>
#include <octet/runtime/operators/resize_nearest_neighbor.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace octet::detail {
namespace {

class ResizeNearestNeighbor final : public Kernel {
 public:
  explicit ResizeNearestNeighbor(const KernelSource& source)
      : axes_(nearest_axes(source)),
        images_(source.input().shape[0]),
        pixel_bytes_(static_cast<std::size_t>(source.input().shape[3]) *
                     size_of(source.input().dtype)) {}

  void run(const KernelArguments& a) const override {
    const std::size_t row_bytes = static_cast<std::size_t>(axes_[1].output()) * pixel_bytes_;
    const auto rows = static_cast<std::size_t>(a.samples * images_ * axes_[0].output());
    parallel_for(rows, parallel_grain(Work::read_bytes, row_bytes),
                 [&](std::size_t begin, std::size_t end) {
                   for (std::size_t row = begin; row < end; ++row) {
                     copy_row(a, row, a.output() + row * row_bytes);
                   }
                 });
  }

 private:
  void copy_row(const KernelArguments& a, std::size_t row, std::byte* y) const {
    const auto height = static_cast<std::size_t>(axes_[0].output());
    const auto line =
        row / height * static_cast<std::size_t>(axes_[0].input()) +
        static_cast<std::size_t>(axes_[0].source(static_cast<std::int32_t>(row % height)));
    const std::byte* x =
        a.inputs[0].data + line * static_cast<std::size_t>(axes_[1].input()) * pixel_bytes_;
    for (std::int32_t i = 0; i < axes_[1].output(); ++i, y += pixel_bytes_) {
      std::memcpy(y, x + static_cast<std::size_t>(axes_[1].source(i)) * pixel_bytes_, pixel_bytes_);
    }
  }

  std::array<NearestAxis, 2> axes_;
  Index images_;
  std::size_t pixel_bytes_;
};

void check_size(const OperatorView& view) {
  const ModelTensor& size = view.input(1);
  if (size.dtype != DType::int32 || !size.is_constant() ||
      size.shape != std::vector<std::int32_t>{2}) {
    view.fail(
        fmt::format("expected the size as an int32 constant [2], found '{}' of {}, shape [{}]",
                    size.name, to_string(size.dtype), fmt::join(size.shape, ", ")));
  }
  std::array<std::int32_t, 2> extents{};
  std::memcpy(extents.data(), size.data.data(), sizeof extents);
  const auto& in = view.input().shape;
  view.require_output_shape({in[0], extents[0], extents[1], in[3]});
}

}  // namespace

void check_resize(const OperatorView& view) {
  if (view.input().shape.size() != 4) {
    view.fail(fmt::format("expected images [batch, height, width, channels], found shape [{}]",
                          fmt::join(view.input().shape, ", ")));
  }
  check_size(view);
  const auto& a = view.op.as<ResizeAttributes>();
  if (a.align_corners && a.half_pixel_centers) {
    view.fail("align_corners and half_pixel_centers exclude each other");
  }
  if (view.input().dtype != view.output().dtype) view.fail_types();
  if (view.input().dtype == DType::float32) return;
  if (view.input().dtype == DType::int16 && definition(view.op.code).takes_int16) {
    view.require_int16_grid(view.input());
    view.require_int16_grid(view.output());
  } else if (view.input().dtype != DType::int8) {
    view.fail_types();
  }
  view.require_per_tensor(view.input(), "input");
  view.require_per_tensor(view.output(), "output");
  // Runtimes interpolate integers, whatever scale the result says; see runtime_warnings().
  if (view.op.code != OpCode::resize_bilinear) view.require_same_grid();
}

namespace {

std::unique_ptr<Kernel> make_resize_nearest_neighbor(const KernelSource& source) {
  return std::make_unique<ResizeNearestNeighbor>(source);
}

int nearest_version(const Operands& o) {
  const auto& a = o.op.as<ResizeAttributes>();
  return a.align_corners || a.half_pixel_centers ? 3 : version_by_type<>(o);
}

}  // namespace

NearestAxis::NearestAxis(std::int32_t input, std::int32_t output,
                         const ResizeAttributes& attributes)
    : input_(input),
      output_(output),
      rounds_(attributes.align_corners),
      offset_(attributes.half_pixel_centers ? 0.5F : 0.0F),
      scale_(attributes.align_corners && output > 1
                 ? static_cast<float>(input - 1) / static_cast<float>(output - 1)
                 : static_cast<float>(input) / static_cast<float>(output)) {}

std::int32_t NearestAxis::source(std::int32_t output) const {
  const float place = (static_cast<float>(output) + offset_) * scale_;
  // Not below 0, so that a cast rounds down.
  const float nearest = rounds_ ? std::round(place) : place;
  return nearest >= static_cast<float>(input_)
             ? input_ - 1
             : std::min(static_cast<std::int32_t>(nearest), input_ - 1);
}

std::int32_t NearestAxis::repeats() const {
  if (output_ % input_ != 0) return 0;
  const std::int32_t times = output_ / input_;
  for (std::int32_t i = 0; i < output_; ++i) {
    if (source(i) != i / times) return 0;
  }
  return times;
}

std::array<NearestAxis, 2> nearest_axes(const Operands& operands) {
  const auto& from = operands.input().shape;
  const auto& to = operands.output().shape;
  const auto& attributes = operands.op.as<ResizeAttributes>();
  return {NearestAxis(from[1], to[1], attributes), NearestAxis(from[2], to[2], attributes)};
}

ResizeAttributes repeating_attributes(const std::array<std::int32_t, 2>& input,
                                      const std::array<std::int32_t, 2>& output) {
  for (const bool half_pixel_centers : {false, true}) {
    const ResizeAttributes attributes{.half_pixel_centers = half_pixel_centers};
    if (NearestAxis(input[0], output[0], attributes).repeats() > 0 &&
        NearestAxis(input[1], output[1], attributes).repeats() > 0) {
      return attributes;
    }
  }
  throw InvalidArgument(
      fmt::format("RESIZE_NEAREST_NEIGHBOR: expected a size at which float32 tells every pixel, "
                  "found {} x {} from {} x {}",
                  output[0], output[1], input[0], input[1]));
}

OperatorDefinition definitions::resize_nearest_neighbor() {
  return checked({.name = "RESIZE_NEAREST_NEIGHBOR",
                  .releases = {11301, 11400, 20300},
                  .required_version = nearest_version,
                  .least_inputs = 2,
                  .most_inputs = 2,
                  .output_grid = OutputGrid::same_as_input,
                  .check = check_resize,
                  .make_kernel = make_resize_nearest_neighbor});
}

}  // namespace octet::detail
