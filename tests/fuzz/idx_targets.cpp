#include <octet/core/error.h>
#include <octet/train/data/idx.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "memory_file.h"
#include "targets.h"

namespace octet::fuzz {
namespace {

namespace fs = std::filesystem;

/// A folder whose two files are links to files in memory: load_idx_test() reads them there.
class MemorySet {
 public:
  MemorySet() {
    std::string name = (fs::temp_directory_path() / "octet_fuzz_XXXXXX").string();
    require(::mkdtemp(name.data()) != nullptr, "a folder can be made");
    folder_ = name;
    fs::create_symlink(images_.path(), folder_ / "t10k-images-idx3-ubyte");
    fs::create_symlink(labels_.path(), folder_ / "t10k-labels-idx1-ubyte");
  }
  ~MemorySet() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  MemorySet(const MemorySet&) = delete;
  MemorySet& operator=(const MemorySet&) = delete;

  const fs::path& folder() const { return folder_; }
  const MemoryFile& images() const { return images_; }
  const MemoryFile& labels() const { return labels_; }

 private:
  MemoryFile images_;
  MemoryFile labels_;
  fs::path folder_;
};

}  // namespace

void idx(Data input) {
  static const MemoryFile file;
  file.assign(input);
  try {
    const IdxArray array = read_idx(file.path());
    require(array.shape.size() == static_cast<Index>(array.values.size()),
            "an IDX array has the values of its shape");
  } catch (const FormatError&) {
    return;
  }
}

void dataset(Data input) {
  static const MemorySet set;
  const std::size_t cut = input.empty() ? 0 : std::min<std::size_t>(input[0], input.size() - 1);
  const Data files = input.empty() ? input : input.subspan(1);
  set.labels().assign(files.first(cut));
  set.images().assign(files.subspan(cut));
  try {
    const Dataset data = load_idx_test(set.folder());
    const Tensor features = data.features(0, data.size());
    require(features.shape()[0] == static_cast<Index>(data.size()), "every image is there");
    require(std::ranges::all_of(features.span(), [](float x) { return x >= 0.0F && x <= 1.0F; }),
            "every value is within 0 and 1");
  } catch (const FormatError&) {
    return;
  }
}

}  // namespace octet::fuzz
