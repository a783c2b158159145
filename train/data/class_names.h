#pragma once

#include <octet/core/tensor.h>

#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// Numbers classes by their names. They are sorted, as numbers where all are whole numbers, else by
/// bytes; or they are known beforehand.
class ClassNames {
 public:
  /// Empty: whatever names come. With `more`, names that are not known come behind those that are.
  explicit ClassNames(std::vector<std::string> known = {}, bool more = false)
      : known_(std::move(known)), more_(more) {}

  /// Adds an example. Throws FormatError for a name that is not known where some are and there may
  /// be no more, and for a name that is empty; `where` is what the example is from.
  void add(std::string_view name, const std::string& where);

  /// The class of each example that was added.
  Labels labels() const;
  /// In the order of the labels.
  std::vector<std::string> names() const;

 private:
  std::vector<std::string> known_;
  bool more_;
  /// In the order of their first examples.
  std::vector<std::string> found_;
  std::vector<std::int32_t> examples_;
};

}  // namespace octet
