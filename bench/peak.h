#pragma once

namespace octet::bench {

/// What one core of this machine can do at most, measured once: independent multiply-adds on
/// registers, and reading or copying memory that stays in the second-level cache.
struct Peak {
  /// Float multiply-adds, two operations each.
  double float_ops_per_second = 0.0;
  /// int8 dot products (VNNI), two operations a product; 0 where the processor has none.
  double int8_ops_per_second = 0.0;
  double read_bytes_per_second = 0.0;
  /// Bytes copied, each of them read once and written once.
  double copied_bytes_per_second = 0.0;
};

const Peak& peak();

}  // namespace octet::bench
