#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/core/json_text.h>
#include <octet/train/data/names_in.h>
#include <octet/train/run/run_outputs.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

namespace octet {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMetrics = "metrics.json";
constexpr const char* kPrevious = "previous_run";
/// Until all are moved.
constexpr const char* kMoving = "previous_run.moving";
constexpr const char* kStopped = "stopped_run";

[[noreturn]] void fail_to(const char* what, const fs::path& path, int error) {
  throw IoError(fmt::format("cannot {} '{}': {}", what, path.string(),
                            std::generic_category().message(error)));
}

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directory(path, error);
  if (error) fail_to("make the folder", path, error.value());
}

void remove_folder(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) fail_to("remove", path, error.value());
}

/// The names in "files" of a metrics.json; none where it is damaged or of an earlier version.
std::set<std::string> listed_files(const fs::path& metrics) {
  std::set<std::string> names;
  if (!is_file(metrics)) return names;
  try {
    const auto bytes = read_file(metrics);
    const detail::ParsedJson parsed({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    for (const auto& name : parsed->at("files")) {
      // A name in the folder, not a way out of it.
      const fs::path path = name.get<std::string>();
      if (path == path.filename()) names.insert(path.string());
    }
  } catch (const FormatError&) {
  } catch (const nlohmann::json::exception&) {
  }
  return names;
}

bool is_report(const fs::path& path) {
  constexpr std::size_t kMostOfHead = 1024;
  if (path.extension() != ".html" || !is_file(path)) return false;
  try {
    FileReader file(path);
    std::string head(std::min(file.size(), kMostOfHead), '\0');
    file.read({reinterpret_cast<std::uint8_t*>(head.data()), head.size()});
    return head.find(kReportMark) != std::string::npos;
  } catch (const IoError&) {
    // Who may not read a page has not written it.
    return false;
  }
}

std::set<std::string> reports_in(const fs::path& folder) {
  std::set<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (is_report(entry.path())) names.insert(entry.path().filename().string());
  }
  return names;
}

/// metrics.json goes last: where it is, the run that has ended is known.
void move_set(const fs::path& folder, std::set<std::string> names) {
  names.erase(kMetrics);
  const fs::path moving = folder / kMoving;
  make_folder(moving);
  for (const std::string& name : names) move_file(folder / name, moving / name);
  if (is_file(folder / kMetrics)) move_file(folder / kMetrics, moving / kMetrics);
  remove_folder(folder / kPrevious);
  move_file(moving, folder / kPrevious);
}

}  // namespace

fs::path set_aside_outputs(const fs::path& folder, const std::vector<std::string>& names,
                           const std::vector<fs::path>& inputs) {
  std::error_code ignored;
  const bool ended = is_file(folder / kMetrics) || fs::exists(folder / kMoving, ignored);
  std::set<std::string> outputs(names.begin(), names.end());
  if (ended) {
    outputs.merge(listed_files(folder / kMetrics));
    outputs.merge(reports_in(folder));
  }
  std::erase_if(outputs, [&](const std::string& name) {
    return !is_file(folder / name) || std::ranges::any_of(inputs, [&](const fs::path& input) {
      return fs::equivalent(folder / name, input, ignored);
    });
  });
  if (ended) {
    move_set(folder, std::move(outputs));
    return folder / kPrevious;
  }
  if (outputs.empty()) return {};
  make_folder(folder / kStopped);
  for (const std::string& name : outputs) move_file(folder / name, folder / kStopped / name);
  return folder / kStopped;
}

void remove_stopped_outputs(const fs::path& folder) { remove_folder(folder / kStopped); }

void bring_back_outputs(const fs::path& folder) {
  std::error_code error;
  const bool moving = fs::exists(folder / kMoving, error);
  if (!moving && is_file(folder / kMetrics)) return;
  // Interrupted here, set_aside_outputs() collects what is back already as well.
  const fs::path from = folder / kMoving;
  if (!moving) {
    if (!fs::exists(folder / kPrevious, error)) return;
    move_file(folder / kPrevious, from);
  }
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(from, error)) files.push_back(entry.path());
  // metrics.json goes last here too.
  std::partition(files.begin(), files.end(),
                 [](const fs::path& file) { return file.filename() != kMetrics; });
  for (const fs::path& file : files) {
    if (is_file(file)) move_file(file, folder / file.filename());
  }
  fs::remove(from, error);
}

std::vector<fs::path> metrics_of_last_run(const fs::path& folder) {
  return {folder / kMetrics, folder / kMoving / kMetrics, folder / kPrevious / kMetrics};
}

}  // namespace octet
