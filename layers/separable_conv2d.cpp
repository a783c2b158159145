#include <octet/layers/separable_conv2d.h>

#include <string>

namespace octet {
namespace {

std::string part_name(const std::string& name, const char* part) {
  return name.empty() ? "" : name + part;
}

}  // namespace

SeparableConv2D::SeparableConv2D(Index filters, std::array<Index, 2> kernel_size,
                                 Activation activation, const SeparableConv2DOptions& options)
    : LayerChain(DepthwiseConv2D(kernel_size, Activation::none,
                                 {.strides = options.strides,
                                  .dilation = options.dilation,
                                  .padding = options.padding,
                                  .depth_multiplier = options.depth_multiplier,
                                  .use_bias = false,
                                  .kernel_initializer = options.kernel_initializer,
                                  .name = part_name(options.name, "_depthwise")}),
                 Conv2D(filters, 1, activation,
                        {.use_bias = options.use_bias,
                         .kernel_initializer = options.kernel_initializer,
                         .name = part_name(options.name, "_pointwise")})) {}

SeparableConv1D::SeparableConv1D(Index filters, Index kernel_size, Activation activation,
                                 const SeparableConv1DOptions& options)
    : LayerChain(DepthwiseConv1D(kernel_size, Activation::none,
                                 {.stride = options.stride,
                                  .dilation = options.dilation,
                                  .padding = options.padding,
                                  .depth_multiplier = options.depth_multiplier,
                                  .use_bias = false,
                                  .kernel_initializer = options.kernel_initializer,
                                  .name = part_name(options.name, "_depthwise")}),
                 Conv1D(filters, 1, activation,
                        {.use_bias = options.use_bias,
                         .kernel_initializer = options.kernel_initializer,
                         .name = part_name(options.name, "_pointwise")})) {}

}  // namespace octet
