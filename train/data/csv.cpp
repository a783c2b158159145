#include <fmt/format.h>
#include <fmt/ranges.h>
#include <octet/core/error.h>
#include <octet/core/parse_number.h>
#include <octet/core/printable.h>
#include <octet/train/data/csv.h>
#include <octet/train/data/csv_records.h>
#include <octet/train/data/number_text.h>
#include <octet/train/data/set_name.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace octet {
namespace {

enum class Role { feature, target, ignored };

std::optional<std::int32_t> to_label(std::string_view text) {
  std::int32_t label = 0;
  if (parse_number(text, label) != std::errc() || label < 0) return std::nullopt;
  // The number of classes has to be an int as well.
  if (label == std::numeric_limits<std::int32_t>::max()) return std::nullopt;
  return label;
}

void check(const CsvOptions& options) {
  const auto refuse = [](const std::string& why) { throw InvalidArgument("load_csv: " + why); };
  const char separator = options.separator;
  if (separator == '"' || separator == '\n' || separator == '\r') {
    refuse("expected a separator that is no quote and no line's end");
  }
  if (options.classes < 0) {
    refuse(fmt::format("expected a number of classes, or 0, found {}", options.classes));
  }
  if (options.targets != CsvTargets::labels && options.targets != CsvTargets::numbers &&
      options.targets != CsvTargets::features) {
    refuse("a CsvTargets outside the enumeration");
  }
  if (options.targets != CsvTargets::labels &&
      (options.classes != 0 || !options.class_names.empty())) {
    refuse("classes and class_names are for targets that are labels");
  }
  if (options.classes != 0 && !options.class_names.empty()) {
    refuse("expected classes or class_names, found both");
  }
  std::vector<std::string> names = options.class_names;
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice != names.end()) refuse(fmt::format("the class name '{}' stands twice", *twice));
}

class CsvTable {
 public:
  CsvTable(const std::filesystem::path& path, const CsvOptions& options)
      : file_(path.string()), options_(options), records_(path, options.separator) {}

  Dataset read(std::string name) {
    bool more = records_.next();
    if (more && options_.header) {
      read_names();
      more = records_.next();
    }
    if (!more) {
      throw FormatError(fmt::format("{}: expected at least one record{}, found none", file_,
                                    options_.header ? " behind the header" : ""));
    }
    assign_roles();
    for (; more; more = records_.next()) read_record();
    return to_dataset(std::move(name));
  }

 private:
  void read_names() {
    const auto fields = records_.fields();
    if (std::ranges::all_of(
            fields, [](const CsvField& field) { return to_float(field.trimmed()).has_value(); })) {
      records_.fail(fields[0].line,
                    "expected the columns' names, found nothing but numbers; set "
                    "CsvOptions::header to false where the file has none");
    }
    for (const CsvField& field : fields) names_.push_back(field.value());
    columns_ = names_.size();
  }

  /// The position of a column that the options name.
  std::size_t position(const CsvColumn& column, std::string_view option) const {
    if (const auto* name = std::get_if<std::string>(&column)) {
      const auto found = std::ranges::find(names_, *name);
      if (found != names_.end() && std::find(found + 1, names_.end(), *name) == names_.end()) {
        return static_cast<std::size_t>(found - names_.begin());
      }
      throw InvalidArgument(fmt::format(
          "load_csv: {}: expected CsvOptions::{} '{}' to be the name of one column, found {}",
          file_, option, *name,
          names_.empty() ? "no header"
                         : printable(fmt::format("{}", fmt::join(names_, ", ")), 200)));
    }
    const Index index = std::get<Index>(column);
    const auto count = static_cast<Index>(columns_);
    if (index < -count || index >= count) {
      throw InvalidArgument(
          fmt::format("load_csv: {}: CsvOptions::{}: column {} is outside [{}, {})", file_, option,
                      index, -count, count));
    }
    return static_cast<std::size_t>(index < 0 ? index + count : index);
  }

  void assign_roles() {
    if (!options_.header) columns_ = records_.fields().size();
    roles_.assign(columns_, Role::feature);
    for (const CsvColumn& column : options_.ignored) {
      roles_[position(column, "ignored")] = Role::ignored;
    }
    if (options_.targets != CsvTargets::features) {
      Role& role = roles_[position(options_.target_column, "target_column")];
      if (role == Role::ignored) {
        throw InvalidArgument("load_csv: the target column is among CsvOptions::ignored");
      }
      role = Role::target;
    }
    features_ = static_cast<std::size_t>(std::ranges::count(roles_, Role::feature));
    if (features_ == 0) {
      throw InvalidArgument(
          fmt::format("load_csv: {}: none of its {} columns is a feature; is "
                      "CsvOptions::separator ('{}') the file's?",
                      file_, columns_, options_.separator));
    }
  }

