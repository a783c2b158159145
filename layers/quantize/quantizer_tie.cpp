// Quantizers that share a scale and a zero point.

#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/layers/quantize/quantizer_internal.h>

#include <algorithm>

namespace octet {

/// Throws InvalidArgument, naming the tensors, unless `quantizer` can share a scale with `first`.
void Quantizer::require_tieable(const Quantizer* quantizer, const Quantizer& first) {
  if (quantizer == nullptr || !quantizer->built()) {
    throw InvalidArgument(fmt::format("tie: expected built quantizers, found {}",
                                      quantizer == nullptr ? "null" : "one before build()"));
  }
  if (quantizer->spec_.axis >= 0) {
    throw InvalidArgument(
        fmt::format("{}: expected one range for the tensor to tie it to {}, found one per channel",
                    quantizer->owner_, first.owner_));
  }
  if (quantizer->spec_ != first.spec_) {
    throw InvalidArgument(
        fmt::format("{}: expected the bits, sign, narrow range and symmetry of {} to tie it to "
                    "that, found others",
                    quantizer->owner_, first.owner_));
  }
  if (quantizer->scale_rule_ != nullptr) {
    throw InvalidArgument(fmt::format(
        "{}: expected a quantizer that observes its range to tie it to {}, found {}, whose scale "
        "is learned",
        quantizer->owner_, first.owner_, quantizer->type()));
  }
}

/// The members of all quantizers and of the groups that they are in, each once.
std::shared_ptr<Quantizer::Group> Quantizer::union_of(std::span<Quantizer* const> quantizers) {
  auto together = std::make_shared<Group>();
  const auto add = [&](const std::shared_ptr<Member>& member) {
    if (std::ranges::count(together->members, member) == 0) together->members.push_back(member);
  };
  for (const Quantizer* quantizer : quantizers) {
    if (const Group* group = quantizer->group()) {
      std::ranges::for_each(group->members, add);
    } else {
      add(quantizer->member_);
    }
  }
  return together;
}

void Quantizer::tie(std::span<Quantizer* const> quantizers) {
  for (const Quantizer* quantizer : quantizers) require_tieable(quantizer, *quantizers.front());
  const std::shared_ptr<Group> together = union_of(quantizers);
  if (together->members.size() < 2) return;
  const ObservedRange range = together->range();
  const Quantizer& first = *quantizers.front();
  if (range.min.defined()) static_cast<void>(detail::params_of(range, first.spec_, first.owner_));
  for (Quantizer* quantizer : quantizers) {
    Group* group = quantizer->group();
    if (group == together.get()) continue;
    if (group != nullptr) {
      group->members.clear();
      group->merged_into = together;
    }
    quantizer->group_ = together;
  }
  if (range.min.defined()) first.keep_zero_point(first.params());
}

Quantizer::Group* Quantizer::group() const {
  Group* group = group_.get();
  while (group != nullptr && group->merged_into != nullptr) group = group->merged_into.get();
  return group;
}

}  // namespace octet
