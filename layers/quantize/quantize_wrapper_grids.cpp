// Which grid the result of a quantized layer lies on, and which layers share one.

#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/layers/activation.h>
#include <octet/layers/quantize/quantize_wrapper.h>

#include <algorithm>
#include <vector>

namespace octet {

const Layer* QuantizeWrapper::layer_of_fixed_grid() const {
  if (result_) return quantizes_before(activation()) ? this : nullptr;
  if (grid() == ResultGrid::fixed) return this;
  const bool shares = grid() == ResultGrid::as_input || grid() == ResultGrid::clamps;
  return shares && !inputs_.empty() ? inputs_.front()->layer_of_fixed_grid() : nullptr;
}

/// Ties the result grids of the inputs of a concatenation. Does nothing until all are built: models
/// from files are connected before they are built, copies after. Throws InvalidArgument for a grid
/// that cannot be another.
void QuantizeWrapper::tie_inputs() const {
  const auto built = [](const Layer* layer) { return layer->built(); };
  if (grid() != ResultGrid::as_inputs || !std::ranges::all_of(inputs_, built)) return;
  std::vector<Quantizer*> producers;
  for (const Layer* input : inputs_) {
    if (const Layer* fixed = input->layer_of_fixed_grid(); fixed != nullptr) {
      throw InvalidArgument(
          fmt::format("{}: expected inputs whose grids can be made one, found \"{}\" with a fixed "
                      "grid (softmax, sigmoid or tanh); put another layer between",
                      name(), fixed->name()));
    }
    producers.push_back(input->result_quantizer());
  }
  // Where one is left in float there is nothing to tie.
  if (std::ranges::count(producers, nullptr) == 0) Quantizer::tie(producers);
}

void QuantizeWrapper::connect(std::span<Layer* const> inputs) {
  inputs_.assign(inputs.begin(), inputs.end());
  tie_inputs();
}

Quantizer* QuantizeWrapper::result_quantizer() const {
  if (result_) return quantizes_before(activation()) ? nullptr : result_.get();
  const ResultGrid own = grid();
  const bool shares =
      own == ResultGrid::as_input || own == ResultGrid::as_inputs || own == ResultGrid::clamps;
  return shares && !inputs_.empty() ? inputs_.front()->result_quantizer() : nullptr;
}

float QuantizeWrapper::range_factor(const ForwardContext& context) const {
  if (result_) return 1.0F;
  switch (grid()) {
    case ResultGrid::as_input:
    case ResultGrid::clamps:
      return layer_->range_factor(context) *
             (inputs_.empty() ? 1.0F : inputs_.front()->range_factor(context));
    case ResultGrid::as_inputs: {
      float widest = 1.0F;
      for (const Layer* input : inputs_) widest = std::max(widest, input->range_factor(context));
      return widest;
    }
    case ResultGrid::unknown:
    case ResultGrid::measured:
    case ResultGrid::fixed:
      return 1.0F;
  }
  throw InvalidArgument("range_factor: a ResultGrid outside the enumeration");
}

}  // namespace octet
