#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/core/json_text.h>
#include <octet/core/printable.h>
#include <octet/core/text.h>
#include <octet/report/statistics.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "commands.h"
#include "show.h"

namespace octet::tools {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t kMostOfCell = 24;

/// The results of a run that are shown, in this order, by their names in metrics.json.
constexpr const char* kResults[] = {"verdict",
                                    "float_accuracy",
                                    "integer_accuracy",
                                    "control_accuracy",
                                    "float_mean_absolute_error",
                                    "integer_mean_absolute_error",
                                    "anomaly_threshold",
                                    "float_bytes",
                                    "int8_bytes",
                                    "c_flash_bytes",
                                    "c_ram_bytes",
                                    "differing_predictions",
                                    "seconds"};

/// Entries of metrics.json that say nothing of how a run was made, or are no number or word.
constexpr const char* kNoOptions[] = {"acc",     "command",    "simulated_accuracy",
                                      "isa",     "version",    "simulated_mean_absolute_error",
                                      "threads", "s_per_epoch"};

nlohmann::json read_metrics(const std::string& folder) {
  const fs::path file = fs::path(folder) / "metrics.json";
  if (!fs::exists(file)) {
    throw InvalidArgument(fmt::format(
        "compare: expected the --out of a run that has ended, with a metrics.json, found '{}'",
        folder));
  }
  const std::vector<std::uint8_t> bytes = read_file(file);
  try {
    const octet::detail::ParsedJson parsed(
        std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    if (!parsed->is_object()) throw FormatError("expected an object");
    return *parsed;
  } catch (const nlohmann::json::exception& error) {
    throw FormatError(
        fmt::format("compare: {}: {}", file.string(), octet::detail::fault_text(error)));
  } catch (const FormatError& error) {
    throw FormatError(fmt::format("compare: {}: {}", file.string(), error.what()));
  }
}

/// The object with the options of a run by their names; empty of earlier versions.
nlohmann::json options_of(const nlohmann::json& run) {
  const auto found = run.find("options");
  return found != run.end() && found->is_object() ? *found : nlohmann::json::object();
}

/// A value as a cell shows it; "-" where a run has none.
std::string cell_of(const std::string& name, const nlohmann::json& metrics) {
  const auto found = metrics.find(name);
  if (found == metrics.end()) return "-";
  if (found->is_number() && name.ends_with("_accuracy")) return percent_text(found->get<double>());
  if (found->is_number_float()) return fmt::format("{:.6g}", found->get<double>());
  return found->is_string() ? found->get<std::string>() : found->dump();
}

/// "94.12 to 96.30 %" by the number of test examples: Wilson's interval.
std::string interval_of(const nlohmann::json& metrics) {
  const nlohmann::json* data = metrics.contains("data") ? &metrics.at("data") : nullptr;
  const auto accuracy = metrics.find("integer_accuracy");
  if (data == nullptr || !data->is_object() || accuracy == metrics.end() ||
      !accuracy->is_number() || !data->contains("test") || !data->at("test").is_number_unsigned()) {
    return "-";
  }
  const auto total = data->at("test").get<std::uint64_t>();
  const double share = std::clamp(accuracy->get<double>(), 0.0, 1.0);
  const auto right = static_cast<std::uint64_t>(std::llround(share * static_cast<double>(total)));
  const Proportion interval = wilson_interval(std::min(right, total), total);
  return fmt::format("{:.2f} to {:.2f} %", 100 * interval.low, 100 * interval.high);
}

/// The value of an option, of "options" or beside them.
std::string option_cell(const std::string& name, const nlohmann::json& run) {
  return cell_of(name, name.starts_with("--") ? options_of(run) : run);
}

/// "qat_lr" of a run that says it as "--qat-lr", too.
std::string option_of(std::string name) {
  std::ranges::replace(name, '_', '-');
  return "--" + name;
}

/// Options that the runs do not share: numbers, words and lists of numbers.
std::vector<std::string> differing_options(const std::vector<nlohmann::json>& runs) {
  std::set<std::string> names;
  for (const nlohmann::json& run : runs) {
    const nlohmann::json options = options_of(run);
    for (const auto& [name, value] : run.items()) {
      const bool is_list = value.is_array() && !value.empty() && value.front().is_number();
      if (options.contains(option_of(name))) continue;
      if (value.is_primitive() || is_list) names.insert(name);
    }
    for (const auto& [name, value] : options.items()) names.insert(name);
  }
  for (const char* name : kResults) names.erase(name);
  for (const char* name : kNoOptions) names.erase(name);
  std::vector<std::string> result;
  for (const std::string& name : names) {
    const auto value_of = [&](const nlohmann::json& run) { return option_cell(name, run); };
    const std::string first = value_of(runs.front());
    if (std::ranges::any_of(runs, [&](const auto& run) { return value_of(run) != first; })) {
      result.push_back(name);
    }
  }
  return result;
}

/// The scores of the tasks that any of the runs learned.
std::set<std::string> score_names(const std::vector<nlohmann::json>& runs) {
  std::set<std::string> names;
  for (const nlohmann::json& run : runs) {
    const nlohmann::json scores = run.value("scores", nlohmann::json::object());
    if (!scores.is_object()) continue;
    for (const auto& [name, value] : scores.items()) names.insert(name);
  }
  return names;
}

/// The table, row by row: a name and a cell for each run.
using Rows = std::vector<std::pair<std::string, std::vector<std::string>>>;

Rows rows_of(const std::vector<nlohmann::json>& runs) {
  Rows rows;
  const auto add = [&](const std::string& name, const auto& cell) {
    std::vector<std::string> cells;
    for (const nlohmann::json& run : runs) cells.push_back(cell(run));
    const bool any = std::ranges::any_of(cells, [](const auto& text) { return text != "-"; });
    if (any) rows.emplace_back(name, std::move(cells));
  };
  for (const char* name : kResults) {
    add(name, [&](const nlohmann::json& run) { return cell_of(name, run); });
    if (std::string_view(name) == "integer_accuracy") add("  95 % interval", interval_of);
  }
  for (const std::string& name : score_names(runs)) {
    for (const char* network : {"float", "integer"}) {
      add(fmt::format("{}_{}", network, name), [&](const nlohmann::json& run) {
        const nlohmann::json scores = run.value("scores", nlohmann::json::object());
        return scores.contains(name) ? cell_of(network, scores.at(name)) : std::string("-");
      });
    }
  }
  add("data", [](const nlohmann::json& run) {
    return run.contains("data") && run.at("data").is_object() ? cell_of("name", run.at("data"))
                                                              : "-";
  });
  add("test examples", [](const nlohmann::json& run) {
    return run.contains("data") && run.at("data").is_object() ? cell_of("test", run.at("data"))
                                                              : "-";
  });
  for (const std::string& name : differing_options(runs)) {
    add(name, [&](const nlohmann::json& run) { return option_cell(name, run); });
  }
  return rows;
}

void show_rows(const std::vector<std::string>& names, const Rows& rows) {
  std::vector<std::size_t> widths;
  std::size_t first = 0;
  for (const auto& [name, cells] : rows) first = std::max(first, name.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::size_t width = printable(names[i], kMostOfCell).size();
    for (const auto& row : rows) {
      width = std::max(width, printable(row.second[i], kMostOfCell).size());
    }
    widths.push_back(width);
  }
  const auto show_row = [&](const std::string& name, const std::vector<std::string>& cells) {
    std::string line = fmt::format("{:<{}}", name, first);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      line += fmt::format("  {:>{}}", printable(cells[i], kMostOfCell), widths[i]);
    }
    show("{}\n", line);
  };
  show_row("", names);
  for (const auto& [name, cells] : rows) show_row(printable(name), cells);
}

}  // namespace

void compare(const CompareOptions& options) {
  std::vector<nlohmann::json> runs;
  for (const std::string& folder : options.folders) runs.push_back(read_metrics(folder));
  const Rows rows = rows_of(runs);
  if (options.json) {
    Json json = Json::array();
    for (std::size_t i = 0; i < runs.size(); ++i) {
      Json& run = json.emplace_back(Json{{"run", options.folders[i]}});
      for (const auto& [name, cells] : rows) {
        const nlohmann::json& of = name.starts_with("--") ? options_of(runs[i]) : runs[i];
        const auto found = of.find(name);
        if (found != of.end()) run[name] = *found;
      }
      run["data"] = runs[i].value("data", nlohmann::json::object());
    }
    show_json(json);
    return;
  }
  show_rows(options.folders, rows);
}

}  // namespace octet::tools
