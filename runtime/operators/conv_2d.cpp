#include <fmt/format.h>
#include <octet/runtime/operators/conv_2d.h>

#include <algorithm>

namespace octet::detail {

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

}  // namespace octet::detail
