#include <octet/core/buffer.h>
#include <octet/core/kernels/gemm_s8.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/kernels/prepare_s8.h>
#include <octet/core/parallel.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstddef>

namespace octet {
namespace {

// See docs/performance.md, "Int8 products".

/// Packed weights up to this size stay in the second-level cache. Each tile of rows is then
/// multiplied by all of them, so that its sums stay in the first-level cache; of larger weights
/// each panel is multiplied by several tiles before the next panel is read.
constexpr Index kCachedBytes = Index{1} << 20;
constexpr Index kTilesPerPanel = 4;
/// A chunk of a small product has several tiles of rows, as long as their codes and sums take no
/// more than half of the first-level cache.
constexpr Index kChunkBytes = Index{16} << 10;
constexpr Index kMaxTiles = 8;
constexpr std::size_t kCacheLine = 64;

const S8Tiles& tiles_for(const KernelTable& table, Index rows) {
  return rows <= table.s8_few_rows ? table.s8_few : table.s8;
}

/// Prepares rows of x for the tiles, and pads them to whole groups.
void prepare_rows(const KernelTable& table, int offset, const std::int8_t* x, Index x_stride,
                  Index rows, Index k, std::uint8_t* out, Index out_stride) {
  if (x_stride == k && out_stride == k * table.s8_x_bytes) {
    // Contiguous rows are one long row.
    k *= rows;
    x_stride = k;
    out_stride *= rows;
    rows = 1;
  }
  const auto size = static_cast<std::size_t>(k);
  for (Index i = 0; i < rows; ++i) {
    std::uint8_t* to = out + i * out_stride;
    prepare_s8(table, offset, x + i * x_stride, size, to);
    // The padding of the weights is zero, so any padding of x would do.
    std::fill(to + k * table.s8_x_bytes, to + out_stride, std::uint8_t{0});
  }
}

/// Computes the initial sum of each column: `start`, minus what shifting the codes of x adds; 0 for
/// the padding of the last panel.
void fill_starts(const PackedS8& w, int offset, std::span<const std::int32_t> start,
                 std::int32_t* padded) {
  const auto sums = w.row_sums();
  const std::size_t n = sums.size();
  if (start.empty()) {
    std::fill_n(padded, n, 0);
  } else {
    std::copy_n(start.data(), n, padded);
  }
  if (offset != 0) {
    // A product of 32 bits takes several instructions without SSE4.1.
    assert(std::has_single_bit(static_cast<unsigned>(offset)));
    const int shift = std::countr_zero(static_cast<unsigned>(offset));
    for (std::size_t j = 0; j < n; ++j) {
      const auto taken_off = static_cast<std::uint32_t>(sums[j]) << shift;
      padded[j] = static_cast<std::int32_t>(static_cast<std::uint32_t>(padded[j]) - taken_off);
    }
  }
  const auto cols = static_cast<std::size_t>(w.kernel_table().s8_cols);
  for (std::size_t j = n; j % cols != 0; ++j) padded[j] = 0;
}

Index row_bytes(const PackedS8& w) { return w.padded_depth() * w.kernel_table().s8_x_bytes; }

Index chunk_rows(const PackedS8& w) {
  const KernelTable& table = w.kernel_table();
  const bool cached = w.rows() * w.depth() * table.s8_w_bytes <= kCachedBytes;
  const auto sum_bytes = w.rows() * static_cast<Index>(sizeof(std::int32_t));
  const Index tile_bytes = table.s8_rows * (row_bytes(w) + sum_bytes);
  const Index fitting = std::clamp<Index>(kChunkBytes / tile_bytes, 1, kMaxTiles);
  return table.s8_rows * (cached ? fitting : kTilesPerPanel);
}

using Epilogue = FunctionRef<void(Index begin, Index end, std::int32_t* sums)>;

/// An int8 product, computed by chunks of rows.
class Int8Product {
 public:
  Int8Product(Index m, const std::int8_t* x, Index x_stride, const PackedS8& w,
              std::span<const std::int32_t> start, std::span<const std::byte> prefetch)
      : m_(m),
        x_(x),
        x_stride_(x_stride),
        w_(w),
        table_(w.kernel_table()),
        tiles_(tiles_for(table_, m)),
        depth_(w.padded_depth()),
        row_bytes_(row_bytes(w)),
        chunk_(chunk_rows(w)),
        prefetch_(prefetch),
        starts_(start_count(w)) {
    assert(start.empty() || static_cast<Index>(start.size()) == w.rows());
    fill_starts(w, tiles_.offset, start, starts_.data());
    if (tiles_.prefetch_lines == 0 || prefetch.empty()) return;
    prefetch_per_row_ = static_cast<Index>(prefetch.size()) / m;
    const Index tiles = divided_up(w.rows(), table_.s8_cols) * (chunk_ / table_.s8_rows);
    const Index lines = tiles * (depth_ / table_.s8_depth_step) * tiles_.prefetch_lines;
    prefetch_step_ = std::min(prefetch_per_row_ * chunk_ / lines, static_cast<Index>(kCacheLine)) *
                     tiles_.prefetch_lines;
  }

