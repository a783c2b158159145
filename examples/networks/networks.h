#pragma once

#include <octet/octet.h>

#include <string>
#include <string_view>
#include <vector>

// Networks for small machines. Each takes the shape of an example and gives a model that is not
// built yet; images are [height, width] or [height, width, channels], of any size. `outputs` are
// classes, each with a probability, or with another `end` the numbers that examples have as
// targets. The numbers of parameters count those of BatchNorm, its moving statistics included.

namespace octet::networks {

struct MlpOptions {
  /// A BatchNorm between each hidden layer and its relu.
  bool batch_norm = false;
  /// The rate of a Dropout behind each hidden layer; 0: none.
  float dropout = 0.0F;
  /// The rate of a Dropout in front of the first layer.
  float input_dropout = 0.0F;
  /// What the last layer ends in.
  Activation end = Activation::softmax;
  std::string name = "mlp";
};

/// Dense layers of `hidden` units with relu, and one with MlpOptions::end.
Sequential mlp(const Shape& example, const std::vector<int>& hidden, Index outputs,
               const MlpOptions& options = {});

/// LeNet-5 with relu and max pooling: 61,706 parameters for images of 28 x 28 x 1 and 10 classes.
/// (LeCun, Bottou, Bengio, Haffner: Gradient-Based Learning Applied to Document Recognition, 1998.)
Sequential lenet5(const Shape& image, Index outputs, Activation end = Activation::softmax);

/// The ResNet of MLPerf Tiny's image classification, with 8 layers of weights on the longest path:
/// 78,666 parameters for images of 32 x 32 x 3 and 10 classes.
Model resnet8(const Shape& image, Index outputs, Activation end = Activation::softmax);

/// The DS-CNN of MLPerf Tiny's keyword spotting, depthwise separable convolutions without its
/// dropout: 24,908 parameters for images of 49 x 10 x 1 and 12 classes.
Model dscnn(const Shape& image, Index outputs, Activation end = Activation::softmax);

/// MobileNet v1 with `width` times its filters (Howard et al., 2017). With the default width it is
/// the network of MLPerf Tiny's visual wake words: 221,794 parameters for images of 96 x 96 x 3 and
/// 2 classes. Throws InvalidArgument for a width that is not above 0 and at most 4.
Model mobilenet_v1(const Shape& image, Index outputs, Activation end = Activation::softmax,
                   double width = 0.25);

/// Networks for sequences [steps, features], such as windows of sensor values or frames of sound.
/// They throw InvalidArgument for examples of another shape.
///
/// A convolution over 5 steps, a GRU of 48 units and the mean of its states: 14,329 parameters for
/// 12 features and 9 classes.
Model gru(const Shape& sequence, Index outputs, Activation end = Activation::softmax);
/// A GRU of 48 units and its last state, for sequences of several lengths: the last feature of each
/// step is its mask, as SequencePadding::mask makes it.
Model masked_gru(const Shape& sequence, Index outputs, Activation end = Activation::softmax);
inline constexpr std::string_view kMaskedGru = "masked_gru";
/// Causal convolutions with residuals, dilated by 1, 2, 4 and 8 steps, and the mean of their
/// results; up to the mean it can run step by step. (Bai, Kolter, Koltun: An Empirical Evaluation
/// of Generic Convolutional and Recurrent Networks for Sequence Modeling, 2018.)
Model tcn(const Shape& sequence, Index outputs, Activation end = Activation::softmax);
/// A convolution that halves the steps, trained positions and two blocks of self-attention with 4
/// heads and normalization in front (Vaswani et al., 2017; Xiong et al., 2020).
Model attention(const Shape& sequence, Index outputs, Activation end = Activation::softmax);

/// The autoencoder of MLPerf Tiny's anomaly detection, 128-128-128-128-8-128-128-128-128 units
/// between `values` inputs and outputs: 269,992 parameters for 640 values. It is trained to give
/// back what it is given; what it cannot give back is unlike what it was trained on.
Sequential autoencoder(Index values);

/// A network that takes images or sequences and gives a probability for each class, or numbers.
struct Classifier {
  std::string_view name;
  Model (*make_with_end)(const Shape& example, Index outputs, Activation end);
  /// Learning rates of Adam with batches of about 128 examples: in float, and where the quantized
  /// steps begin, from which it falls to 0.
  float learning_rate = 1e-3F;
  float qat_learning_rate = 1e-4F;
  /// Whether the rate falls from the first to the second over the steps in float, or stays.
  bool rate_falls = false;

  Model make(const Shape& example, Index outputs, Activation end = Activation::softmax) const {
    return make_with_end(example, outputs, end);
  }
};

/// The classifiers above that take nothing but the shape of images and the number of classes.
const std::vector<Classifier>& classifiers();
/// The classifiers of sequences.
const std::vector<Classifier>& sequence_classifiers();

/// The classifier of images or sequences of that name. Throws InvalidArgument, which lists the
/// names, where there is none.
const Classifier& classifier(std::string_view name);

}  // namespace octet::networks
