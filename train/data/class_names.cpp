#include <fmt/format.h>
#include <fmt/ranges.h>
#include <octet/core/error.h>
#include <octet/core/printable.h>
#include <octet/core/utf8.h>
#include <octet/train/data/class_names.h>
#include <octet/train/data/number_text.h>

#include <algorithm>

namespace octet {
namespace {

std::vector<std::string> sorted(std::vector<std::string> names) {
  std::ranges::sort(names);
  const bool are_numbers = std::ranges::all_of(
      names, [](const std::string& name) { return to_whole_number(name).has_value(); });
  if (are_numbers) {
    std::ranges::stable_sort(names, {},
                             [](const std::string& name) { return *to_whole_number(name); });
  }
  return names;
}

std::ptrdiff_t place_of(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) - names.begin();
}

}  // namespace

void ClassNames::add(std::string_view name, const std::string& where) {
  if (name.empty()) throw FormatError(fmt::format("{}: expected a class, found no name", where));
  if (!known_.empty() && !more_ && std::ranges::find(known_, name) == known_.end()) {
    throw FormatError(fmt::format("{}: expected one of the classes {}, found '{}'", where,
                                  printable(fmt::format("{}", fmt::join(known_, ", ")), 200),
                                  printable(name)));
  }
  // The class of an example is mostly that of the one before.
  if (!examples_.empty() && found_[static_cast<std::size_t>(examples_.back())] == name) {
    examples_.push_back(examples_.back());
    return;
  }
  const std::ptrdiff_t place = place_of(found_, name);
  if (place == std::ssize(found_)) {
    if (detail::as_utf8(std::string(name)) != name) {
      throw FormatError(
          fmt::format("{}: expected the name of a class in UTF-8, found '{}'; models "
                      "keep names in UTF-8",
                      where, printable(name)));
    }
    found_.emplace_back(name);
  }
  examples_.push_back(static_cast<std::int32_t>(place));
}

std::vector<std::string> ClassNames::names() const {
  std::vector<std::string> others = found_;
  std::erase_if(others, [this](const std::string& name) {
    return std::ranges::find(known_, name) != known_.end();
  });
  std::vector<std::string> names = known_;
  // None where there may be no more than the known ones.
  for (std::string& name : sorted(std::move(others))) names.push_back(std::move(name));
  return names;
}

Labels ClassNames::labels() const {
  const std::vector<std::string> all = names();
  Labels of_found;
  of_found.reserve(found_.size());
  for (const std::string& name : found_) {
    of_found.push_back(static_cast<std::int32_t>(place_of(all, name)));
  }
  Labels result;
  result.reserve(examples_.size());
  for (const std::int32_t example : examples_) {
    result.push_back(of_found[static_cast<std::size_t>(example)]);
  }
  return result;
}

}  // namespace octet
