#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace octet::detail {

/// What one layer takes and costs at one of its widths.
struct KnapsackItem {
  std::int64_t bytes = 0;
  double loss = 0.0;
};

/// One item of each layer, by index, and their sums.
struct KnapsackChoice {
  std::vector<std::size_t> items;
  std::int64_t bytes = 0;
  double loss = 0.0;
};

/// The multiple-choice knapsack: one item per layer, the sum of losses as small as can be within a
/// sum of bytes. Exact, by dynamic programming over layers: of all choices for the layers so far
/// those are kept that fewer than `best_of` others beat in loss without taking more bytes, since
/// with whatever comes behind the others stay ahead (Nemhauser and Ullmann 1969). Choices are
/// ordered by loss, then by bytes, then by the lower index in the last layer, the one before it,
/// and so on. Losses are added as doubles, in the order of layers.
class BitKnapsack {
 public:
  /// `layers[i]` are the items of layer i. Throws InvalidArgument for a layer without items, for
  /// negative bytes and for a loss that is not finite.
  BitKnapsack(std::vector<std::vector<KnapsackItem>> layers, std::size_t best_of);

  /// The best choices that take at most `budget` bytes, the best first: `best_of` of them, or all
  /// where there are fewer.
  std::vector<KnapsackChoice> best(std::int64_t budget) const;

  /// The choices that none beats, by bytes: more of these, less loss.
  std::vector<KnapsackChoice> front() const;

 private:
  /// A choice for the layers up to one: that for the layers before it, and an item.
  struct Partial {
    std::int64_t bytes = 0;
    double loss = 0.0;
    std::size_t before = 0;
    std::size_t item = 0;
  };

  bool lower_in_later_layers(std::size_t layer, const Partial& a, const Partial& b) const;
  std::vector<Partial> unbeaten(std::size_t layer, std::vector<Partial> all) const;
  KnapsackChoice choice(const Partial& last) const;

  std::vector<std::vector<KnapsackItem>> layers_;
  std::size_t best_of_;
  /// By layer: sorted by bytes, then by the order of choices.
  std::vector<std::vector<Partial>> kept_;
};

}  // namespace octet::detail
