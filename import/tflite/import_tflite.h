#pragma once

#include <octet/import/import_options.h>
#include <octet/layers/model.h>
#include <octet/runtime/integer_model.h>

#include <filesystem>

namespace octet {

/// The model of a `.tflite` file in floats, to be quantized, trained on, or run: what
/// read_tflite() reads, as layers. An operator becomes one layer, and one more where an activation
/// is fused into it that the layer has not; a layer has the name of its operator's result where
/// that is made of letters, digits and '_', and no other has it, and one of the operator and a
/// number otherwise.
///
///     CONV_2D, DEPTHWISE_CONV_2D, TRANSPOSE_CONV     Conv2D, DepthwiseConv2D, TransposedConv2D
///     FULLY_CONNECTED                                Dense, behind a Flatten unless keep_num_dims
///     ADD, MUL, SUB                                  Add, Multiply, Subtract; of a constant, one
///                                                    value or one per channel: BatchNorm
///     MAXIMUM, MINIMUM                               Maximum, Minimum; of such a constant: ReLU
///                                                    between two BatchNorm
///     AVERAGE_POOL_2D, MAX_POOL_2D                   AveragePool2D, MaxPool2D
///     MEAN over height and width                     GlobalAveragePool2D
///     CONCATENATION                                  Concatenate
///     PAD, PADV2 of zeros around images              ZeroPadding2D, for channels between Reshapes
///     RESHAPE, SQUEEZE                               Flatten, Reshape
///     SPLIT, STRIDED_SLICE                           Slice for each part and axis
///     TRANSPOSE                                      Permute
///     GATHER, EMBEDDING_LOOKUP of rows of a table    Embedding, a CAST in front of it nothing
///     MEAN, SQUARED_DIFFERENCE, RSQRT, ...           LayerNormalization, where they spell it out
///     RESIZE_NEAREST_NEIGHBOR by whole factors       UpSampling2D
///     RESIZE_BILINEAR                                Resizing
///     RELU, RELU6, SOFTMAX, LOGISTIC, TANH           activations
///     LEAKY_RELU, HARD_SWISH, ELU, GELU              LeakyReLU, HardSwish, ELU, GELU
///     EXP, LOG, SQRT                                 MathFunction
///     SVDF of a memory above 1                       Dense, Slice, Concatenate, DepthwiseConv2D,
///                                                    Reshapes and a Permute; its state is another
///                                                    input and output, as resource variables are
///
/// Weights of float16, and of int8 beside activations of float32, become float32; so do all numbers
/// of a quantized file, whose QUANTIZE and DEQUANTIZE become nothing. Its scales of activations are
/// not kept: calibration finds them anew.
///
/// Throws as read_tflite(), and FormatError that names every operator that cannot be imported, its
/// number and why, says how many of the others can, and proposes `options.to` as read_tflite()
/// does; for a model without a batch axis. Throws InvalidArgument for `options.shapes` and a layout
/// with channels first: the file states its shapes, and has channels last.
Model import_tflite(const std::filesystem::path& path, const ImportOptions& options = {});

/// Imports a float model that has been read into memory.
Model import_float_model(const IntegerModel& source);

}  // namespace octet
