#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/tests/core/thrown.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <thread>

namespace octet::test::file_test {
namespace {

namespace fs = std::filesystem;

class File : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ("octet_file_test_" + std::to_string(::getpid()) + "_" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

std::vector<std::uint8_t> pattern(std::size_t size, std::uint8_t first) {
  std::vector<std::uint8_t> bytes(size, first);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(i * 7 + first);
  return bytes;
}

std::vector<std::uint8_t> copied(const MappedFile& file) {
  return {file.bytes().begin(), file.bytes().end()};
}

TEST_F(File, MapsWhatWasWritten) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{300000}}) {
    const auto bytes = pattern(size, 5);
    write_file_atomic(folder_ / "a", bytes);
    MappedFile file(folder_ / "a");
    EXPECT_EQ(copied(file), bytes);
    // What is mapped stays as it was when the file is replaced, and when the handle moves.
    write_file_atomic(folder_ / "a", pattern(size + 7, 9));
    MappedFile moved(std::move(file));
    EXPECT_EQ(copied(moved), bytes);
    MappedFile assigned(folder_ / "a");
    EXPECT_EQ(copied(assigned), pattern(size + 7, 9));
    assigned = std::move(moved);
    EXPECT_EQ(copied(assigned), bytes);
  }
}

TEST_F(File, MapsNothingButARegularFileThatIsSmallEnough) {
  EXPECT_THROW(MappedFile(folder_ / "none"), IoError);
  EXPECT_THROW(MappedFile{folder_}, IoError);
  write_file_atomic(folder_ / "a", pattern(11, 1));
  EXPECT_EQ(MappedFile(folder_ / "a", 11).bytes().size(), 11U);
  EXPECT_THROW(MappedFile(folder_ / "a", 10), IoError);
}

TEST_F(File, ReadsWhatWasWritten) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{300000}}) {
    const auto bytes = pattern(size, 3);
    write_file_atomic(folder_ / "a", bytes);
    EXPECT_EQ(read_file(folder_ / "a"), bytes);
  }
  write_file_atomic(folder_ / "a", std::string_view("text"));
  EXPECT_EQ(read_file(folder_ / "a"), (std::vector<std::uint8_t>{'t', 'e', 'x', 't'}));
  EXPECT_EQ(entries(), 1U) << "no temporary file is left";
}

TEST_F(File, ANameWithoutAFolderWorks) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  write_file_atomic("plain", std::string_view("x"));
  EXPECT_EQ(read_file("plain").size(), 1U);
  fs::current_path(before);
}

