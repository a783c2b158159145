#pragma once

#include <octet/layers/model.h>

#include <optional>

namespace octet {

/// A model to compute with while nothing of it changes: the model itself if every kernel's range is
/// that of the kernel as it is now, else a copy in which it is. Several threads may make one of the
/// same model. Keeps a reference to the model, which must not be trained meanwhile.
class WithCurrentKernelRanges {
 public:
  explicit WithCurrentKernelRanges(const Model& model);

  const Model& model() const { return copy_ ? *copy_ : *original_; }

 private:
  const Model* original_;
  std::optional<Model> copy_;
};

}  // namespace octet
