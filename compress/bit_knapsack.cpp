#include <fmt/core.h>
#include <octet/compress/bit_knapsack.h>
#include <octet/core/error.h>

#include <algorithm>
#include <cmath>
#include <queue>
#include <utility>

namespace octet::detail {
namespace {

void check_items(const std::vector<std::vector<KnapsackItem>>& layers) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (layers[i].empty()) {
      throw InvalidArgument(fmt::format("BitKnapsack: layer {} has no items", i));
    }
    for (const KnapsackItem& item : layers[i]) {
      if (item.bytes >= 0 && std::isfinite(item.loss)) continue;
      throw InvalidArgument(fmt::format(
          "BitKnapsack: layer {}: expected bytes from 0 on and a finite loss, found {} and {}", i,
          item.bytes, item.loss));
    }
  }
}

}  // namespace

BitKnapsack::BitKnapsack(std::vector<std::vector<KnapsackItem>> layers, std::size_t best_of)
    : layers_(std::move(layers)), best_of_(best_of) {
  check_items(layers_);
  // Nothing chosen yet; layers before the first are never asked for.
  std::vector<Partial> before(1);
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    std::vector<Partial> all;
    all.reserve(before.size() * layers_[layer].size());
    for (std::size_t i = 0; i < before.size(); ++i) {
      for (std::size_t item = 0; item < layers_[layer].size(); ++item) {
        const KnapsackItem& added = layers_[layer][item];
        all.push_back({before[i].bytes + added.bytes, before[i].loss + added.loss, i, item});
      }
    }
    before = unbeaten(layer, std::move(all));
    kept_.push_back(before);
  }
}

/// Breaks the tie between two choices of equal loss and bytes.
bool BitKnapsack::lower_in_later_layers(std::size_t layer, const Partial& a,
                                        const Partial& b) const {
  const Partial* first = &a;
  const Partial* second = &b;
  while (first->item == second->item && layer > 0) {
    --layer;
    first = &kept_[layer][first->before];
    second = &kept_[layer][second->before];
  }
  return first->item < second->item;
}

/// Sorted; without those that `best_of_` others beat.
std::vector<BitKnapsack::Partial> BitKnapsack::unbeaten(std::size_t layer,
                                                        std::vector<Partial> all) const {
  std::ranges::sort(all, [&](const Partial& a, const Partial& b) {
    if (a.bytes != b.bytes) return a.bytes < b.bytes;
    if (a.loss != b.loss) return a.loss < b.loss;
    return lower_in_later_layers(layer, a, b);
  });
  // The least losses of those in front, which take no more bytes and win all ties.
  std::priority_queue<double> least;
  std::vector<Partial> kept;
  for (const Partial& one : all) {
    if (least.size() == best_of_) {
      if (least.top() <= one.loss) continue;
      least.pop();
    }
    least.push(one.loss);
    kept.push_back(one);
  }
  return kept;
}

KnapsackChoice BitKnapsack::choice(const Partial& last) const {
  KnapsackChoice result{std::vector<std::size_t>(layers_.size()), last.bytes, last.loss};
  const Partial* at = &last;
  for (std::size_t layer = layers_.size(); layer-- > 0;) {
    result.items[layer] = at->item;
    if (layer > 0) at = &kept_[layer - 1][at->before];
  }
  return result;
}

std::vector<KnapsackChoice> BitKnapsack::best(std::int64_t budget) const {
  std::vector<const Partial*> within;
  if (kept_.empty()) return {};
  for (const Partial& one : kept_.back()) {
    if (one.bytes <= budget) within.push_back(&one);
  }
  // Stable: of equal loss and bytes the order of kept_ is the order of choices.
  std::ranges::stable_sort(within, [](const Partial* a, const Partial* b) {
    return a->loss != b->loss ? a->loss < b->loss : a->bytes < b->bytes;
  });
  within.resize(std::min(within.size(), best_of_));
  std::vector<KnapsackChoice> result;
  result.reserve(within.size());
  for (const Partial* one : within) result.push_back(choice(*one));
  return result;
}

std::vector<KnapsackChoice> BitKnapsack::front() const {
  std::vector<KnapsackChoice> result;
  if (kept_.empty()) return result;
  for (const Partial& one : kept_.back()) {
    if (result.empty() || one.loss < result.back().loss) result.push_back(choice(one));
  }
  return result;
}

}  // namespace octet::detail
