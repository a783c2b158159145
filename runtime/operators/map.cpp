#include <octet/runtime/operators/map.h>

namespace octet::detail {

std::unique_ptr<Kernel> make_byte_map(const KernelSource& source) {
  const auto look_up = [table = byte_table(source)](std::uint8_t byte) { return table[byte]; };
  return std::make_unique<Map<std::uint8_t, std::uint8_t, decltype(look_up)>>(source.input().size(),
                                                                              look_up);
}

}  // namespace octet::detail
