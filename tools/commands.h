#pragma once

#include <octet/core/printable.h>
#include <octet/runtime/interpreter.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

// What the commands are given and what they do. octet.cpp alone knows the command line.

namespace octet::tools {

/// A wrong command line that only the files named in it show. `what` begins with the option.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Bytes of a warning that are printed; names in it may be long.
inline constexpr std::size_t kMostOfWarning = 600;
/// The same of a layer's name in a table.
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
  std::size_t limit = 0;
  bool json = false;
};

/// Scores a model on the test images of a folder.
void eval(const EvalOptions& options);

struct ExportOptions {
  std::string file;
  std::string onnx;
  std::string c;
  std::string tflm;
  std::string style = "exact";
  bool int8_io = false;
  std::vector<std::string> codes;
};

/// Writes a model in another format.
void export_model(const ExportOptions& options);

struct ImportOptions {
  std::string file;
  std::string out;
};

/// Makes a float model of another framework's file.
void import_model(const ImportOptions& options);

struct SearchOptions {
  std::string file;
  std::string data;
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
  std::string out;
  /// What the page calls the classes; empty: by their numbers.
  std::vector<std::string> class_names;
  int threads = 0;
};

/// Writes a page about a run that has ended, from what it left in its folder.
void report(const ReportCommand& options);

struct QuantizeCommand {
  std::string file;
  std::string data;
  std::string out;
  ContractOptions contract;
  /// Training examples that ranges are measured on.
  std::size_t calibrate = 1000;
  /// With quantization in the loop; 0: calibration alone.
  int epochs = 0;
  /// None: that of qat_recipe().
  std::optional<float> lr;
  std::size_t batch = 128;
  std::uint64_t seed = 0;
  int weight_bits = 8;
  bool per_channel = false;
  /// How ranges are found, and whether scales are learned, "measured" or "lsq"; "" for the default.
  std::string calibration;
  std::string input_calibration;
  std::string weight_calibration;
  double percentile = 99.99;
  std::string scales;
  /// Whether it is counted how often the codes of weights swing back and forth in training.
  bool count_oscillations = false;
  /// What the float model was trained on is (x - mean) / deviation of pixels in [0, 1]; one number,
  /// or one for each channel. Empty: 0 and 1.
  std::vector<float> mean;
  std::vector<float> deviation;
  int threads = 0;
  std::string report;
  std::vector<std::string> class_names;
  bool resume = false;
  bool json = false;
  /// As it was typed, and what resumes it.
  std::string command;
  std::string resume_command;
};

/// Quantizes a float model and writes it in every format; the exit code.
int quantize(const QuantizeCommand& options);

/// Samples that `verify` compares on where it is given none.
inline constexpr std::size_t kDefaultSamples = 1000;

struct VerifyOptions {
  std::array<std::string, 2> files;
  std::array<ContractOptions, 2> contracts;
  std::string data;
  std::size_t random = 0;
  bool layers = false;
  bool json = false;
};

/// Counts the outputs in which two models differ; whether none does.
bool verify(const VerifyOptions& options);

}  // namespace octet::tools
