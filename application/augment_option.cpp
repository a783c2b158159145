#include "augment_option.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <octet/command_line/numbers.h>
#include <octet/command_line/parse.h>
#include <octet/command_line/text.h>
#include <octet/core/error.h>

#include <CLI/CLI.hpp>
#include <set>

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
      const auto [name, number] = command_line::name_and_value(word);
      const auto value = command_line::number_in<double>(Real{-1e9, 1e9}, number);
      if (!value) {
        throw InvalidArgument(fmt::format(
            "expected a .json file or NAME=NUMBER, with commas between, found {}", text));
      }
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
