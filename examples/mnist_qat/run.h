#pragma once

#include <octet/train/layer_differences.h>
#include <octet/train/trainer.h>

#include <atomic>
#include <cstdio>
#include <optional>

#include "hashes.h"
#include "options.h"

namespace octet::mnist {

/// What a whole run came to.
struct Results {
  std::string data_name;
  std::size_t train_count = 0;
  std::size_t test_count = 0;
  History history;
  double float_accuracy = 0.0;
  /// Of the calibrated model, before any step with quantization in the loop.
  std::optional<double> calibrated_integer_accuracy;
  double simulated_accuracy = 0.0;
  double integer_accuracy = 0.0;
  std::size_t differing_predictions = 0;
  /// Of the simulation and the exported file, over the test images.
  NetworkDifference layer_differences;
  /// With --profile: where the time of the steps of each phase went.
  Profile float_profile;
  Profile qat_profile;
  std::uintmax_t float_bytes = 0;
  std::uintmax_t int8_bytes = 0;
  /// Of the C source: constants, and static buffers.
  std::int64_t c_flash_bytes = 0;
  std::int64_t c_ram_bytes = 0;
  Hashes hashes;
  int threads = 0;
  double seconds = 0.0;
};

/// Writes text that nobody may be there to read: what fails is kept by ferror().
void show(std::FILE* screen, const std::string& text);

/// The data set that the options ask for.
DataSplit load_data(const Options& options);

/// Trains, quantizes, trains on and exports, with screen output on `screen`. None where
/// `stop_requested` became true: a checkpoint to resume from has then been saved.
/// Throws octet::Error.
std::optional<Results> run(const Options& options, std::FILE* screen,
                           const std::atomic<bool>& stop_requested);

/// In a checkpoint of the quantized phase: the history of the phase before.
inline constexpr const char* kFloatHistoryNote = "float_history";

/// Where run() writes its checkpoints and exports.
std::filesystem::path checkpoint_path(const Options& options);
std::filesystem::path metrics_path(const Options& options);
std::filesystem::path int8_path(const Options& options);
std::filesystem::path float_path(const Options& options);
/// Without the extensions .h and .c.
std::filesystem::path c_source_path(const Options& options);

}  // namespace octet::mnist
