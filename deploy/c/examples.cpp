#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/deploy/c/plan.h>
#include <octet/deploy/c/text.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// What C source says of the examples that the model was trained on: names of classes, and the
// normalization of floats.

namespace octet::detail {
namespace {

/// A text as a C string literal. Octal escapes end after three digits, whatever follows.
std::string c_string(std::string_view text) {
  std::string literal = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = byte >= 0x20 && byte < 0x7F && c != '"' && c != '\\' && c != '?';
    literal += is_plain ? std::string(1, c) : fmt::format("\\{:03o}", byte);
  }
  return literal + "\"";
}

/// A constant list, or nothing where a number is left out.
std::string list_text(const char* name, const std::vector<float>& numbers) {
  if (numbers.empty()) return "";
  std::vector<std::string> literals;
  literals.reserve(numbers.size());
  for (const float number : numbers) literals.push_back(float_literal(number));
  std::string text =
      fmt::format("    static const float {}[{}] = {{\n        ", name, numbers.size());
  append_numbers(text, literals, 8);
  return text + "\n    };\n";
}

/// The numbers of a list in lines of a comment, or a word where they are left out.
std::string comment_list(std::string_view name, const std::vector<float>& numbers,
                         std::string_view otherwise) {
  constexpr std::size_t kInLine = 8;
  if (numbers.empty()) return fmt::format(" *   {:<10}{}\n", name, otherwise);
  std::string text;
  for (std::size_t begin = 0; begin < numbers.size(); begin += kInLine) {
    const auto line = std::span(numbers).subspan(begin, std::min(kInLine, numbers.size() - begin));
    const bool is_last = begin + kInLine >= numbers.size();
    text += fmt::format(" *   {:<10}{}{}\n", begin == 0 ? name : "", fmt::join(line, ", "),
                        is_last ? "" : ",");
  }
  return text;
}

/// The number of a list that belongs to value i.
std::string number_text(const char* name, const std::vector<float>& numbers) {
  return numbers.size() > 1 ? fmt::format("{}[i % {}]", name, numbers.size())
                            : fmt::format("{}[0]", name);
}

}  // namespace

void read_example_metadata(const IntegerModel& model, CPlan& plan) {
  plan.class_names = class_names_of(model);
  plan.anomaly_threshold = anomaly_threshold_of(model);
  if (normalization_of(model).empty()) return;
  if (plan.inputs.size() != 1) {
    throw FormatError(
        fmt::format("c source: metadata '{}': expected a model of one input, found {}",
                    kNormalizationKey, plan.inputs.size()));
  }
  plan.normalization = normalization_of(model, example_shape_of(model));
}

std::int64_t c_normalization_bytes(const CPlan& plan) {
  const std::size_t numbers = plan.normalization.mean.size() + plan.normalization.deviation.size();
  return static_cast<std::int64_t>(numbers * sizeof(float));
}

std::string c_class_names(const CPlan& plan) {
  if (plan.class_names.empty()) return "";
  std::vector<std::string> literals;
  for (const std::string& name : plan.class_names) literals.push_back(c_string(name));
  Fillings f = plan.fillings();
  f["count"] = std::to_string(literals.size());
  f["names"] = fmt::format("{}", fmt::join(literals, ", "));
  return fill(
      R"(/* Names of the classes, for an array: const char *const names[] = @NAME@_CLASS_NAMES; */
#define @NAME@_CLASSES @count@
#define @NAME@_CLASS_NAMES {@names@}

)",
      f);
}

std::string c_anomaly_threshold(const CPlan& plan) {
  if (!plan.anomaly_threshold) return "";
  Fillings f = plan.fillings();
  f["threshold"] = float_literal(*plan.anomaly_threshold);
  f["percent"] = fmt::format("{}", kAnomalyPercentile);
  return fill(
      R"(/* The score of an input is the mean of (output - input)^2 over its values, both as real numbers, the input as
 * training normalized it. A score above this one, which @percent@ % of the training examples did not pass, says anomaly. */
#define @NAME@_ANOMALY_THRESHOLD @threshold@

)",
      f);
}

std::string c_normalization_text(const CPlan& plan) {
  if (plan.normalization.empty()) return "";
  const Normalization& n = plan.normalization;
  Fillings f = plan.fillings();
  f["means"] = comment_list("mean", n.mean, "0 of all");
  f["deviations"] = comment_list("deviation", n.deviation, "1 of all");
  f["whose"] = std::max(n.mean.size(), n.deviation.size()) > 1
                   ? "by channel, the last axis of an example"
                   : "of all channels";
  return fill(
      R"( * @name@_quantize_input() is fed raw values x, as they were before training normalized them, and makes the
 * codes of (x - mean) / deviation; codes that are made without it have to be of that, too. The numbers are,
 * @whose@:
@means@@deviations@)",
      f);
}

std::string c_normalization(const CPlan& plan) {
  return list_text("mean", plan.normalization.mean) +
         list_text("deviation", plan.normalization.deviation);
}

std::string c_normalized_value(const CPlan& plan) {
  std::string value = "values[i]";
  const Normalization& n = plan.normalization;
  if (!n.mean.empty()) value = fmt::format("({} - {})", value, number_text("mean", n.mean));
  if (!n.deviation.empty()) {
    value = fmt::format("{} / {}", value, number_text("deviation", n.deviation));
  }
  return value;
}

}  // namespace octet::detail
