#include <octet/command_line/numbers.h>

#include <limits>

#include "option_list.h"

namespace octet::application {

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
  command_line::add_number(app, "--length", options.length, command_line::Count{1, 1U << 30U},
                           "Steps of a sequence: longer ones are cut to their first, shorter ones "
                           "padded; default: all have one length");
  app.add_option_function<std::string>(
         "--padding",
         [&options](const std::string& text) {
           options.padding = text == "last" ? SequencePadding::last : SequencePadding::zero;
         },
         "What shorter sequences end in: zeros (default), or their last step again and again")
      ->check(CLI::IsMember({"zero", "last"}));
  command_line::add_number(app, "--max-data-bytes", options.max_bytes,
                           command_line::Count{1, std::numeric_limits<std::size_t>::max()},
                           "The most memory that examples may take; default: 4 GiB");
  return option;
}

}  // namespace octet::application