  /// The rows of x as the tiles read them, at distances of `stride` bytes.
  void read_prepared(const std::uint8_t* x, Index stride) {
    prepared_ = x;
    prepared_stride_ = stride;
  }

  /// Writes the sums to `acc`, or, if that is null, to scratch memory that the next chunk
  /// overwrites, and passes those of each chunk to `epilogue`.
  void run(std::int32_t* acc, Epilogue epilogue) {
    const auto run_chunks = [&](std::size_t begin, std::size_t end) {
      const auto step = static_cast<std::size_t>(chunk_);
      for (std::size_t i = begin; i < end; i += step) {
        run_rows(static_cast<Index>(i), static_cast<Index>(std::min(end, i + step)), acc, epilogue);
      }
    };
    const auto least_work = static_cast<Index>(parallel_grain(Work::integer_multiply_adds));
    const bool parallel = m_ * w_.rows() * w_.depth() >= least_work;
    const Index grain = parallel ? chunk_ : m_;
    parallel_for(static_cast<std::size_t>(m_), static_cast<std::size_t>(grain), run_chunks);
  }

 private:
  void run_rows(Index begin, Index end, std::int32_t* acc, Epilogue epilogue) const {
    const Index n = w_.rows();
    const Index count = end - begin;
    const ScratchBuffer<std::int32_t, struct SumsScratch> scratch(
        static_cast<std::size_t>(acc == nullptr ? count * n : 0));
    std::int32_t* sums = acc == nullptr ? scratch.data() : acc + begin * n;
    const std::int8_t* x = x_ + begin * x_stride_;
    const std::byte* prefetch = prefetch_.data() + begin * prefetch_per_row_;
    if (prepared_ != nullptr) {
      multiply(count, prepared_ + begin * prepared_stride_, prepared_stride_, prefetch, sums);
    } else if (tiles_.offset == 0 && table_.s8_x_bytes == 1 &&
               (end - 1) * x_stride_ + row_bytes_ <= (m_ - 1) * x_stride_ + w_.depth()) {
      // Reads x in place: where a tile reads on into the next row, the weights are 0.
      multiply(count, reinterpret_cast<const std::uint8_t*>(x), x_stride_, prefetch, sums);
    } else {
      const ScratchBuffer<std::uint8_t, struct CodesScratch> codes(
          static_cast<std::size_t>(count * row_bytes_));
      prepare_rows(table_, tiles_.offset, x, x_stride_, count, w_.depth(), codes.data(),
                   row_bytes_);
      multiply(count, codes.data(), row_bytes_, prefetch, sums);
    }
    if (tiles_.end != nullptr) tiles_.end();
    if (epilogue) epilogue(begin, end, sums);
  }

  /// Multiplies `count` prepared rows by all of w; the row stride of `sums` is w.rows().
  void multiply(Index count, const std::uint8_t* x, Index x_stride, const std::byte* prefetch,
                std::int32_t* sums) const {
    const Index n = w_.rows();
    const Index cols = table_.s8_cols;
    const Index prefetch_per_tile = prefetch_step_ * (depth_ / table_.s8_depth_step);
    S8Tile tile{.depth = depth_, .x_stride = x_stride, .panel = w_.data(), .sums_stride = n};
    // With nothing to prefetch, tiles prefetch a line that is in the cache already.
    tile.prefetch = prefetch_step_ > 0 ? prefetch : reinterpret_cast<const std::byte*>(x);
    tile.prefetch_step = prefetch_step_;
    for (Index j = 0; j < n; j += cols, tile.panel += depth_ * cols * table_.s8_w_bytes) {
      tile.cols = static_cast<int>(std::min(cols, n - j));
      tile.start = starts_.data() + j;
      for (Index i = 0; i < count; i += table_.s8_rows, tile.prefetch += prefetch_per_tile) {
        tile.rows = static_cast<int>(std::min<Index>(table_.s8_rows, count - i));
        tile.x = x + i * x_stride;
        tile.sums = sums + i * n + j;
        if (tile.cols == cols) {
          tiles_.whole(tile);
        } else if (tiles_.part != nullptr) {
          tiles_.part(tile);
        } else {
          multiply_and_copy(tile);
        }
      }
    }
  }

