// octet_bench_run FILE NAME=VALUE... -- COMMAND...: runs a program that prints a line of JSON, ours
// or a peer's, and appends that line to FILE with the names given, the most memory that it had and
// how busy others kept the machine meanwhile.

#include <fmt/core.h>
#include <octet/bench/timing.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

namespace {

using nlohmann::json;

/// What a program came to.
struct Outcome {
  std::string out;
  bool succeeded = false;
  double seconds = 0.0;
  double processor_seconds = 0.0;
  double peak_megabytes = 0.0;
};

std::system_error failure(const char* call) { return {errno, std::generic_category(), call}; }

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

/// Seconds that all processors together have been busy since the start.
double busy_seconds() {
  std::ifstream stat("/proc/stat");
  std::string name;
  double user = 0.0;
  double nice = 0.0;
  double system = 0.0;
  stat >> name >> user >> nice >> system;
  return (user + nice + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

std::string read_all(int descriptor) {
  std::string text;
  char buffer[4096];
  for (ssize_t count = 0; (count = read(descriptor, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(count));
  }
  return text;
}

/// Runs `command`, its errors into `errors`.
Outcome run(std::span<char*> command, std::FILE* errors) {
  int ends[2];
  if (pipe(ends) != 0) throw failure("pipe");
  const double begin = octet::bench::now();
  const pid_t child = fork();
  if (child < 0) throw failure("fork");
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(fileno(errors), STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    // The span ends where argv does, with a null behind it.
    execvp(command.front(), command.data());
    std::fprintf(stderr, "cannot run %s\n", command.front());
    _exit(127);
  }
  close(ends[1]);
  Outcome outcome;
  outcome.out = read_all(ends[0]);
  close(ends[0]);
  int status = 0;
  rusage usage{};
  if (wait4(child, &status, 0, &usage) != child) throw failure("wait4");
  outcome.seconds = octet::bench::now() - begin;
  outcome.succeeded = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  outcome.processor_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  outcome.peak_megabytes = static_cast<double>(usage.ru_maxrss) * 1024.0 / 1e6;
  return outcome;
}

/// The last line that is a JSON object, without what is nested in it.
json last_object(const std::string& text) {
  json result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    json parsed = json::parse(line, nullptr, false);
    if (parsed.is_object()) result = std::move(parsed);
  }
  if (!result.is_object()) throw std::runtime_error("it printed no line of JSON");
  for (auto item = result.begin(); item != result.end();) {
    item = item->is_structured() ? result.erase(item) : std::next(item);
  }
  return result;
}

std::string last_line(std::FILE* file) {
  std::rewind(file);
  const std::string text = read_all(fileno(file));
  const std::size_t end = text.find_last_not_of('\n');
  if (end == std::string::npos) return "no message";
  const std::size_t begin = text.find_last_of('\n', end);
  return text.substr(begin + 1, end - begin);
}

/// Adds "name=value"; the value as a number where it is one.
void add_name(json& result, std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    throw std::invalid_argument(fmt::format("expected NAME=VALUE, found \"{}\"", text));
  }
  const std::string value(text.substr(equals + 1));
  const json number = json::parse(value, nullptr, false);
  result[std::string(text.substr(0, equals))] = number.is_number() ? number : json(value);
}

void measure(const std::string& file, std::span<char*> names, std::span<char*> command) {
  std::FILE* errors = std::tmpfile();
  if (errors == nullptr) throw failure("tmpfile");
  const double busy_before = busy_seconds();
  const Outcome outcome = run(command, errors);
  const double others = busy_seconds() - busy_before - outcome.processor_seconds;
  if (!outcome.succeeded) throw std::runtime_error(last_line(errors));
  std::fclose(errors);
  json line = last_object(outcome.out);
  for (const char* name : names) add_name(line, name);
  line["run_peak_mb"] = outcome.peak_megabytes;
  line["run_s"] = outcome.seconds;
  const double all = outcome.seconds * std::thread::hardware_concurrency();
  line["others"] = std::clamp(others / all, 0.0, 1.0);
  std::ofstream out(file, std::ios::app);
  out << line.dump() << '\n';
  if (!out.flush()) throw std::runtime_error("cannot write " + file);
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<char*> all(argv, static_cast<std::size_t>(argc));
  const auto dashes = std::ranges::find(all, std::string_view("--"),
                                        [](const char* word) { return std::string_view(word); });
  const auto position = static_cast<std::size_t>(dashes - all.begin());
  if (position < 2 || position + 1 >= all.size()) {
    fmt::print(stderr, "usage: octet_bench_run FILE NAME=VALUE... -- COMMAND...\n");
    return 2;
  }
  try {
    measure(all[1], all.subspan(2, position - 2), all.subspan(position + 1));
  } catch (const std::exception& error) {
    fmt::print(stderr, "octet_bench_run: {}: {}\n", all[position + 1], error.what());
    return 1;
  }
  return 0;
}
