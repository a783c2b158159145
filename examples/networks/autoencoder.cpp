#include "networks.h"

namespace octet::networks {

Sequential autoencoder(Index values) {
  Sequential model("autoencoder", Input({values}));
  for (const Index units : {128, 128, 128, 128, 8, 128, 128, 128, 128}) {
    model.add(Dense(units)).add(BatchNorm()).add(ReLU());
  }
  model.add(Dense(values));
  return model;
}

}  // namespace octet::networks
