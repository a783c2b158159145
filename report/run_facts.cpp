#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/json_text.h>
#include <octet/report/run_facts.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

namespace octet {
namespace {

using nlohmann::json;

/// What two equal runs may differ in, what other parts of the page say, and bulk.
constexpr auto kLeftOut = std::to_array<std::string_view>(
    {"acc", "c_flash_bytes", "c_ram_bytes", "calibrated_integer_accuracy", "command",
     "control_accuracy", "differing_predictions", "float_accuracy", "float_bytes", "int8_bytes",
     "integer_accuracy", "isa", "s_per_epoch", "seconds", "simulated_accuracy", "threads",
     "verdict", "warnings"});

std::string text_of(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  return value.dump();
}

bool is_fact(const json& value) {
  const auto is_plain = [](const json& one) {
    return one.is_string() || one.is_boolean() || one.is_number();
  };
  return is_plain(value) ||
         (value.is_array() && !value.empty() &&
          std::all_of(value.begin(), value.end(), [](const json& one) { return one.is_number(); }));
}

/// Whether an entry says what "options" say again: "qat_lr" is "--qat-lr" there.
bool is_option(std::string name, const json& metrics) {
  std::ranges::replace(name, '_', '-');
  return metrics.contains("options") && metrics.at("options").contains("--" + name);
}

void add_facts(const json& metrics, Report& report) {
  for (const auto& [name, value] : metrics.items()) {
    if (std::ranges::find(kLeftOut, name) != kLeftOut.end() || !is_fact(value)) continue;
    if (is_option(name, metrics)) continue;
    report.facts.emplace_back(name, text_of(value));
  }
  for (const char* group : {"data", "bits", "options"}) {
    if (!metrics.contains(group)) continue;
    for (const auto& [name, value] : metrics.at(group).items()) {
      const bool says_itself = name.starts_with("--");
      report.facts.emplace_back(says_itself ? name : fmt::format("{}: {}", group, name),
                                text_of(value));
    }
  }
  if (metrics.contains("sha256")) {
    for (const auto& [name, value] : metrics.at("sha256").items()) {
      report.hashes.emplace_back(name, text_of(value));
    }
  }
}

/// Adds the scores of an object and its baseline, where it has some, under the output's name.
void add_scores(const json& object, const std::string& output, Report& report) {
  if (object.contains("baseline")) {
    const json& one = object.at("baseline");
    report.baselines.push_back({output, one.at("guess").get<std::string>(),
                                one.at("score").get<std::string>(), one.at("guessed").get<double>(),
                                one.at("integer").get<double>(),
                                one.at("least_gain").get<double>()});
  }
  if (!object.contains("scores")) return;
  for (const auto& [name, value] : object.at("scores").items()) {
    report.scores.push_back(
        {output, name, value.at("float").get<double>(), value.at("integer").get<double>()});
  }
}

void add_ranges(const json& metrics, Report& report) {
  if (metrics.contains("ranges")) {
    for (const json& one : metrics.at("ranges")) {
      report.ranges.push_back({one.at("moment").get<std::string>(),
                               one.at("layer").get<std::string>(), one.at("min").get<float>(),
                               one.at("max").get<float>()});
    }
  }
  if (metrics.contains("oscillations")) {
    for (const json& one : metrics.at("oscillations")) {
      report.oscillations.push_back(
          {one.at("moment").get<std::string>(), one.at("layer").get<std::string>(),
           one.at("share").get<double>(), one.at("frozen").get<double>()});
    }
  }
}

std::optional<double> angle_of(const json& one, const char* product) {
  if (!one.contains(product)) return std::nullopt;
  return one.at(product).get<double>();
}

void add_gradient_angles(const json& metrics, Report& report) {
  if (!metrics.contains("gradient_angles")) return;
  for (const json& one : metrics.at("gradient_angles")) {
    report.gradient_angles.push_back({detail::whole_number<std::uint64_t>(one.at("step")),
                                      one.at("layer").get<std::string>(), angle_of(one, "input"),
                                      angle_of(one, "kernel")});
  }
}

}  // namespace

void add_run_facts(const std::string& metrics_json, Report& report) {
  try {
    const detail::ParsedJson parsed(metrics_json);
    const json& metrics = *parsed;
    if (!metrics.is_object()) throw FormatError("expected an object");
    if (metrics.contains("epochs")) report.history = parse_history(metrics.at("epochs").dump());
    if (metrics.contains("command")) report.command = metrics.at("command").get<std::string>();
    if (metrics.contains("data") && metrics.at("data").contains("validation")) {
      report.epochs_scored_on = "validation";
    }
    add_facts(metrics, report);
    add_ranges(metrics, report);
    add_gradient_angles(metrics, report);
    add_scores(metrics, "", report);
    if (!metrics.contains("outputs")) return;
    for (const json& output : metrics.at("outputs")) {
      add_scores(output, output.at("name").get<std::string>(), report);
    }
  } catch (const json::exception& error) {
    throw FormatError(
        fmt::format("add_run_facts: no metrics of a run: {}", detail::fault_text(error)));
  } catch (const FormatError& error) {
    throw FormatError(fmt::format("add_run_facts: no metrics of a run: {}", error.what()));
  }
}

std::vector<std::string> files_beside(const std::filesystem::path& tflite) {
  std::vector<std::string> names = {tflite.string()};
  std::filesystem::path source = tflite;
  if (std::filesystem::exists(source.replace_extension(".c"))) names.push_back(source.string());
  return names;
}

std::string ranges_json(const std::vector<RangeRecord>& ranges) {
  json list = json::array();
  for (const RangeRecord& one : ranges) {
    list.push_back(
        {{"moment", one.moment}, {"layer", one.layer}, {"min", one.min}, {"max", one.max}});
  }
  return detail::lenient_json_text(list);
}

std::string oscillations_json(const std::vector<OscillationRecord>& oscillations) {
  json list = json::array();
  for (const OscillationRecord& one : oscillations) {
    list.push_back({{"moment", one.moment},
                    {"layer", one.layer},
                    {"share", one.share},
                    {"frozen", one.frozen}});
  }
  return detail::lenient_json_text(list);
}

std::string gradient_angles_json(const std::vector<GradientAngle>& angles) {
  json list = json::array();
  for (const GradientAngle& one : angles) {
    list.push_back({{"step", one.step}, {"layer", one.layer}});
    if (one.input) list.back()["input"] = *one.input;
    if (one.kernel) list.back()["kernel"] = *one.kernel;
  }
  return detail::lenient_json_text(list);
}

}  // namespace octet
