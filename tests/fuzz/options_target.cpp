#include <octet/application/options.h>

#include <string>
#include <vector>

#include "targets.h"

namespace octet::fuzz {

void options(Data input) {
  std::vector<std::string> words{"mnist_qat"};
  std::string word;
  for (const std::uint8_t byte : input) {
    if (byte != 0) {
      word += static_cast<char>(byte);
    } else {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  if (!word.empty()) words.push_back(word);
  std::vector<char*> arguments;
  arguments.reserve(words.size());
  for (std::string& text : words) arguments.push_back(text.data());
  const auto parsed =
      application::parse_options("mnist_qat", "", static_cast<int>(words.size()), arguments.data());
  if (!parsed.options) {
    require(parsed.exit_code == 0 || parsed.exit_code == 2, "help or usage ends the program");
    return;
  }
  const application::Options& options = *parsed.options;
  require(options.epochs >= 0 && options.qat_epochs >= 0 && options.batch >= 1 &&
              options.threads >= 0 && options.lr > 0.0F && options.qat_lr > 0.0F &&
              options.dropout >= 0.0F && options.input_dropout >= 0.0F &&
              options.quantize.freeze_oscillations_above >= 0.0F && !options.hidden.empty(),
          "options that are taken are in range");
  for (const int units : options.hidden) require(units >= 1 && units <= 65536, "units in range");
}

}  // namespace octet::fuzz
