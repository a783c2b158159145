#pragma once

#include <octet/application/options.h>
#include <octet/command_line/parse.h>
#include <octet/core/printable.h>
#include <octet/runtime/interpreter.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// What the commands are given and what they do. octet.cpp and model_commands.cpp know the command
// line.

namespace octet::tools {

using command_line::UsageError;

/// Bytes of a warning that are printed; names in it may be long.
inline constexpr std::size_t kMostOfWarning = 600;
/// Bytes of a layer's name that are printed in a table.
inline constexpr std::size_t kMostOfName = 60;

/// The contract that a command line asks for, by its own name or by that of a runtime.
struct ContractOptions {
  /// Behind the names of the options: "-a" for "--rounding-a".
  std::string suffix;
  std::string rounding;
  std::string target;

  /// None where neither is given. Throws UsageError where they contradict each other.
  std::optional<Rounding> chosen() const;
};

/// How a model is run: the options that `run` and `eval` share.
struct InterpretOptions {
  std::string file;
  ContractOptions contract;
  int threads = 0;

  /// Reads the file and makes it ready for batches of `batch`.
  Interpreter open(Index batch) const;
};

/// Batches for `samples` samples: as many at a time as are quick to run and no burden to hold.
void resize_for(Interpreter& interpreter, std::size_t samples);

struct InspectOptions {
  std::string file;
  bool json = false;
};

/// Prints what a model consists of.
void inspect(const InspectOptions& options);

struct RunOptions {
  InterpretOptions model;
  std::string input;
  std::string out;
  /// 0: as many as the input's size makes.
  std::size_t samples = 0;
};

/// Runs samples of raw numbers through a model.
void run(const RunOptions& options);

struct EvalOptions {
  InterpretOptions model;
  std::string data;
  DataOptions data_options;
  std::size_t limit = 0;
  /// Names of score(), or "confusion".
  std::vector<std::string> metrics;
  bool json = false;
};

/// Scores a model on the test images of a folder, or on the arrays of an .npz file.
void eval(const EvalOptions& options);

struct PredictOptions {
  InterpretOptions model;
  std::vector<std::string> files;
  /// How many classes are shown of each example.
  std::size_t top = 3;
  bool json = false;
};

/// Prints the classes, or the numbers, that a model says of the examples in files.
/// Returns the exit code: 1 where a file cannot be read, which is said, and the others are run.
int predict(const PredictOptions& options);

struct ExportOptions {
  std::string file;
  /// Values of the file that become the ends of the model; none: those of the file.
  std::vector<std::string> from;
  std::vector<std::string> to;
  std::string onnx;
  std::string c;
  std::string c_code = "fast";
  bool c_input_in_arena = false;
  std::optional<std::int64_t> ram;
  std::string tflm;
  std::string tflite;
  /// States are resource variables of .tflite files that are written.
  bool variables = false;
  ContractOptions contract;
  /// Constant units are dropped in C source, where neither is set; in all formats; in none.
  bool prune_constant = false;
  bool no_prune_constant = false;
  std::string style = "exact";
  bool int8_io = false;
  std::vector<std::string> codes;
};

/// Writes a model in another format.
void export_model(const ExportOptions& options);

struct ImportCommand {
  std::string file;
  std::string out;
  /// "NAME=1,16000", an input and its extents.
  std::vector<std::string> shapes;
  /// "nchw", "nhwc", or nothing.
  std::string layout;
  std::vector<std::string> from;
  std::vector<std::string> to;
};

/// Makes a float model of another framework's file.
void import_model(const ImportCommand& options);

struct SearchOptions {
  std::string file;
  std::string data;
  DataOptions data_options;
  application::LossOptions losses;
  ContractOptions contract;
  /// One of the two is given.
  std::optional<std::int64_t> flash;
  std::optional<double> max_drop;
  std::size_t samples = 2000;
  int threads = 0;
  std::string csv;
  std::string svg;
  bool json = false;
};

/// Finds the bits of every layer of a float model for a budget of flash.
void search(const SearchOptions& options);

struct ReportCommand {
  std::string folder;
  std::string data;
  DataOptions data_options;
  std::string out;
  /// What the page calls the classes; empty: by their numbers.
  std::vector<std::string> class_names;
  int threads = 0;
};

/// Writes a page about a run that has ended, from what it left in its folder.
void report(const ReportCommand& options);

struct CompareOptions {
  /// The --out of each run.
  std::vector<std::string> folders;
  bool json = false;
};

/// Prints what runs came to side by side, and the options that differ.
void compare(const CompareOptions& options);

/// Trains a network or a float model, quantizes it and writes it in every format; the exit code.
int train(application::Options options, int argc, char** argv);

/// Samples that `verify` compares on where it is given none.
inline constexpr std::size_t kDefaultSamples = 1000;

struct VerifyOptions {
  std::array<std::string, 2> files;
  std::array<ContractOptions, 2> contracts;
  std::string data;
  DataOptions data_options;
  std::size_t random = 0;
  bool layers = false;
  int threads = 0;
  bool json = false;
};

/// Counts the outputs in which two models differ; whether none does.
bool verify(const VerifyOptions& options);

}  // namespace octet::tools
