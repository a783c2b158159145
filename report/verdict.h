#pragma once

#include <octet/report/report.h>

#include <string>
#include <vector>

namespace octet {

enum class Decision { ship, caution, hold };

/// A judgement of a report in words.
struct Verdict {
  Decision decision = Decision::ship;
  /// Why, the weightiest first: a sentence each.
  std::vector<std::string> reasons{};
  /// What to go on with: a command line, that of the run with another option (Report::command) or
  /// one about its files, with a word in capitals for what only the user has; or code, where a
  /// remedy that was tried takes some.
  std::string next{};
};

/// "Ship", "Ship with a caution", "Do not ship".
std::string to_string(Decision decision);

/// "verdict: Ship", then a line for each reason, and "next: ..." where there is something.
std::string to_text(const Verdict& verdict);

/// Judges the integers of a report:
///
/// - hold: at an output they are significantly worse than float (McNemar's p below 0.05) by a
///   percentage point or more, or their mean absolute error is a tenth larger; or they are no
///   better than a guess that does not look at the input (Baseline), or test examples are of one
///   class;
/// - caution: they are better than that guess by no more than chance (the 95 % interval), no test
///   example of a reconstruction is known to be an anomaly, the
///   integers are significantly worse by less, the interval of accuracy is wider than 10 points, a
///   class of 5 examples or more is never recognized, scores are those of training examples, or
///   runtimes refuse the model.
Verdict judge(const Report& report);

}  // namespace octet
