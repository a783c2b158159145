// Writing files when the system fails, and what dead processes leave behind.

#include <octet/tests/core/faulty_file_system.h>
#include <octet/tests/train/data/idx_files.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <fstream>

namespace octet::test::file_fault_test {
namespace {

namespace fs = std::filesystem;

class FileFault : public ::testing::Test {
 protected:
  fs::path path(const std::string& name) const { return scratch_.path() / name; }

  ScratchDirectory scratch_;
};

TEST_F(FileFault, EveryCallOfOneFileMayFail) {
  const FaultySave save{.folder = scratch_.path(),
                        .before = [&] { write_file_atomic(path("a"), counting(900)); },
                        .save = [&] { write_file_atomic(path("a"), counting(1500)); }};
  for (const int error : {EIO, ENOSPC, EROFS}) {
    for (const bool dies : {false, true}) EXPECT_GT(save.fail_every_call(error, dies), 10U);
  }
}

TEST_F(FileFault, FilesThatBelongTogetherAreWholeBeforeTheFirstIsReplaced) {
  const auto write = [&](std::string_view text) {
    write_files_atomic({{path("a"), text}, {path("b"), text}});
  };
  const FaultySave save{
      .folder = scratch_.path(), .before = [&] { write("old"); }, .save = [&] { write("new"); }};
  save.fail_every_call(EIO, false);
  // Not one is replaced where the second has no room.
  write("old");
  EXPECT_THROW(write_files_atomic({{path("a"), "new"}, {path("no/b"), "new"}}), IoError);
  EXPECT_EQ(read_file(path("a")), (Bytes{'o', 'l', 'd'}));
  EXPECT_EQ(temporaries_in(scratch_.path()), 0U);
}

TEST_F(FileFault, ThePreviousFileIsKept) {
  const auto write = [&](std::size_t count) {
    write_file_keeping_previous(path("a"), counting(count));
  };
  write(1);
  EXPECT_FALSE(fs::exists(path("a.1")));
  for (const std::size_t count : {2U, 3U, 4U}) {
    write(count);
    EXPECT_EQ(read_file(path("a")).size(), count);
    EXPECT_EQ(read_file(path("a.1")).size(), count - 1);
  }
  // One file under both names, as a crash between two renames leaves it.
  fs::remove(path("a.1"));
  fs::create_hard_link(path("a"), path("a.1"));
  write(5);
  EXPECT_EQ(read_file(path("a")).size(), 5U);
  EXPECT_EQ(read_file(path("a.1")).size(), 4U);
  EXPECT_EQ(temporaries_in(scratch_.path()), 0U);
  fs::create_symlink("a", path("link"));
  EXPECT_EQ(previous_file(path("link")), previous_file(fs::canonical(path("a"))));
}

TEST_F(FileFault, EveryCallMayFailWhereThePreviousFileIsKept) {
  const FaultySave save{.folder = scratch_.path(),
                        .before =
                            [&] {
                              write_file_keeping_previous(path("a"), counting(10));
                              write_file_keeping_previous(path("a"), counting(900));
                            },
                        .save = [&] { write_file_keeping_previous(path("a"), counting(1500)); }};
  for (const bool dies : {false, true}) EXPECT_GT(save.fail_every_call(EIO, dies), 10U);
}

/// A file system without second names for files, as FAT is.
class NoLinks : public FaultyFileSystem {
 public:
  using FaultyFileSystem::FaultyFileSystem;
  int link(const char* /*from*/, const char* /*to*/) override {
    errno = EPERM;
    return -1;
  }
};

TEST_F(FileFault, WithoutLinksOneOfTwoFilesIsThereAtEveryMoment) {
  std::string failed = "first";
  for (std::size_t k = 1; !failed.empty(); ++k) {
    ASSERT_LT(k, 100U);
    fs::remove(path("a.1"));
    write_file_atomic(path("a"), counting(7));
    NoLinks faulty(k, EIO, true);
    try {
      write_file_keeping_previous(path("a"), counting(8));
    } catch (const IoError&) {
      EXPECT_NE(faulty.failed(), "");
    }
    failed = faulty.failed();
    const bool kept = fs::exists(path("a.1"));
    EXPECT_EQ(read_file(path(kept ? "a.1" : "a")).size(), 7U);
    EXPECT_TRUE(kept || !failed.empty());
  }
}

using Names = std::vector<std::string>;
Names operator+(Names a, const Names& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// The calls of `save` where none fails.
Names calls_of(const std::function<void()>& save) {
  const FaultyFileSystem counted(0);
  save();
  return counted.names();
}

TEST_F(FileFault, WhatIsRenamedIsOnTheDiskAndThenItsFolder) {
  const Names staged = {"create", "write", "flush", "close"};
  const Names committed = {"rename", "open_folder", "flush", "close"};
  const auto one = calls_of([&] { write_file_atomic(path("a"), counting(9)); });
  EXPECT_EQ(one, (staged + committed));
  const auto two = calls_of([&] {
    write_files_atomic({{path("a"), std::string_view("x")}, {path("b"), std::string_view("y")}});
  });
  EXPECT_EQ(two, staged + staged + committed + committed);
  const auto kept = calls_of([&] { write_file_keeping_previous(path("a"), counting(8)); });
  EXPECT_EQ(kept, (staged + Names{"link", "rename", "remove"} + committed));
  EXPECT_EQ(calls_of([&] { move_file(path("a"), path("c")); }), committed);
  fs::create_directory(path("other"));
  const auto moved = calls_of([&] { move_file(path("c"), path("other/c")); });
  EXPECT_EQ(moved, (committed + Names{"open_folder", "flush", "close"}));
}

TEST_F(FileFault, MovingAFile) {
  write_file_atomic(path("a"), counting(9));
  fs::create_directories(path("other"));
  move_file(path("a"), path("b"));
  EXPECT_EQ(contents_of(scratch_.path()), (FolderContents{{"b", counting(9)}}));
  move_file(path("b"), path("other/b"));
  EXPECT_EQ(contents_of(path("other")), (FolderContents{{"b", counting(9)}}));
  for (const std::string call : {"rename", "open_folder", "flush"}) {
    write_file_atomic(path("a"), counting(9));
    const FaultyFileSystem faulty(call == "rename" ? 1 : call == "flush" ? 3 : 2);
    EXPECT_THROW(move_file(path("a"), path("b")), IoError);
    EXPECT_EQ(faulty.failed(), call);
    EXPECT_EQ(fs::exists(path("a")), call == "rename");
  }
  fs::remove(path("a"));
  EXPECT_EQ(message_of<IoError>([&] { move_file(path("a"), path("c")); }),
            "cannot rename '" + path("a").string() + "' to '" + path("c").string() +
                "': No such file or directory");
}

/// Every other call is interrupted by a signal, and the rest moves a few bytes at a time.
class Interrupted : public FileSystem {
 public:
  Interrupted() { replace_file_system(this); }
  ~Interrupted() override { replace_file_system(nullptr); }

  std::ptrdiff_t write(int handle, const void* bytes, std::size_t count) override {
    return interrupted() ? -1 : FileSystem::write(handle, bytes, std::min<std::size_t>(count, 100));
  }
  std::ptrdiff_t read(int handle, void* bytes, std::size_t count) override {
    return interrupted() ? -1 : FileSystem::read(handle, bytes, std::min<std::size_t>(count, 100));
  }

 private:
  bool interrupted() {
    errno = EINTR;
    return ++calls_ % 2 == 1;
  }
  int calls_ = 0;
};

TEST_F(FileFault, WhatASignalInterruptsGoesOn) {
  const Interrupted interrupted;
  write_file_atomic(path("a"), counting(900));
  EXPECT_EQ(read_file(path("a")), counting(900));
}

TEST_F(FileFault, ANewFileNeverTakesThePlaceOfOneThatIsThere) {
  write_file_atomic(path("a"), counting(9));
  fs::create_symlink("a", path("link"));
  for (const char* name : {"a", "link"}) {
    errno = 0;
    EXPECT_EQ(file_system().create(path(name).c_str()), -1);
    EXPECT_EQ(errno, EEXIST);
  }
  EXPECT_EQ(read_file(path("a")), counting(9));
}

/// The name of a temporary file as another process would choose it.
fs::path name_by_a_child(const fs::path& path, bool reap) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const ::pid_t child = ::fork();
  if (child == 0) {
    const std::string name = temporary_name(path).string();
    const bool sent = ::write(ends[1], name.data(), name.size()) > 0;
    // Not for ever, should the test end before it ends this.
    ::alarm(60);
    if (sent && !reap) ::pause();
    ::_exit(0);
  }
  std::string name(4096, '\0');
  const ::ssize_t got = ::read(ends[0], name.data(), name.size());
  name.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  ::close(ends[0]);
  ::close(ends[1]);
  if (reap) ::waitpid(child, nullptr, 0);
  return name;
}

::pid_t process_of(const fs::path& name) {
  const std::string text = name.filename().string();
  std::size_t at = 0;
  for (int dash = 0; dash < 3; ++dash) at = text.find('-', at) + 1;
  return std::stoi(text.substr(at));
}

TEST_F(FileFault, OnlyTheTemporariesOfDeadProcessesAreRemoved) {
  const std::string dead = name_by_a_child(path("a"), true).filename();
  const std::string living = name_by_a_child(path("a"), false).filename();
  const std::string own = temporary_name(path("a")).filename();
  const auto changed = [&](int part, const std::string& value) {
    // .octet-machine-boot-process-start-count.tmp
    std::string name = own;
    std::size_t begin = 0;
    for (int i = 0; i < part; ++i) begin = name.find('-', begin) + 1;
    return name.replace(begin, name.find('-', begin) - begin, value);
  };
  const std::string elsewhere = changed(1, "1234");
  const std::string before_the_boot = changed(2, "1234");
  const std::string number_used_again = changed(4, "1");
  const std::map<std::string, TemporaryOf> names = {
      {dead, TemporaryOf::dead},
      {living, TemporaryOf::living},
      {own, TemporaryOf::living},
      {elsewhere, TemporaryOf::elsewhere},
      {before_the_boot, TemporaryOf::dead},
      {number_used_again, TemporaryOf::dead},
      {"a", TemporaryOf::nobody},
      {".octet-1-2-3.tmp", TemporaryOf::nobody},
      {".octet-x-2-3-4-5.tmp", TemporaryOf::nobody},
      {".octet-1-2-0-4-5.tmp", TemporaryOf::nobody},
      {".octet-1-2--3-4-5.tmp", TemporaryOf::nobody},
      {".octet-1-2-3-4-5.tmp.bak", TemporaryOf::nobody},
      {own + "x", TemporaryOf::nobody}};
  std::size_t expected = 0;
  for (const auto& [name, writer] : names) {
    EXPECT_EQ(temporary_of(name), writer) << name;
    std::ofstream(path(name)) << "x";
    expected += writer == TemporaryOf::dead ? 1U : 0U;
  }
  EXPECT_EQ(remove_temporaries_left_behind(scratch_.path()), expected);
  for (const auto& [name, writer] : names) {
    EXPECT_EQ(fs::exists(path(name)), writer != TemporaryOf::dead) << name;
  }
  // What another machine wrote is nobody's after a day.
  fs::last_write_time(path(elsewhere), fs::file_time_type::clock::now() - std::chrono::hours(25));
  fs::last_write_time(path(living), fs::file_time_type::clock::now() - std::chrono::hours(25));
  EXPECT_EQ(remove_temporaries_left_behind(scratch_.path()), 1U);
  EXPECT_FALSE(fs::exists(path(elsewhere)));
  EXPECT_TRUE(fs::exists(path(living)));
  const ::pid_t child = process_of(living);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(remove_temporaries_left_behind(scratch_.path()), 1U);
  EXPECT_EQ(remove_temporaries_left_behind(path("nowhere")), 0U);
}

TEST_F(FileFault, TheNextWriteRemovesWhatADeadProcessLeft) {
  const fs::path living = name_by_a_child(path("a"), false);
  std::ofstream(living) << "half";
  const std::vector<std::function<void()>> writes = {
      [&] { write_file_atomic(path("a"), counting(9)); },
      [&] {
        write_files_atomic({{path("a"), "x"}, {path("b"), "y"}});
      },
      [&] { write_file_keeping_previous(path("a"), counting(9)); },
      [&] { FileWriter(path("a")).commit(); }};
  for (const auto& write : writes) {
    const fs::path dead = name_by_a_child(path("a"), true);
    std::ofstream(dead) << "half";
    write();
    EXPECT_FALSE(fs::exists(dead));
    EXPECT_TRUE(fs::exists(living)) << "a living process goes on writing to it";
  }
  const ::pid_t child = process_of(living);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

/// The name of a temporary file as a process with numbers of its own chooses it, that of a
/// container; "" where this process may not make one.
std::string name_in_another_namespace(const fs::path& path) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe(ends.data()), 0);
  const ::pid_t child = ::fork();
  if (child == 0) {
    // The next process is the first of the new namespace.
    if (::unshare(CLONE_NEWPID) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) ::_exit(0);
    const ::pid_t inner = ::fork();
    if (inner == 0) {
      const std::string name = temporary_name(path).string();
      ::_exit(::write(ends[1], name.data(), name.size()) > 0 ? 0 : 1);
    }
    ::waitpid(inner, nullptr, 0);
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string name(4096, '\0');
  const ::ssize_t got = ::read(ends[0], name.data(), name.size());
  name.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return name;
}

TEST_F(FileFault, ProcessNumbersOfAnotherNamespaceSayNothing) {
  const fs::path name = name_in_another_namespace(path("a"));
  if (name.empty()) GTEST_SKIP() << "no PID namespace can be made here";
  // Machine and boot are this one's, but nobody here knows whether the process lives.
  EXPECT_EQ(temporary_of(name.filename().string()), TemporaryOf::elsewhere);
  std::ofstream(name) << "half";
  write_file_atomic(path("a"), counting(9));
  EXPECT_TRUE(fs::exists(name));
}

TEST_F(FileFault, ALinkThatLeadsNowhereIsAnError) {
  fs::create_symlink("loop", path("loop"));
  EXPECT_EQ(previous_file(path("loop")), path("loop.1"));
  expect_mentions(
      message_of<IoError>([&] { write_file_atomic(path("loop"), std::string_view("x")); }),
      "Too many levels of symbolic links");
  EXPECT_TRUE(fs::is_symlink(path("loop")));
  // One to a file that is not there makes room for the new file.
  fs::create_symlink("nowhere", path("link"));
  write_file_atomic(path("link"), std::string_view("x"));
  EXPECT_EQ(fs::symlink_status(path("link")).type(), fs::file_type::regular);
  EXPECT_FALSE(fs::exists(path("nowhere")));
}

TEST_F(FileFault, NamesOfAnyLengthWork) {
  const std::string name(255, 'n');
  write_file_atomic(path(name), std::string_view("x"));
  EXPECT_EQ(read_file(path(name)).size(), 1U);
}

}  // namespace
}  // namespace octet::test::file_fault_test
