#include <fmt/format.h>
#include <octet/runtime/operators/fully_connected.h>

#include <algorithm>

// CONV_2D with filters [units, 1, 1, channels], stride 1 and no dilation: FULLY_CONNECTED over the
// channels of every pixel, its factors made in double.

namespace octet::detail {
namespace {

void check_conv_2d(const OperatorView& view) {
  const ModelTensor& filter = view.input(1);
  if (filter.shape.size() != 4 || filter.shape[1] != 1 || filter.shape[2] != 1) {
    view.fail(
        fmt::format("expected a filter [units, 1, 1, inputs], found shape [{}]; only 1 x 1 "
                    "filters of stride 1 without dilation are supported",
                    fmt::join(filter.shape, ", ")));
  }
  std::vector<std::int32_t> expected = view.input().shape;
  if (expected.size() != 4 || expected[3] != filter.shape[3]) {
    view.fail(fmt::format("input shape [{}] is no batch of images of {} channels",
                          fmt::join(expected, ", "), filter.shape[3]));
  }
  expected[3] = filter.shape[0];
  view.require_output_shape(expected);
  const auto& zero_points = filter.quantization.zero_points;
  if (std::ranges::any_of(zero_points, [](std::int32_t z) { return z != 0; })) {
    view.fail("its filter has a zero point other than 0");
  }
  check_dense_operands(view);
}

}  // namespace

OperatorDefinition definitions::conv_2d() {
  return checked({.name = "CONV_2D",
                  .default_attributes = default_of<Conv2DAttributes>,
                  .least_inputs = 2,
                  .most_inputs = 3,
                  .output_grid = OutputGrid::measured,
                  .check = check_conv_2d,
                  .make_kernel = make_dense,
                  .kernel_bytes = dense_bytes});
}

}  // namespace octet::detail
