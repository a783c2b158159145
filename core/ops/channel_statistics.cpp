#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/ops/batch_norm_internal.h>
#include <octet/core/ops/partial_sums.h>

#include <algorithm>
#include <vector>

namespace octet {

using detail::rows_of;

namespace {

/// The number of rows, their mean and the sum of the squares of their distances from it, per
/// channel.
struct Moments {
  double count = 0.0;
  std::vector<double> mean;
  std::vector<double> squares;

  explicit Moments(Index channels)
      : mean(static_cast<std::size_t>(channels)), squares(static_cast<std::size_t>(channels)) {}

  /// Adds the statistics of other rows. (Chan, Golub and LeVeque, Updating Formulae, 1979.)
  void add(const Moments& other) {
    const double all = count + other.count;
    const double share = other.count / all;
    const double weight = count * share;
    for (std::size_t c = 0; c < mean.size(); ++c) {
      const double distance = other.mean[c] - mean[c];
      mean[c] += distance * share;
      squares[c] += other.squares[c] + distance * distance * weight;
    }
    count = all;
  }
};

/// Measures blocks of rows by sums of distances from their first row.
class BlockMoments {
 public:
  BlockMoments(const detail::ChannelBlocks& blocks, const float* x)
      : blocks_(blocks),
        x_(x),
        sums_(static_cast<std::size_t>(2 * blocks.channels())),
        moments_(blocks.channels()) {}

  /// Returns the moments of the rows [begin, end), at most a block; valid until the next call.
  const Moments& of(Index begin, Index end) {
    const float* first = x_ + begin * blocks_.channels();
    blocks_.repeat(first, centers_);
    std::ranges::fill(sums_, 0.0);
    blocks_.add_block(begin, end, 2, sums_.data(),
                      [&](Index at, std::size_t rows, std::size_t columns, float* to) {
                        kernels().passes.column_moments(x_ + at, rows, columns, centers_.data(),
                                                        to);
                      });
    moments_.count = static_cast<double>(end - begin);
    const double share = 1.0 / moments_.count;
    const std::size_t channels = moments_.mean.size();
    for (std::size_t c = 0; c < channels; ++c) {
      const double distance = sums_[c] * share;
      moments_.mean[c] = double{first[c]} + distance;
      moments_.squares[c] = std::max(0.0, sums_[channels + c] - sums_[c] * distance);
    }
    return moments_;
  }

 private:
  const detail::ChannelBlocks& blocks_;
  const float* x_;
  std::vector<float> centers_;
  std::vector<double> sums_;
  Moments moments_;
};

Moments moments_of(const Tensor& x) {
  const Index rows = rows_of(x);
  const detail::ChannelBlocks blocks(x.dim(-1));
  const Index parts = count_parts(rows, 2 * blocks.channels());
  std::vector<Moments> all(static_cast<std::size_t>(parts), Moments(blocks.channels()));
  for_each_part(rows, parts, [&, from = x.data()](Index part, Index begin, Index end) {
    BlockMoments block(blocks, from);
    for (Index row = begin; row < end; row += blocks.block_rows()) {
      all[static_cast<std::size_t>(part)].add(
          block.of(row, std::min(end, row + blocks.block_rows())));
    }
  });
  for (std::size_t part = 1; part < all.size(); ++part) all.front().add(all[part]);
  return all.front();
}

}  // namespace

ChannelStatistics channel_statistics(const Tensor& x) {
  if (x.rank() == 0 || rows_of(x) == 0) {
    throw InvalidArgument(
        fmt::format("channel_statistics: expected an input [..., channels] with at least one row, "
                    "found {}",
                    x.shape().to_string()));
  }
  const Moments moments = moments_of(x);
  ChannelStatistics result{Tensor({x.dim(-1)}), Tensor({x.dim(-1)})};
  float* mean = result.mean.mutable_data();
  float* variance = result.variance.mutable_data();
  for (std::size_t c = 0; c < moments.mean.size(); ++c) {
    mean[c] = static_cast<float>(moments.mean[c]);
    variance[c] = static_cast<float>(moments.squares[c] / moments.count);
  }
  return result;
}

}  // namespace octet
