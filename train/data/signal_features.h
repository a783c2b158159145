#pragma once

#include <octet/frontend/log_mel.h>
#include <octet/train/data/data_options.h>
#include <octet/train/data/dataset.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// "log-mel", "mfcc", "spectrogram", "vibration" and "micro-speech": what DataOptions::front_end
/// may be.
std::vector<std::string> front_end_names();

/// How samples became signals: see the options of the same names of LogMelOptions.
struct SignalForm {
  int sample_rate;
  std::size_t axes;
  double range;
};

/// The front end that DataOptions::front_end and the options beside it name, for such signals.
/// Throws InvalidArgument for another name and as LogMel().
LogMel front_end_of(const DataOptions& options, const SignalForm& form);

/// The bytes [frames, channels] (LogMel::to_byte()) of a signal [samples, axes]. Throws
/// FormatError, in which `where` is what the signal is from, for one shorter than a frame.
std::vector<std::uint8_t> feature_bytes(const LogMel& front_end, std::span<const float> signal,
                                        const std::string& where);

/// Refuses options that do not go with a front end, or without one, which DataOptions::sample_rate
/// does for sounds alone. Throws InvalidArgument.
void require_front_end_options(const DataOptions& options, bool are_sounds);

/// Returns the examples, signals [samples, axes], or [samples] of one axis, with the features
/// [frames, channels] of DataOptions::front_end in place of the samples, which are kept beside them
/// with DataOptions::keep_signals. Throws InvalidArgument as
/// front_end_of(), without a sample rate, for bytes, and for examples of another rank; FormatError
/// as feature_bytes() and for values that leave DataOptions::signal_range, or are no whole numbers
/// where that is 32768.
Dataset with_front_end_features(const Dataset& signals, const DataOptions& options);

}  // namespace octet
