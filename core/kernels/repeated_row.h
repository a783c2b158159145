#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

namespace octet {

/// A row of numbers, one per channel, several times over: a pass over rows of a few channels then
/// takes one call for many of them.
template <class T>
class RepeatedRow {
 public:
  /// For passes over `rows` rows. Refers to `row` where it is long enough by itself.
  RepeatedRow(std::span<const T> row, std::size_t rows) : row_(row.data()) {
    rows_ = row.empty() ? 1 : std::clamp<std::size_t>(copies_.size() / row.size(), 1, rows);
    if (rows_ == 1) return;
    std::ranges::copy(row, copies_.begin());
    const std::size_t size = rows_ * row.size();
    // Twice as many with every copy.
    for (std::size_t filled = row.size(); filled < size; filled *= 2) {
      std::copy_n(copies_.begin(), std::min(filled, size - filled),
                  copies_.begin() + static_cast<std::ptrdiff_t>(filled));
    }
    row_ = copies_.data();
  }
  RepeatedRow(const RepeatedRow&) = delete;
  RepeatedRow& operator=(const RepeatedRow&) = delete;

  const T* data() const { return row_; }
  /// How many rows one call can be given.
  std::size_t rows() const { return rows_; }

 private:
  const T* row_;
  std::size_t rows_ = 1;
  // Only the part that is used is written.
  std::array<T, 512> copies_;
};

}  // namespace octet