  void read_record() {
    const auto fields = records_.fields();
    if (fields.size() != columns_) {
      records_.fail(fields[0].line,
                    fmt::format("expected {} fields as in the first record, found {}", columns_,
                                fields.size()));
    }
    for (std::size_t i = 0; i < columns_; ++i) {
      if (roles_[i] == Role::feature) values_.push_back(number(i));
      if (roles_[i] == Role::target) read_target(i);
    }
    ++rows_;
  }

  void read_target(std::size_t column) {
    if (options_.targets == CsvTargets::numbers) {
      numbers_.push_back(number(column));
    } else {
      labels_.push_back(label(column));
    }
  }

  float number(std::size_t column) const {
    const std::string_view text = records_.fields()[column].trimmed();
    const auto value = to_float(text);
    if (value && std::isfinite(*value)) return *value;
    if (text.empty()) {
      fail(column, "expected a number, found an empty field; leave the record out or fill it in");
    }
    fail(column, fmt::format("expected a finite number that fits a float, found '{}'{}",
                             printable(text), number_hint(column, text)));
  }

  std::string_view number_hint(std::size_t column, std::string_view text) const {
    if (!options_.header && rows_ == 0) {
      return "; are these the columns' names (CsvOptions::header)?";
    }
    if (text.find(',') != std::string_view::npos) return "; decimals have a point, not a comma";
    if (options_.targets == CsvTargets::features || roles_[column] == Role::target) return "";
    return "; is it the target (CsvOptions::target_column) or one to leave out (ignored)?";
  }

  std::int32_t label(std::size_t column) const {
    const CsvField& field = records_.fields()[column];
    const auto& names = options_.class_names;
    if (!names.empty()) {
      const std::string text = field.value();
      const auto found = std::ranges::find(names, text);
      if (found != names.end()) return static_cast<std::int32_t>(found - names.begin());
      fail(column,
           fmt::format("expected one of CsvOptions::class_names ({}), found '{}'",
                       printable(fmt::format("{}", fmt::join(names, ", ")), 200), printable(text)));
    }
    const auto value = to_label(field.trimmed());
    if (!value) {
      fail(
          column,
          fmt::format("expected a label, an integer in [0, 2^31 - 1), found '{}'; give labels that "
                      "are texts as CsvOptions::class_names",
                      printable(field.trimmed())));
    }
    if (options_.classes > 0 && *value >= options_.classes) {
      fail(column, fmt::format("expected a label in [0, {}), found {}; are labels counted from 1?",
                               options_.classes, *value));
    }
    return *value;
  }

  [[noreturn]] void fail(std::size_t column, const std::string& what) const {
    const std::size_t line = records_.fields()[column].line;
    if (names_.empty()) records_.fail(line, column, what);
    records_.fail(line, column, fmt::format("'{}': {}", printable(names_[column]), what));
  }

  int classes() const {
    if (!options_.class_names.empty()) return static_cast<int>(options_.class_names.size());
    if (options_.classes > 0) return options_.classes;
    return 1 + *std::ranges::max_element(labels_);
  }

  Dataset to_dataset(std::string name) {
    const auto width = static_cast<Index>(features_);
    if (options_.targets == CsvTargets::labels) {
      const int count = classes();
      Dataset set = Dataset::from_floats(std::move(name), {width}, std::move(values_),
                                         std::move(labels_), count);
      return options_.class_names.empty() ? set : set.with_class_names(options_.class_names);
    }
    const bool own = options_.targets == CsvTargets::features;
    const Tensor targets =
        Tensor::from({static_cast<Index>(rows_), own ? width : 1}, own ? values_ : numbers_);
    return Dataset::from_floats(std::move(name), {width}, std::move(values_), Labels(rows_, 0), 1)
        .with_targets(targets);
  }

  std::string file_;
  const CsvOptions& options_;
  CsvRecords records_;
  /// Empty without a header.
  std::vector<std::string> names_;
  std::size_t columns_ = 0;
  std::size_t features_ = 0;
  std::vector<Role> roles_;
  std::size_t rows_ = 0;
  std::vector<float> values_;
  std::vector<float> numbers_;
  Labels labels_;
};

}  // namespace

Dataset load_csv(const std::filesystem::path& path, const CsvOptions& options) {
  check(options);
  return CsvTable(path, options).read(set_name(path));
}

}  // namespace octet
