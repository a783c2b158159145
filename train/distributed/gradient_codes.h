#pragma once

#include <octet/train/distributed/parts.h>

#include <cstddef>
#include <span>
#include <vector>

// Gradients as codes of 8 bits: see GradientFormat::int8.

namespace octet::detail {

/// Parameters, one behind the other, cut into blocks of consecutive elements that share a scale. No
/// block holds elements of two parameters, whose gradients may be of other magnitudes.
class GradientBlocks {
 public:
  /// The most elements of a block.
  static constexpr std::size_t kMost = 256;

  /// `sizes` are those of the parameters.
  explicit GradientBlocks(std::span<const std::size_t> sizes);

  std::size_t count() const { return begins_.size() - 1; }
  std::size_t elements() const { return begins_.back(); }
  /// The elements of a block.
  IndexRange elements_of(std::size_t block) const { return {begins_[block], begins_[block + 1]}; }
  /// The elements of consecutive blocks.
  IndexRange elements_of(IndexRange blocks) const {
    return {begins_[blocks.begin], begins_[blocks.end]};
  }
  /// Bytes of a message that holds these blocks: their scales, then their quantized gradients.
  std::size_t message_bytes(IndexRange blocks) const {
    return sizeof(float) * blocks.size() + elements_of(blocks).size();
  }

 private:
  std::vector<std::size_t> begins_;
};

/// What is done with decoded gradients.
enum class Decoded { replaces, is_added };

/// Codes the sum of `values` and `errors`, elements of `blocks`:
///
///     scale = max |value + error| / 127 over the block
///     code  = round((value + error) / scale), half to even
///
/// leaves what the codes miss in `errors`, writes the codes into `message`, unless that is empty,
/// and code * scale to `to`, unless that is null. `to` may be where the values are. A block with
/// NaN or infinity becomes NaN as a whole, and leaves no errors. The same on any number of threads.
void code_gradients(const GradientBlocks& all, IndexRange blocks, std::span<const float> values,
                    std::span<float> errors, std::span<std::byte> message, float* to,
                    Decoded decoded);

/// What code_gradients() has written into a message.
void decode_gradients(const GradientBlocks& all, IndexRange blocks,
                      std::span<const std::byte> message, float* to, Decoded decoded);

}  // namespace octet::detail
