#include <octet/core/error.h>
#include <octet/layers/lower.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/report/measure_internal.h>
#include <octet/report/remedies.h>
#include <octet/train/distributed/messages.h>
#include <octet/train/evaluate.h>

#include <span>
#include <utility>
#include <vector>

namespace octet {
namespace {

Labels predictions_with(const detail::Remedy* remedy, detail::Attempt attempt) {
  if (remedy != nullptr) remedy->carry_out(attempt);
  const Model quantized =
      detail::quantize_quietly(attempt.model, attempt.calibration, attempt.options);
  return evaluate(lower(quantized), attempt.samples).predictions;
}

}  // namespace

void detail::try_remedies(const ReportModels& models, std::vector<Tensor> calibration,
                          const Dataset& samples, ProcessGroup& ranks, LayerReport& report) {
  const Attempt as_it_is{*models.float_model, options_of(*models.quantized), std::move(calibration),
                         samples};
  const std::vector<Remedy> remedies = remedies_for(report, *models.float_model);
  if (remedies.empty()) return;
  const Labels without = predictions_with(nullptr, as_it_is);
  const auto right_in = [&](const Labels& predictions) {
    std::size_t right = 0;
    for (std::size_t k = 0; k < predictions.size(); ++k) {
      right += predictions[k] == samples.labels()[k] ? 1 : 0;
    }
    return static_cast<double>(right);
  };
  // For each remedy: whether it can be carried out, and the examples that one alone has right.
  constexpr std::size_t kNumbers = 4;
  const auto measure = [&](std::size_t i, std::span<double> result) {
    try {
      const Labels with = predictions_with(&remedies[i], as_it_is);
      const PairedTest test = mcnemar_test(without, with, samples.labels());
      result[0] = 1.0;
      result[1] = right_in(with);
      result[2] = static_cast<double>(test.only_first_right);
      result[3] = static_cast<double>(test.only_second_right);
    } catch (const InvalidArgument&) {
      // Not every network takes every remedy: standardize_inputs() wants one layer behind the
      // input.
      result[0] = 0.0;
    } catch (const NumericError&) {
      // As a weight that equalization makes infinite.
      result[0] = 0.0;
    }
  };
  const std::vector<double> found = share_out(ranks, remedies.size(), kNumbers, measure);
  const auto count = static_cast<double>(samples.size());
  report.trial_samples = samples.size();
  for (std::size_t i = 0; i < remedies.size(); ++i) {
    const std::span<const double> one = std::span(found).subspan(i * kNumbers, kNumbers);
    if (one[0] == 0.0) continue;
    const Remedy& remedy = remedies[i];
    report.trials.push_back(
        {.rule = remedy.rule,
         .layer = remedy.layer,
         .evidence = remedy.evidence,
         .action = remedy.action,
         .accuracy = one[1] / count,
         .accuracy_without = right_in(without) / count,
         .against_quantized =
             mcnemar_test(static_cast<std::uint64_t>(one[2]), static_cast<std::uint64_t>(one[3]))});
  }
}

}  // namespace octet
