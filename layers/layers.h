#pragma once

// Includes all of Octet's own layers.

#include <octet/layers/activation.h>
#include <octet/layers/add.h>
#include <octet/layers/average.h>
#include <octet/layers/batch_norm.h>
#include <octet/layers/bidirectional.h>
#include <octet/layers/channel_identity.h>
#include <octet/layers/concatenate.h>
#include <octet/layers/conv1d.h>
#include <octet/layers/conv2d.h>
#include <octet/layers/cropping.h>
#include <octet/layers/dense.h>
#include <octet/layers/depthwise_conv2d.h>
#include <octet/layers/dot.h>
#include <octet/layers/dropout.h>
#include <octet/layers/embedding.h>
#include <octet/layers/folded_batch_norm.h>
#include <octet/layers/global_pool2d.h>
#include <octet/layers/gru.h>
#include <octet/layers/hard_swish.h>
#include <octet/layers/input.h>
#include <octet/layers/layer_normalization.h>
#include <octet/layers/leaky_relu.h>
#include <octet/layers/lstm.h>
#include <octet/layers/math_function.h>
#include <octet/layers/matmul.h>
#include <octet/layers/maximum.h>
#include <octet/layers/multi_head_attention.h>
#include <octet/layers/multiply.h>
#include <octet/layers/permute.h>
#include <octet/layers/pool1d.h>
#include <octet/layers/pool2d.h>
#include <octet/layers/position_embedding.h>
#include <octet/layers/prelu.h>
#include <octet/layers/quantize/quantize_layer.h>
#include <octet/layers/quantize/quantize_wrapper.h>
#include <octet/layers/reshape.h>
#include <octet/layers/resizing.h>
#include <octet/layers/reused_layer.h>
#include <octet/layers/separable_conv2d.h>
#include <octet/layers/sequence_shapes.h>
#include <octet/layers/simple_rnn.h>
#include <octet/layers/slice.h>
#include <octet/layers/smooth_activations.h>
#include <octet/layers/subtract.h>
#include <octet/layers/svdf.h>
#include <octet/layers/transposed_conv2d.h>
#include <octet/layers/upsampling2d.h>
#include <octet/layers/zero_padding2d.h>

namespace octet {

template <class... L>
struct LayerTypes {};

/// The layers that files may name without register_layer(). Each has a kType, which its type()
/// gives, and a make() for what its describe() writes.
using OwnLayers =
    LayerTypes<ActivationLayer, Add, Average, AveragePool1D, AveragePool2D, BatchNorm,
               Bidirectional, CellState, ChannelIdentity, Concatenate, Conv1D, Conv2D, Cropping1D,
               Cropping2D, Dense, DepthwiseConv1D, DepthwiseConv2D, Dot, Dropout, ELU, Embedding,
               Flatten, FoldedBatchNorm, GELU, GlobalAveragePool1D, GlobalAveragePool2D,
               GlobalMaxPool1D, GlobalMaxPool2D, GRU, HardSwish, InputLayer, LayerNormalization,
               LeakyReLU, LSTM, MathFunction, MatMul, Maximum, MaxPool1D, MaxPool2D, Minimum,
               MultiHeadAttention, Multiply, Permute, PositionEmbedding, PReLU, QuantizeLayer,
               QuantizeWrapper, ReLU, ReLU6, RepeatVector, Reshape, Resizing, ReusedLayer,
               RMSNormalization, SiLU, SimpleRNN, Slice, Softmax, SpatialDropout1D,
               SpatialDropout2D, SplitPart, Subtract, SVDF, TransposedConv2D, UpSampling1D,
               UpSampling2D, ZeroPadding1D, ZeroPadding2D>;

}  // namespace octet
