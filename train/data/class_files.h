#pragma once

#include <octet/train/data/data_options.h>
#include <octet/train/data/split_data.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// A file that holds one example.
struct ClassFile {
  std::filesystem::path path;
  std::string class_name;
  /// Empty where none is named.
  std::string group;
};

/// The files of a folder, sorted by bytes of their paths.
struct ClassFiles {
  std::vector<ClassFile> train;
  std::vector<ClassFile> test;
  /// None where there is no test part beside it.
  std::vector<ClassFile> validation{};
};

/// Whether a folder, a folder in it or one in that has a file whose name ends in one of `endings`,
/// in small letters or capitals.
bool holds_files(const std::filesystem::path& folder, const std::vector<std::string_view>& endings);

/// Lists the files of a folder that end so: FOLDER/CLASS/NAME, or FOLDER/train/CLASS/NAME and
/// FOLDER/test/CLASS/NAME, and FOLDER/val/CLASS/NAME or FOLDER/validation/CLASS/NAME, which is the
/// test part if there is no other. With DataOptions::class_from the names of files say more; CLASS
/// is left out where they say the class:
///
/// - `{class}` and `{group}` are the class and the group;
/// - `{test=0-4}` is a number, and files in which it is from 0 to 4 are the test part;
/// - `*` is anything;
/// - all else stands as it is.
///
/// Each takes at least one character and ends where what stands behind it begins for the first
/// time; what stands last, the ending, ends the name. Hidden files and folders, whose names begin
/// with a point, are left out, and so is what is neither such a file nor the folder of a class,
/// with a warning; so is a folder that holds documents alone. Throws InvalidArgument for another
/// pattern; FormatError for a folder, a part or, where DataOptions::skip_bad is 0, a class without
/// such files, a name that does not match, and
/// files that stand elsewhere.
ClassFiles list_class_files(const std::filesystem::path& folder,
                            const std::vector<std::string_view>& endings,
                            const DataOptions& options);

/// The names of the classes of files.
std::set<std::string> class_names_in(const std::vector<ClassFile>& files);

/// Throws FormatError for one of the classes of the files of `folder` that `train` has no example
/// of.
void require_each_class(const std::filesystem::path& folder, const std::set<std::string>& classes,
                        const Dataset& train);

/// Numbers groups by their names, in the order in which these first appear.
class GroupNumbers {
 public:
  std::uint32_t of(const std::string& name) {
    return numbers_.try_emplace(name, static_cast<std::uint32_t>(numbers_.size())).first->second;
  }

 private:
  std::map<std::string, std::uint32_t> numbers_;
};

/// Returns a number for each group that is named, and one for each file that names none, as Groups
/// are.
Groups groups_of(const std::vector<ClassFile>& files);

/// Names examples, one of each file, by the path from `folder` to the file.
Dataset with_file_names(Dataset set, const std::filesystem::path& folder,
                        const std::vector<ClassFile>& files);

}  // namespace octet
