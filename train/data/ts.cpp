#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/printable.h>
#include <octet/train/data/example_names.h>
#include <octet/train/data/names_in.h>
#include <octet/train/data/number_text.h>
#include <octet/train/data/sequence_set.h>
#include <octet/train/data/set_name.h>
#include <octet/train/data/text_lines.h>
#include <octet/train/data/ts.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace octet {
namespace {

namespace fs = std::filesystem;

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// Takes the part of `text` in front of `separator`, or all of it, off it.
std::string_view take(std::string_view& text, char separator) {
  const std::size_t at = text.find(separator);
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return part;
}

/// Takes the next word off `text`; empty behind the last.
std::string_view take_word(std::string_view& text) {
  text = trimmed(text);
  return take(text, ' ');
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return result;
}

class TsFile {
 public:
  TsFile(const fs::path& path, const DataOptions& options) : lines_(path), options_(options) {}

  Dataset read(std::string name, SkippedExamples& skipped) {
    read_header();
    std::optional<SequenceSet> set;
    while (lines_.next()) {
      const std::string_view line = trimmed(lines_.line());
      if (line.empty() || line.starts_with('#')) continue;
      skipped.take([&] { add_series(line, set); });
    }
    if (!set) throw FormatError(fmt::format("{}: holds no series", lines_.file()));
    return std::move(*set)
        .to_dataset(std::move(name))
        .with_example_names(names_by_line(lines_.file(), std::move(series_lines_)));
  }

 private:
  void add_series(std::string_view line, std::optional<SequenceSet>& set) {
    const std::string class_name = read_series(line);
    if (!set) set.emplace(lines_.file(), channels_, options_, classes_);
    if (channels_ != set->channels()) {
      lines_.fail(
          fmt::format("expected {} channels as in the first series, found {}; channels "
                      "stand between ':', the class behind the last",
                      set->channels(), channels_));
    }
    set->add(values_, class_name, fmt::format("{}, line {}", lines_.file(), lines_.number()));
    series_lines_.push_back(static_cast<std::uint32_t>(lines_.number()));
  }

  void read_header() {
    bool has_classes = false;
    while (lines_.next()) {
      std::string_view line = trimmed(lines_.line());
      if (line.empty() || line.starts_with('#')) continue;
      const std::string key = lower(take_word(line));
      if (key == "@data") {
        if (has_classes) return;
        lines_.fail(
            "expected a line '@classLabel true' with the classes before, found none; series "
            "without a class are not read");
      }
      if (!key.starts_with('@')) lines_.fail("expected a header of lines with '@' up to @data");
      if (key == "@classlabel") has_classes = read_classes(line);
      if (key == "@timestamps" && lower(trimmed(line)) == "true") {
        lines_.fail("series with time stamps are not read; write their values alone");
      }
    }
    throw FormatError(
        fmt::format("{}: expected a header that ends in @data; is it a .ts file?", lines_.file()));
  }

  bool read_classes(std::string_view text) {
    if (lower(take_word(text)) != "true") return false;
    classes_.clear();
    for (auto word = take_word(text); !word.empty(); word = take_word(text)) {
      classes_.emplace_back(word);
    }
    if (classes_.empty()) lines_.fail("expected classes behind '@classLabel true', found none");
    if (!options_.class_names.empty()) classes_ = options_.class_names;
    return true;
  }

  /// Reads values_, row-major, and channels_; the class.
  std::string read_series(std::string_view line) {
    const std::size_t colon = line.rfind(':');
    if (colon == std::string_view::npos) {
      lines_.fail("expected the class behind a ':', found none");
    }
    const std::string class_name(trimmed(line.substr(colon + 1)));
    line = line.substr(0, colon);
    const std::size_t whole = line.size();
    channels_ = static_cast<std::size_t>(std::ranges::count(line, ':')) + 1;
    std::size_t steps = 0;
    for (std::size_t channel = 0; channel < channels_; ++channel) {
      std::string_view part = take(line, ':');
      const std::size_t count = static_cast<std::size_t>(std::ranges::count(part, ',')) + 1;
      if (channel == 0) {
        steps = count;
        // Before memory is taken for values that are not there: each takes a digit and a separator.
        if (steps > whole / (2 * channels_) + 1) {
          lines_.fail(
              fmt::format("expected {} channels of {} values each as in channel 0, found a "
                          "line of {} bytes",
                          channels_, steps, whole));
        }
        values_.assign(steps * channels_, 0);
      }
      if (count != steps) {
        lines_.fail(fmt::format("expected {} values in channel {} as in channel 0, found {}", steps,
                                channel, count));
      }
      for (std::size_t step = 0; step < steps; ++step) {
        values_[step * channels_ + channel] = number(take(part, ','), channel);
      }
    }
    return class_name;
  }

  float number(std::string_view field, std::size_t channel) const {
    const std::string_view text = trimmed(field);
    const std::optional<float> value = to_float(text);
    if (value && std::isfinite(*value)) return *value;
    lines_.fail(fmt::format(
        "channel {}: expected a finite number, found '{}'{}", channel, printable(text),
        text == "?" || lower(text) == "nan" ? "; missing values are not read: fill them in" : ""));
  }

  TextLines lines_;
  const DataOptions& options_;
  std::vector<std::string> classes_;
  std::vector<float> values_;
  std::size_t channels_ = 0;
  /// The line of each series that was taken.
  std::vector<std::uint32_t> series_lines_;
};

/// The only file of the folder whose name ends in `ending`.
fs::path only_file(const fs::path& folder, std::string_view ending) {
  std::vector<std::string> found = names_in(folder);
  std::erase_if(found, [&](const std::string& name) {
    return !name.ends_with(ending) && !name.ends_with(std::string(ending) + ".gz");
  });
  if (found.size() == 1) return folder / found.front();
  throw IoError(fmt::format("load_ts: '{}': expected one file whose name ends in {}, found {}",
                            folder.string(), ending, found.size()));
}

}  // namespace

Dataset load_ts(const fs::path& path, const DataOptions& options, SkippedExamples& skipped) {
  return TsFile(path, options).read(set_name(path), skipped);
}

Dataset load_ts(const fs::path& path, const DataOptions& options) {
  SkippedExamples skipped(options.skip_bad);
  return load_ts(path, options, skipped);
}

DataSplit load_ts_folder(const fs::path& folder, const DataOptions& options) {
  const fs::path train_file = only_file(folder, "_TRAIN.ts");
  const fs::path test_file = only_file(folder, "_TEST.ts");
  DataOptions how = options;
  SkippedExamples skipped(options.skip_bad);
  DataSplit data;
  data.train = load_ts(train_file, how, skipped);
  how.class_names = data.train.class_names();
  data.test = load_ts(test_file, how, skipped);
  data.skipped = skipped.texts();
  return data;
}

}  // namespace octet
