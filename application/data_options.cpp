#include <fmt/format.h>
#include <octet/command_line/numbers.h>
#include <octet/command_line/parse.h>
#include <octet/train/data/signal_features.h>

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "option_list.h"

namespace octet::application {
namespace {

command_line::Count range_of(std::string_view name) {
  const OptionRange range = range_of_option(name);
  return {range.least, range.most};
}

std::vector<std::string> padding_names() {
  std::vector<std::string> names;
  for (const SequencePadding padding : kPaddings) names.emplace_back(to_string(padding));
  return names;
}

/// Notes which options are given, if only with their defaults.
void remember_given(CLI::App& app, const char* group, DataOptions& options) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_group() != group || option->get_lnames().empty()) continue;
    option->each([&options, name = option->get_lnames().front()](const std::string&) {
      if (name != "data") options.chosen.insert(name);
    });
  }
}

/// Takes "HxW". Throws CLI::ValidationError for another text.
void read_size(const std::string& text, DataOptions& options) {
  const command_line::Count sides = range_of("image-size");
  const std::size_t cut = text.find('x');
  const auto height = command_line::number_in<Index>(sides, std::string_view(text).substr(0, cut));
  const auto width = cut == std::string::npos ? std::nullopt
                                              : command_line::number_in<Index>(
                                                    sides, std::string_view(text).substr(cut + 1));
  if (!height || !width) {
    throw CLI::ValidationError(
        "--image-size",
        fmt::format("expected height and width as HxW, each from {} to {}, found {}", sides.least,
                    sides.most, text));
  }
  options.height = *height;
  options.width = *width;
}

}  // namespace

CLI::Option* add_data(CLI::App& app, std::string& data, DataOptions& options,
                      const std::string& help) {
  const CLI::Validator named(
      [](const std::string& text) {
        return text.empty() ? "expected a file or a folder, found an empty name" : "";
      },
      "");
  app.option_defaults()->group("Data");
  CLI::Option* option = app.add_option("--data", data, help)->check(named)->type_name("PATH");
  app.add_option("--test-data", options.test_data,
                 "Examples to score on where --data has none for that; default: those of --data")
      ->check(named)
      ->type_name("PATH");
  command_line::add_number(app, "--split", options.split, command_line::Real{0.01, 0.99},
                           "The share of --data for training, class by class, where it has no test "
                           "part; recordings and groups are not divided");
  command_line::add_number(app, "--split-seed", options.split_seed, command_line::kSeeds,
                           "Chooses which examples --split tests on; default: 0");
  app.add_option("--class-from", options.class_from,
                 "What the names of files say, e.g. {class}_{group}_{test=0-4}.wav; * stands for "
                 "anything; default: the folder of a file is its class")
      ->check(named)
      ->type_name("PATTERN");
  app.add_option_function<std::string>(
         "--image-size", [&options](const std::string& text) { read_size(text, options); },
         "Height and width, to which images are resized; default: all have one size")
      ->type_name("HxW");
  app.add_flag("--grey", options.grey, "Images become grey; default: where all are")
      ->disable_flag_override();
  command_line::add_number(app, "--sample-rate", options.sample_rate, range_of("sample-rate"),
                           "Samples a second, to which sounds are resampled, by default those of "
                           "the first; and that other signals have, for --front-end");
  app.add_option("--front-end", options.front_end,
                 "Turns sounds and other signals into features, in integers that the C source "
                 "computes too: log-mel; mfcc, its cosine transform; spectrogram, bands that are "
                 "even in Hz; vibration, those without the mean of each frame, behind its root "
                 "mean square; micro-speech, log-mel with noise reduction and gain control; "
                 "default: samples")
      ->check(command_line::one_of(front_end_names()));
  command_line::add_number(app, "--frame", options.frame_ms, range_of("frame"),
                           "Milliseconds of a signal that features are made of; default: 30");
  command_line::add_number(app, "--frame-hop", options.frame_hop_ms, range_of("frame-hop"),
                           "How many milliseconds later the next frame begins; default: 20");
  command_line::add_number(app, "--mel-channels,--bands", options.mel_channels,
                           range_of("mel-channels"), "Bands of a frame, of each axis; default: 40");
  command_line::add_number(app, "--cepstra", options.cepstra, range_of("cepstra"),
                           "Coefficients of a frame of mfcc; default: 13");
  command_line::add_number(app, "--signal-range", options.signal_range,
                           command_line::Real{kLeastSignalRange, kMostSignalRange},
                           "The largest value of a sensor, which becomes 32768, the largest of 16 "
                           "bits; default: 32768, samples as they are");
  app.add_option("--target-column", options.target_column,
                 "The column of a CSV file with the classes or numbers, or several of numbers; "
                 "default: the last")
      ->check(named)
      ->type_name("COLUMN,...");
  app.add_flag("--numbers", options.numbers,
               "Targets of a CSV file are numbers, also where all are whole ones")
      ->disable_flag_override();
  app.add_option("--group-column", options.group_column,
                 "The column of a CSV file that says what records belong to, such as a recording")
      ->check(named)
      ->type_name("COLUMN");
  app.add_option("--weight-column", options.weight_column,
                 "The column of a CSV file with a weight for each example in training")
      ->check(named)
      ->type_name("COLUMN");
  app.add_option("--columns", options.columns,
                 "The columns of a CSV file that are features, in this order; default: all others")
      ->delimiter(',')
      ->type_name("COLUMN,COLUMN,...");
  app.add_option("--ignore", options.ignored, "Columns of a CSV file that are not read")
      ->delimiter(',')
      ->type_name("COLUMN,COLUMN,...");
  command_line::add_number(app, "--window", options.window, range_of("window"),
                           "So many records of a CSV file in a row are an example");
  command_line::add_number(app, "--hop", options.hop, range_of("hop"),
                           "How many records later the next window begins; default: --window");
  command_line::add_number(app, "--length", options.length, range_of("length"),
                           "Steps of a sequence: longer ones are cut to their first, shorter ones "
                           "padded; default: all have one length");
  app.add_option_function<std::string>(
         "--padding",
         [&options](const std::string& text) { options.padding = parse_sequence_padding(text); },
         "What shorter sequences end in: zeros (default), their last step again and again, or "
         "zeros with one feature more, which is 1 at the steps in front of them, for --network "
         "masked_gru")
      ->check(command_line::one_of(padding_names()));
  command_line::add_number(
      app, "--skip-bad", options.skip_bad, command_line::Count{0, 1000000000},
      "Leaves out up to so many examples that cannot be read, and says which: images that do not "
      "decode, sounds of other channels, records that are no numbers; default: 0, the first is an "
      "error");
  command_line::add_number(
      app, "--max-data-bytes", options.max_bytes,
      command_line::Count{1, std::numeric_limits<std::size_t>::max()},
      "The most memory that examples may take; images, sounds and labelled rows of .npy files that "
      "take more are read from their files for each batch; default: 4 GiB");
  remember_given(app, "Data", options);
  return option;
}

}  // namespace octet::application
