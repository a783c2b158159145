#include <fmt/core.h>
#include <octet/train/distributed/exchange_table.h>
#include <octet/train/distributed/messages.h>

#include <algorithm>

namespace octet {
namespace {

constexpr double kMicro = 1e6;

std::string line_of(const ProcessGroup& group, const Profile& profile,
                    const ProcessGroup::Traffic& traffic) {
  double exchange = 0.0;
  for (const Profile::Entry& entry : profile.entries()) {
    if (entry.name.starts_with("exchange ")) exchange += entry.seconds;
  }
  const double steps = std::max(static_cast<double>(profile.steps()), 1.0);
  const double whole = std::max(profile.whole_seconds(), 1e-12);
  return fmt::format("{:>4}  {:<24}{:>12.1f}{:>12.1f}{:>11.1f} %{:>12.0f}{:>12.0f}\n", group.rank(),
                     group.host(), whole * kMicro / steps, exchange * kMicro / steps,
                     100.0 * (1.0 - exchange / whole), static_cast<double>(traffic.sent) / steps,
                     static_cast<double>(traffic.received) / steps);
}

}  // namespace

std::string exchange_table(ProcessGroup& group, const Profile& profile,
                           const ProcessGroup::Traffic& traffic) {
  const std::string own = line_of(group, profile, traffic);
  const auto lines = gather_bytes(group, {own.begin(), own.end()});
  if (!group.is_root()) return "";
  std::string table = fmt::format("{:>4}  {:<24}{:>12}{:>12}{:>13}{:>12}{:>12}\n", "rank", "host",
                                  "us / step", "exchange", "efficiency", "B sent", "B received");
  for (const auto& line : lines) table.append(line.begin(), line.end());
  return table;
}

}  // namespace octet
