#include <octet/bench/bench.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/parallel.h>

#include <string>

// One thread, so that a share of the peak of one core means something; mnist_qat --json times
// epochs on any number.
int main(int argc, char** argv) {
  using octet::bench::peak;
  octet::set_num_threads(1);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::AddCustomContext("code path", std::string(to_string(octet::kernels().isa)));
  benchmark::AddCustomContext("peak float GFLOP/s",
                              std::to_string(peak().float_ops_per_second / 1e9));
  benchmark::AddCustomContext("peak int8 GOP/s", std::to_string(peak().int8_ops_per_second / 1e9));
  benchmark::AddCustomContext("copy in L2 GB/s",
                              std::to_string(peak().copied_bytes_per_second / 1e9));
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
