#include <octet/core/buffer.h>
#include <octet/core/kernels/gemm.h>
#include <octet/core/kernels/gemm_f32_panel.h>
#include <octet/core/kernels/prefetch.h>
#include <octet/core/parallel.h>

// See docs/performance.md, "Gradients of inputs and kernels".

namespace octet {
namespace {

/// The tiles of a' over a block of k: the first one, and the stride in floats from tile to tile.
struct Tiles {
  detail::PanelRows first;
  Index stride;
};

/// Packs the rows of a transposed operand tile by tile into `packed`: unpacked, it would cost a
/// cache line per k, of which a tile needs a part. pack(i, count, out) packs rows [i, i + count).
template <class Pack>
Tiles pack_tiles(const KernelTable& table, Index rows, Index height, Index depth, float* packed,
                 Pack&& pack) {
  const Index tile_floats = depth * table.f32_packed_rows;
  float* to = packed;
  for (Index i = 0; i < rows; i += height, to += tile_floats) {
    pack(i, static_cast<int>(std::min(height, rows - i)), to);
  }
  return {{packed, 1, table.f32_packed_rows}, tile_floats};
}

/// Scratch memory for pack_tiles() that is enough for any block of a product of depth k.
ScratchBuffer<float, PackedF32> scratch_for_tiles(const KernelTable& table, Index rows,
                                                  Index height, Index k) {
  const Index tile_floats = detail::depth_of_blocks(k) * table.f32_packed_rows;
  return ScratchBuffer<float, PackedF32>(
      static_cast<std::size_t>(divided_up(rows, height) * tile_floats));
}

}  // namespace

PackedF32::PackedF32(const GemmOperand& b, Index k, Index n) : kernels_(&kernels()), k_(k), n_(n) {
  const Index cols = kernels_->f32_cols;
  padded_n_ = divided_up(n, cols) * cols;
  const std::shared_ptr<float[]> data =
      allocate_array<float>(static_cast<std::size_t>(k * padded_n_));
  const Index block = detail::depth_of_blocks(k);
  // By rows: where threads computed b' by rows, each has its own rows in its cache.
  const auto pack_rows = [&](std::size_t begin, std::size_t end) {
    for (auto first = static_cast<Index>(begin), last = static_cast<Index>(end); first < last;) {
      const Index k0 = first / block * block;
      const Index depth = std::min(block, k - k0);
      const Index rows = std::min(last, k0 + depth) - first;
      for (Index j0 = 0; j0 < n; j0 += cols) {
        detail::pack_panel(*kernels_, b, n, first, rows, j0,
                           data.get() + panel_offset(k0, depth, j0) + (first - k0) * cols);
      }
      first += rows;
    }
  };
  const auto rows = static_cast<std::size_t>(k);
  const std::size_t grain = parallel_grain(Work::write_floats, static_cast<std::size_t>(n));
  parallel_for(rows, thread_share(rows, grain), pack_rows);
  data_ = data;
}

Index PackedF32::panel_offset(Index k0, Index depth, Index j0) const {
  return k0 * padded_n_ + j0 * depth;
}

template <class TilesOf>
void PackedF32::multiply_tiles(Index m, Index height, TilesOf&& tiles_of, float* c, Index c_stride,
                               MemoryParts prefetch) const {
  if (k_ == 0) {
    for (Index i = 0; i < m; ++i) std::fill_n(c + i * c_stride, n_, 0.0F);
  }
  const Index block = detail::depth_of_blocks(k_);
  const Index panels = divided_up(k_, block) * (padded_n_ / kernels_->f32_cols);
  detail::PartsPrefetcher prefetcher(prefetch, panels * divided_up(m, height));
  for (Index k0 = 0; k0 < k_; k0 += block) {
    const Index depth = std::min(block, k_ - k0);
    const Tiles tiles = tiles_of(k0, depth);
    for (Index j0 = 0; j0 < n_; j0 += kernels_->f32_cols) {
      detail::multiply_panel(*kernels_, m, height, depth, tiles.first, tiles.stride,
                             data_.get() + panel_offset(k0, depth, j0),
                             std::min<Index>(kernels_->f32_cols, n_ - j0),
                             {k0 > 0 ? c + j0 : nullptr, c_stride, c + j0, c_stride}, prefetcher);
    }
  }
}

void PackedF32::multiply_rows(Index m, const GemmOperand& a, float* c, Index c_stride,
                              MemoryParts prefetch) const {
  const Index height = detail::tile_height(*kernels_, m);
  if (a.transpose == Transpose::no) {
    const auto rows_in_place = [&](Index k0, Index /*depth*/) -> Tiles {
      return {{a.data + k0, a.stride, 1}, height * a.stride};
    };
    return multiply_tiles(m, height, rows_in_place, c, c_stride, prefetch);
  }
  const auto packed = scratch_for_tiles(*kernels_, m, height, k_);
  const auto tiles_of = [&](Index k0, Index depth) {
    return pack_tiles(
        *kernels_, m, height, depth, packed.data(), [&](Index i, int count, float* out) {
          kernels_->passes.pack_rows(a.data + k0 * a.stride + i, a.stride, depth, count, out);
        });
  };
  multiply_tiles(m, height, tiles_of, c, c_stride, prefetch);
}

void PackedF32::multiply_rows(Index m, const CodeOperand& a, float* c, Index c_stride,
                              MemoryParts prefetch) const {
  const Index height = detail::tile_height(*kernels_, m);
  const auto packed = scratch_for_tiles(*kernels_, m, height, k_);
  const auto tiles_of = [&](Index k0, Index depth) {
    return pack_tiles(*kernels_, m, height, depth, packed.data(),
                      [&](Index i, int count, float* out) {
                        kernels_->passes.pack_code_rows(a.data + k0 * a.stride + i, a.stride, depth,
                                                        count, a.scale, a.zero_point, out);
                      });
  };
  multiply_tiles(m, height, tiles_of, c, c_stride, prefetch);
}

}  // namespace octet
