#pragma once

#include <octet/octet.h>

/// 784-256-[256-256]+ -10: a residual block, and behind it two branches that are put together
/// again. Images of any size and any number of classes will do.
inline octet::Model residual_mlp(const octet::Shape& image, octet::Index classes) {
  using namespace octet;
  Model model("residual");
  Value x = model.add(Flatten(), model.input(image));
  x = model.add(Dense(256, Activation::relu), x);

  const Value inner = model.add(Dense(256, Activation::relu), x);
  const Value change = model.add(Dense(256), inner);
  x = model.add(Add(Activation::relu), {x, change});

  const Value left = model.add(Dense(64, Activation::relu, "left"), x);
  const Value right = model.add(Dense(64, Activation::none, "right"), x);
  x = model.add(Concatenate(), {left, right});
  model.output(model.add(Dense(classes, Activation::softmax), x));
  return model;
}
