#pragma once

#include <octet/runtime/operators/fully_connected.h>

// CONV_2D with filters [units, 1, 1, channels], stride 1 and no dilation: FULLY_CONNECTED over the
// channels of every pixel, its factors made in double.

namespace octet::detail {

void check_conv_2d(const OperatorView& view);

inline constexpr OperatorDefinition kConv2D{.code = OpCode::conv_2d,
                                            .name = "CONV_2D",
                                            .default_attributes = default_of<Conv2DAttributes>,
                                            .least_inputs = 2,
                                            .most_inputs = 3,
                                            .output_grid = OutputGrid::measured,
                                            .check = check_conv_2d,
                                            .make_kernel = make_dense,
                                            .kernel_bytes = dense_bytes};

}  // namespace octet::detail
