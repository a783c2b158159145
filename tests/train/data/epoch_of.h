#pragma once

#include <octet/train/data/data_loader.h>

#include <vector>

namespace octet::test {

/// The features of the batches that a loader gives from a position to the end of the epoch.
inline std::vector<float> epoch_of(DataLoader& loader, LoaderPosition from) {
  std::vector<float> values;
  loader.seek(from);
  for (Batch batch; loader.next(batch);) {
    values.insert(values.end(), batch.features.span().begin(), batch.features.span().end());
  }
  return values;
}

}  // namespace octet::test
