#include <octet/core/buffer.h>
#include <octet/core/kernels/gemm.h>
#include <octet/core/kernels/gemm_f32_panel.h>
#include <octet/core/kernels/soon_lines.h>
#include <octet/core/parallel.h>

namespace octet {
namespace {

/// To pack fewer floats does not pay for waking a thread.
constexpr Index kParallelFloats = Index{1} << 14;

/// The tiles of a' over a block of k, and how far apart they lie.
struct Tiles {
  detail::PanelRows first;
  Index stride;
};

/// Rows of a transposed operand packed tile by tile: read as it stands, it costs a cache line for
/// every k, of which a tile needs a part. pack(i, count, out) packs rows [i, i + count).
template <class Pack>
Tiles pack_tiles(const KernelTable& table, Index rows, Index height, Index depth, Pack&& pack) {
  const Index tiles = divided_up(rows, height);
  const Index tile_floats = depth * table.f32_packed_rows;
  float* packed = thread_floats<PackedF32>(static_cast<std::size_t>(tiles * tile_floats));
  float* to = packed;
  for (Index i = 0; i < rows; i += height, to += tile_floats) {
    pack(i, static_cast<int>(std::min(height, rows - i)), to);
  }
  return {{packed, 1, table.f32_packed_rows}, tile_floats};
}

}  // namespace

PackedF32::PackedF32(const GemmOperand& b, Index k, Index n) : kernels_(&kernels()), k_(k), n_(n) {
  const Index cols = kernels_->f32_cols;
  padded_n_ = divided_up(n, cols) * cols;
  const std::shared_ptr<float[]> data =
      allocate_array<float>(static_cast<std::size_t>(k * padded_n_));
  const Index block = detail::depth_of_blocks(k);
  // By rows: each thread has some of b' in its cache where threads share out what made it.
  const auto pack_rows = [&](std::size_t begin, std::size_t end) {
    for (auto first = static_cast<Index>(begin), last = static_cast<Index>(end); first < last;) {
      const Index k0 = first / block * block;
      const Index depth = std::min(block, k - k0);
      const Index rows = std::min(last, k0 + depth) - first;
      for (Index j0 = 0; j0 < n; j0 += cols) {
        detail::pack_panel(*kernels_, b, n, first, rows, j0,
                           data.get() + place(k0, depth, j0) + (first - k0) * cols);
      }
      first += rows;
    }
  };
  const auto rows = static_cast<std::size_t>(k);
  const auto least = static_cast<std::size_t>(divided_up(kParallelFloats, std::max<Index>(n, 1)));
  parallel_for(rows, thread_share(rows, least), pack_rows);
  data_ = data;
}

Index PackedF32::place(Index k0, Index depth, Index j0) const {
  return k0 * padded_n_ + j0 * depth;
}

template <class TilesOf>
void PackedF32::multiply_tiles(Index m, Index height, TilesOf&& tiles_of, float* c, Index c_stride,
                               MemoryParts soon_parts) const {
  if (k_ == 0) {
    for (Index i = 0; i < m; ++i) std::fill_n(c + i * c_stride, n_, 0.0F);
  }
  const Index block = detail::depth_of_blocks(k_);
  const Index panels = divided_up(k_, block) * (padded_n_ / kernels_->f32_cols);
  detail::SoonParts soon(soon_parts, panels * divided_up(m, height));
  for (Index k0 = 0; k0 < k_; k0 += block) {
    const Index depth = std::min(block, k_ - k0);
    const Tiles tiles = tiles_of(k0, depth);
    for (Index j0 = 0; j0 < n_; j0 += kernels_->f32_cols) {
      detail::multiply_panel(*kernels_, m, height, depth, tiles.first, tiles.stride,
                             data_.get() + place(k0, depth, j0),
                             std::min<Index>(kernels_->f32_cols, n_ - j0),
                             {k0 > 0 ? c + j0 : nullptr, c_stride, c + j0, c_stride}, soon);
    }
  }
}

void PackedF32::multiply_rows(Index m, const GemmOperand& a, float* c, Index c_stride,
                              MemoryParts soon) const {
  const Index height = detail::tile_rows(*kernels_, m);
  const auto tiles_of = [&](Index k0, Index depth) -> Tiles {
    if (a.transpose == Transpose::no) return {{a.data + k0, a.stride, 1}, height * a.stride};
    return pack_tiles(*kernels_, m, height, depth, [&](Index i, int count, float* out) {
      kernels_->passes.pack_rows(a.data + k0 * a.stride + i, a.stride, depth, count, out);
    });
  };
  multiply_tiles(m, height, tiles_of, c, c_stride, soon);
}

void PackedF32::multiply_rows(Index m, const CodeOperand& a, float* c, Index c_stride,
                              MemoryParts soon) const {
  const Index height = detail::tile_rows(*kernels_, m);
  const auto tiles_of = [&](Index k0, Index depth) {
    return pack_tiles(*kernels_, m, height, depth, [&](Index i, int count, float* out) {
      kernels_->passes.pack_code_rows(a.data + k0 * a.stride + i, a.stride, depth, count, a.scale,
                                      a.zero_point, out);
    });
  };
  multiply_tiles(m, height, tiles_of, c, c_stride, soon);
}

}  // namespace octet
