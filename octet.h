#pragma once

// Everything that a training program needs.

#include <octet/core/autograd.h>
#include <octet/core/error.h>
#include <octet/core/gradcheck.h>
#include <octet/core/log.h>
#include <octet/core/ops/fake_quant.h>
#include <octet/core/ops/ops.h>
#include <octet/core/parallel.h>
#include <octet/core/profile.h>
#include <octet/core/quant/quantize.h>
#include <octet/core/tensor.h>
#include <octet/deploy/c/writer.h>
#include <octet/deploy/dense_form.h>
#include <octet/deploy/lower.h>
#include <octet/deploy/onnx/writer.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/layers/activation.h>
#include <octet/layers/dense.h>
#include <octet/layers/dropout.h>
#include <octet/layers/input.h>
#include <octet/layers/quantize/quantize_layer.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/layers/quantize/quantize_wrapper.h>
#include <octet/layers/reshape.h>
#include <octet/layers/sequential.h>
#include <octet/runtime/interpreter.h>
#include <octet/train/callbacks.h>
#include <octet/train/checkpoint.h>
#include <octet/train/data/digits.h>
#include <octet/train/data/idx.h>
#include <octet/train/layer_differences.h>
#include <octet/train/load_model.h>
#include <octet/train/progress_bar.h>
#include <octet/train/trainer.h>
