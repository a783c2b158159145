#include "networks.h"

namespace octet::networks {

Sequential mlp(const Shape& example, const std::vector<int>& hidden, Index outputs,
               const MlpOptions& options) {
  Sequential model(options.name);
  model.add(Input({example.size()}));
  if (options.input_dropout > 0.0F) model.add(Dropout(options.input_dropout));
  for (const int units : hidden) {
    if (options.batch_norm) {
      model.add(Dense(units));
      model.add(BatchNorm());
      model.add(ReLU());
    } else {
      model.add(Dense(units, Activation::relu));
    }
    if (options.dropout > 0.0F) model.add(Dropout(options.dropout));
  }
  model.add(Dense(outputs, options.end));
  return model;
}

}  // namespace octet::networks