  /// Computes all columns of a partial panel in a buffer and copies those that exist.
  void multiply_and_copy(const S8Tile& tile) const {
    alignas(kCacheLine) std::array<std::int32_t, kMaxS8Rows * kMaxS8Cols> all;
    S8Tile padded = tile;
    padded.sums = all.data();
    padded.sums_stride = table_.s8_cols;
    tiles_.whole(padded);
    for (int r = 0; r < tile.rows; ++r) {
      std::copy_n(all.data() + r * padded.sums_stride, tile.cols, tile.sums + r * tile.sums_stride);
    }
  }

  /// Initial sums for all columns of the last panel, partial or not.
  static std::size_t start_count(const PackedS8& w) {
    return static_cast<std::size_t>(w.rows() + kMaxS8Cols);
  }

  Index m_;
  const std::int8_t* x_;
  Index x_stride_;
  const std::uint8_t* prepared_ = nullptr;
  Index prepared_stride_ = 0;
  const PackedS8& w_;
  const KernelTable& table_;
  const S8Tiles& tiles_;
  /// The padded depth and the bytes of a prepared row.
  Index depth_;
  Index row_bytes_;
  Index chunk_;
  std::span<const std::byte> prefetch_;
  Index prefetch_per_row_ = 0;
  Index prefetch_step_ = 0;
  ScratchBuffer<std::int32_t, struct StartsScratch> starts_;
};

}  // namespace

PreparedS8::PreparedS8(const std::int8_t* values, std::size_t size, Index rows)
    : rows_(rows),
      element_bytes_(kernels().s8_x_bytes),
      data_(reinterpret_cast<const std::uint8_t*>(values)) {
  const KernelTable& table = kernels();
  const int offset = tiles_for(table, rows).offset;
  if (offset == 0 && element_bytes_ == 1) return;
  memory_ = allocate_array<std::uint8_t>(size * static_cast<std::size_t>(element_bytes_));
  parallel_for(size, thread_share(size, parallel_grain(Work::write_floats)),
               [&](std::size_t begin, std::size_t end) {
                 prepare_s8(table, offset, values + begin, end - begin,
                            memory_.get() + begin * static_cast<std::size_t>(element_bytes_));
               });
  data_ = memory_.get();
}

void gemm_s8(Index m, const std::int8_t* x, Index x_stride, const PackedS8& w, std::int32_t* acc,
             std::span<const std::int32_t> start,
             FunctionRef<void(Index begin, Index end)> rows_done) {
  if (m <= 0 || w.rows() == 0) return;
  Int8Product(m, x, x_stride, w, start, {})
      .run(acc, [&](Index begin, Index end, std::int32_t* /*sums*/) {
        if (rows_done) rows_done(begin, end);
      });
}

void gemm_s8(Index m, const std::int8_t* x, Index x_stride, const PackedS8& w,
             std::span<const std::int32_t> start, Epilogue epilogue,
             std::span<const std::byte> prefetch) {
  if (m <= 0 || w.rows() == 0) return;
  Int8Product(m, x, x_stride, w, start, prefetch).run(nullptr, epilogue);
}

void gemm_s8(const PreparedS8& x, Index first, Index x_stride, const PackedS8& w,
             std::span<const std::int32_t> start, Epilogue epilogue) {
  if (x.rows() <= 0 || w.rows() == 0) return;
  Int8Product product(x.rows(), nullptr, 0, w, start, {});
  product.read_prepared(x.at(first), x_stride * x.element_bytes());
  product.run(nullptr, epilogue);
}

std::size_t gemm_s8_thread_bytes(Index m, const PackedS8& w) {
  const auto lines = [](Index bytes) {
    return (static_cast<std::size_t>(bytes) + kCacheLine - 1) / kCacheLine * kCacheLine;
  };
  constexpr Index kSum = sizeof(std::int32_t);
  const Index rows = std::min(m, chunk_rows(w));
  return lines(rows * w.rows() * kSum) + lines((w.rows() + kMaxS8Cols) * kSum) +
         lines(rows * row_bytes(w));
}

}  // namespace octet
