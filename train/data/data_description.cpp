#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/json_text.h>
#include <octet/core/printable.h>
#include <octet/train/data/data_description.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>
#include <vector>

namespace octet {
namespace {

/// Calls visit(name, member) for every option that an example depends on.
template <class Visit>
void for_each_option(const Visit& visit) {
  visit("image-size", &DataOptions::height);
  visit("image-size", &DataOptions::width);
  visit("grey", &DataOptions::grey);
  visit("sample-rate", &DataOptions::sample_rate);
  visit("front-end", &DataOptions::front_end);
  visit("frame", &DataOptions::frame_ms);
  visit("frame-hop", &DataOptions::frame_hop_ms);
  visit("mel-channels", &DataOptions::mel_channels);
  visit("cepstra", &DataOptions::cepstra);
  visit("signal-range", &DataOptions::signal_range);
  visit("length", &DataOptions::length);
  visit("padding", &DataOptions::padding);
  visit("columns", &DataOptions::columns);
  visit("target-column", &DataOptions::target_column);
  visit("group-column", &DataOptions::group_column);
  visit("numbers", &DataOptions::numbers);
  visit("window", &DataOptions::window);
  visit("hop", &DataOptions::hop);
  visit("class-names", &DataOptions::class_names);
}

/// The key of an option in the text: of an image size there are two.
std::string option_key(std::string_view name, bool is_width) {
  if (name != "image-size") return std::string(name);
  return is_width ? "image-width" : "image-height";
}

nlohmann::json option_value(SequencePadding padding) { return to_string(padding); }
template <class T>
nlohmann::json option_value(const T& value) {
  return value;
}

template <class T>
T read_option(std::string_view name, const nlohmann::json& value) {
  if constexpr (std::is_same_v<T, SequencePadding>) {
    return parse_sequence_padding(value.get<std::string>());
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    const auto number = detail::whole_number<std::int64_t>(value);
    const OptionRange range = range_of_option(name);
    if (number < 0 || !std::in_range<T>(number) ||
        static_cast<std::uint64_t>(number) < range.least ||
        static_cast<std::uint64_t>(number) > range.most) {
      throw FormatError(fmt::format("{}: expected a number from {} to {}, found {}", name,
                                    range.least, range.most, number));
    }
    return static_cast<T>(number);
  } else if constexpr (std::is_same_v<T, double>) {
    const T number = value.get<T>();
    if (!(number >= kLeastSignalRange && number <= kMostSignalRange)) {
      throw FormatError(fmt::format("{}: expected a number from {} to {}, found {}", name,
                                    kLeastSignalRange, kMostSignalRange, number));
    }
    return number;
  } else {
    return value.get<T>();
  }
}

Shape read_shape(const nlohmann::json& list) {
  std::vector<Index> extents;
  for (const nlohmann::json& extent : list) {
    const auto number = detail::whole_number<Index>(extent);
    constexpr Index kMost = Index{1} << 30;
    if (number < 1 || number > kMost) {
      throw FormatError(fmt::format("expected extents from 1 to {}, found {}", kMost, number));
    }
    extents.push_back(number);
  }
  Shape shape(extents);
  constexpr Index kMostValues = Index{1} << 40;
  // size() throws where the product does not fit.
  if (shape.rank() < 1 || shape.size() > kMostValues) {
    throw FormatError(fmt::format("expected a shape of 1 to {} values, found {}", kMostValues,
                                  shape.to_string()));
  }
  return shape;
}

TrainedSplit read_split(const nlohmann::json& object) {
  TrainedSplit split{.share = object.at("share").get<double>(),
                     .seed = detail::whole_number<std::uint64_t>(object.at("seed")),
                     .examples = object.at("examples").get<std::string>()};
  if (!(split.share > 0 && split.share < 1)) {
    throw FormatError(
        fmt::format("split: expected a share between 0 and 1, found {}", split.share));
  }
  return split;
}

/// Whether the member is DataOptions::width.
template <class Member>
bool is_width(Member member) {
  if constexpr (std::is_same_v<Member, Index DataOptions::*>) return member == &DataOptions::width;
  return false;
}

}  // namespace

std::vector<std::string_view> example_options() {
  std::vector<std::string_view> names;
  for_each_option([&](std::string_view name, auto) {
    if (names.empty() || names.back() != name) names.push_back(name);
  });
  return names;
}

std::string to_text(const DataDescription& description) {
  const DataOptions plain;
  nlohmann::json object = {
      {"format", description.format},
      {"shape", std::vector<Index>(description.shape.begin(), description.shape.end())}};
  for_each_option([&](std::string_view name, auto member) {
    if (description.options.*member == plain.*member) return;
    object[option_key(name, is_width(member))] = option_value(description.options.*member);
  });
  if (const TrainedSplit& split = description.options.trained_split; split != TrainedSplit{}) {
    object["split"] = {{"share", split.share}, {"seed", split.seed}, {"examples", split.examples}};
  }
  return detail::lenient_json_text(object);
}

DataDescription parse_data_description(std::string_view text) {
  const auto fail = [](const std::string& what) {
    throw FormatError(fmt::format("metadata '{}': {}", kDataKey, what));
  };
  DataDescription description;
  try {
    const detail::ParsedJson parsed(text);
    description.format = parsed->at("format").get<std::string>();
    description.shape = read_shape(parsed->at("shape"));
    for_each_option([&](std::string_view name, auto member) {
      const auto found = parsed->find(option_key(name, is_width(member)));
      if (found == parsed->end()) return;
      using Kind = std::remove_reference_t<decltype(description.options.*member)>;
      description.options.*member = read_option<Kind>(name, *found);
    });
    const auto split = parsed->find("split");
    if (split != parsed->end()) description.options.trained_split = read_split(*split);
  } catch (const nlohmann::json::exception& error) {
    fail(detail::fault_text(error));
  } catch (const Error& error) {
    fail(error.what());
  }
  return description;
}

DataOptions with_description(const DataOptions& given, const DataDescription& description) {
  const DataOptions plain;
  DataOptions result = given;
  result.trained_split = description.options.trained_split;
  for_each_option([&](std::string_view name, auto member) {
    const auto& trained = description.options.*member;
    const bool is_given = given.*member != plain.*member || given.chosen.contains(name);
    if (!is_given) {
      result.*member = trained;
    } else if (given.*member != trained) {
      throw InvalidArgument(fmt::format(
          "--{}: expected {}, with which the model was trained, found {}; leave it out to take it "
          "from the model",
          name,
          trained == plain.*member
              ? std::string("the default")
              : printable(detail::lenient_json_text(option_value(trained)), 200),
          printable(detail::lenient_json_text(option_value(given.*member)), 200)));
    }
  });
  return result;
}

}  // namespace octet
