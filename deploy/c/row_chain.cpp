#include <octet/deploy/c/row_chain.h>

namespace octet::detail {

std::vector<std::size_t> CRowChain::whole_inputs() const {
  std::vector<std::size_t> inputs;
  for (std::size_t i = 0; i < images.size(); ++i) {
    if (schedule.capacity[i] == 0 && i != operators.back().output) inputs.push_back(i);
  }
  return inputs;
}

}  // namespace octet::detail
