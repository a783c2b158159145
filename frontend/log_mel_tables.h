#pragma once

#include <octet/frontend/log_mel.h>

#include <array>
#include <cstdint>
#include <vector>

// The numbers that log_mel_kernel.inc computes with.

namespace octet {

/// The members of log_mel_config in log_mel_kernel.inc, which says what they are.
struct LogMelTables {
  std::int32_t axes = 1;
  std::int32_t window = 0;
  std::int32_t hop = 0;
  std::int32_t half = 0;
  std::int32_t channels = 0;
  std::int32_t removes_mean = 0;
  std::int32_t has_rms = 0;
  std::int32_t cepstra = 0;
  std::int32_t cepstrum_zero = 0;
  /// Empty without cepstra.
  std::vector<std::int16_t> cosines;
  std::int32_t first_bin = 0;
  std::vector<std::int16_t> window_weights;
  std::vector<std::int16_t> twiddles;
  std::vector<std::int16_t> split_twiddles;
  std::vector<std::int16_t> ends;
  std::vector<std::int16_t> filters;
  std::int32_t smoothing_bits = 0;
  std::array<std::uint32_t, 2> smoothing{};
  std::uint32_t least_left = 0;
  /// Empty without PCAN.
  std::vector<std::int16_t> gains;
  std::int32_t gain_shift = 0;
  std::int32_t correction = 0;
  /// Empty without a logarithm.
  std::vector<std::uint16_t> logarithms;
  std::int32_t log_shift = 0;

  /// FNV-1a of all tables, 32 bits.
  std::uint32_t checksum() const;
  /// Samples of a frame, and its features, of all axes.
  std::size_t frame_size() const { return of_all_axes(window); }
  std::size_t features() const { return of_all_axes(has_rms + (cepstra > 0 ? cepstra : channels)); }
  /// Estimates of noise: one for each channel, also where cepstra are made of them.
  std::size_t noise_size() const { return of_all_axes(channels); }
  /// Numbers that log_mel_frame() works in.
  std::size_t work_size() const { return 4 * static_cast<std::size_t>(half) + 2; }

 private:
  std::size_t of_all_axes(std::int32_t count) const {
    return static_cast<std::size_t>(axes) * static_cast<std::size_t>(count);
  }
};

/// Computes the tables in float32, as microfrontend does. Throws InvalidArgument as LogMel().
LogMelTables make_log_mel_tables(const LogMelOptions& options);

}  // namespace octet
