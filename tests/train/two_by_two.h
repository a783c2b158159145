#pragma once

#include <octet/layers/concatenate.h>
#include <octet/layers/dense.h>
#include <octet/layers/model.h>

namespace octet::test {

/// Two inputs, x [6] and z [3]; of what both have in common a class of three, "kind", and unless
/// `only_kind` a number, "size".
inline Model two_by_two(bool only_kind = false) {
  Model model("two");
  const Value x = model.input({6}, "x");
  const Value z = model.input({3}, "z");
  const Value both = model.add(Concatenate(), {model.add(Dense(8, Activation::relu), x),
                                               model.add(Dense(8, Activation::relu), z)});
  model.output(model.add(Dense(3, Activation::softmax, "kind"), both));
  if (!only_kind) model.output(model.add(Dense(1, Activation::none, "size"), both));
  model.build(1);
  return model;
}

}  // namespace octet::test
