#include <octet/core/kernels/gemm_s8.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/parallel.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <utility>

namespace octet {
namespace {

/// Packed weights up to this size stay in the second-level cache. Then each tile of rows is
/// multiplied by all of them, so that its sums stay in the first; of larger ones each panel is used
/// for several tiles before the next is fetched.
constexpr Index kCachedBytes = Index{1} << 20;
constexpr Index kTilesPerPanel = 4;
/// Rows of small products go through several tiles at a time, as long as their codes and sums take
/// no more than half of the first-level cache.
constexpr Index kChunkBytes = Index{16} << 10;
constexpr Index kMostTiles = 8;
constexpr std::size_t kCacheLine = 64;
constexpr int kMaxRows = 32;
constexpr int kMaxCols = 32;
/// Products below this many multiply-adds are not worth a second thread.
constexpr Index kParallelWork = Index{1} << 20;

/// Memory of the product before, whole cache lines of it, lent to one at a time: rows_done may make
/// another.
template <class T, class Tag>
class Lent {
 public:
  explicit Lent(Index size) : lines_(std::move(spare())) {
    const std::size_t lines =
        (static_cast<std::size_t>(size) * sizeof(T) + kCacheLine - 1) / kCacheLine;
    if (lines_.size() >= lines) return;
    // Nobody wants the old bytes: the new ones are neither beside them nor twice as many.
    lines_ = {};
    lines_.resize(lines);
  }
  ~Lent() { spare() = std::move(lines_); }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;

  T* data() { return reinterpret_cast<T*>(lines_.data()); }
  const T* data() const { return reinterpret_cast<const T*>(lines_.data()); }

 private:
  struct alignas(kCacheLine) Line {
    std::byte bytes[kCacheLine];
  };

  static std::vector<Line>& spare() {
    thread_local std::vector<Line> lines;
    return lines;
  }

  std::vector<Line> lines_;
};

/// Rows of x as the tiles read them: shifted or widened, and padded to whole groups.
void prepare_rows(const KernelTable& table, int offset, const std::int8_t* x, Index x_stride,
                  Index rows, Index k, std::uint8_t* out, Index out_stride) {
  if (x_stride == k && out_stride == k * table.s8_x_bytes) {
    // One row as long as all of them.
    k *= rows;
    x_stride = k;
    out_stride *= rows;
    rows = 1;
  }
  const auto size = static_cast<std::size_t>(k);
  for (Index i = 0; i < rows; ++i) {
    const std::int8_t* from = x + i * x_stride;
    std::uint8_t* to = out + i * out_stride;
    if (table.s8_x_bytes == 2) {
      table.passes.widen_codes(from, size, reinterpret_cast<std::int16_t*>(to));
    } else {
      table.passes.shift_codes(from, size, offset, to);
    }
    // The padding of the weights is zero, so that of x may be anything.
    std::fill(to + k * table.s8_x_bytes, to + out_stride, std::uint8_t{0});
  }
}

/// What the sums of each column start from, panels padded: `start`, less what shifting x adds.
void fill_starts(const PackedS8& w, int offset, std::span<const std::int32_t> start,
                 std::int32_t* padded) {
  const auto sums = w.row_sums();
  for (std::size_t j = 0; j < sums.size(); ++j) {
    const auto shift = static_cast<std::uint32_t>(offset * sums[j]);
    const auto from = start.empty() ? 0U : static_cast<std::uint32_t>(start[j]);
    padded[j] = static_cast<std::int32_t>(from - shift);
  }
}

Index row_bytes(const PackedS8& w) { return w.padded_depth() * w.kernel_table().s8_x_bytes; }

Index chunk_rows(const PackedS8& w) {
  const KernelTable& table = w.kernel_table();
  const bool cached = w.rows() * w.depth() * table.s8_w_bytes <= kCachedBytes;
  const auto sum_bytes = w.rows() * static_cast<Index>(sizeof(std::int32_t));
  const Index tile_bytes = table.s8_rows * (row_bytes(w) + sum_bytes);
  const Index fitting = std::clamp<Index>(kChunkBytes / tile_bytes, 1, kMostTiles);
  return table.s8_rows * (cached ? fitting : kTilesPerPanel);
}

using Take = FunctionRef<void(Index begin, Index end, std::int32_t* sums)>;

/// A product, made by chunks of rows.
class Product {
 public:
  Product(Index m, const std::int8_t* x, Index x_stride, const PackedS8& w,
          std::span<const std::int32_t> start, std::span<const std::byte> soon)
      : m_(m),
        x_(x),
        x_stride_(x_stride),
        w_(w),
        table_(w.kernel_table()),
        tiles_(m <= table_.s8_few_rows ? table_.s8_few : table_.s8),
        depth_(w.padded_depth()),
        row_bytes_(row_bytes(w)),
        chunk_(chunk_rows(w)),
        soon_(soon),
        starts_(w.rows() + kMaxCols) {
    assert(start.empty() || static_cast<Index>(start.size()) == w.rows());
    fill_starts(w, tiles_.offset, start, starts_.data());
    if (tiles_.soon_lines == 0 || soon.empty()) return;
    soon_of_row_ = static_cast<Index>(soon.size()) / m;
    const Index tiles = divided_up(w.rows(), table_.s8_cols) * (chunk_ / table_.s8_rows);
    const Index lines = tiles * (depth_ / table_.s8_depth_step) * tiles_.soon_lines;
    soon_step_ =
        std::min(soon_of_row_ * chunk_ / lines, static_cast<Index>(kCacheLine)) * tiles_.soon_lines;
  }

