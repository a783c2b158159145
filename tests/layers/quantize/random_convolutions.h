#pragma once

#include <octet/core/ops/ops.h>
#include <octet/layers/conv1d.h>
#include <octet/layers/conv2d.h>
#include <octet/layers/depthwise_conv2d.h>
#include <octet/layers/reshape.h>
#include <octet/layers/separable_conv2d.h>
#include <octet/layers/transposed_conv2d.h>
#include <octet/tests/core/draw.h>
#include <octet/tests/layers/quantize/quantize_testing.h>

#include <string>

// Random float networks of convolutions.

namespace octet::test {

inline Activation draw_clamp(Draw& draw) { return static_cast<Activation>(draw.between(0, 2)); }

inline Conv2D draw_conv_layer(Draw& draw, Index channels) {
  const Index groups = channels % 2 == 0 && draw.between(0, 2) == 0 ? 2 : 1;
  const Activation activation = draw_clamp(draw);
  return {groups * draw.between(1, 6),
          {draw.between(1, 3), draw.between(1, 3)},
          activation,
          {.strides = {draw.between(1, 2), draw.between(1, 2)},
           .dilation = {draw.between(1, 2), 1},
           .padding = Padding::same,
           .groups = groups,
           .use_bias = draw.between(0, 2) > 0}};
}

inline DepthwiseConv2D draw_depthwise_layer(Draw& draw) {
  const Activation activation = draw_clamp(draw);
  return DepthwiseConv2D({draw.between(1, 3), draw.between(1, 3)}, activation,
                         {.strides = {draw.between(1, 2), draw.between(1, 2)},
                          .dilation = {1, draw.between(1, 2)},
                          .padding = Padding::same,
                          .depth_multiplier = draw.between(1, 3),
                          .use_bias = draw.between(0, 2) > 0});
}

inline TransposedConv2D draw_transposed_layer(Draw& draw) {
  const Activation activation = draw_clamp(draw);
  return {draw.between(1, 6),
          {draw.between(1, 4), draw.between(1, 3)},
          activation,
          {.strides = {draw.between(1, 3), draw.between(1, 2)},
           .padding = draw.between(0, 1) == 0 ? Padding::valid : Padding::same,
           .use_bias = draw.between(0, 2) > 0}};
}

/// Transposed convolutions of images, convolutions between some of them, and a Dense layer behind.
inline Sequential random_transposed_net(std::uint64_t seed) {
  Draw draw(seed);
  const Shape images{draw.between(1, 5), draw.between(1, 5), draw.between(1, 5)};
  Sequential model("m", Input(images, "in"));
  Index channels = images[2];
  for (Index i = draw.between(1, 3); i > 0; --i) {
    if (draw.between(0, 2) == 0) model.add(draw_conv_layer(draw, channels));
    TransposedConv2D conv = draw_transposed_layer(draw);
    channels = conv.filters();
    model.add(std::move(conv));
  }
  model.add(Flatten());
  model.add(Dense(3, Activation::none, "end"));
  model.build(seed);
  return model;
}

/// Some convolutions of images, and a Dense layer behind them.
inline Sequential random_images_net(std::uint64_t seed) {
  Draw draw(seed);
  const Shape images{draw.between(1, 9), draw.between(1, 9), draw.between(1, 5)};
  Sequential model("m", Input(images, "in"));
  Index channels = images[2];
  for (Index i = draw.between(1, 3); i > 0; --i) {
    switch (draw.between(0, 2)) {
      case 0: {
        Conv2D conv = draw_conv_layer(draw, channels);
        channels = conv.filters();
        model.add(std::move(conv));
        break;
      }
      case 1: {
        DepthwiseConv2D conv = draw_depthwise_layer(draw);
        channels *= conv.options().depth_multiplier;
        model.add(std::move(conv));
        break;
      }
      default:
        channels = draw.between(1, 6);
        model.add(SeparableConv2D(channels, draw.between(1, 3), draw_clamp(draw),
                                  {.strides = {draw.between(1, 2), 1},
                                   .padding = Padding::same,
                                   .depth_multiplier = draw.between(1, 2)}));
    }
  }
  model.add(Flatten());
  model.add(Dense(3, Activation::none, "end"));
  model.build(seed);
  return model;
}

/// Some convolutions of sequences, and a Dense layer behind them.
inline Sequential random_sequences_net(std::uint64_t seed) {
  Draw draw(seed);
  const Shape sequence{draw.between(1, 20), draw.between(1, 5)};
  Sequential model("m", Input(sequence, "in"));
  Index channels = sequence[1];
  for (Index i = draw.between(1, 3); i > 0; --i) {
    const Index groups = channels % 2 == 0 && draw.between(0, 2) == 0 ? 2 : 1;
    constexpr Activation kActivations[] = {Activation::none, Activation::relu, Activation::relu6,
                                           Activation::sigmoid, Activation::tanh};
    const Activation activation = kActivations[draw.between(0, 4)];
    const Index kernel = draw.between(1, 4);
    const Index stride = draw.between(1, 2);
    const Index dilation = draw.between(1, 2);
    const Padding padding = draw.between(0, 1) == 0 ? Padding::same : Padding::causal;
    const bool use_bias = draw.between(0, 2) > 0;
    if (draw.between(0, 3) == 0) {
      const Index multiplier = draw.between(1, 2);
      channels *= multiplier;
      model.add(DepthwiseConv1D(kernel, activation,
                                {.stride = stride,
                                 .dilation = dilation,
                                 .padding = padding,
                                 .depth_multiplier = multiplier,
                                 .use_bias = use_bias}));
      continue;
    }
    channels = groups * draw.between(1, 6);
    model.add(Conv1D(channels, kernel, activation,
                     {.stride = stride,
                      .dilation = dilation,
                      .padding = padding,
                      .groups = groups,
                      .use_bias = use_bias}));
  }
  model.add(Flatten());
  model.add(Dense(3, Activation::none, "end"));
  model.build(seed);
  return model;
}

inline Tensor images_for(const Model& model, Index count, std::uint64_t seed) {
  return random_tensor(model.input_shape().with_batch(count), seed, -1.0F, 1.0F);
}

/// Quantizes `count` random networks of convolutions, one in four of them transposed, as
/// options(seed) says, trains each a little and gives it to check(model, x). ASSERTs.
template <class Options, class Check>
void for_random_convolutions(std::uint32_t count, Options&& options, Check&& check) {
  for (std::uint32_t seed = 0; seed < count; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const bool transposed = seed % 4 == 3;
    Model model = quantize_model(transposed ? random_transposed_net(seed) : random_images_net(seed),
                                 options(seed));
    calibrate(model, images_for(model, 7, seed));
    train_a_little(model, 3, [&] { return images_for(model, 5, seed + 1); });
    if (::testing::Test::HasFatalFailure()) return;
    check(model, images_for(model, 6, seed + 2));
    if (::testing::Test::HasFatalFailure()) return;
  }
}

inline void train_a_little(Model& model, std::uint64_t seed) {
  for (std::uint64_t step = 0; step < 3; ++step) {
    model.zero_grad();
    const ForwardContext context{.mode = ForwardContext::Mode::training};
    mean(square(model.forward_logits(images_for(model, 6, seed + step), context))).backward();
    for (auto& [name, tensor] : model.parameters()) {
      const Tensor gradient = tensor.grad();
      ASSERT_TRUE(gradient.defined()) << name;
      ASSERT_EQ(gradient.shape(), tensor.shape()) << name;
      for (std::size_t i = 0; i < tensor.span().size(); ++i) {
        tensor.mutable_span()[i] -= 0.1F * gradient.span()[i];
      }
    }
  }
  refresh_kernel_ranges(model);
}

}  // namespace octet::test
