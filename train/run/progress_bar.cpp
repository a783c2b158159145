#include <fmt/core.h>
#include <octet/core/clock.h>
#include <octet/core/error.h>
#include <octet/train/epoch_text.h>
#include <octet/train/run/progress_bar.h>
#include <octet/train/trainer.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>

namespace octet {
namespace {

constexpr std::size_t kBarWidth = 24;
constexpr double kRedrawSeconds = 0.1;

/// A terminal that has gone, or a full disk, is no reason to stop training: ferror() tells.
void show(std::FILE* out, const std::string& text) {
  static_cast<void>(std::fputs(text.c_str(), out));
  static_cast<void>(std::fflush(out));
}

/// What fits into one line of the terminal: a bar that wraps cannot be drawn over.
std::string fitting(std::string line, std::FILE* out) {
  winsize size{};
  if (::ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 1) {
    line.resize(std::min(line.size(), std::size_t{size.ws_col} - 1));
  }
  return line;
}

std::string left_cell(double seconds) {
  return fmt::format("  {} left", detail::duration_text(seconds));
}

bool draws_bar(std::FILE* out, ProgressBar::Style style) {
  if (out == nullptr) throw InvalidArgument("ProgressBar: expected an open file, found null");
  switch (style) {
    case ProgressBar::Style::automatic:
      return isatty(fileno(out)) == 1;
    case ProgressBar::Style::bar:
      return true;
    case ProgressBar::Style::lines:
      return false;
  }
  throw InvalidArgument("ProgressBar: a Style outside the enumeration");
}

}  // namespace

ProgressBar::ProgressBar(std::FILE* out, Style style, int later_epochs)
    : out_(out), draws_bar_(draws_bar(out, style)), later_epochs_(later_epochs) {
  if (later_epochs >= 0) return;
  throw InvalidArgument(
      fmt::format("ProgressBar: expected 0 later epochs or more, found {}", later_epochs));
}

void ProgressBar::on_fit_begin(Trainer& /*trainer*/, const History& /*history*/) {
  time_left_.reset();
}

std::optional<double> ProgressBar::seconds_left(double done) {
  return time_left_.take(done, epochs_ - done + later_epochs_, detail::clock_seconds());
}

void ProgressBar::on_calibrated(Trainer& trainer, const EpochRecord& start) {
  if (!trainer.is_root()) return;
  show(out_, detail::calibrated_line(start, trainer.options().scored_on) + "\n");
}

void ProgressBar::on_step_end(Trainer& trainer, const Progress& p) {
  if (!trainer.is_root()) return;
  epochs_ = p.epochs;
  const double now = detail::clock_seconds();
  const double done = static_cast<double>(p.batch) / static_cast<double>(p.batches);
  const std::optional<double> left = seconds_left(p.epoch - 1 + done);
  if (!draws_bar_ || (p.batch < p.batches && now - last_drawn_ < kRedrawSeconds)) return;
  last_drawn_ = now;
  const auto full = static_cast<std::size_t>(done * static_cast<double>(kBarWidth));
  const std::string line =
      fmt::format("{:<5} {}/{} [{}{}] loss {:.4f}{}  {:.0f} img/s{}", p.phase, p.epoch, p.epochs,
                  std::string(full, '#'), std::string(kBarWidth - full, '.'), p.loss,
                  detail::accuracy_cell(p.accuracy), p.images / std::max(p.seconds, 1e-9),
                  left ? left_cell(*left) : "");
  show(out_, "\r\033[K" + fitting(line, out_));
  bar_is_shown_ = true;
}

void ProgressBar::clear_bar() {
  if (bar_is_shown_) show(out_, "\r\033[K");
  bar_is_shown_ = false;
}

void ProgressBar::on_epoch_end(Trainer& trainer, const EpochRecord& r) {
  if (!trainer.is_root()) return;
  clear_bar();
  std::string line = detail::epoch_line(r, epochs_, trainer.options().scored_on);
  // Unknown where a resumed run had only the end of an epoch left.
  const std::optional<double> left = epochs_ > 0 ? seconds_left(r.epoch) : std::nullopt;
  if (left && *left > 0) line += left_cell(*left);
  show(out_, line + "\n");
}

}  // namespace octet
