// octet_bench_report FOLDER [--goals]: makes tables in Markdown of FOLDER/results.jsonl, on
// standard output and in FOLDER/report.md, and FOLDER/training.svg; of what was measured on
// convolutional networks FOLDER/networks.md and FOLDER/networks.svg.

#include <fmt/core.h>
#include <octet/bench/report/networks.h>
#include <octet/bench/report/tables.h>
#include <octet/core/file.h>

#include <cstdio>
#include <exception>
#include <string_view>

int main(int argc, char** argv) {
  using namespace octet;
  const bool with_goals = argc == 3 && std::string_view(argv[2]) == "--goals";
  if (argc != 2 && !with_goals) {
    fmt::print(stderr, "usage: octet_bench_report FOLDER [--goals]\n");
    return 2;
  }
  try {
    const std::filesystem::path folder = argv[1];
    const bench::Results results = bench::Results::read(folder / "results.jsonl");
    const std::string networks = bench::networks_report(results);
    const bool has_training = !results.matching({{"what", "train"}}).empty();
    if (has_training || networks.empty()) {
      const std::string text = bench::report(results, with_goals);
      fmt::print("{}", text);
      write_file_atomic(folder / "report.md", text);
      write_file_atomic(folder / "training.svg", bench::plot(results));
    }
    if (!networks.empty()) {
      fmt::print("{}", networks);
      write_file_atomic(folder / "networks.md", networks);
      write_file_atomic(folder / "networks.svg", bench::networks_plot(results));
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "octet_bench_report: {}\n", error.what());
    return 1;
  }
  return 0;
}
