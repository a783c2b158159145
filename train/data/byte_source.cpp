#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/train/data/byte_source.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <string_view>

namespace octet {
namespace {

constexpr std::string_view kGzipMagic = "\x1F\x8B";
constexpr std::size_t kInputBytes = 1U << 16;

}  // namespace

class ByteSource::File {
 public:
  explicit File(const std::filesystem::path& path) : name_(path.string()), reader_(path) {}

  std::size_t read(std::span<std::uint8_t> out) {
    const std::size_t count = std::min(out.size(), reader_.size() - done_);
    reader_.read(out.first(count));
    done_ += count;
    return count;
  }

  const std::string& name() const { return name_; }
  std::uint64_t size() const { return reader_.size(); }

 private:
  std::string name_;
  FileReader reader_;
  std::size_t done_ = 0;
};

class ByteSource::Inflater {
 public:
  explicit Inflater(File& file) : file_(file) {
    constexpr int kGzipWrapper = 16;
    if (inflateInit2(&zlib_, kGzipWrapper + MAX_WBITS) != Z_OK) {
      throw IoError(fmt::format("{}: zlib could not be started", file_.name()));
    }
  }
  ~Inflater() { inflateEnd(&zlib_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  std::size_t read(std::span<std::uint8_t> out) {
    std::size_t written = 0;
    while (written < out.size()) {
      if (zlib_.avail_in == 0) refill();
      if (zlib_.avail_in == 0) {
        if (!between_members_) {
          throw FormatError(fmt::format(
              "{}: the gzip stream is cut short; was the download interrupted?", file_.name()));
        }
        break;
      }
      written += inflate_into(out.subspan(written));
    }
    return written;
  }

 private:
  void refill() {
    zlib_.avail_in = static_cast<uInt>(file_.read(input_));
    zlib_.next_in = input_.data();
  }

  std::size_t inflate_into(std::span<std::uint8_t> out) {
    constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
    const auto room = static_cast<uInt>(std::min(out.size(), kMost));
    zlib_.next_out = out.data();
    zlib_.avail_out = room;
    // What follows a whole member is another one or does not belong there.
    if (between_members_ && static_cast<char>(zlib_.next_in[0]) != kGzipMagic[0]) {
      throw FormatError(
          fmt::format("{}: there are bytes after the end of the gzip stream", file_.name()));
    }
    const int status = inflate(&zlib_, Z_NO_FLUSH);
    if (status != Z_OK && status != Z_STREAM_END) {
      throw FormatError(fmt::format("{}: the gzip stream is damaged: {}", file_.name(),
                                    zlib_.msg != nullptr ? zlib_.msg : "zlib gave no reason"));
    }
    between_members_ = status == Z_STREAM_END;
    const std::size_t written = room - zlib_.avail_out;
    if (between_members_) inflateReset(&zlib_);
    return written;
  }

  File& file_;
  z_stream zlib_{};
  std::array<std::uint8_t, kInputBytes> input_;
  bool between_members_ = false;
};

ByteSource::ByteSource(const std::filesystem::path& path) : file_(std::make_unique<File>(path)) {
  if (file_begins_with(path, kGzipMagic)) inflater_ = std::make_unique<Inflater>(*file_);
}

ByteSource::ByteSource(std::span<const std::uint8_t> bytes)
    : memory_(bytes), memory_size_(bytes.size()) {}

ByteSource::~ByteSource() = default;

std::size_t ByteSource::read(std::span<std::uint8_t> out) {
  if (inflater_) return inflater_->read(out);
  if (file_) return file_->read(out);
  const auto piece = memory_.first(std::min(out.size(), memory_.size()));
  std::ranges::copy(piece, out.begin());
  memory_ = memory_.subspan(piece.size());
  return piece.size();
}

std::uint64_t ByteSource::file_size() const { return file_ ? file_->size() : memory_size_; }

}  // namespace octet
