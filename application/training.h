#pragma once

#include <octet/octet.h>

#include <cstdio>
#include <functional>
#include <string>

#include "options.h"

namespace octet::application {

/// What a program brings along to a run.
struct Application {
  /// Begins its messages.
  std::string name;
  /// Ends what is said of a wrong command line.
  std::string help = std::string(kSeeHelp);
  /// Begins the names of the files of models: STEM_float.tflite, STEM_int8.tflite, .h and .c.
  std::string stem;
  /// Whether STEM_int8.onnx is written too, which no file of int16 values can be.
  bool writes_onnx = false;
  std::function<DataSplit(const Options& options)> load_data;
  /// The float model, built.
  std::function<Model(const Options& options, const Dataset& train)> make_model;

  /// Says what make_model() did, for the screen; empty: nothing is said.
  std::function<std::string()> model_text{};

  std::string float_file() const { return stem + "_float.tflite"; }
  std::string int8_file() const { return stem + "_int8.tflite"; }
};

/// Writes text that nobody may be there to read: what fails is kept by ferror(). Nothing on a null
/// screen.
void show(std::FILE* screen, const std::string& text);

/// Trains, quantizes, trains on and exports, with output on `screen`; the metrics as one line of
/// JSON on stdout with --json. False where a signal stopped it: it can then be resumed. All ranks
/// of the group call it; rank 0 alone prints and writes files.
/// Throws octet::Error, and command_line::UsageError for options that do not fit the data.
bool train(const Application& application, const Options& options, std::FILE* screen,
           const StopSignals& signals, ProcessGroup& group);

}  // namespace octet::application
