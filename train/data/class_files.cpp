#include <fmt/format.h>
#include <fmt/ranges.h>
#include <octet/core/error.h>
#include <octet/core/log.h>
#include <octet/core/printable.h>
#include <octet/core/text.h>
#include <octet/train/data/class_files.h>
#include <octet/train/data/example_names.h>
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

bool ends_in(const std::string& name, const Endings& endings) {
  const std::string small = lower_case(name);
  return std::ranges::any_of(endings,
                             [&](std::string_view ending) { return small.ends_with(ending); });
}

/// Whether a name is that of what stands beside examples, and not of one in a format that is not
/// read. Where examples are texts, other texts may be such.
bool is_document(const std::string& name, const Endings& examples) {
  static const Endings documents = {".md", ".rst",   ".pdf",  ".html",
                                    ".py", ".ipynb", ".yaml", ".yml"};
  static const Endings texts = {".txt", ".json", ".xml", ".csv", ".tsv"};
  static const Endings names = {"readme", "license", "notice"};
  const bool are_texts = std::ranges::find(examples, ".csv") != examples.end();
  return ends_in(name, documents) || (!are_texts && ends_in(name, texts)) ||
         std::ranges::find(names, lower_case(name)) != names.end();
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
  Lister(const Endings& endings, const DataOptions& options)
      : endings_(endings), skips_(options.skip_bad > 0) {
    if (!options.class_from.empty()) pattern_.emplace(options.class_from);
  }

  bool names_test_part() const { return pattern_ && pattern_->has_test(); }

  /// Adds to `others` the files that their names put into the test part.
  void list(const fs::path& folder, std::vector<ClassFile>& files, std::vector<ClassFile>& others) {
    for (const std::string& name : names_in(folder)) {
      const fs::path path = folder / name;
      if (is_folder(path)) {
        list_class(path, name, files, others);
      } else {
        add_or_leave_out(path, "", files, others);
      }
    }
  }

  /// Leaves out what stands beside the folders of the parts, but for documents.
  void leave_out_beside(const fs::path& folder,
                        std::initializer_list<std::optional<fs::path>> parts) {
    for (const std::string& name : names_in(folder)) {
      const fs::path path = folder / name;
      if (std::ranges::find(parts, path) != parts.end()) continue;
      if (is_file(path) && is_document(name, endings_)) continue;
      leave_out(path);
    }
  }

  /// Warns of what was left out.
  void warn_of_left_out(const fs::path& folder) const {
    if (left_out_ == 0) return;
    log_warn(printable_lines(fmt::format(
        "'{}': {} files and folders are left out, the first is '{}'; examples are files "
        "that end in {}, in the folders of classes and in none further down, which may stand in "
        "train, test and val{}{}{}{}",
        folder.string(), left_out_, first_left_out_.string(), fmt::join(endings_, ", "),
        without_example_.empty() ? "" : "; classes without an example: ",
        fmt::join(without_example_, ", "),
        no_classes_.empty() ? "" : "; folders of documents alone, which are no classes: ",
        fmt::join(no_classes_, ", "))));
  }

 private:
  bool has_class_names() const { return pattern_ && pattern_->has_class(); }

  /// Lists the files in a folder, which `name` is the class of unless those of the files say it.
  void list_class(const fs::path& folder, const std::string& name, std::vector<ClassFile>& files,
                  std::vector<ClassFile>& others) {
    const std::size_t before = files.size() + others.size();
    const std::vector<std::string> names = names_in(folder);
    for (const std::string& inner : names) add_or_leave_out(folder / inner, name, files, others);
    if (has_class_names() || files.size() + others.size() > before) return;
    const bool holds_documents =
        !names.empty() && std::ranges::all_of(names, [&](const std::string& inner) {
          return is_file(folder / inner) && is_document(inner, endings_);
        });
    if (holds_documents) {
      no_classes_.push_back(name);
      return;
    }
    if (!skips_) {
      throw FormatError(fmt::format(
          "'{}': expected files of class '{}' that end in {}, found {}; move the folder elsewhere, "
          "or leave it out by --skip-bad 1",
          folder.string(), printable(name), fmt::join(endings_, ", "),
          names.empty()
              ? "none"
              : fmt::format("{} others, such as '{}'", names.size(), printable(names.front()))));
    }
    if (names.empty()) leave_out(folder);
    without_example_.push_back(name);
  }

  void leave_out(const fs::path& path) {
    if (left_out_++ == 0) first_left_out_ = path;
  }

  void add_or_leave_out(const fs::path& path, const std::string& folder,
                        std::vector<ClassFile>& files, std::vector<ClassFile>& others) {
    if (is_file(path) && ends_in(path.filename().string(), endings_)) {
      add(path, folder, files, others);
    } else {
      leave_out(path);
    }
  }

  void add(const fs::path& path, const std::string& folder, std::vector<ClassFile>& files,
           std::vector<ClassFile>& others) {
    const NameParts parts =
        pattern_ ? pattern_->match(path.filename().string(), path.string()) : NameParts{};
    const bool named = has_class_names();
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
  bool skips_;
  std::optional<NamePattern> pattern_;
  /// What is no example, and the first of it.
  std::size_t left_out_ = 0;
  fs::path first_left_out_;
  std::vector<std::string> without_example_;
  /// Folders that hold documents alone.
  std::vector<std::string> no_classes_;
};

/// The first of these folders that is there, in letters of any case.
std::optional<fs::path> existing_folder(const fs::path& folder,
                                        std::initializer_list<const char*> names) {
  const std::vector<std::string> found = names_in(folder);
  for (const char* name : names) {
    for (const std::string& one : found) {
      if (lower_case(one) == name && is_folder(folder / one)) return folder / one;
    }
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
  lister.leave_out_beside(folder, {train, test, validation});
  lister.list(train, files.train, files.train);
  files.test = list_part(test, endings, lister);
  files.validation = list_part(validation, endings, lister);
  if (!test) files.test.swap(files.validation);
}

}  // namespace

bool holds_files(const fs::path& folder, const Endings& endings) {
  return is_folder(folder) && holds_files_within(folder, endings, 2);
}

std::set<std::string> class_names_in(const std::vector<ClassFile>& files) {
  std::set<std::string> classes;
  for (const ClassFile& file : files) classes.insert(file.class_name);
  return classes;
}

void require_each_class(const fs::path& folder, const std::set<std::string>& classes,
                        const Dataset& train) {
  const std::set<std::int32_t> labels(train.labels().begin(), train.labels().end());
  const std::vector<std::string>& names = train.class_names();
  for (const std::string& name : classes) {
    const auto label = std::ranges::find(names, name) - names.begin();
    if (label < std::ssize(names) && labels.contains(static_cast<std::int32_t>(label))) continue;
    throw FormatError(
        fmt::format("'{}': expected an example of class '{}' that can be read, found none; remove "
                    "its files if it is to be left out",
                    folder.string(), printable(name)));
  }
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

Dataset with_file_names(Dataset set, const fs::path& folder, const std::vector<ClassFile>& files) {
  std::vector<fs::path> paths;
  paths.reserve(files.size());
  for (const ClassFile& file : files) paths.push_back(file.path);
  return std::move(set).with_example_names(names_of_files(folder, paths));
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
  lister.warn_of_left_out(folder);
  if (files.train.empty()) {
    throw FormatError(
        fmt::format("'{}': expected files for training that end in {}, in folders "
                    "named after their classes, found none",
                    (train ? *train : folder).string(), fmt::join(endings, ", ")));
  }
  return files;
}

}  // namespace octet
