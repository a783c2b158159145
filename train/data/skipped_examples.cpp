#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/train/data/skipped_examples.h>

namespace octet {

bool SkippedExamples::take(FunctionRef<void()> read) {
  try {
    read();
    return true;
  } catch (const FormatError& error) {
    if (most_ == 0) throw;
    leave_out(error.what());
  } catch (const IoError& error) {
    if (most_ == 0) throw;
    leave_out(error.what());
  }
  return false;
}

void SkippedExamples::leave_out(const std::string& text) {
  if (texts_.size() == most_) {
    throw FormatError(
        fmt::format("{}; --skip-bad: expected at most {} examples that cannot be read, found more",
                    text, most_));
  }
  texts_.push_back(text);
}

void require_read(const std::string& of, std::size_t examples) {
  if (examples > 0) return;
  throw FormatError(fmt::format("{}: expected examples that can be read, found none", of));
}

}  // namespace octet
