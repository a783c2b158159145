#include <fmt/format.h>
#include <fmt/ranges.h>
#include <octet/core/did_you_mean.h>
#include <octet/core/error.h>
#include <octet/core/printable.h>
#include <octet/core/utf8.h>
#include <octet/train/data/csv_records.h>
#include <octet/train/data/csv_rows.h>
#include <octet/train/data/number_text.h>
#include <octet/train/data/sequence_set.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>

namespace octet {
namespace {

enum class ColumnUse { none, feature, target, group, weight, ignored };

/// The place of a name that several columns have.
constexpr std::size_t kSeveral = std::numeric_limits<std::size_t>::max();

class CsvRowReader {
 public:
  CsvRowReader(const std::filesystem::path& path, CsvUse use, const DataOptions& options)
      : file_(path.string()),
        use_(use),
        has_target_(use == CsvUse::training),
        options_(options),
        records_(path) {}

  CsvRows read(SkippedExamples& skipped) {
    bool more = records_.next();
    if (more) more = read_names();
    if (!more) throw FormatError(fmt::format("{}: expected records, found none", file_));
    assign_uses();
    for (; more; more = records_.next()) {
      if (!skipped.take([&] { read_record(); })) leave_out();
    }
    require_read(file_, rows_.size());
    return std::move(rows_);
  }

 private:
  /// Names of columns; whether there is a record behind them.
  bool read_names() {
    const auto fields = records_.fields();
    has_header_ = std::ranges::none_of(
        fields, [](const CsvField& field) { return to_float(field.trimmed()).has_value(); });
    for (std::size_t i = 0; i < fields.size(); ++i) {
      names_.push_back(has_header_ ? fields[i].value() : fmt::format("{}", i));
    }
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (detail::as_utf8(names_[i]) != names_[i]) {
        records_.fail(fields[i].line, i,
                      fmt::format("expected a column's name in UTF-8, found '{}'; save the file as "
                                  "UTF-8",
                                  printable(names_[i])));
      }
      const auto [place, is_new] = places_.try_emplace(names_[i], i);
      if (!is_new) place->second = kSeveral;
    }
    return !has_header_ || records_.next();
  }

  /// The place of the only column of that name.
  std::optional<std::size_t> find(std::string_view name) const {
    const auto found = places_.find(name);
    if (found == places_.end() || found->second == kSeveral) return std::nullopt;
    return found->second;
  }

  std::string names() const {
    return printable(fmt::format("{}", fmt::join(names_, ", ")), 200) +
           (has_header_ ? "" : ", which are numbers since its first record is no header");
  }

  std::size_t place_of(std::string_view name, std::string_view option) const {
    if (const auto place = find(name)) return *place;
    throw InvalidArgument(
        fmt::format("{}: --{}: expected the name of one column, one of {}, found '{}'{}", file_,
                    option, names(), printable(name), did_you_mean(name, names_)));
  }

  void use(std::size_t column, ColumnUse as) {
    if (uses_[column] != ColumnUse::none) {
      throw InvalidArgument(
          fmt::format("{}: expected the columns of --target-column, --group-column, "
                      "--weight-column and --ignore to be different ones, found '{}' twice",
                      file_, printable(names_[column])));
    }
    uses_[column] = as;
  }

  /// The last column, that of the name, or those of several names with commas between.
  std::vector<std::size_t> target_columns() const {
    std::string_view rest = options_.target_column;
    if (rest.empty()) return {names_.size() - 1};
    if (places_.contains(rest)) return {place_of(rest, "target-column")};
    std::vector<std::size_t> columns;
    for (std::size_t comma = 0; comma != std::string_view::npos;) {
      comma = rest.find(',');
      columns.push_back(place_of(rest.substr(0, comma), "target-column"));
      if (comma != std::string_view::npos) rest.remove_prefix(comma + 1);
    }
    return columns;
  }

  void assign_targets() {
    targets_ = target_columns();
    for (const std::size_t column : targets_) {
      use(column, ColumnUse::target);
      rows_.target_column += (rows_.target_column.empty() ? "" : ",") + names_[column];
    }
    rows_.targets_of_each = targets_.size();
  }

  void assign_uses() {
    uses_.assign(names_.size(), ColumnUse::none);
    if (has_target_) assign_targets();
    // Files to predict from may lack the column that training divided by.
    if (!options_.group_column.empty() &&
        (use_ != CsvUse::prediction || places_.contains(options_.group_column))) {
      use(place_of(options_.group_column, "group-column"), ColumnUse::group);
    }
    if (!options_.weight_column.empty() && has_target_)
      use(place_of(options_.weight_column, "weight-column"), ColumnUse::weight);
    for (const std::string& name : options_.ignored) {
      use(place_of(name, "ignore"), ColumnUse::ignored);
    }
    assign_features();
    rows_.features = features_.size();
    if (rows_.features == 0) {
      throw InvalidArgument(fmt::format("{}: expected columns that are features, found none in {}",
                                        file_, fmt::join(names_, ", ")));
    }
  }

