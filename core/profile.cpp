#include <fmt/format.h>
#include <octet/core/profile.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace octet {
namespace {

thread_local Profile* active = nullptr;
thread_local std::string_view active_detail;

constexpr double kMicro = 1e6;
constexpr double kPercent = 100.0;

}  // namespace

void Profile::add(std::string_view name, double seconds) {
  auto entry = std::ranges::find(entries_, name, &Entry::name);
  if (entry == entries_.end()) {
    entries_.push_back({std::string(name)});
    entry = std::prev(entries_.end());
  }
  entry->seconds += seconds;
  ++entry->count;
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
  std::string result = fmt::format("{:<36}{:>12}{:>9}\n", "phase", "us / step", "share");
  const auto line = [&](std::string_view name, double seconds) {
    result += fmt::format("{:<36}{:>12.1f}{:>7.1f} %\n", name, seconds * kMicro / steps,
                          kPercent * seconds / std::max(whole_seconds_, 1e-12));
  };
  for (const Entry& entry : entries_) line(entry.name, entry.seconds);
  line("(the rest)", whole_seconds_ * (1.0 - explained()));
  line("step", whole_seconds_);
  return result;
}

Profiling::Profiling(Profile* profile) : previous_(std::exchange(active, profile)) {}
Profiling::~Profiling() { active = previous_; }

std::string_view profiled_detail() { return active_detail; }

ProfileScope::ProfileScope(std::string_view phase, std::string_view detail) : profile_(active) {
  if (profile_ == nullptr) return;
  phase_ = phase;
  detail_ = detail;
  outer_detail_ = std::exchange(active_detail, detail);
  begin_ = Clock::now();
}

ProfileScope::~ProfileScope() {
  if (profile_ == nullptr) return;
  const std::chrono::duration<double> seconds = Clock::now() - begin_;
  active_detail = outer_detail_;
  profile_->add(detail_.empty() ? std::string(phase_) : fmt::format("{} {}", phase_, detail_),
                seconds.count());
}

}  // namespace octet
