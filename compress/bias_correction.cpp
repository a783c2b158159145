#include <fmt/core.h>
#include <octet/compress/post_training.h>
#include <octet/compress/side_by_side.h>
#include <octet/core/autograd.h>
#include <octet/core/error.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace octet {
namespace {

/// The mean over all rows of y - reference, by unit. Sums are in double and in the order of the
/// rows, so that they depend on nothing else.
std::vector<double> mean_errors(const Tensor& y, const Tensor& reference) {
  const auto units = static_cast<std::size_t>(y.dim(-1));
  const double rows = static_cast<double>(y.size()) / static_cast<double>(y.dim(-1));
  const std::span<const float> found = y.span();
  const std::span<const float> expected = reference.span();
  std::vector<double> means(units);
  for (std::size_t row = 0; row < found.size(); row += units) {
    for (std::size_t c = 0; c < units; ++c) {
      means[c] += static_cast<double>(found[row + c]) - static_cast<double>(expected[row + c]);
    }
  }
  for (double& mean : means) mean /= rows;
  return means;
}

CorrectedBias errors_of(std::string layer, std::span<const double> means) {
  CorrectedBias result{.layer = std::move(layer)};
  double squares = 0.0;
  for (const double mean : means) {
    if (!std::isfinite(mean)) {
      throw NumericError(fmt::format(
          "correct_biases: expected finite results of layer \"{}\", found a mean error of {}",
          result.layer, mean));
    }
    result.largest_error = std::max(result.largest_error, std::abs(mean));
    squares += mean * mean;
  }
  result.error = std::sqrt(squares / static_cast<double>(means.size()));
  return result;
}

}  // namespace

BiasCorrection correct_biases(Model& quantized, const Model& reference,
                              std::span<const Tensor> inputs) {
  BiasCorrection result;
  const Model floats = in_floats(reference);
  const auto correct = [&](std::size_t i, const Tensor& x, const Tensor& x_float) {
    Layer& layer = *quantized.layers()[i];
    const Layer& in_float = *floats.layers()[i];
    Tensor bias = own_bias(layer);
    if (quantized.is_reused(i)) {
      result.left_out.push_back({layer.name(), "it is used several times"});
      return;
    }
    if (!bias.defined()) {
      result.left_out.push_back({layer.name(), "it has no bias of its own"});
      return;
    }
    const std::vector<double> means = no_grad([&] {
      return mean_errors(linear_with(layer, x, kernel_on_grid(layer)),
                         linear_with(in_float, x_float, kernel_on_grid(in_float)));
    });
    result.corrected.push_back(errors_of(layer.name(), means));
    const std::span<float> values = bias.mutable_span();
    for (std::size_t c = 0; c < values.size(); ++c) {
      values[c] = static_cast<float>(static_cast<double>(values[c]) - means[c]);
    }
  };
  run_side_by_side("correct_biases", quantized, floats, inputs, correct);
  return result;
}

BiasCorrection correct_biases(Model& quantized, std::span<const Tensor> inputs) {
  return correct_biases(quantized, Model(quantized), inputs);
}

}  // namespace octet
