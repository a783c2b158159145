#include <fmt/core.h>
#include <octet/core/temporary_name.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>

namespace octet {
namespace {

constexpr std::string_view kPrefix = ".octet-";
constexpr std::string_view kSuffix = ".tmp";

/// Who writes a temporary file.
struct Writer {
  std::uint32_t machine = 0;
  std::uint32_t boot = 0;
  ::pid_t process = 0;
  /// Clock ticks from the machine's start to the process's; 0 where the system does not say.
  std::uint64_t start = 0;
};

/// FNV-1a.
std::uint32_t hash(std::string_view text) {
  std::uint32_t value = 2166136261U;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 16777619U;
  return value;
}

/// A file of /proc; "" where it cannot be read.
std::string proc_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The host's name with the namespace that process numbers count in: containers have their own.
/// 0 where the system does not tell it.
std::uint32_t this_machine() {
  std::array<char, 256> name{};
  static_cast<void>(::gethostname(name.data(), name.size() - 1));
  std::error_code ignored;
  const auto space = std::filesystem::read_symlink("/proc/self/ns/pid", ignored);
  if (space.empty()) return 0;
  return hash(std::string(name.data()) + space.string());
}

std::uint64_t start_of(::pid_t process) {
  const std::string text = proc_text(fmt::format("/proc/{}/stat", process));
  // After the program's name in brackets, which may hold anything: the 20th field.
  std::size_t at = text.rfind(')');
  for (int field = 0; field < 20 && at != std::string::npos; ++field) at = text.find(' ', at + 1);
  std::uint64_t ticks = 0;
  if (at != std::string::npos) {
    std::from_chars(text.data() + at + 1, text.data() + text.size(), ticks);
  }
  return ticks;
}

Writer this_writer() {
  const ::pid_t process = ::getpid();
  return {this_machine(), hash(proc_text("/proc/sys/kernel/random/boot_id")), process,
          start_of(process)};
}

/// Takes a number and the character after it off the front of `text`.
template <class T>
bool take(std::string_view& text, T& value, int base, char after) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc() || stop == end || *stop != after) return false;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()) + 1);
  return true;
}

std::optional<Writer> writer_of(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  Writer writer;
  unsigned count = 0;
  const bool whole = take(name, writer.machine, 16, '-') && take(name, writer.boot, 16, '-') &&
                     take(name, writer.process, 10, '-') && take(name, writer.start, 10, '-') &&
                     take(name, count, 10, kSuffix.front());
  if (!whole || name != kSuffix.substr(1) || writer.process <= 0) return std::nullopt;
  return writer;
}

}  // namespace

std::filesystem::path temporary_name(const std::filesystem::path& path) {
  static std::atomic<unsigned> count{0};
  const Writer writer = this_writer();
  return path.parent_path() / fmt::format("{}{:x}-{:x}-{}-{}-{}{}", kPrefix, writer.machine,
                                          writer.boot, writer.process, writer.start, count++,
                                          kSuffix);
}

TemporaryOf temporary_of(std::string_view name) {
  const std::optional<Writer> writer = writer_of(name);
  if (!writer) return TemporaryOf::nobody;
  const Writer self = this_writer();
  if (writer->machine != self.machine || self.machine == 0) return TemporaryOf::elsewhere;
  if (writer->boot != self.boot) return TemporaryOf::dead;
  if (::kill(writer->process, 0) != 0 && errno == ESRCH) return TemporaryOf::dead;
  const std::uint64_t start = start_of(writer->process);
  const bool reused = writer->start != 0 && start != 0 && start != writer->start;
  return reused ? TemporaryOf::dead : TemporaryOf::living;
}

}  // namespace octet
