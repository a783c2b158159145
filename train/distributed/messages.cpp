#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/core/json_text.h>
#include <octet/train/data/fingerprint.h>
#include <octet/train/distributed/messages.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

namespace octet {
namespace {

using Bytes = std::vector<std::uint8_t>;

std::span<std::byte> raw(Bytes& bytes) { return std::as_writable_bytes(std::span(bytes)); }

Bytes bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

void receive_sized(ProcessGroup& group, Bytes& bytes, int from) {
  std::uint64_t size = 0;
  group.receive(std::as_writable_bytes(std::span(&size, 1)), from);
  bytes.resize(size);
  group.receive(raw(bytes), from);
}

void send_sized(ProcessGroup& group, const Bytes& bytes, int to) {
  const std::uint64_t size = bytes.size();
  group.send(std::as_bytes(std::span(&size, 1)), to);
  group.send(std::as_bytes(std::span(bytes)), to);
}

/// The first name whose value is another one, or empty.
std::string difference(const nlohmann::json& expected, const nlohmann::json& found) {
  for (const auto& [name, value] : expected.items()) {
    const std::string other = found.value(name, "unknown");
    if (other != value) return fmt::format("{}: {} against {}", name, other, std::string(value));
  }
  // Options at their defaults are not named.
  for (const auto& [name, value] : found.items()) {
    if (!expected.contains(name)) {
      return fmt::format("{}: {} against unknown", name, std::string(value));
    }
  }
  return "";
}

}  // namespace

Bytes broadcast_bytes(ProcessGroup& group, Bytes bytes) {
  std::uint64_t size = bytes.size();
  group.broadcast(std::as_writable_bytes(std::span(&size, 1)));
  bytes.resize(size);
  group.broadcast(raw(bytes));
  return bytes;
}

std::string broadcast_text(ProcessGroup& group, const std::string& text) {
  const Bytes bytes = broadcast_bytes(group, bytes_of(text));
  return {bytes.begin(), bytes.end()};
}

bool broadcast_flag(ProcessGroup& group, bool flag) {
  auto byte = std::byte{flag};
  group.broadcast({&byte, 1});
  return byte != std::byte{0};
}

std::vector<Bytes> gather_bytes_on_root(ProcessGroup& group, const Bytes& bytes) {
  if (!group.is_root()) {
    send_sized(group, bytes, 0);
    return {};
  }
  std::vector<Bytes> all = {bytes};
  for (int from = 1; from < group.size(); ++from) receive_sized(group, all.emplace_back(), from);
  return all;
}

std::vector<Bytes> gather_bytes(ProcessGroup& group, const Bytes& bytes) {
  std::vector<Bytes> all = gather_bytes_on_root(group, bytes);
  all.resize(static_cast<std::size_t>(group.size()));
  for (Bytes& part : all) part = broadcast_bytes(group, std::move(part));
  return all;
}

std::vector<double> share_out(ProcessGroup& group, std::size_t count, std::size_t width,
                              FunctionRef<void(std::size_t i, std::span<double> result)> compute) {
  const auto ranks = static_cast<std::size_t>(group.size());
  std::vector<double> own;
  for (auto i = static_cast<std::size_t>(group.rank()); i < count; i += ranks) {
    own.resize(own.size() + width);
    compute(i, std::span(own).last(width));
  }
  const std::vector<double> by_rank = gather_values(group, own);
  std::vector<double> results(count * width);
  auto from = by_rank.begin();
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (std::size_t i = rank; i < count; i += ranks) {
      std::copy_n(from, width, results.begin() + static_cast<std::ptrdiff_t>(i * width));
      from += static_cast<std::ptrdiff_t>(width);
    }
  }
  return results;
}

void require_same(ProcessGroup& group, const Facts& facts) {
  if (group.size() == 1) return;
  // Hosts have names of their own.
  const nlohmann::json own = {{"host", group.host()}, {"facts", facts}};
  const std::vector<Bytes> all = gather_bytes(group, bytes_of(detail::lenient_json_text(own)));
  const nlohmann::json first = nlohmann::json::parse(all[0]);
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    const nlohmann::json other = nlohmann::json::parse(all[rank]);
    const std::string differs = difference(first.at("facts"), other.at("facts"));
    if (differs.empty()) continue;
    throw InvalidArgument(fmt::format(
        "rank {} on {} was started with something else than rank 0 on {}: {}; all ranks take the "
        "same program, options and data",
        rank, std::string(other.at("host")), std::string(first.at("host")), differs));
  }
}

std::string program_digest() {
  try {
    return fmt::format("{:016x}", xxh64(read_file("/proc/self/exe")));
  } catch (const Error&) {
    return "unknown";
  }
}

}  // namespace octet
