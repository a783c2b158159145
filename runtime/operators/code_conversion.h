#pragma once

#include <octet/core/parallel.h>
#include <octet/runtime/operators/definitions.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

// What QUANTIZE and DEQUANTIZE share: a loop over codes with one scale or one per channel.

namespace octet::detail {

/// The grid of a tensor of codes.
struct CodeGrid {
  explicit CodeGrid(const ModelTensor& tensor)
      : params(stored_params(tensor)),
        shape(tensor.shape.begin(), tensor.shape.end()),
        size(static_cast<std::size_t>(tensor.size())) {}

  /// Calls convert(begin, end) over the elements of `samples` samples: in any chunks where there
  /// is one scale, sample by sample where the scale depends on the place.
  template <class Convert>
  void for_chunks(Index samples, Convert&& convert) const {
    const auto count = static_cast<std::size_t>(samples);
    if (params.per_channel()) {
      parallel_for(count, 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) convert(i * size, (i + 1) * size);
      });
      return;
    }
    parallel_for(count * size, kElementsPerChunk, convert);
  }

  QuantParams params;
  std::vector<std::int64_t> shape;
  std::size_t size;
};

/// Op<Code> for the type of the codes, which has been checked.
template <template <class> class Op>
std::unique_ptr<Kernel> make_for_codes(DType codes, const KernelSource& source) {
  if (codes == DType::int8) return std::make_unique<Op<std::int8_t>>(source);
  if (codes == DType::uint8) return std::make_unique<Op<std::uint8_t>>(source);
  return std::make_unique<Op<std::int16_t>>(source);
}

}  // namespace octet::detail
