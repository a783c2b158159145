// fuzz_replay CORPUS [TARGET]: runs every file of CORPUS/<target> through its target, without a
// fuzzer. A file that takes longer than the limit ends the program as a crash does.

#include <octet/core/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string_view>
#include <vector>

#include "targets.h"

namespace {

namespace fs = std::filesystem;

constexpr unsigned kSecondsPerFile = 20;

std::vector<fs::path> files_of(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

int replay(const fs::path& corpus, std::string_view only) {
  for (const auto& [name, run] : octet::fuzz::kTargets) {
    if (!only.empty() && only != name) continue;
    const auto files = files_of(corpus / name);
    octet::fuzz::require(!files.empty(), "every target has a corpus");
    for (const fs::path& file : files) {
      // Named first: the last line of a run that died is the file that it died of.
      std::printf("%s\n", file.c_str());
      std::fflush(stdout);
      const auto bytes = octet::read_file(file);
      ::alarm(kSecondsPerFile);
      run(bytes);
      ::alarm(0);
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fputs("usage: fuzz_replay CORPUS [TARGET]\n", stderr);
    return 2;
  }
  try {
    return replay(argv[1], argc == 3 ? argv[2] : "");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "unexpected exception: %s\n", error.what());
    return 1;
  }
}
