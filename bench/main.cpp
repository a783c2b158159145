#include <fmt/core.h>
#include <octet/bench/bench.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/parallel.h>

#include <cstdio>
#include <exception>
#include <string>

namespace {

void add_context() {
  using octet::bench::peak;
  const auto giga = [](const char* name, double rate) {
    benchmark::AddCustomContext(name, fmt::format("{:.0f}", rate / 1e9));
  };
  benchmark::AddCustomContext("code path", std::string(to_string(octet::kernels().isa)));
  giga("peak float GFLOP/s", peak().float_ops_per_second);
  giga("peak int8 GOP/s", peak().int8_ops_per_second);
  giga("read in L2 GB/s", peak().read_bytes_per_second);
  giga("copy in L2 GB/s", peak().copied_bytes_per_second);
}

}  // namespace

// One thread, so that a share of the peak of one core means something; scripts/bench.sh times
// epochs on several.
int main(int argc, char** argv) {
  octet::set_num_threads(1);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  try {
    add_context();
    benchmark::RunSpecifiedBenchmarks();
  } catch (const std::exception& error) {
    fmt::print(stderr, "octet_bench: {}\n", error.what());
    return 1;
  }
  benchmark::Shutdown();
  return 0;
}
