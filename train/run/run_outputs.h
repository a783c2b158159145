#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// In the head of every page of write_report(), which tells it from other HTML files.
inline constexpr std::string_view kReportMark =
    "<meta name=\"generator\" content=\"octet report\">";

/// Makes room for what a new run writes to `folder`, so that nothing in it is of another model.
/// Where metrics.json tells that a run has ended there, its outputs go to the folder "previous_run"
/// inside, in place of those of a run before: metrics.json, the files that it lists, reports, and
/// `names`. Else `names`, which a run that did not end has left, go to the folder "stopped_run".
/// `inputs` stay, which the new run reads. Killed at any moment, the next call goes on. Returns
/// that folder where something was moved, else an empty path. Throws IoError.
std::filesystem::path set_aside_outputs(const std::filesystem::path& folder,
                                        const std::vector<std::string>& names,
                                        const std::vector<std::filesystem::path>& inputs = {});

/// Removes the folder "stopped_run", before a checkpoint of another stopped run takes the place of
/// the one that it belongs to. Throws IoError.
void remove_stopped_outputs(const std::filesystem::path& folder);

/// Undoes set_aside_outputs() for a run that goes on after its end. Killed at any moment, the next
/// call of either goes on.
void bring_back_outputs(const std::filesystem::path& folder);

/// Every metrics.json of the last run that ended in `folder`: there, or where set_aside_outputs()
/// has put it.
std::vector<std::filesystem::path> metrics_of_last_run(const std::filesystem::path& folder);

}  // namespace octet
