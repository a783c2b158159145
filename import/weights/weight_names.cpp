#include <fmt/format.h>
#include <fmt/ranges.h>
#include <octet/core/printable.h>
#include <octet/import/weights/weight_names.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <utility>

namespace octet::detail {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;

/// A framework's word, and ours.
constexpr std::array<Pair, 1> kKeras = {{{"depthwise_kernel", "kernel"}}};
constexpr std::array<Pair, 4> kPyTorch = {{{"weight", "kernel"},
                                           {"bias", "bias"},
                                           {"running_mean", "moving_mean"},
                                           {"running_var", "moving_variance"}}};
/// PyTorch's names for the tensors of a batch normalization.
constexpr std::array<Pair, 2> kPyTorchNorm = {{{"weight", "gamma"}, {"bias", "beta"}}};
constexpr std::string_view kCounter = "num_batches_tracked";

template <std::size_t n>
std::string ours(const std::array<Pair, n>& words, std::string name) {
  const auto* found = std::ranges::find(words, std::string_view(name), &Pair::first);
  return found == words.end() ? name : std::string(found->second);
}

template <std::size_t n>
std::string theirs(const std::array<Pair, n>& words, std::string name) {
  const auto* found = std::ranges::find(words, std::string_view(name), &Pair::second);
  return found == words.end() ? name : std::string(found->first);
}

NamedWeight split(const WeightTensor& tensor, WeightNames names) {
  std::string_view name = tensor.name;
  if (names == WeightNames::keras && name.ends_with(":0")) name.remove_suffix(2);
  const auto at = name.rfind(names == WeightNames::pytorch ? '.' : '/');
  if (at == std::string_view::npos) return {"", std::string(name), &tensor};
  return {std::string(name.substr(0, at)), std::string(name.substr(at + 1)), &tensor};
}

/// The batch normalizations among the layers of a PyTorch file.
std::set<std::string> batch_norms(const std::vector<NamedWeight>& weights) {
  std::set<std::string> found;
  for (const NamedWeight& weight : weights) {
    const bool vector = weight.tensor->shape.rank() == 1;
    if (weight.name == "running_mean" || (weight.name == "weight" && vector)) {
      found.insert(weight.prefix);
    }
  }
  return found;
}

/// Text and numbers in turns, so that "conv10" comes after "conv2". Of a name that is longer than
/// any layer's the beginning: a part of two letters takes many times their memory.
std::vector<std::pair<std::string, std::string>> natural(std::string_view text) {
  constexpr std::size_t kMost = 1000;
  std::vector<std::pair<std::string, std::string>> parts(1);
  bool number = false;
  for (const char c : text.substr(0, kMost)) {
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (number && !digit) parts.emplace_back();
    number = digit;
    (digit ? parts.back().second : parts.back().first) += c;
  }
  // A longer number is a larger one.
  for (auto& [word, digits] : parts) {
    digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
    digits.insert(0, 1, static_cast<char>(std::min<std::size_t>(digits.size(), 127)));
  }
  return parts;
}

/// What a layer's tensors look like in a file.
using Look = std::map<std::string, std::vector<Index>>;

std::vector<Index> extents(const Shape& shape) { return {shape.begin(), shape.end()}; }

}  // namespace

std::vector<NamedWeight> named_weights(const std::vector<WeightTensor>& tensors,
                                       WeightNames names) {
  std::vector<NamedWeight> weights;
  weights.reserve(tensors.size());
  for (const WeightTensor& tensor : tensors) weights.push_back(split(tensor, names));
  if (names == WeightNames::keras) {
    for (NamedWeight& weight : weights) weight.name = ours(kKeras, weight.name);
  }
  if (names == WeightNames::pytorch) {
    std::erase_if(weights, [](const NamedWeight& weight) { return weight.name == kCounter; });
    const std::set<std::string> norms = batch_norms(weights);
    for (NamedWeight& weight : weights) {
      if (norms.contains(weight.prefix)) weight.name = ours(kPyTorchNorm, weight.name);
      weight.name = ours(kPyTorch, weight.name);
    }
  }
  return weights;
}

std::string file_name(std::string_view prefix, std::string_view name, WeightNames names) {
  if (names != WeightNames::pytorch) return fmt::format("{}/{}", prefix, name);
  return fmt::format("{}.{}", prefix, theirs(kPyTorchNorm, theirs(kPyTorch, std::string(name))));
}

std::string suggested_layers(const std::vector<WeightSlot>& missing,
                             const std::vector<NamedWeight>& unused) {
  std::vector<std::pair<std::string, Look>> wanted;
  for (const WeightSlot& slot : missing) {
    if (wanted.empty() || wanted.back().first != slot.layer) wanted.push_back({slot.layer, {}});
    wanted.back().second[slot.name] = extents(slot.layout.file_shape);
  }
  std::map<std::string, Look> looks;
  for (const NamedWeight& weight : unused) {
    looks[weight.prefix][weight.name] = extents(weight.tensor->shape);
  }
  std::vector<std::pair<std::string, Look>> found(looks.begin(), looks.end());
  std::ranges::stable_sort(found, {}, [](const auto& layer) { return natural(layer.first); });
  std::vector<std::string> pairs;
  for (const auto& [layer, look] : wanted) {
    const auto same = [&wished = look](const auto& other) { return other.second == wished; };
    const auto match = std::ranges::find_if(found, same);
    if (match == found.end()) continue;
    pairs.push_back(fmt::format("{{\"{}\", \"{}\"}}", printable(match->first), layer));
    found.erase(match);
  }
  return pairs.empty() ? "" : fmt::format("{{{}}}", fmt::join(pairs, ", "));
}

}  // namespace octet::detail
