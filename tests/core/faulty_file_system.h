#pragma once

#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/core/file_system.h>
#include <octet/core/temporary_name.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <system_error>
#include <vector>

namespace octet::test {

/// While it lives, the `fail_at`-th call to the file system, counted from 1, fails with `error`,
/// and where `dies` is set so do all later ones, as those of a program that has been killed.
class FaultyFileSystem : public FileSystem {
 public:
  explicit FaultyFileSystem(std::size_t fail_at, int error = EIO, bool dies = false)
      : fail_at_(fail_at), error_(error), dies_(dies) {
    replace_file_system(this);
  }
  ~FaultyFileSystem() override { replace_file_system(nullptr); }

  std::size_t calls() const { return names_.size(); }
  /// All calls in order, one after the other of the same name told once.
  std::vector<std::string> names() const {
    std::vector<std::string> result = names_;
    result.erase(std::unique(result.begin(), result.end()), result.end());
    return result;
  }
  /// The call that failed; "" where there was none.
  const std::string& failed() const { return failed_; }

  int create(const char* path) override {
    return call("create", -1, [&] { return FileSystem::create(path); });
  }
  int open_folder(const char* path) override {
    return call("open_folder", -1, [&] { return FileSystem::open_folder(path); });
  }
  /// Half of what there is, so that a file is torn by the next call's failure.
  std::ptrdiff_t write(int handle, const void* bytes, std::size_t count) override {
    return call("write", std::ptrdiff_t{-1},
                [&] { return FileSystem::write(handle, bytes, (count + 1) / 2); });
  }
  int flush(int handle) override {
    return call("flush", -1, [&] { return FileSystem::flush(handle); });
  }
  /// The handle is gone in any case, as with the system's own.
  int close(int handle) override {
    const int result = FileSystem::close(handle);
    return call("close", -1, [&] { return result; });
  }
  int rename(const char* from, const char* to) override {
    return call("rename", -1, [&] { return FileSystem::rename(from, to); });
  }
  int link(const char* from, const char* to) override {
    return call("link", -1, [&] { return FileSystem::link(from, to); });
  }
  int remove(const char* path) override {
    return call("remove", -1, [&] { return FileSystem::remove(path); });
  }

 private:
  template <class Result, class Call>
  Result call(const char* name, Result failure, Call system_call) {
    names_.emplace_back(name);
    const std::size_t number = names_.size();
    if (number != fail_at_ && !(dies_ && number > fail_at_)) return system_call();
    if (number == fail_at_) failed_ = name;
    errno = error_;
    return failure;
  }

  std::size_t fail_at_;
  int error_;
  bool dies_;
  std::vector<std::string> names_;
  std::string failed_;
};

using FolderContents = std::map<std::string, std::vector<std::uint8_t>>;

/// The files in `folder` by name, temporary ones left out.
inline FolderContents contents_of(const std::filesystem::path& folder) {
  FolderContents contents;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_directory()) continue;
    const std::string name = entry.path().filename().string();
    if (temporary_of(name) == TemporaryOf::nobody) contents[name] = read_file(entry.path());
  }
  return contents;
}

inline std::size_t temporaries_in(const std::filesystem::path& folder) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    count += temporary_of(entry.path().filename().string()) != TemporaryOf::nobody ? 1U : 0U;
  }
  return count;
}

/// A save to a folder that can be made to fail anywhere.
struct FaultySave {
  std::filesystem::path folder;
  /// Makes the files that the save replaces, in the empty folder.
  std::function<void()> before;
  std::function<void()> save;
  /// Looks at the folder after a failure.
  std::function<void()> after = [] {};

  void start_anew() const {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      std::filesystem::remove_all(entry.path());
    }
    before();
  }

  /// Every file holds what it held before or what the save gives it.
  void expect_old_or_new(const FolderContents& old_files, const FolderContents& new_files) const {
    const FolderContents found = contents_of(folder);
    for (const auto& [name, bytes] : found) {
      const auto was = old_files.find(name);
      const auto will_be = new_files.find(name);
      EXPECT_TRUE((was != old_files.end() && was->second == bytes) ||
                  (will_be != new_files.end() && will_be->second == bytes))
          << name << " is torn";
    }
    for (const auto& [name, bytes] : old_files) EXPECT_TRUE(found.contains(name)) << name;
    after();
  }

  /// Fails each call of the save in turn with `error`, alone or with all later ones (`dies`).
  /// Returns how many there are.
  std::size_t fail_every_call(int error, bool dies) const {
    start_anew();
    const FolderContents old_files = contents_of(folder);
    save();
    const FolderContents new_files = contents_of(folder);
    EXPECT_NE(old_files, new_files);
    EXPECT_EQ(temporaries_in(folder), 0U);
    for (std::size_t k = 1;; ++k) {
      start_anew();
      std::string message;
      FaultyFileSystem faulty(k, error, dies);
      try {
        save();
      } catch (const IoError& failure) {
        message = failure.what();
      }
      if (faulty.failed().empty()) return faulty.calls();
      SCOPED_TRACE("call " + std::to_string(k) + ": " + faulty.failed() + ": " + message);
      if (message.empty()) {
        // Cleaning up may fail without harm.
        EXPECT_TRUE(faulty.failed() == "remove" || faulty.failed() == "close");
        EXPECT_EQ(contents_of(folder), new_files);
        continue;
      }
      EXPECT_NE(message.find(folder.string()), std::string::npos);
      EXPECT_NE(message.find(std::generic_category().message(error)), std::string::npos);
      if (!dies) {
        EXPECT_EQ(temporaries_in(folder), 0U);
      }
      expect_old_or_new(old_files, new_files);
    }
  }
};

}  // namespace octet::test
