#pragma once

#include <octet/layers/quantize/quantizer.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

// What tied quantizers know of one another.

namespace octet {

namespace detail {

/// Scale, zero point and limits of a range. Throws NumericError, naming `owner`, for an unsound
/// one.
QuantParams params_of(const ObservedRange& range, const QuantSpec& spec, const std::string& owner);

/// Keeps the range and the counters of an observer, and puts them back.
class ObserverSnapshot {
 public:
  explicit ObserverSnapshot(const Observer& observer);
  void restore();

 private:
  std::vector<Tensor> tensors_;
  std::vector<float> values_;
};

}  // namespace detail

struct Quantizer::Member {
  std::shared_ptr<const ObservedRange> range;
  Tensor zero_point;
};

/// Members tied to one another. It holds their tensors, not the quantizers, which may be gone.
struct Quantizer::Group {
  std::vector<std::shared_ptr<Member>> members;
  /// The group that this one was merged into.
  std::shared_ptr<Group> merged_into;

  /// The range that holds those of all members that have one; null where none has.
  ObservedRange range() const {
    ObservedRange all;
    for (const auto& member : members) {
      const ObservedRange& range = *member->range;
      if (!range.known()) continue;
      const float low =
          all.min.defined() ? std::min(all.min.item(), range.min.item()) : range.min.item();
      const float high =
          all.max.defined() ? std::max(all.max.item(), range.max.item()) : range.max.item();
      all.min = Tensor::scalar(low);
      all.max = Tensor::scalar(high);
    }
    return all;
  }
};

}  // namespace octet
