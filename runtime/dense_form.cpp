#include <octet/runtime/dense_form.h>
#include <octet/runtime/model_builder.h>
#include <octet/runtime/operators/fully_connected.h>

#include <algorithm>
#include <map>

namespace octet {
namespace {

class Convolver {
 public:
  explicit Convolver(IntegerModel model) : builder_(std::move(model)) {}

  IntegerModel run() {
    IntegerModel& model = builder_.model();
    source_ = std::exchange(model.operators, {});
    for (const Operator& op : source_) {
      if (convertible(op)) {
        convert(op);
      } else {
        model.operators.push_back(op);
      }
    }
    return std::move(model);
  }

 private:
  ModelTensor& tensor(std::int32_t i) {
    return builder_.model().tensors[static_cast<std::size_t>(i)];
  }

  /// Whether the operator multiplies by the weights, and reads them nowhere else.
  bool multiplies_by(const Operator& op, std::int32_t weights) {
    return op.code == OpCode::fully_connected && tensor(op.inputs[0]).dtype == DType::int8 &&
           op.inputs[1] == weights && std::ranges::count(op.inputs, weights) == 1;
  }

  /// Whether all that read the weights of an operator can be CONV_2D.
  bool convertible(const Operator& op) {
    if (op.code != OpCode::fully_connected) return false;
    const std::int32_t weights = op.inputs[1];
    const auto reads_otherwise = [&](const Operator& other) {
      return std::ranges::count(other.inputs, weights) > 0 && !multiplies_by(other, weights);
    };
    return tensor(weights).quantization.per_channel() &&
           std::ranges::count(builder_.model().outputs, weights) == 0 &&
           std::ranges::none_of(source_, reads_otherwise);
  }

  /// Whether anything but a CONV_2D to be reads the tensor.
  bool is_read_flat(std::int32_t i) {
    return std::ranges::count(builder_.model().outputs, i) > 0 ||
           std::ranges::any_of(source_, [&](const Operator& op) {
             return std::ranges::count(op.inputs, i) > 0 && !convertible(op);
           });
  }

  void convert(const Operator& op) {
    // convertible() of other operators does not look at the shape of these weights.
    const std::int32_t weights = op.inputs[1];
    const std::int32_t units = tensor(weights).shape[0];
    const std::int32_t depth = tensor(weights).shape.back();
    const bool keeps_axes = op.as<FullyConnectedAttributes>().keep_num_dims;
    const std::int32_t input = image_of(op.inputs[0], depth, keeps_axes);
    tensor(weights).shape = {units, 1, 1, depth};
    // Runtimes rescale CONV_2D of packed weights otherwise.
    tensor(weights).stored_bits = 8;
    const bool has_bias = op.inputs.size() > 2 && op.inputs[2] != -1;
    const std::int32_t bias = has_bias ? op.inputs[2] : zero_bias(input, weights);
    const std::int32_t flat = op.outputs[0];
    const std::int32_t output = is_read_flat(flat) ? add_image(flat, units, keeps_axes) : flat;
    if (output == flat) make_image(tensor(flat), units, keeps_axes);
    builder_.op(OpCode::conv_2d, {input, weights, bias}, output,
                Conv2DAttributes{.activation = op.activation()});
    images_[flat] = output;
    if (output != flat) reshape(output, flat);
  }

  /// The tensor as make_image() shapes it.
  std::int32_t image_of(std::int32_t flat, std::int32_t depth, bool keeps_axes) {
    ModelTensor wanted = tensor(flat);
    make_image(wanted, depth, keeps_axes);
    const auto found = images_.find(flat);
    if (found != images_.end() && tensor(found->second).shape == wanted.shape) {
      return found->second;
    }
    const std::int32_t image = add_image(flat, depth, keeps_axes);
    reshape(flat, image);
    images_[flat] = image;
    return image;
  }

  /// Rows are images [n, 1, 1, depth]; where the operator keeps axes, pixels [n, 1, rows of one of
  /// n, depth].
  static void make_image(ModelTensor& tensor, std::int32_t depth, bool keeps_axes) {
    const auto rows = static_cast<std::int32_t>(tensor.size() / depth);
    const bool any_batch = !tensor.shape_signature.empty() && tensor.shape_signature[0] == -1;
    const std::int32_t images = keeps_axes && tensor.shape.size() > 1 ? tensor.shape[0] : rows;
    tensor.shape = {images, 1, rows / images, depth};
    tensor.shape_signature.clear();
    if (any_batch) tensor.shape_signature = {-1, 1, rows / images, depth};
  }

  std::int32_t add_image(std::int32_t flat, std::int32_t depth, bool keeps_axes) {
    ModelTensor image = tensor(flat);
    image.name += "/image";
    image.data.clear();
    make_image(image, depth, keeps_axes);
    return builder_.add(std::move(image));
  }

  void reshape(std::int32_t from, std::int32_t to) {
    const ModelTensor& target = tensor(to);
    const auto shape = target.shape_signature.empty() ? target.shape : target.shape_signature;
    builder_.reshape_to(target.name, from, to, shape);
  }

  std::int32_t zero_bias(std::int32_t input, std::int32_t weights) {
    const QuantParams params =
        detail::bias_quantization(tensor(input), tensor(weights), DType::int32);
    const std::vector<std::int32_t> zeros(params.scales.size());
    return builder_.constant(tensor(weights).name + "/zero_bias", DType::int32,
                             {static_cast<std::int32_t>(zeros.size())},
                             std::span<const std::int32_t>(zeros), params);
  }

  ModelBuilder builder_;
  std::vector<Operator> source_;
  /// The image of a tensor's rows, by its index.
  std::map<std::int32_t, std::int32_t> images_;
};

}  // namespace

IntegerModel per_channel_as_conv_2d(IntegerModel model) {
  model.validate();
  return Convolver(std::move(model)).run();
}

}  // namespace octet
