#include <fmt/format.h>
#include <octet/core/parse_number.h>
#include <octet/core/text.h>
#include <octet/report/advice.h>
#include <octet/report/verdict.h>
#include <octet/train/run/resume_command.h>

#include <algorithm>
#include <numeric>
#include <string_view>

namespace octet {
namespace {

constexpr double kMostLost = 0.01;
constexpr double kMostErrorRatio = 1.1;
constexpr double kWidestInterval = 0.1;
constexpr std::uint64_t kFewestOfClass = 5;

constexpr std::string_view kIou = "iou";

/// "mean_squared_error" is "mean squared error" in a sentence.
std::string words_of_name(std::string name) {
  if (name == kIou) return "mean IoU";
  std::ranges::replace(name, '_', ' ');
  return name;
}

bool is_share(const std::string& score) { return score.ends_with("accuracy") || score == kIou; }

std::string score_text(const std::string& score, double value) {
  return is_share(score) ? percent_text(value) : fmt::format("{:.4g}", value);
}

/// The command line of a run, to be made again with another option.
class RunCommand {
 public:
  explicit RunCommand(const Report& report) : history_(report.history) {
    for (const std::string& word : words_of_command(report.command)) {
      const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
      words_.push_back(word.substr(0, equals));
      if (equals != std::string::npos) words_.push_back(word.substr(equals + 1));
    }
    // Other options are another run.
    std::erase(words_, "--resume");
  }

  bool is_known() const { return !words_.empty(); }
  bool has(std::string_view word) const { return std::ranges::find(words_, word) != words_.end(); }
  /// The word behind `option`; empty without it.
  std::string value_of(std::string_view option) const {
    const auto at = std::ranges::find(words_, option);
    return at == words_.end() || at + 1 == words_.end() ? "" : *(at + 1);
  }

  std::string with(const std::string& option, const std::string& value) const {
    std::vector<std::string> words = words_;
    const auto at = std::ranges::find(words, option);
    if (at == words.end()) {
      words.insert(words.end(), {option, value});
    } else if (at + 1 != words.end()) {
      *(at + 1) = value;
    }
    return shell_command(words);
  }

  /// With twice as many epochs of a phase, of which fewer may have been trained than the run asked
  /// for, and two at least.
  std::string with_more_epochs(const std::string& option, std::string_view phase) const {
    auto epochs = std::ranges::count(history_, phase, &EpochRecord::phase);
    std::ptrdiff_t asked = 0;
    if (parse_number(value_of(option), asked) == std::errc()) epochs = std::max(epochs, asked);
    return with(option, std::to_string(std::max<std::ptrdiff_t>(2, 2 * epochs)));
  }

 private:
  const History& history_;
  std::vector<std::string> words_;
};

/// Collects reasons; the worst decides.
class Judge {
 public:
  explicit Judge(const Report& report) : report_(report), run_(report) {}

  Verdict decide() {
    for (const Baseline& one : report_.baselines) look_at_guess(one);
    look_at_anomalies();
    for (const std::size_t i : shipped_outcomes(report_.outcomes)) {
      look_at(report_.outcomes[i], float_of(report_.outcomes[i].output));
    }
    look_at_classes();
    if (report_.scored_on_training) {
      add(Decision::caution,
          "Scores are those of examples that the network was trained on: what it makes of others "
          "is not known.",
          with_or("--split", "0.8", "octet train --data DATA --split 0.8"));
    }
    for (const std::string& warning : report_.warnings) {
      add(Decision::caution, "A runtime refuses the model, or computes otherwise: " + warning, "");
    }
    if (report_.outcomes.empty()) {
      add(Decision::hold, "Nothing was measured.", "octet report RUN --data DATA");
    }
    if (verdict_.reasons.empty()) {
      verdict_.reasons.push_back(as_good_text());
      // Two files of the same integers are held against each other.
      const auto& files = report_.files;
      if (files.size() > 1) verdict_.next = shell_command({"octet", "verify", files[0], files[1]});
      if (files.size() == 1) verdict_.next = shell_command({"octet", "inspect", files[0]});
    }
    return std::move(verdict_);
  }

 private:
  const Outcome& float_of(const std::string& output) const {
    return *std::ranges::find_if(report_.outcomes,
                                 [&](const Outcome& one) { return one.output == output; });
  }

  void add(Decision decision, std::string reason, const std::string& next) {
    const bool is_worse = decision > verdict_.decision;
    const auto place = is_worse ? verdict_.reasons.begin() : verdict_.reasons.end();
    verdict_.reasons.insert(place, std::move(reason));
    if (!next.empty() && (is_worse || verdict_.next.empty())) verdict_.next = next;
    verdict_.decision = std::max(verdict_.decision, decision);
  }

  static std::string prefix(const std::string& output) {
    return output.empty() ? "" : output + ": ";
  }

  /// The action that brings accuracy back: advice that was tried, else training.
  std::string remedy() const {
    const std::vector<Advice> all = advice(report_);
    // What was tried is found in code as often as in options.
    if (!all.empty() && all.front().gain) return all.front().action;
    return more_training("octet quantize FILE --data DATA --epochs 2");
  }

  /// The run with another option, or a command where it is not known.
  std::string with_or(const std::string& option, const std::string& value,
                      const std::string& command) const {
    return run_.is_known() ? run_.with(option, value) : command;
  }

  /// The run with more epochs quantized, or a command where it is not known.
  std::string more_training(const std::string& command) const {
    if (!run_.is_known()) return command;
    const bool is_quantize = run_.has("quantize") && run_.has("--epochs");
    return run_.with_more_epochs(is_quantize ? "--epochs" : "--qat-epochs", "qat");
  }

