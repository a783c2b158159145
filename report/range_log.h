#pragma once

#include <octet/report/report.h>
#include <octet/train/callback.h>

#include <vector>

namespace octet {

/// Notes the range of every result and, where they are counted (QuantizeOptions), the weights that
/// oscillate between quantized values: after calibration and after every epoch of a quantized
/// model. For Report::ranges and Report::oscillations.
class RangeLog : public Callback {
 public:
  void on_calibrated(Trainer& trainer, const EpochRecord& start) override;
  void on_epoch_end(Trainer& trainer, const EpochRecord& record) override;

  const std::vector<RangeRecord>& ranges() const { return ranges_; }
  const std::vector<OscillationRecord>& oscillations() const { return oscillations_; }

 private:
  void note(const Trainer& trainer, const std::string& moment);

  std::vector<RangeRecord> ranges_;
  std::vector<OscillationRecord> oscillations_;
};

}  // namespace octet
