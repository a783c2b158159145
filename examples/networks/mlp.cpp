#include "networks.h"

namespace octet::networks {

Sequential mlp(const Shape& example, const std::vector<int>& hidden, Index classes,
               std::string name) {
  Sequential model(std::move(name));
  model.add(Input({example.size()}));
  for (const int units : hidden) model.add(Dense(units, Activation::relu));
  model.add(Dense(classes, Activation::softmax));
  return model;
}

}  // namespace octet::networks
