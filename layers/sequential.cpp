#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/layers/sequential.h>

namespace octet {

Sequential::Sequential(Model model) : Model(std::move(model)) {
  if (!is_chain()) {
    throw InvalidArgument(
        fmt::format("Sequential: expected a model in which each layer reads the one before it, "
                    "found \"{}\", which is a graph; keep it as a Model",
                    name()));
  }
}

Sequential& Sequential::add(std::unique_ptr<Layer> layer) {
  const std::size_t last = layers().size();
  const std::size_t added =
      add_node(std::move(layer), last == 0 ? std::vector<std::size_t>{} : std::vector{last - 1});
  set_outputs({added});
  return *this;
}

Sequential& Sequential::add(LayerChain chain) {
  for (auto& layer : std::move(chain).layers()) add(std::move(layer));
  return *this;
}

}  // namespace octet
