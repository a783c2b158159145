#pragma once

#include <octet/runtime/integer_model.h>
#include <octet/train/data/dataset.h>

#include "results.h"
#include "training.h"

namespace octet::application {

/// Writes the C source and the ONNX file of a trained model beside its .tflite file, and tells
/// `results` about them. A format that does not have the model is a warning, and its files, which
/// are those of another run, are removed. On int16 there is neither.
void export_other_formats(const IntegerModel& model, const Application& application,
                          const Options& options, const Dataset& test, Results& results);

}  // namespace octet::application
