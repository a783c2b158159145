#include "augment_option.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <octet/command_line/numbers.h>
#include <octet/command_line/parse.h>
#include <octet/command_line/text.h>
#include <octet/core/error.h>

#include <CLI/CLI.hpp>
#include <optional>
#include <set>
#include <string_view>

#include "data.h"

namespace octet::application {

using command_line::Real;

Augmentation augmentation_of(const std::string& text) {
  try {
    if (text.ends_with(".json")) {
      const std::string read = command_line::read_text(text);
      return in_file(text, [&] { return parse_augmentation(read); });
    }
    Augmentation result;
    std::set<std::string> names;
    for (const std::string& word : command_line::split_at_commas(text)) {
      const std::size_t at = word.find('=');
      const auto value = at == std::string::npos
                             ? std::nullopt
                             : command_line::number_in<double>(
                                   Real{-1e9, 1e9}, std::string_view(word).substr(at + 1));
      if (!value) {
        throw InvalidArgument(fmt::format(
            "expected a .json file or NAME=NUMBER, with commas between, found {}", text));
      }
      const std::string name = word.substr(0, at);
      if (!names.insert(name).second) {
        throw InvalidArgument(fmt::format("expected each name once, found {} twice", name));
      }
      set_augmentation(result, name, *value);
    }
    return result;
  } catch (const Error& error) {
    throw CLI::ValidationError("--augment", error.what());
  }
}

std::string augment_help() {
  std::string text =
      "Changes training examples at random: a .json file, or names with numbers. With --front-end, "
      "noise, speed and time_shift change samples, in samples; rotate in degrees, shift and cutout "
      "in pixels, flip a probability, crop a share, scale, "
      "speed, brightness, contrast and saturation by how much a factor may differ from 1";
  for (const ExampleKind kind : {ExampleKind::image, ExampleKind::sequence, ExampleKind::row}) {
    text += fmt::format("; {}: {}", to_string(kind), fmt::join(augmentation_names(kind), ", "));
  }
  return text;
}

}  // namespace octet::application
