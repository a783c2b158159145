#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/core/file_system.h>
#include <octet/core/json_text.h>
#include <octet/train/checkpoint.h>
#include <octet/train/run/run_outputs.h>
#include <octet/train/run/training_run.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <utility>

// What earlier runs left in the folders of a run.

namespace octet {
namespace {

bool file_exists(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

}  // namespace

void TrainingRun::check_checkpoint_is_there() const {
  if (file_exists(checkpoint()) || file_exists(previous_file(checkpoint()))) return;
  const RunOptionNames& names = options_.names;
  throw InvalidArgument(fmt::format(
      "{0}: there is no checkpoint '{1}'; give the {2} or {3} of the run to go on with, or start "
      "anew without {0}",
      names.resume, checkpoint().string(), names.folder, names.checkpoint_folder));
}

std::string TrainingRun::begin_text() const {
  std::string text;
  if (resumed_from_) text += fmt::format("resuming from {}\n", resumed_from_->string());
  if (kept_checkpoint_) {
    text += fmt::format(
        "the checkpoint of a run that was stopped here is kept as {}; to go on with it, name it {} "
        "again and use {}\n",
        kept_checkpoint_->string(), checkpoint().filename().string(), options_.names.resume);
  }
  if (!outputs_set_aside_.empty()) {
    text += fmt::format("what the run before left here is in {}\n", outputs_set_aside_.string());
  }
  return text;
}

void TrainingRun::open_folders() {
  folders_.emplace(
      std::vector<NamedFolder>{{options_.names.folder, options_.folder},
                               {options_.names.checkpoint_folder, options_.checkpoint_folder}});
}

bool TrainingRun::came_to_its_end() const {
  return std::ranges::any_of(metrics_of_last_run(folder()), [this](const auto& metrics) {
    try {
      const auto bytes = read_file(metrics);
      const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      return detail::ParsedJson(text)->at("sha256").at("checkpoint") == checkpoint_hash();
    } catch (const Error&) {
      return false;
    } catch (const nlohmann::json::exception&) {
      return false;
    }
  });
}

void TrainingRun::keep_stopped_run() {
  const std::filesystem::path last = checkpoint();
  const std::filesystem::path previous = previous_file(last);
  if ((!file_exists(last) && !file_exists(previous)) || came_to_its_end()) return;
  const std::filesystem::path kept = last.parent_path() / "stopped.ckpt";
  remove_stopped_outputs(folder());
  // One of the two may be missing: what an earlier run left in its place does not go with the
  // other.
  for (const auto& [from, to] : {std::pair(previous, previous_file(kept)), std::pair(last, kept)}) {
    if (file_exists(from)) {
      move_file(from, to);
    } else {
      file_system().remove(to.c_str());
    }
  }
  kept_checkpoint_ = kept;
}

}  // namespace octet
