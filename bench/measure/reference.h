#pragma once

#include <octet/octet.h>

#include <cstddef>
#include <span>
#include <string>
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

/// What steps of training are measured of.
struct TrainedNetwork {
  /// mlp, lenet5, dscnn, resnet8, mobilenet or autoencoder, at its reference's size; or
  /// convolutions, of the size that `of` says.
  std::string network = "lenet5";
  ConvolutionsSize of;
  bool quantized = false;
  /// Whether a quantized network goes by the statistics of each batch, as one that is trained
  /// quantized from the start, instead of moving ones that are folded.
  bool batch_statistics = false;
  Backward backward = Backward::float32;
  std::size_t batch = 128;
};

/// The network that is trained, built, and quantized where it is to be.
Model model_of(const TrainedNetwork& trained);
/// How it is trained: statistics of batches are never frozen.
TrainerOptions options_of(const TrainedNetwork& trained);

/// `count` images of noise, of bytes as files have them, for a network with classes.
Dataset pixels_for(const Reference& of, std::size_t count);

/// `count` examples of noise for it, of floats.
Dataset noise_for(const Reference& of, std::size_t count);

}  // namespace octet::bench