  void assign_features() {
    for (const std::string& name : options_.columns) {
      const std::optional<std::size_t> place = find(name);
      if (!place) {
        throw FormatError(fmt::format(
            "{}: expected one column of the name '{}', {}; found {}{}{}", file_, printable(name),
            use_ == CsvUse::prediction ? "which the model was trained on"
                                       : "as --columns says or a file that was read before has it",
            names(), did_you_mean(name, names_),
            has_header_ && to_whole_number(name)
                ? "; columns of a file whose first record is no header are numbers"
                : ""));
      }
      const std::size_t column = *place;
      if (uses_[column] != ColumnUse::none) {
        throw InvalidArgument(fmt::format(
            "{}: --columns: expected each column once, and none that is a target, a group, a "
            "weight or ignored, found '{}'",
            file_, printable(name)));
      }
      uses_[column] = ColumnUse::feature;
      features_.push_back(column);
    }
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (uses_[i] == ColumnUse::none && options_.columns.empty()) {
        uses_[i] = ColumnUse::feature;
        features_.push_back(i);
      } else if (uses_[i] == ColumnUse::none || uses_[i] == ColumnUse::ignored) {
        rows_.unused.push_back(names_[i]);
      }
    }
    for (const std::size_t column : features_) {
      rows_.columns.push_back(names_[column]);
      if (find(names_[column])) continue;
      throw FormatError(fmt::format(
          "{}: expected a name for each column, since further files are read by them, found '{}' "
          "twice",
          file_, printable(names_[column])));
    }
  }

  void read_record() {
    const auto fields = records_.fields();
    if (fields.size() != names_.size()) {
      records_.fail(fields[0].line,
                    fmt::format("expected {} fields as in the first record, found {}",
                                names_.size(), fields.size()));
    }
    check_data_bytes(file_, rows_.size() + 1, {rows_.features, sizeof(float)}, options_);
    for (const std::size_t column : features_) rows_.values.push_back(number(column));
    for (const std::size_t column : targets_) rows_.targets.push_back(text(column));
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (uses_[i] == ColumnUse::group) rows_.groups.push_back(text(i));
      if (uses_[i] == ColumnUse::weight) rows_.weights.push_back(weight(i));
    }
    rows_.lines.push_back(fields[0].line);
  }

  /// Takes back what a record that could not be read to its end has added.
  void leave_out() {
    const std::size_t count = rows_.size();
    rows_.values.resize(count * rows_.features);
    rows_.targets.resize(count * rows_.targets_of_each);
    rows_.groups.resize(std::min(rows_.groups.size(), count));
    rows_.weights.resize(std::min(rows_.weights.size(), count));
    rows_.behind_gaps.insert(count);
  }

  float number(std::size_t column) const {
    const std::string_view field = records_.fields()[column].trimmed();
    const auto value = to_float(field);
    if (value && std::isfinite(*value)) return *value;
    fail(column, fmt::format("expected a finite number, found '{}'{}", printable(field),
                             wrong_feature_hint()));
  }

  const char* wrong_feature_hint() const {
    switch (use_) {
      case CsvUse::training:
        return "; is it the target (--target-column), a group (--group-column) or one to leave out "
               "(--ignore)?";
      case CsvUse::sequence:
        return "; is it one to leave out (--ignore)?";
      case CsvUse::prediction:
        break;
    }
    return "";
  }

  float weight(std::size_t column) const {
    const std::string_view field = records_.fields()[column].trimmed();
    const auto value = to_float(field);
    if (value && std::isfinite(*value) && *value >= 0.0F) return *value;
    fail(column, fmt::format("expected a weight, a finite number of 0 or more, found '{}'",
                             printable(field)));
  }

  std::string text(std::size_t column) const {
    std::string field = records_.fields()[column].value();
    if (field.empty()) fail(column, "expected a target or a group, found an empty field");
    return field;
  }

  [[noreturn]] void fail(std::size_t column, const std::string& what) const {
    records_.fail(records_.fields()[column].line, column,
                  fmt::format("'{}': {}", printable(names_[column]), what));
  }

  std::string file_;
  CsvUse use_;
  bool has_target_;
  const DataOptions& options_;
  CsvRecords records_;
  bool has_header_ = false;
  std::vector<std::string> names_;
  std::unordered_map<std::string_view, std::size_t> places_;
  std::vector<ColumnUse> uses_;
  /// The columns of the targets and of the features, in their order.
  std::vector<std::size_t> targets_;
  std::vector<std::size_t> features_;
  CsvRows rows_;
};

}  // namespace

CsvRows read_csv_rows(const std::filesystem::path& path, CsvUse use, const DataOptions& options,
                      SkippedExamples& skipped) {
  return CsvRowReader(path, use, options).read(skipped);
}

std::vector<std::size_t> window_starts(std::size_t begin, std::size_t end,
                                       const DataOptions& options) {
  const std::size_t window = std::max<std::size_t>(options.window, 1);
  const std::size_t hop = options.hop > 0 ? options.hop : window;
  std::vector<std::size_t> starts;
  if (end - begin < window) return starts;
  const std::size_t last = end - window;
  for (std::size_t at = begin;; at += hop) {
    starts.push_back(at);
    if (last - at < hop) return starts;
  }
}

}  // namespace octet