  /// What has been learned at all: more than a guess has without the input.
  void look_at_guess(const Baseline& one) {
    if (is_share(one.score) && one.guessed >= 1.0) {
      add(Decision::hold,
          prefix(one.output) +
              "All test targets are the same: whether examples with others are told from them is "
              "not known.",
          with_or("--data", "DATA", "octet train --data DATA"));
      return;
    }
    if (one.least_gain > 0.0) return;
    const bool is_more = one.gain() > 0.0;
    add(is_more ? Decision::caution : Decision::hold,
        fmt::format("{}The integers are {} better than {}: {} {} against {}.", prefix(one.output),
                    is_more ? "not surely" : "no", one.guess, words_of_name(one.score),
                    score_text(one.score, one.integer), score_text(one.score, one.guessed)),
        run_.is_known() && !run_.has("quantize") ? run_.with_more_epochs("--epochs", "float")
                                                 : "octet train --data DATA --epochs 20");
  }

  /// The error is a score of reconstructions alone.
  void look_at_anomalies() {
    const auto has = [&](const char* name) {
      return std::ranges::find(report_.scores, name, &NamedScore::name) != report_.scores.end();
    };
    if (!has("mean_squared_error") || has("roc_auc")) return;
    add(Decision::caution,
        "No test example is known to be an anomaly: how well the error tells them is not known.",
        with_or("--test-data", "DATA", "octet train --data DATA --test-data DATA"));
  }

  void look_at(const Outcome& integers, const Outcome& in_float) {
    if (integers.mean_absolute_error) return look_at_error(integers, in_float);
    const double lost = in_float.accuracy.share() - integers.accuracy.share();
    const auto& test = integers.against_float;
    if (test && test->p < kSignificance && lost > 0.0) {
      add(lost >= kMostLost ? Decision::hold : Decision::caution,
          fmt::format("{}The integers are worse than float, {} instead of {}, by more than chance "
                      "(p = {:.2g}).",
                      prefix(integers.output), percent_text(integers.accuracy.share()),
                      percent_text(in_float.accuracy.share()), test->p),
          remedy());
    }
    const double width = integers.accuracy.high - integers.accuracy.low;
    if (width > kWidestInterval) {
      add(Decision::caution,
          fmt::format("{}{} test examples are few: the true accuracy lies between {} and {}.",
                      prefix(integers.output), integers.accuracy.total,
                      percent_text(integers.accuracy.low), percent_text(integers.accuracy.high)),
          shell_command({"octet", "eval", report_.files.empty() ? "FILE" : report_.files.front(),
                         "--data", "DATA"}));
    }
  }

  void look_at_error(const Outcome& integers, const Outcome& in_float) {
    const double before = in_float.mean_absolute_error.value_or(0.0);
    if (*integers.mean_absolute_error <= kMostErrorRatio * before) return;
    add(Decision::hold,
        fmt::format("{}The integers' mean absolute error is {:.4g}, that of float {:.4g}.",
                    prefix(integers.output), *integers.mean_absolute_error, before),
        more_training("octet quantize FILE --data DATA --epochs 2"));
  }

  void look_at_classes() {
    std::vector<std::string> missed;
    for (std::size_t label = 0; label < report_.confusion.size(); ++label) {
      const auto& row = report_.confusion[label];
      const std::uint64_t count = std::accumulate(row.begin(), row.end(), std::uint64_t{0});
      if (count >= kFewestOfClass && row[label] == 0) missed.push_back(class_text(report_, label));
    }
    if (!missed.empty()) {
      add(Decision::caution, fmt::format("Never recognized: {}.", fmt::join(missed, ", ")),
          run_.has("--class-weights") ? run_.with("--data", "DATA")
                                      : with_or("--class-weights", "balanced",
                                                "octet train --data DATA --class-weights "
                                                "balanced"));
    }
  }

  /// The score of an output that is held against a guess; null where it is none of the named ones.
  const NamedScore* judged_score(const std::string& output) const {
    for (const Baseline& one : report_.baselines) {
      if (one.output != output) continue;
      for (const NamedScore& score : report_.scores) {
        if (score.output == output && score.name == one.score) return &score;
      }
    }
    return nullptr;
  }

  std::string as_good_text() const {
    const Outcome& integers = report_.outcomes.back();
    if (integers.mean_absolute_error) {
      if (const NamedScore* score = judged_score(integers.output)) {
        return fmt::format("The integers' {} is {}, that of float {}.", words_of_name(score->name),
                           score_text(score->name, score->integer),
                           score_text(score->name, score->in_float));
      }
      return fmt::format("The integers' mean absolute error is {:.4g}, that of float {:.4g}.",
                         *integers.mean_absolute_error,
                         float_of(integers.output).mean_absolute_error.value_or(0.0));
    }
    return fmt::format("The integers are right in {} of {} test examples, as good as float: {}.",
                       integers.accuracy.count, integers.accuracy.total,
                       percent_text(integers.accuracy.share()));
  }

  const Report& report_;
  RunCommand run_;
  Verdict verdict_;
};

}  // namespace

std::string to_string(Decision decision) {
  switch (decision) {
    case Decision::caution:
      return "Ship with a caution";
    case Decision::hold:
      return "Do not ship";
    case Decision::ship:
      break;
  }
  return "Ship";
}

std::string class_text(const Report& report, std::size_t label) {
  const std::vector<std::string>& names = report.class_names;
  return label < names.size() ? names[label] : std::to_string(label);
}

std::string to_text(const Verdict& verdict) {
  std::string text = fmt::format("verdict: {}\n", to_string(verdict.decision));
  for (const std::string& reason : verdict.reasons) text += reason + "\n";
  if (!verdict.next.empty()) text += fmt::format("next: {}\n", verdict.next);
  return text;
}

Verdict judge(const Report& report) { return Judge(report).decide(); }

}  // namespace octet
