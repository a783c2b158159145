#include <octet/tests/packages/debian.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace octet::test {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) parts.push_back(part);
  return parts;
}

// Of "libc6-dev:amd64 (>= 2.36)" the name.
std::string name_in(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_first_of(" :(", begin) - begin);
}

Names names_in(const std::string& field) {
  Names names;
  for (const std::string& one : split(field, ',')) {
    for (const std::string& alternative : split(one, '|')) {
      if (const std::string name = name_in(alternative); !name.empty()) names.insert(name);
    }
  }
  return names;
}

// A path and what it links to, step by step, each as packages may name it: with /usr and without.
std::vector<std::string> spellings(std::string path) {
  std::vector<std::string> found;
  for (int steps = 0; steps < 16; ++steps) {
    path = fs::path(path).lexically_normal().string();
    found.push_back(path);
    if (path.starts_with("/usr/")) {
      found.push_back(path.substr(4));
    } else {
      found.push_back("/usr" + path);
    }
    std::error_code none;
    const fs::path target = fs::read_symlink(path, none);
    if (none) break;
    path = (fs::path(path).parent_path() / target).string();
  }
  return found;
}

}  // namespace

std::string output_of(const std::string& command) {
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run: " + command);
  std::string text;
  std::array<char, 65536> chunk{};
  for (std::size_t n = 1; n > 0;) {
    n = std::fread(chunk.data(), 1, chunk.size(), pipe);
    text.append(chunk.data(), n);
  }
  ::pclose(pipe);
  return text;
}

bool Debian::available() {
  return !output_of("command -v dpkg-query 2>/dev/null").empty() &&
         fs::exists("/var/lib/dpkg/status");
}

Debian::Debian() {
  const std::string format =
      R"(${db:Status-Status}\t${Package}\t${Essential}\t${Priority}\t${Provides}\t)"
      R"(${Pre-Depends},${Depends}\n)";
  Names roots = {"apt"};
  for (const std::string& line : split(output_of("dpkg-query -W -f '" + format + "'"), '\n')) {
    const std::vector<std::string> fields = split(line, '\t');
    if (fields.size() < 5 || fields[0] != "installed") continue;
    const std::string& package = fields[1];
    if (fields[2] == "yes" || fields[3] == "required") roots.insert(package);
    for (const std::string& name : names_in(fields[4])) providers_[name].insert(package);
    depends_[package].merge(names_in(fields.size() > 5 ? fields[5] : ""));
  }
  base_ = closure(roots);
}

Names Debian::closure(const Names& packages) const {
  Names found;
  std::vector<std::string> open(packages.begin(), packages.end());
  while (!open.empty()) {
    const std::string name = std::move(open.back());
    open.pop_back();
    if (!found.insert(name).second) continue;
    if (const auto real = depends_.find(name); real != depends_.end()) {
      open.insert(open.end(), real->second.begin(), real->second.end());
    } else if (const auto provided = providers_.find(name); provided != providers_.end()) {
      open.insert(open.end(), provided->second.begin(), provided->second.end());
    }
  }
  return found;
}

const Names& Debian::depends_in_apt(const std::string& package) {
  static std::map<std::string, Names> known;
  const auto [entry, is_new] = known.try_emplace(package);
  if (!is_new) return entry->second;
  const std::string mark = "Depends:";
  for (const std::string& line :
       split(output_of("apt-cache depends --important '" + package + "' 2>/dev/null"), '\n')) {
    const std::size_t at = line.find(mark);
    if (at != std::string::npos) entry->second.insert(name_in(line.substr(at + mark.size())));
  }
  return entry->second;
}

bool Debian::provides(const std::string& package, const std::string& name) const {
  const auto found = providers_.find(name);
  return found != providers_.end() && found->second.contains(package);
}

std::map<std::string, Names> Debian::owners(const Names& paths) const {
  const fs::path list =
      fs::temp_directory_path() / ("octet_packages_" + std::to_string(::getpid()));
  std::ofstream file(list);
  for (const std::string& path : paths) {
    for (const std::string& spelling : spellings(path)) file << spelling << '\n';
  }
  file.close();
  const std::string answer =
      output_of("LC_ALL=C xargs -d '\\n' dpkg-query -S <'" + list.string() + "' 2>/dev/null");
  fs::remove(list);
  std::map<std::string, Names> known;
  for (const std::string& line : split(answer, '\n')) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos || line.starts_with("diversion by")) continue;
    known[line.substr(colon + 2)].merge(names_in(line.substr(0, colon)));
  }
  std::map<std::string, Names> owned;
  for (const std::string& path : paths) {
    for (const std::string& spelling : spellings(path)) {
      if (const auto found = known.find(spelling); found != known.end()) {
        owned[path] = found->second;
        break;
      }
    }
  }
  return owned;
}

}  // namespace octet::test