TEST_F(File, KeepsPermissionsAndSymbolicLinks) {
  write_file_atomic(folder_ / "a", std::string_view("1"));
  ::chmod((folder_ / "a").c_str(), 0640);
  fs::create_symlink(folder_ / "a", folder_ / "link");
  write_file_atomic(folder_ / "link", std::string_view("22"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(read_file(folder_ / "a").size(), 2U);
  EXPECT_EQ(fs::status(folder_ / "a").permissions(),
            fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
}

TEST_F(File, ReplacingAFileDropsTheBitsThatLetOthersRunItAsItsOwner) {
  write_file_atomic(folder_ / "a", std::string_view("1"));
  ASSERT_EQ(::chmod((folder_ / "a").c_str(), 07755), 0);
  write_file_atomic(folder_ / "a", std::string_view("2"));
  struct ::stat status {};
  ASSERT_EQ(::stat((folder_ / "a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0755U);
}

TEST_F(File, IsWrittenAndReadPieceByPiece) {
  const auto bytes = pattern(100000, 3);
  const std::span all(bytes);
  write_file_atomic(folder_ / "a", std::string_view("old"));
  {
    FileWriter writer(folder_ / "a");
    writer.write(all.first(70000));
    FileWriter moved(std::move(writer));
    moved.write(all.subspan(70000));
    EXPECT_EQ(read_file(folder_ / "a").size(), 3U) << "nothing happens before commit()";
    moved.commit();
  }
  EXPECT_EQ(read_file(folder_ / "a"), bytes);
  FileReader opened(folder_ / "a");
  FileReader reader(std::move(opened));
  EXPECT_EQ(reader.size(), bytes.size());
  std::vector<std::uint8_t> first(30000);
  std::vector<std::uint8_t> rest(70000);
  reader.read(first);
  reader.read(rest);
  first.insert(first.end(), rest.begin(), rest.end());
  EXPECT_EQ(first, bytes);
  EXPECT_EQ(
      message_of<IoError>([&] { reader.read(rest); }),
      "cannot read '" + (folder_ / "a").string() + "': it ended after 100000 of 100000 bytes");
}

TEST_F(File, WhatIsNotCommittedIsGone) {
  write_file_atomic(folder_ / "a", std::string_view("old"));
  {
    FileWriter writer(folder_ / "a");
    writer.write(pattern(5000, 1));
    EXPECT_EQ(entries(), 2U);
  }
  EXPECT_EQ(entries(), 1U);
  EXPECT_EQ(read_file(folder_ / "a").size(), 3U);
}

TEST_F(File, AFailedWriteLeavesTheOldFileAndNothingElse) {
  write_file_atomic(folder_ / "a", std::string_view("old"));
  // No room: files may not grow past 1000 bytes.
  rlimit old_limit{};
  ::getrlimit(RLIMIT_FSIZE, &old_limit);
  const rlimit small{1000, old_limit.rlim_max};
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  const std::string message =
      message_of<IoError>([&] { write_file_atomic(folder_ / "a", pattern(5000, 1)); });
  ::setrlimit(RLIMIT_FSIZE, &old_limit);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(message, "cannot write '" + (folder_ / "a").string() + "': File too large");
  EXPECT_EQ(read_file(folder_ / "a").size(), 3U);
  EXPECT_EQ(entries(), 1U);
}

TEST_F(File, ErrorsNameTheFileAndTheCause) {
  const std::string missing = (folder_ / "no" / "such").string();
  EXPECT_EQ(message_of<IoError>([&] { write_file_atomic(missing, std::string_view("x")); }),
            "cannot write '" + missing + "': there is no folder '" + (folder_ / "no").string() +
                "'; make it first");
  EXPECT_EQ(message_of<IoError>([&] { read_file(missing); }),
            "cannot read '" + missing + "': No such file or directory");
  EXPECT_EQ(message_of<IoError>([&] { read_file(folder_); }),
            "cannot read '" + folder_.string() + "': it is no regular file");
  write_file_atomic(folder_ / "a", std::string_view("123"));
  EXPECT_NE(
      message_of<IoError>([&] { read_file(folder_ / "a", 2); }).find("3 bytes, more than the 2"),
      std::string::npos);
  EXPECT_EQ(read_file(folder_ / "a", 3).size(), 3U);
}

TEST_F(File, NeverReplacesWhatIsNoRegularFile) {
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_THROW(write_file_atomic(folder_ / "pipe", std::string_view("x")), IoError);
  EXPECT_THROW(read_file(folder_ / "pipe"), IoError);
  EXPECT_THROW(file_begins_with(folder_ / "pipe", "x"), IoError);
  fs::create_directory(folder_ / "sub");
  EXPECT_THROW(write_file_atomic(folder_ / "sub", std::string_view("x")), IoError);
  EXPECT_TRUE(fs::is_fifo(folder_ / "pipe"));
  EXPECT_EQ(entries(), 2U);
}

TEST_F(File, ReadersSeeOneWholeVersion) {
  const auto a = pattern(20000, 1);
  const auto b = pattern(30000, 2);
  write_file_atomic(folder_ / "a", a);
  std::thread writer([&] {
    for (int i = 0; i < 50; ++i) write_file_atomic(folder_ / "a", i % 2 == 0 ? b : a);
  });
  for (int i = 0; i < 200; ++i) {
    const auto seen = read_file(folder_ / "a");
    EXPECT_TRUE(seen == a || seen == b);
  }
  writer.join();
}

}  // namespace
}  // namespace octet::test::file_test
