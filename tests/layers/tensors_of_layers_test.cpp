#include <octet/core/tensor_internal.h>
#include <octet/layers/folded_batch_norm.h>
#include <octet/layers/layers.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/tests/layers/layer_testing.h>

#include <set>

// What holds for the tensors of every kind of layer.

namespace octet::test::tensors_of_layers_test {
namespace {

using detail::TensorAccess;

std::vector<std::unique_ptr<Layer>> every_layer() {
  std::vector<std::unique_ptr<Layer>> layers;
  const auto add = [&layers](std::unique_ptr<Layer> layer, const Shape& input_shape = {4}) {
    layer->build(input_shape, Random(layers.size()));
    layers.push_back(std::move(layer));
  };
  const auto per_channel = default_8bit({.per_channel = true});
  add(std::make_unique<InputLayer>(Shape{4}));
  add(std::make_unique<Dense>(3));
  add(std::make_unique<Dense>(3, Activation::relu, DenseOptions{.use_bias = false}));
  add(std::make_unique<ReLU>());
  add(std::make_unique<ReLU6>());
  add(std::make_unique<Softmax>());
  add(std::make_unique<HardSwish>());
  add(std::make_unique<ActivationLayer>(Activation::tanh));
  add(std::make_unique<Flatten>());
  add(std::make_unique<Reshape>(Shape{2, 2}));
  add(std::make_unique<Dropout>(0.5F));
  add(std::make_unique<BatchNorm>());
  add(std::make_unique<FoldedBatchNorm>(std::make_unique<Dense>(3), std::make_unique<BatchNorm>()));
  add(std::make_unique<ChannelIdentity>());
  add(std::make_unique<FoldedBatchNorm>(std::make_unique<ChannelIdentity>(),
                                        std::make_unique<BatchNorm>()));
  const Shape image = {2, 3, 4};
  add(std::make_unique<MaxPool2D>(), image);
  add(std::make_unique<AveragePool2D>(), image);
  add(std::make_unique<GlobalMaxPool2D>(), image);
  add(std::make_unique<GlobalAveragePool2D>(), image);
  add(std::make_unique<ZeroPadding2D>(Padding2D{.top = 1}), image);
  add(std::make_unique<UpSampling2D>(), image);
  add(std::make_unique<Permute>(std::vector<Index>{3, 1, 2}), image);
  add(std::make_unique<Slice>(SliceOptions{.axis = 1, .begin = 1, .size = 2}), image);
  add(std::make_unique<SplitPart>(2, 1), image);
  add(std::make_unique<QuantizeLayer>());
  add(quantize_annotate_layer(std::make_unique<Dense>(3)));
  for (const Activation activation : {Activation::none, Activation::relu, Activation::softmax}) {
    add(std::make_unique<QuantizeWrapper>(std::make_unique<Dense>(3, activation), default_8bit()));
  }
  add(std::make_unique<QuantizeWrapper>(std::make_unique<Dense>(3), per_channel));
  add(std::make_unique<QuantizeWrapper>(
      std::make_unique<FoldedBatchNorm>(std::make_unique<Dense>(3), std::make_unique<BatchNorm>(),
                                        BatchNormMode::statistics),
      per_channel));
  add(std::make_unique<QuantizeWrapper>(std::make_unique<ReLU>(), default_8bit()));
  add(std::make_unique<QuantizeWrapper>(std::make_unique<Softmax>(), default_8bit()));
  add(std::make_unique<QuantizeWrapper>(std::make_unique<Dropout>(0.1F), default_8bit()));
  return layers;
}

const float* data_of(const Tensor& tensor) { return tensor.data(); }

std::vector<NamedTensor> all_of(const Layer& layer) {
  std::vector<NamedTensor> all = layer.parameters();
  append(all, layer.state());
  append(all, layer.counters());
  return all;
}

TEST(EveryLayer, HasNoTensorTwiceAndNoNameTwice) {
  for (const auto& layer : every_layer()) {
    std::set<const float*> tensors;
    std::set<std::string> names;
    for (const auto& [name, tensor] : all_of(*layer)) {
      EXPECT_TRUE(tensors.insert(data_of(tensor)).second) << layer->type() << " " << name;
      EXPECT_TRUE(names.insert(name).second) << layer->type() << " " << name;
    }
  }
}

TEST(EveryLayer, OnlyParametersWantGradients) {
  for (const auto& layer : every_layer()) {
    for (const auto& [name, tensor] : layer->parameters()) {
      EXPECT_TRUE(tensor.requires_grad()) << layer->type() << " " << name;
    }
    for (const auto& list : {layer->state(), layer->counters()}) {
      for (const auto& [name, tensor] : list) {
        EXPECT_FALSE(tensor.requires_grad()) << layer->type() << " " << name;
      }
    }
  }
}

TEST(EveryLayer, ACloneIsEqualAndSharesNothing) {
  for (const auto& layer : every_layer()) {
    const std::unique_ptr<Layer> clone = layer->clone();
    EXPECT_EQ(clone->type(), layer->type());
    EXPECT_EQ(clone->name(), layer->name());
    EXPECT_TRUE(clone->built());
    EXPECT_EQ(clone->output_shape(), layer->output_shape());
    const auto originals = all_of(*layer);
    const auto copies = all_of(*clone);
    ASSERT_EQ(names_of(copies), names_of(originals));
    for (std::size_t i = 0; i < copies.size(); ++i) {
      EXPECT_NE(data_of(copies[i].tensor), data_of(originals[i].tensor)) << copies[i].name;
      EXPECT_EQ(values_of(copies[i].tensor), values_of(originals[i].tensor));
      EXPECT_EQ(copies[i].tensor.requires_grad(), originals[i].tensor.requires_grad());
    }
    const auto quantizers = layer->quantizers();
    const auto copied = clone->quantizers();
    ASSERT_EQ(copied.size(), quantizers.size());
    for (std::size_t i = 0; i < copied.size(); ++i) EXPECT_NE(copied[i], quantizers[i]);
  }
}

TEST(EveryLayer, OnlyQuantizersAndBatchNormHaveState) {
  for (const auto& layer : every_layer()) {
    std::size_t count = 0;
    for (const Quantizer* quantizer : layer->quantizers()) count += quantizer->state().size();
    const bool normalizes = layer->type() == BatchNorm::kType || folded_batch_norm(*layer);
    if (normalizes) count += 2;
    EXPECT_EQ(layer->state().size(), count) << layer->type();
  }
}

TEST(EveryLayer, TrainingAWrapperMovesStateButNoParameter) {
  for (const auto& layer : every_layer()) {
    if (layer->quantizers().empty()) continue;
    std::vector<std::vector<float>> before;
    for (const auto& [name, tensor] : layer->parameters()) before.push_back(values_of(tensor));
    Tensor x = random_tensor({5, 4}, 2);
    TensorAccess::set_quantization(
        x, std::make_shared<const QuantParams>(QuantParams::per_tensor(0.02F, 3)));
    layer->forward(x, training());
    std::size_t i = 0;
    for (const auto& [name, tensor] : layer->parameters()) {
      EXPECT_EQ(values_of(tensor), before[i++]) << layer->type() << " " << name;
    }
    bool moved = false;
    for (const auto& [name, tensor] : layer->state()) {
      for (const float v : tensor.span()) moved = moved || v != 0.0F;
    }
    EXPECT_TRUE(moved) << layer->type();
  }
}

}  // namespace
}  // namespace octet::test::tensors_of_layers_test
