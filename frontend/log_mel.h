#pragma once

#include <octet/core/language.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

struct LogMelTables;

/// What a LogMel computes; the defaults are those of the "micro_speech" models of TensorFlow Lite
/// Micro.
struct LogMelOptions {
  /// Samples a second.
  int sample_rate = 16000;
  /// Signals side by side, such as the axes of an accelerometer: each has features of its own.
  int axes = 1;
  /// The value of a signal that is the sample 32768: 1 of sound, 2 where a sensor gives -2 to 2 g.
  float range = 1;
  /// How long a frame is, and how much later the next one begins.
  int window_ms = 30;
  int hop_ms = 20;
  /// How many bands the spectrum is summed up to. They are spread between two frequencies, evenly
  /// on the mel scale, 1127 ln(1 + f / 700), or evenly in Hz. A band's value is the root of the
  /// energy in it, in Hz divided by 1/64 of the points of the Fourier transform, so that it does
  /// not grow with the frame.
  int channels = 40;
  float lower_hz = 125;
  float upper_hz = 7500;
  bool mel_scale = true;
  /// Whether the mean of each frame is subtracted from it first, such as the share of gravity.
  bool removes_mean = false;
  /// Whether 16 times the root mean square of a frame, its logarithm with `log`, is a feature in
  /// front of the bands.
  bool rms = false;
  /// Noise reduction: what each channel has held for a while, an exponential average with these
  /// weights of the newest value in even and odd channels, is subtracted from it, but at least so
  /// large a share of it stays. Weights of 0: none is subtracted.
  int smoothing_bits = 10;
  float even_smoothing = 0.025F;
  float odd_smoothing = 0.06F;
  float min_signal_remaining = 0.05F;
  /// Per-channel amplitude normalization (PCAN): the gain 2^gain_bits * (noise + offset)^-strength.
  bool pcan = true;
  float pcan_strength = 0.95F;
  float pcan_offset = 80;
  int pcan_gain_bits = 21;
  /// The natural logarithm with so many fraction bits; else values as they are.
  bool log = true;
  int log_scale_shift = 6;
  /// The value that becomes 255 where features become bytes.
  int full_scale = 666;
  /// MFCC: the first so many coefficients of a cosine transform stand in place of the bands f_i, of
  /// which there are n: their mean, then full_scale / 2 + (2 / n) sum_i f_i cos(pi k (i + 1/2) / n)
  /// for k = 1, 2, ..., rounded, 0 where it is less. 0: the bands.
  int cepstra = 0;
};

/// The logarithms of the bands alone, without noise reduction and PCAN: what a network that hears
/// short clips is trained on. The upper limit is 7500 Hz, or less where the rate asks for that.
LogMelOptions plain_log_mel(int sample_rate);
/// All stages, as the "micro_speech" models of TensorFlow Lite Micro have them, with an upper limit
/// as plain_log_mel() has.
LogMelOptions micro_speech(int sample_rate);
/// MFCC: the first 13 coefficients of plain_log_mel().
LogMelOptions mfcc(int sample_rate);
/// The logarithms of bands that are even in Hz, up to 0.4875 times the rate.
LogMelOptions spectrogram(int sample_rate);
/// spectrogram() without the mean of each frame, behind the logarithm of its root mean square: what
/// a network that feels vibration is trained on.
LogMelOptions vibration(int sample_rate);

/// Features of 16-bit signals in exact integer arithmetic, that of TensorFlow Lite Micro's
/// "microfrontend": window, Fourier transform, filter bank, square root, noise reduction, PCAN,
/// logarithm. The C export of a model writes the same code and tables, which give the same bytes.
class LogMel {
 public:
  /// Throws InvalidArgument, which names the option, for a front end that is none.
  explicit LogMel(const LogMelOptions& options = {});
  /// Reads a description(). Throws FormatError for another text, and where this machine's
  /// mathematical library gives other tables than the one that it was written with.
  static LogMel parse(std::string_view description);

  const LogMelOptions& options() const { return options_; }
  /// All options and a checksum of the tables as a text of one line, which models carry in their
  /// metadata "octet.front_end".
  std::string description() const;

  /// In samples, which are a number for each axis.
  std::size_t window() const;
  std::size_t hop() const;
  std::size_t axes() const;
  /// Features of a frame: those of each axis, one axis behind the other.
  std::size_t channels() const;
  /// How many frames `samples` have: none is padded.
  std::size_t frames(std::size_t samples) const;

  /// The sample of a value: 32768 value / range, rounded, and clamped to 16 bits.
  std::int16_t to_sample(float value) const;
  /// The features [frames, channels] of a signal [samples, axes] that begins with silence before
  /// it, row-major. Throws InvalidArgument for a part of a sample.
  std::vector<std::uint16_t> features(std::span<const std::int16_t> signal) const;
  /// The byte of a feature, min((256 feature + full_scale / 2) / full_scale, 255) in integers;
  /// networks read byte / 255.
  std::uint8_t to_byte(std::uint16_t feature) const;

  const LogMelTables& tables() const { return *tables_; }

 private:
  LogMelOptions options_;
  std::shared_ptr<const LogMelTables> tables_;
};

/// Features of a signal that arrives in pieces; between them it keeps the estimates of noise and
/// the samples that the next frame needs. Pieces of any size give the features of the whole.
class LogMelStream {
 public:
  explicit LogMelStream(LogMel front_end);

  /// The features [frames, channels] of the frames that these samples [n, axes] complete. Throws
  /// InvalidArgument for a part of a sample.
  std::vector<std::uint16_t> feed(std::span<const std::int16_t> samples);
  /// Begins another sound.
  void reset();

 private:
  LogMel front_end_;
  std::vector<std::int16_t> frame_;
  std::int32_t count_ = 0;
  std::vector<std::uint32_t> noise_;
  std::vector<std::int16_t> work_;
};

/// The entry of a model's metadata that holds LogMel::description().
inline constexpr const char* kFrontEndKey = "octet.front_end";

}  // namespace octet
