#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace octet {

/// The gradients that the backward pass of a layer with weights computes from products.
enum class GradientProduct : std::uint64_t { input, kernel };

/// The angles in degrees, from 0 to 180, between the gradients that Backward::int8 gave a layer in
/// one step and those of products of floats.
struct GradientAngle {
  /// Counted from 1.
  std::uint64_t step = 0;
  std::string layer;
  /// None where nothing wants a gradient of the input of the layer.
  std::optional<double> input{};
  std::optional<double> kernel{};
};

/// Collects the angles between gradients a on int8 and b in floats, computed from the same gradient
/// of the result: arccos(a . b / (|a| |b|)). What a layer computes several times in one step, as
/// the steps of time of a recurrent one, is one vector. Sums are doubles, added in the order of
/// add().
class GradientAngles {
 public:
  /// What is added from now on is of this step, counted from 1.
  void begin_step(std::uint64_t step);
  /// Throws InvalidArgument for gradients of two sizes. Passes over values that are not finite,
  /// which training reports.
  void add(const std::string& layer, GradientProduct product, std::span<const float> on_int8,
           std::span<const float> in_floats);

  /// Step by step; within a step the layer that was added last, which computes first, comes first.
  std::vector<GradientAngle> angles() const;

 private:
  /// a . b, a . a and b . b of the gradients a on int8 and b in floats.
  struct Products {
    double both;
    double int8;
    double floats;

    double degrees() const;
  };
  struct Entry {
    std::uint64_t step = 0;
    std::string layer;
    /// By GradientProduct.
    std::array<std::optional<Products>, 2> products{};
  };

  std::optional<Products>& products_of(const std::string& layer, GradientProduct product);

  std::vector<Entry> entries_;
  std::uint64_t step_ = 0;
  /// Where the entries of this step begin.
  std::size_t first_ = 0;
};

}  // namespace octet