  /// The sums go to `acc`, or where that is null to memory that the next chunk overwrites; then to
  /// `take`.
  void run(std::int32_t* acc, Take take) {
    const auto run_chunks = [&](std::size_t begin, std::size_t end) {
      const auto step = static_cast<std::size_t>(chunk_);
      for (std::size_t i = begin; i < end; i += step) {
        run_rows(static_cast<Index>(i), static_cast<Index>(std::min(end, i + step)), acc, take);
      }
    };
    const bool parallel = m_ * w_.rows() * w_.depth() >= kParallelWork;
    const Index grain = parallel ? chunk_ : m_;
    parallel_for(static_cast<std::size_t>(m_), static_cast<std::size_t>(grain), run_chunks);
  }

 private:
  void run_rows(Index begin, Index end, std::int32_t* acc, Take take) const {
    const Index n = w_.rows();
    const Index count = end - begin;
    Lent<std::int32_t, struct SumsTag> own(acc == nullptr ? count * n : 0);
    std::int32_t* sums = acc == nullptr ? own.data() : acc + begin * n;
    const std::int8_t* x = x_ + begin * x_stride_;
    const std::byte* soon = soon_.data() + begin * soon_of_row_;
    if (tiles_.begin != nullptr) tiles_.begin();
    if (tiles_.offset == 0 && table_.s8_x_bytes == 1 &&
        (end - 1) * x_stride_ + row_bytes_ <= (m_ - 1) * x_stride_ + w_.depth()) {
      // Where a tile reads on into the next row, the weights are 0.
      multiply(count, reinterpret_cast<const std::uint8_t*>(x), x_stride_, soon, sums);
    } else {
      Lent<std::uint8_t, struct CodesTag> codes(count * row_bytes_);
      prepare_rows(table_, tiles_.offset, x, x_stride_, count, w_.depth(), codes.data(),
                   row_bytes_);
      multiply(count, codes.data(), row_bytes_, soon, sums);
    }
    if (tiles_.end != nullptr) tiles_.end();
    if (take) take(begin, end, sums);
  }

  /// The sums of `count` prepared rows with all of w, rows w.rows() apart.
  void multiply(Index count, const std::uint8_t* x, Index x_stride, const std::byte* soon,
                std::int32_t* sums) const {
    const Index n = w_.rows();
    const Index cols = table_.s8_cols;
    const Index soon_of_tile = soon_step_ * (depth_ / table_.s8_depth_step);
    S8Tile tile{.depth = depth_, .x_stride = x_stride, .panel = w_.data(), .sums_stride = n};
    // Where nothing is to be fetched, what is there already.
    tile.soon = soon_step_ > 0 ? soon : reinterpret_cast<const std::byte*>(x);
    tile.soon_step = soon_step_;
    for (Index j = 0; j < n; j += cols, tile.panel += depth_ * cols * table_.s8_w_bytes) {
      tile.cols = static_cast<int>(std::min(cols, n - j));
      tile.start = starts_.data() + j;
      for (Index i = 0; i < count; i += table_.s8_rows, tile.soon += soon_of_tile) {
        tile.rows = static_cast<int>(std::min<Index>(table_.s8_rows, count - i));
        tile.x = x + i * x_stride;
        tile.sums = sums + i * n + j;
        if (tile.cols == cols) {
          tiles_.whole(tile);
        } else if (tiles_.part != nullptr) {
          tiles_.part(tile);
        } else {
          make_and_copy(tile);
        }
      }
    }
  }

  void make_and_copy(const S8Tile& tile) const {
    alignas(kCacheLine) std::array<std::int32_t, kMaxRows * kMaxCols> all;
    S8Tile padded = tile;
    padded.sums = all.data();
    padded.sums_stride = table_.s8_cols;
    tiles_.whole(padded);
    for (int r = 0; r < tile.rows; ++r) {
      std::copy_n(all.data() + r * padded.sums_stride, tile.cols, tile.sums + r * tile.sums_stride);
    }
  }

  Index m_;
  const std::int8_t* x_;
  Index x_stride_;
  const PackedS8& w_;
  const KernelTable& table_;
  const S8Tiles& tiles_;
  /// Of a prepared row, filled up.
  Index depth_;
  Index row_bytes_;
  Index chunk_;
  std::span<const std::byte> soon_;
  Index soon_of_row_ = 0;
  Index soon_step_ = 0;
  Lent<std::int32_t, struct StartsTag> starts_;
};

}  // namespace

void gemm_s8(Index m, const std::int8_t* x, Index x_stride, const PackedS8& w, std::int32_t* acc,
             std::span<const std::int32_t> start,
             FunctionRef<void(Index begin, Index end)> rows_done) {
  if (m <= 0 || w.rows() == 0) return;
  Product(m, x, x_stride, w, start, {})
      .run(acc, [&](Index begin, Index end, std::int32_t* /*sums*/) {
        if (rows_done) rows_done(begin, end);
      });
}

void gemm_s8(Index m, const std::int8_t* x, Index x_stride, const PackedS8& w,
             std::span<const std::int32_t> start, Take take, std::span<const std::byte> soon) {
  if (m <= 0 || w.rows() == 0) return;
  Product(m, x, x_stride, w, start, soon).run(nullptr, take);
}

std::size_t gemm_s8_thread_bytes(Index m, const PackedS8& w) {
  const auto lines = [](Index bytes) {
    return (static_cast<std::size_t>(bytes) + kCacheLine - 1) / kCacheLine * kCacheLine;
  };
  constexpr Index kSum = sizeof(std::int32_t);
  const Index rows = std::min(m, chunk_rows(w));
  return lines(rows * w.rows() * kSum) + lines((w.rows() + kMaxCols) * kSum) +
         lines(rows * row_bytes(w));
}

}  // namespace octet
