#pragma once

#include <octet/core/buffer.h>
#include <octet/core/tensor.h>

#include <algorithm>
#include <vector>

namespace octet::detail {

/// How passes go through rows [..., channels]: rows of few channels several side by side, as one
/// row of more columns.
class ChannelBlocks {
 public:
  explicit ChannelBlocks(Index channels)
      : channels_(channels),
        repeats_(std::max<Index>(1, kColumns / std::max<Index>(channels, 1))) {}

  Index channels() const { return channels_; }
  /// Numbers of one row as vector kernels read it: several rows of `channels` side by side.
  Index columns() const { return channels_ * repeats_; }
  /// Rows of a block, whose sums are made in float: a part of the definition of a sum.
  Index block_rows() const { return kBlock * repeats_; }

  /// Writes a number per channel as one per column.
  void repeat(const float* row, std::vector<float>& columns) const {
    columns.clear();
    for (Index i = 0; i < repeats_; ++i) columns.insert(columns.end(), row, row + channels_);
  }
  std::vector<float> repeated(const float* row) const {
    std::vector<float> columns;
    repeat(row, columns);
    return columns;
  }

  /// Calls body(at, rows, columns) for rows of columns that are the rows [begin, end), `at` the
  /// position of the first number.
  template <class Body>
  void for_each_piece(Index begin, Index end, Body&& body) const {
    const Index rest = (end - begin) % repeats_;
    const auto rows = static_cast<std::size_t>((end - begin) / repeats_);
    if (rows > 0) {
      body(begin * channels_, rows, static_cast<std::size_t>(channels_ * repeats_));
    }
    if (rest > 0) {
      body((end - rest) * channels_, std::size_t{1}, static_cast<std::size_t>(rest * channels_));
    }
  }

  /// Adds `terms` sums of each channel over the rows [begin, end), at most a block, to totals
  /// [terms, channels]; pass(at, rows, columns, sums) writes those of columns [terms, columns].
  template <class Pass>
  void add_block(Index begin, Index end, Index terms, double* totals, Pass&& pass) const {
    const ScratchBuffer<float, ChannelBlocks> sums(
        static_cast<std::size_t>(terms * channels_ * repeats_));
    for_each_piece(begin, end, [&](Index at, std::size_t rows, std::size_t columns) {
      pass(at, rows, columns, sums.data());
      const float* from = sums.data();
      for (Index term = 0; term < terms; ++term) {
        double* to = totals + term * channels_;
        for (std::size_t i = 0; i < columns; i += static_cast<std::size_t>(channels_)) {
          for (Index c = 0; c < channels_; ++c) to[c] += double{*from++};
        }
      }
    });
  }

 private:
  static constexpr Index kColumns = 64;
  static constexpr Index kBlock = 64;

  Index channels_;
  Index repeats_;
};

}  // namespace octet::detail
