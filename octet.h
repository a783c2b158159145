#pragma once

// What a program needs that trains a model, quantizes it and exports it. What is for fewer has
// headers of its own: extend.h, and those of importers, of the search for bits, of distributed
// training, of the report and of profiles.

#include <octet/core/language.h>

#include <octet/compress/post_training.h>
#include <octet/core/error.h>
#include <octet/core/log.h>
#include <octet/core/parallel.h>
#include <octet/core/quant/target.h>
#include <octet/core/tensor.h>
#include <octet/deploy/c/writer.h>
#include <octet/deploy/onnx/writer.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/layers/layers.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/layers/sequential.h>
#include <octet/layers/step_model.h>
#include <octet/runtime/interpreter.h>
#include <octet/train/callbacks.h>
#include <octet/train/data/cifar10.h>
#include <octet/train/data/csv.h>
#include <octet/train/data/digits.h>
#include <octet/train/data/idx.h>
#include <octet/train/data/image_augmentation.h>
#include <octet/train/data/npy.h>
#include <octet/train/load_model.h>
#include <octet/train/qat_recipe.h>
#include <octet/train/run/progress_bar.h>
#include <octet/train/run/resume_command.h>
#include <octet/train/run/stop_signals.h>
#include <octet/train/run/training_run.h>
#include <octet/train/trainer.h>
