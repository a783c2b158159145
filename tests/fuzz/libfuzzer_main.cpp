// What libFuzzer calls; OCTET_FUZZ_TARGET names the target.

#include <octet/core/parallel.h>

#include "targets.h"

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  // A fuzzer is one process a processor; threads that wait would only slow it down.
  octet::set_num_threads(1);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  octet::fuzz::OCTET_FUZZ_TARGET({data, size});
  return 0;
}
