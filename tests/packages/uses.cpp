#include <octet/tests/packages/debian.h>
#include <octet/tests/packages/uses.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace octet::test {
namespace {

namespace fs = std::filesystem;

// As a shell finds it, in the folders of the system as well where PATH lacks them.
std::string program_path(const std::string& name) {
  if (name.starts_with('/')) return fs::exists(name) ? name : "";
  const char* path = std::getenv("PATH");
  std::istringstream folders(std::string(path == nullptr ? "" : path) +
                             ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string candidate = (fs::path(folder) / name).string();
    if (!fs::is_directory(candidate) && ::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

}  // namespace

void Uses::add_program(const std::string& name, const std::string& where, Use::Kind kind) {
  found.push_back({kind, name, program_path(name), where});
}

void Uses::add_path(Use::Kind kind, const std::string& path, const std::string& where) {
  found.push_back({kind, fs::path(path).filename().string(), path, where});
}

void Uses::add_unknown(const std::string& where, const std::string& what) {
  unknown.push_back(where + ": " + what);
}

std::string text_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw std::runtime_error("cannot read " + file.string());
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<fs::path> our_files(const fs::path& source,
                                const std::function<bool(const fs::path&)>& accepted) {
  std::vector<fs::path> found;
  for (fs::recursive_directory_iterator at(source), end; at != end; ++at) {
    const fs::path& path = at->path();
    const std::string name = path.filename().string();
    if (at->is_directory()) {
      const bool hidden = name.starts_with('.') && name != ".ci";
      const bool built = name == "build" || fs::exists(path / "CMakeCache.txt");
      if (hidden || built || at->is_symlink()) at.disable_recursion_pending();
    } else if (at->is_regular_file() && accepted(path)) {
      found.push_back(path);
    }
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace octet::test
