#include <fmt/format.h>
#include <fmt/ranges.h>
#include <octet/core/error.h>
#include <octet/core/printable.h>
#include <octet/train/data/class_files.h>
#include <octet/train/data/name_pattern.h>
#include <octet/train/data/names_in.h>

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

namespace octet {
namespace {

namespace fs = std::filesystem;
using Endings = std::vector<std::string_view>;

bool ends_in(std::string name, const Endings& endings) {
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return std::ranges::any_of(endings,
                             [&](std::string_view ending) { return name.ends_with(ending); });
}

bool is_file(const fs::path& path) {
  std::error_code failure;
  return fs::is_regular_file(path, failure);
}

bool is_folder(const fs::path& path) {
  std::error_code failure;
  return fs::is_directory(path, failure);
}

bool holds_files_within(const fs::path& folder, const Endings& endings, int depth) {
  const std::vector<std::string> names = names_in(folder);
  if (std::ranges::any_of(names, [&](const std::string& name) { return ends_in(name, endings); })) {
    return true;
  }
  return depth > 0 && std::ranges::any_of(names, [&](const std::string& name) {
           return is_folder(folder / name) && holds_files_within(folder / name, endings, depth - 1);
         });
}

/// Lists the files of one part, which is a folder of classes or, where names say the class, of
/// files.
class Lister {
 public:
  Lister(const Endings& endings, const DataOptions& options) : endings_(endings) {
    if (!options.class_from.empty()) pattern_.emplace(options.class_from);
  }

  bool names_test_part() const { return pattern_ && pattern_->has_test(); }

  /// Adds to `others` the files that their names put into the test part.
  void list(const fs::path& folder, std::vector<ClassFile>& files, std::vector<ClassFile>& others) {
    for (const std::string& name : names_in(folder)) {
      const fs::path path = folder / name;
      if (is_file(path) && ends_in(name, endings_)) {
        add(path, "", files, others);
      } else if (is_folder(path)) {
        for (const std::string& inner : names_in(path)) {
          if (is_file(path / inner) && ends_in(inner, endings_)) {
            add(path / inner, name, files, others);
          }
        }
      }
    }
  }

 private:
  void add(const fs::path& path, const std::string& folder, std::vector<ClassFile>& files,
           std::vector<ClassFile>& others) {
    const NameParts parts =
        pattern_ ? pattern_->match(path.filename().string(), path.string()) : NameParts{};
    const bool named = pattern_ && pattern_->has_class();
    if (!named && folder.empty()) {
      throw FormatError(
          fmt::format("{}: expected a folder named after its class around the file, found none; if "
                      "its name says the class, give --class-from, e.g. "
                      "--class-from '{{class}}_*{}'",
                      path.string(), path.extension().string()));
    }
    (parts.is_test ? others : files)
        .push_back({path, named ? parts.class_name : folder, parts.group});
  }

  const Endings& endings_;
  std::optional<NamePattern> pattern_;
};

/// The first of these folders that is there.
std::optional<fs::path> existing_folder(const fs::path& folder,
                                        std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (is_folder(folder / name)) return folder / name;
  }
  return std::nullopt;
}

/// Lists the files of a part that is there to be scored on.
std::vector<ClassFile> list_part(const std::optional<fs::path>& folder, const Endings& endings,
                                 Lister& lister) {
  std::vector<ClassFile> files;
  if (!folder) return files;
  lister.list(*folder, files, files);
  if (!files.empty()) return files;
  throw FormatError(fmt::format(
      "'{}': expected files to score on that end in {}, in folders named after their classes, "
      "found none; put some there, or remove the folder and have --split take them of the others",
      folder->string(), fmt::join(endings, ", ")));
}

void list_parts(const fs::path& folder, const fs::path& train, const Endings& endings,
                Lister& lister, ClassFiles& files) {
  const auto test = existing_folder(folder, {"test", "testing"});
  const auto validation = existing_folder(folder, {"val", "validation"});
  if (lister.names_test_part()) {
    throw InvalidArgument(fmt::format(
        "--class-from: {{test=...}} is for a folder without parts, found {}", train.string()));
  }
  lister.list(train, files.train, files.train);
  files.test = list_part(test, endings, lister);
  files.validation = list_part(validation, endings, lister);
  if (!test) files.test.swap(files.validation);
}

}  // namespace

bool holds_files(const fs::path& folder, const Endings& endings) {
  return is_folder(folder) && holds_files_within(folder, endings, 2);
}

Groups groups_of(const std::vector<ClassFile>& files) {
  GroupNumbers numbers;
  Groups groups;
  for (const ClassFile& file : files) {
    // A path is no name of a group.
    groups.push_back(numbers.of(file.group.empty() ? file.path.string() : file.group));
  }
  return groups;
}

ClassFiles list_class_files(const fs::path& folder, const Endings& endings,
                            const DataOptions& options) {
  Lister lister(endings, options);
  ClassFiles files;
  const auto train = existing_folder(folder, {"train", "training"});
  if (train) {
    list_parts(folder, *train, endings, lister, files);
  } else {
    lister.list(folder, files.train, files.test);
    if (lister.names_test_part() && files.test.empty() && !files.train.empty()) {
      throw FormatError(fmt::format(
          "'{}': --class-from: expected files of the test part, as {{test=...}} says, found none "
          "among {}",
          folder.string(), files.train.size()));
    }
  }
  if (files.train.empty()) {
    throw FormatError(
        fmt::format("'{}': expected files for training that end in {}, in folders "
                    "named after their classes, found none",
                    (train ? *train : folder).string(), fmt::join(endings, ", ")));
  }
  return files;
}

}  // namespace octet
