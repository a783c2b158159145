#include <fmt/core.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/layers/quantize/quantize_wrapper.h>
#include <octet/report/range_log.h>
#include <octet/train/trainer.h>

namespace octet {

void RangeLog::on_calibrated(Trainer& trainer, const EpochRecord& /*start*/) {
  note(trainer, "calibrated");
}

void RangeLog::on_epoch_end(Trainer& trainer, const EpochRecord& record) {
  note(trainer, fmt::format("{}", record.epoch));
}

void RangeLog::note(const Trainer& trainer, const std::string& moment) {
  const Model& model = trainer.model();
  for (const auto& layer : model.layers()) {
    const auto* wrapper = as_quantize_wrapper(*layer);
    if (wrapper == nullptr) continue;
    const Quantizer* quantizer = wrapper->activation_quantizer();
    if (quantizer == nullptr || !quantizer->has_range()) continue;
    // The range that the scale spans: a learned scale moves it without the observed range.
    const QuantParams grid = quantizer->params();
    const auto real = [&](std::int32_t code) {
      return static_cast<float>(code - grid.zero_point()) * grid.scale();
    };
    ranges_.push_back({moment, wrapper->wrapped().name(), real(grid.qmin), real(grid.qmax)});
  }
  for (const OscillatingWeights& one : oscillating_weights(model)) {
    oscillations_.push_back({moment, one.layer, one.share, one.frozen});
  }
}

}  // namespace octet
