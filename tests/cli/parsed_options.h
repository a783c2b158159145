#pragma once

#include <octet/application/options.h>
#include <octet/tests/cli/mnist_qat.h>

#include <string>
#include <vector>

// mnist_qat's own reading of a command line, in this process: a program for each would take long.

namespace octet::test {

inline application::ParsedOptions parsed(Arguments arguments) {
  arguments.insert(arguments.begin(), "mnist_qat");
  std::vector<char*> words;
  for (std::string& word : arguments) words.push_back(word.data());
  return application::parse_options("mnist_qat", "Trains.", static_cast<int>(words.size()),
                                    words.data());
}

inline application::Options options_of(const Arguments& arguments) {
  return parsed(arguments).options.value();
}

/// What the program would print. Where it runs on, the exit code is -1.
inline ProcessResult parse(const Arguments& arguments) {
  const application::ParsedOptions found = parsed(arguments);
  ProcessResult result;
  result.exit_code = found.options ? -1 : found.exit_code;
  if (result.exit_code == 0) result.out = found.text;
  if (result.exit_code > 0) result.err = "mnist_qat: " + found.text + "\n";
  return result;
}

}  // namespace octet::test
