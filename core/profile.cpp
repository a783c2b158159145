#include <fmt/core.h>
#include <octet/core/clock.h>
#include <octet/core/profile.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace octet {
namespace {

thread_local Profile* active = nullptr;
thread_local ProfileScope* innermost = nullptr;

constexpr double kMicro = 1e6;
constexpr double kPercent = 100.0;

std::string full_name(std::string_view phase, std::string_view detail, std::string_view part) {
  std::string name(phase);
  if (!detail.empty()) name += fmt::format(" {}", detail);
  if (!part.empty()) name += fmt::format(": {}", part);
  return name;
}

}  // namespace

Profile::Entry& Profile::entry(std::string_view name) {
  const auto found = std::ranges::find(entries_, name, &Entry::name);
  if (found != entries_.end()) return *found;
  return entries_.emplace_back(Entry{std::string(name)});
}

void Profile::begin(std::string_view name) { static_cast<void>(entry(name)); }

void Profile::add(std::string_view name, double seconds) {
  Entry& phase = entry(name);
  phase.seconds += seconds;
  ++phase.count;
}

void Profile::add_whole(double seconds, std::uint64_t steps) {
  whole_seconds_ += seconds;
  steps_ += steps;
}

double Profile::explained() const {
  double sum = 0.0;
  for (const Entry& entry : entries_) sum += entry.seconds;
  return whole_seconds_ > 0.0 ? sum / whole_seconds_ : 0.0;
}

std::string Profile::table() const {
  const double steps = std::max(static_cast<double>(steps_), 1.0);
  std::string result = fmt::format("{:<52}{:>12}{:>9}\n", "phase", "us / step", "share");
  const auto line = [&](std::string_view name, double seconds) {
    result += fmt::format("{:<52}{:>12.1f}{:>7.1f} %\n", name, seconds * kMicro / steps,
                          kPercent * seconds / std::max(whole_seconds_, 1e-12));
  };
  for (const Entry& entry : entries_) line(entry.name, entry.seconds);
  line("(the rest)", whole_seconds_ * (1.0 - explained()));
  line("step", whole_seconds_);
  return result;
}

Profiling::Profiling(Profile* profile)
    : previous_(std::exchange(active, profile)), scope_(std::exchange(innermost, nullptr)) {}
Profiling::~Profiling() {
  active = previous_;
  innermost = scope_;
}

std::string_view profiled_detail() {
  return innermost == nullptr ? std::string_view() : innermost->detail();
}

ProfileScope::ProfileScope(std::string_view phase, std::string_view detail, std::string_view part)
    : profile_(active), phase_(phase), detail_(detail), part_(part) {
  if (profile_ == nullptr) return;
  profile_->begin(full_name(phase_, detail_, part_));
  outer_ = std::exchange(innermost, this);
  begin_ = detail::clock_seconds();
}

ProfileScope::~ProfileScope() {
  if (profile_ == nullptr) return;
  const double seconds = detail::clock_seconds() - begin_;
  innermost = outer_;
  if (outer_ != nullptr) outer_->within_ += seconds;
  profile_->add(full_name(phase_, detail_, part_), seconds - within_);
}

ProfilePart::ProfilePart(std::string_view name) {
  if (innermost != nullptr) scope_.emplace(innermost->phase(), innermost->detail(), name);
}

}  // namespace octet
