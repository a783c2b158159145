#pragma once

#include <octet/octet.h>

#include <span>
#include <string_view>

namespace octet::bench {

/// The size of the network `convolutions`, which shows how training grows: four convolutions of 3 x
/// 3, each with BatchNorm and ReLU behind it, and a classifier.
struct ConvolutionsSize {
  Index channels = 32;
  /// Height and width of its images, which have three channels.
  Index image = 32;
};

/// A network as its reference has it.
struct Reference {
  std::string_view name;
  Shape example;
  /// 0 for a network that gives back what it is given.
  int classes = 10;
  /// Channels of `convolutions`, units or features of networks for sequences; 0 for others.
  Index channels = 0;
  /// Whether its LSTM is fused, quantized under rounding mode double.
  bool fused = false;

  QuantizeOptions quantize_options() const {
    return {.rounding = fused ? Rounding::double_rounding : Rounding::fp32};
  }
};

/// mlp (784-256-128-10), lenet5, dscnn, resnet8, mobilenet, autoencoder, and networks for
/// sequences: gru64, gru128, lstm64, lstm128, lstm64_fused, lstm128_fused, tcn and attention.
std::span<const Reference> references();

/// Returns the network of that name, or `convolutions` of the size given. Throws InvalidArgument
/// where there is none.
Reference reference(std::string_view name, const ConvolutionsSize& size = {});

/// The network, built.
Model make_network(const Reference& of);

/// The network quantized, untrained, with ranges measured on noise, and its integers.
Model quantized(const Reference& of);
IntegerModel integers_of(const Reference& of);

/// `count` images of noise, of bytes as files have them, for a network with classes.
Dataset pixels_for(const Reference& of, std::size_t count);

/// `count` examples of noise for it, of floats.
Dataset noise_for(const Reference& of, std::size_t count);

}  // namespace octet::bench
