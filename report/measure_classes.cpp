#include <fmt/core.h>
#include <octet/report/example_view.h>
#include <octet/report/measure_internal.h>
#include <octet/runtime/interpreter.h>
#include <octet/train/evaluate_internal.h>
#include <octet/train/scores.h>

#include <algorithm>
#include <map>
#include <utility>

namespace octet::detail {
namespace {

/// The largest output where outputs are probabilities, i.e. a SOFTMAX ends the model.
std::optional<double> confidence(Interpreter& interpreter, const Batch& example) {
  const std::vector<float> outputs = run_all(interpreter, example.inputs()).front();
  const auto& operators = interpreter.model().operators;
  const bool ends_in_softmax = std::ranges::any_of(operators, [&](const Operator& op) {
    return op.code == OpCode::softmax &&
           &op - operators.data() + 2 >= static_cast<std::ptrdiff_t>(operators.size());
  });
  if (!ends_in_softmax || outputs.size() < 2) return std::nullopt;
  return *std::ranges::max_element(outputs);
}

/// Test examples with what both networks make of them.
class Examples {
 public:
  Examples(const ReportModels& models, const Dataset& test, const SaidClasses& said)
      : test_(test), said_(said), in_float_(models.in_float), in_integers_(models.shipped) {}

  ShownExample show(std::size_t i) {
    const Batch example = test_.batch(i, i + 1);
    return {.index = i,
            .name = test_.example_name(i),
            .label = test_.labels()[i],
            .in_float = said_.in_float[i],
            .in_integers = said_.in_integers[i],
            .float_confidence = confidence(in_float_, example),
            .integer_confidence = confidence(in_integers_, example),
            .view = view_of(test_, i)};
  }

 private:
  const Dataset& test_;
  const SaidClasses& said_;
  Interpreter in_float_;
  Interpreter in_integers_;
};

void find_changed(const SaidClasses& said, std::size_t most, Examples& examples, Report& report) {
  for (std::size_t i = 0; i < said.in_float.size(); ++i) {
    if (said.in_float[i] == said.in_integers[i]) continue;
    ++report.changed_examples;
    if (report.changed.size() < most) report.changed.push_back(examples.show(i));
  }
}

void find_confused(std::span<const std::int32_t> labels, const Labels& said,
                   const ReportOptions& options, Examples& examples, Report& report) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::vector<std::size_t>> mistakes;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] != said[i]) mistakes[{labels[i], said[i]}].push_back(i);
  }
  for (const auto& [pair, found] : mistakes) {
    report.confused.push_back({.label = pair.first, .said = pair.second, .count = found.size()});
  }
  report.confused_pairs = report.confused.size();
  std::ranges::stable_sort(report.confused, std::greater(), &ConfusedPair::count);
  report.confused.resize(std::min(report.confused.size(), options.confused_pairs));
  for (ConfusedPair& pair : report.confused) {
    const std::vector<std::size_t>& found = mistakes[{pair.label, pair.said}];
    const std::size_t shown = std::min(found.size(), options.examples_of_pair);
    // Neighbours are often of one recording.
    for (std::size_t i = 0; i < shown; ++i) {
      pair.examples.push_back(examples.show(found[i * found.size() / shown]));
    }
  }
}

void count_confusion(const Dataset& test, const Labels& predictions, int most_classes,
                     Report& report) {
  if (test.classes() > most_classes) {
    report.missing.push_back(
        fmt::format("The confusion matrix of {} classes is too large to show.", test.classes()));
    return;
  }
  // A network may say classes that no example has.
  const int said = *std::ranges::max_element(predictions) + 1;
  report.confusion = confusion_matrix(predictions, test.labels(), std::max(test.classes(), said));
}

}  // namespace

void measure_classes(const ReportModels& models, const Dataset& test, const SaidClasses& said,
                     const ReportOptions& options, Report& report) {
  Examples examples(models, test, said);
  count_confusion(test, said.in_integers, options.confusion_classes, report);
  find_confused(test.labels(), said.in_integers, options, examples, report);
  find_changed(said, options.changed_examples, examples, report);
}

}  // namespace octet::detail
