#include <fmt/core.h>
#include <octet/core/text.h>
#include <octet/train/epoch_text.h>

namespace octet {
namespace {

std::string accuracies(const EpochRecord& record, const std::string& scored_on) {
  if (!record.test_accuracy) {
    if (!record.differing_predictions) return "";
    return fmt::format("  integers differ in {} examples", *record.differing_predictions);
  }
  if (!record.integer_accuracy) {
    return fmt::format("  {} accuracy {}", scored_on, percent_text(*record.test_accuracy));
  }
  return fmt::format("  {} accuracy: simulated {}, integer {}, {} examples differ", scored_on,
                     percent_text(*record.test_accuracy), percent_text(*record.integer_accuracy),
                     record.differing_predictions.value_or(0));
}

std::string scores(const EpochRecord& record, const std::string& scored_on) {
  std::string text = accuracies(record, scored_on);
  for (const auto& [name, value] : record.metrics) text += fmt::format("  {} {:.4g}", name, value);
  return text;
}

}  // namespace

namespace detail {

std::string accuracy_cell(const std::optional<double>& share) {
  return share ? "  accuracy " + percent_text(*share) : "";
}

std::string calibrated_line(const EpochRecord& start, const std::string& scored_on) {
  return fmt::format("{:<5} calibrated{}", start.phase, scores(start, scored_on));
}

std::string epoch_line(const EpochRecord& r, int epochs, const std::string& scored_on) {
  const std::string of_epochs = epochs > 0 ? fmt::format("/{}", epochs) : "";
  return fmt::format("{:<5} {}{}  loss {:.4f}{}  {:.2f} s  {:.0f} img/s{}", r.phase, r.epoch,
                     of_epochs, r.train_loss, accuracy_cell(r.train_accuracy), r.seconds,
                     r.images_per_second, scores(r, scored_on));
}

}  // namespace detail

}  // namespace octet
