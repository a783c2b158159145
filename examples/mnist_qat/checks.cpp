#include "checks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/core/file_system.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <utility>

#include "hashes.h"
#include "run.h"

namespace octet::mnist {
namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
/// What a .tflite file may hold.
constexpr double kMostFileBytes = 2.0 * kGiB;

/// A machine that does not say gets the benefit of the doubt.
double memory_bytes() {
  const auto pages = static_cast<double>(::sysconf(_SC_PHYS_PAGES));
  const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  return pages > 0.0 && page > 0.0 ? pages * page : 1e30;
}

/// Why a folder cannot be made or written to, and what is likely to be wrong.
[[noreturn]] void refuse(const char* option, const std::filesystem::path& folder, int error) {
  const std::string cause = std::generic_category().message(error);
  throw IoError(
      fmt::format("{}: cannot write to the folder '{}': {}; {}", option, folder.string(), cause,
                  error == ENOTDIR || error == EEXIST ? "a file of that name is in the way"
                                                      : "choose a folder that you may write to"));
}

void make_folder(const char* option, const std::filesystem::path& folder) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) refuse(option, folder, failure.value());
  if (::access(folder.c_str(), W_OK | X_OK) != 0) refuse(option, folder, errno);
}

/// Whether metrics.json is of the run that last.ckpt is of: it holds its hash.
bool came_to_its_end(const Options& options) {
  try {
    const auto text = read_file(metrics_path(options));
    const std::string hash = nlohmann::json::parse(text).at("sha256").at("checkpoint");
    return hash == checkpoint_hash(checkpoint_path(options));
  } catch (const Error&) {
    return false;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

}  // namespace

void check_checkpoint_is_there(const Options& options) {
  std::error_code ignored;
  for (const auto& path : {checkpoint_path(options), previous_file(checkpoint_path(options))}) {
    if (std::filesystem::exists(path, ignored)) return;
  }
  throw InvalidArgument(fmt::format(
      "--resume: there is no checkpoint '{}'; give the --out or --checkpoint-dir of the run to go "
      "on with, or start anew without --resume",
      checkpoint_path(options).string()));
}

void check_memory(const Options& options, const Dataset& train) {
  double parameters = 0.0;
  double units = 0.0;
  auto inputs = static_cast<double>(train.example_shape().size());
  const auto add = [&](double outputs) {
    parameters += (inputs + 1.0) * outputs;
    units += outputs;
    inputs = outputs;
  };
  for (const int count : options.hidden) add(count);
  add(train.classes());
  const auto batch = static_cast<double>(std::min(options.batch, train.size()));
  // Floats: a weight with its gradient and two moments; a value with its gradient.
  const double needed = sizeof(float) * (4.0 * parameters + 2.0 * units * batch);
  if (needed > memory_bytes()) {
    throw InvalidArgument(fmt::format(
        "training takes {:.1f} GiB, this machine has {:.1f}; try a smaller --hidden or --batch",
        needed / kGiB, memory_bytes() / kGiB));
  }
  if (sizeof(float) * parameters >= kMostFileBytes) {
    throw InvalidArgument(
        fmt::format("--hidden: {:.0f} parameters do not fit into a .tflite file, which holds 2 GiB",
                    parameters));
  }
}

std::optional<std::filesystem::path> keep_stopped_run(const Options& options) {
  const std::filesystem::path last = checkpoint_path(options);
  const std::filesystem::path previous = previous_file(last);
  std::error_code ignored;
  if (!std::filesystem::exists(last, ignored) && !std::filesystem::exists(previous, ignored)) {
    return std::nullopt;
  }
  if (came_to_its_end(options)) return std::nullopt;
  std::filesystem::path kept = last.parent_path() / "stopped.ckpt";
  // One of the two may be missing: what an earlier run left in its place does not go with the
  // other.
  for (const auto& [from, to] : {std::pair(previous, previous_file(kept)), std::pair(last, kept)}) {
    if (std::filesystem::exists(from, ignored)) {
      move_file(from, to);
    } else {
      file_system().remove(to.c_str());
    }
  }
  return kept;
}

OutputFolders::OutputFolders(const Options& options) {
  make_folder("--out", options.out);
  make_folder("--checkpoint-dir", options.checkpoint_dir);
  lock("--out", options.out);
  if (!std::filesystem::equivalent(options.out, options.checkpoint_dir)) {
    lock("--checkpoint-dir", options.checkpoint_dir);
  }
  for (const auto& folder : {options.out, options.checkpoint_dir}) {
    remove_temporaries_left_behind(folder);
  }
}

OutputFolders::~OutputFolders() {
  for (const int handle : handles_) ::close(handle);
}

void OutputFolders::lock(const char* option, const std::filesystem::path& folder) {
  const int handle = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle < 0) return;
  handles_.push_back(handle);
  // Some file systems have no locks: then there is none.
  if (::flock(handle, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  for (const int open : handles_) ::close(open);
  throw IoError(fmt::format("{}: another run is writing to '{}'; give this one its own folder",
                            option, folder.string()));
}

}  // namespace octet::mnist
