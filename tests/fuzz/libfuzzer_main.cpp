// What libFuzzer calls; OCTET_FUZZ_TARGET names the target.

#include "targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  octet::fuzz::OCTET_FUZZ_TARGET({data, size});
  return 0;
}
